"""Stitches between published Tiny-10 networks and between small networks on digits: speed, and G_ReLU.

    INTERTWINE_DATA=<torchvision root> python benchmarks/bench_stitching.py

1. One training epoch of a full stitch, at every layer, on 10,000 training images of CIFAR-10 without
   augmentation, batches of 128, in float32: `stitch_at`, for which model 1 has run once, against the same
   steps with both whole networks run at each, model 1 without autograd (model 2 whole, because hooks replace
   its activation). The seconds of model 1's one run stand apart: a training of n epochs pays them once. Fails
   if a weight differs by more than 1e-4, or if layers 6 to 8 are less than three times faster. Reads
   <torchvision root>/checkpoints.
2. G_ReLU on digits: four pairs of Myrtle networks of width 8, batch norm frozen and re-estimated: the mean
   penalty and seconds of our optimiser and of godfrey2022's relaxation, each by its own recipe. Fails unless
   ours is at least as good at every layer, in less time.
"""

import copy
import os
import time
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching import STITCH_RECIPES, Full, Junction, StitchRecipe, stitch_at
from intertwine.training.batches import Batches, fill_of
from intertwine_book import data, models
from intertwine_book.experiments.stitches import stitch_many
from intertwine_book.zoo import RECIPES, Spec, train_many

IMAGES = 10_000
EPOCH = StitchRecipe(epochs=1, batch_size=128, lr=1e-3, optimizer="adam", drop_last=True)


def both_networks(
    front: nn.Sequential, back: nn.Sequential, layer: str, start: nn.Module, train: Dataset, epochs: int
) -> tuple[nn.Module, float]:
    """The stitch trained with both networks run whole at every step; seconds of the last epoch."""
    front, back, stitch = (copy.deepcopy(each).requires_grad_(False).eval() for each in (front, back, start))
    stitch.requires_grad_(True)
    seen = {}
    front.get_submodule(layer).register_forward_hook(lambda module, x, y: seen.update(values=y))
    back.get_submodule(layer).register_forward_hook(lambda module, x, y: stitch(seen["values"]))
    for model in (front, back):
        model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(stitch.parameters(), lr=EPOCH.lr)
    batches = Batches(train.images, train.labels, EPOCH, fill_of(train, EPOCH))
    for epoch in range(epochs):
        begin = time.perf_counter()
        for images, labels in batches.epoch(epoch, seed=0):
            with torch.no_grad():
                front(images)
            loss = F.cross_entropy(back(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds = time.perf_counter() - begin
    return stitch, seconds


def epochs(root: Path) -> bool:
    paths = [root / f"checkpoints/tiny10-in{k}-gn{k}.pt" for k in (0, 1)]
    if not all(path.is_file() for path in paths) or not (root / "cifar-10-batches-py").is_dir():
        print(f"skipped: no published Tiny-10, or no CIFAR-10, under {root}")
        return True
    (front, mean, std), (back, _, _) = map(models.load_published, paths)
    train = data.load("cifar10", "train", root=root)
    images = (train.images[:IMAGES] * train.std + train.mean - mean) / std
    train = replace(train, images=images, labels=train.labels[:IMAGES], mean=mean, std=std)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; Tiny-10, {IMAGES} images")
    print(
        f"{'layer':7}{'front once s':>14}{'ours s':>9}{'both s':>9}{'ratio':>7}{'difference':>12}{'moved':>8}"
    )
    good = True
    for k, layer in enumerate((hidden.name for hidden in front.hidden_layers()), 1):
        place = Junction(front, back, layer, train, device="cpu", dtype="float32")
        first = Full.draw(place.widths, torch.Generator().manual_seed(0))
        start = Full(first.weight, first.bias)
        begin = time.perf_counter()
        place.stored("train")
        once = time.perf_counter() - begin
        ours, theirs = [], []
        for _ in range(3):
            trained = stitch_at(place, start, recipe=EPOCH)
            stitch, seconds = both_networks(front, back, layer, start, train, 1)
            ours.append(trained.history["seconds"].iloc[-1])
            theirs.append(seconds)
        mine, other = (sorted(each)[1] for each in (ours, theirs))  # medians
        gap = max(
            (a - b).abs().max().item()
            for a, b in zip(trained.stitch.parameters(), stitch.parameters(), strict=True)
        )
        moved = (trained.stitch.weight - start.weight).abs().max().item()
        print(
            f"{layer:7}{once:14.2f}{mine:9.2f}{other:9.2f}{other / mine:7.1f}{gap:12.1e}{moved:8.3f}",
            flush=True,
        )
        good &= gap <= 1e-4 < moved and (k < 6 or other / mine >= 3)
    return good


def optimisers() -> bool:
    train, test = data.load("digits", "train"), data.load("digits", "test")
    fit, validation = train[200:], train[:200]
    spec = Spec("myrtle", train, RECIPES["digits"], {"width": 8, "in_channels": 1})
    networks = [trained.network for trained in train_many(spec, range(4), device="cpu", n_jobs=1)]
    pairs = [(networks[a], networks[b]) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2))]
    birkhoff = replace(STITCH_RECIPES["godfrey2022 birkhoff"], flip=False, shift=0)
    good = True
    for batch_norm in ("frozen", "reestimated"):
        recipes = [replace(each, batch_norm=batch_norm) for each in (STITCH_RECIPES["digits"], birkhoff)]
        table = stitch_many(
            pairs,
            [layer.name for layer in networks[0].hidden_layers()],
            {
                "full": {"kind": "full", "start": "random", "recipe": recipes[0]},
                "matched": {"kind": "scaled permutation", "recipe": recipes[0]},
                "entropic": {"kind": "G_ReLU", "recipe": recipes[0]},
                "birkhoff": {"kind": "Birkhoff", "recipe": recipes[1]},
            },
            fit,
            validation=validation,
            test=test,
            seed=0,
            device="cpu",
        )
        means = table.pivot_table(["penalty", "best_test_penalty", "seconds"], "layer1", "stitch", sort=False)
        print(f"\ndigits, width 8, 4 pairs, batch norm {batch_norm}: means\n{means.round(2).to_string()}")
        ours, theirs = (means.xs(name, axis=1, level=1) for name in ("entropic", "birkhoff"))
        better = ours[["penalty", "seconds"]] <= theirs[["penalty", "seconds"]]
        good &= bool(better.to_numpy().all())
    return good


def main() -> None:
    root = Path(os.environ.get("INTERTWINE_DATA", "data"))
    if not all([epochs(root), optimisers()]):
        raise SystemExit(
            "expected the same stitches, at least 3 times faster at layers 6 to 8; ours the better"
        )


if __name__ == "__main__":
    main()
