"""Training many networks of one shape: one joblib loop."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from joblib import Parallel, delayed
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from tqdm import tqdm

from intertwine import devices
from intertwine.chains import pooled_first
from intertwine.training import Batches, build_optimizer
from intertwine.training.batches import fill_of
from intertwine.training.evaluate import check_data, correct
from intertwine.training.together import Steps, run_epoch
from intertwine.training.train import Trained, train
from intertwine_book.zoo.spec import Spec

Seed = int | tuple[int, int]
SeedPair = tuple[int, int]
AT_ONCE = 8  # networks on a GPU: an H200 is busy with eight Myrtle CNNs of width 64


def train_many(
    spec: Spec,
    seeds: Sequence[Seed],
    *,
    device: str | torch.device = "auto",
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Trained]:
    """Train one network per seed.

    Example:
        >>> from dataclasses import replace
        >>> from intertwine_book import data
        >>> from intertwine_book.zoo import RECIPES, Spec, train_many
        >>> recipe = replace(RECIPES["digits"], epochs=1)
        >>> spec = Spec("myrtle", data.load("digits", "train"), recipe, {"width": 2, "in_channels": 1})
        >>> len(train_many(spec, seeds=[0, (0, 1)], device="cpu", n_jobs=1))
        2

    A seed decides on the initialisation and on the order of the data; a pair (initialisation, order) sets
    them apart. On a CPU networks are trained in `n_jobs` processes of joblib, which share the data and part
    the threads of torch among them. On a GPU eight of the book's own architectures are trained at once in
    bfloat16, by recorded steps; others, and all in float32, one after another.

    Args:
        n_jobs: networks at a time; by default as many as torch has threads, on a GPU eight. Give 1 where
            its memory is small.
    """
    pairs = as_pairs(spec, seeds)
    done = dict(train_each(spec, list(dict.fromkeys(pairs)), devices.pick(device), n_jobs, progress))
    return [done[pair] for pair in pairs]


def as_pairs(spec: Spec, seeds: Sequence[Seed]) -> list[SeedPair]:
    """The seeds of initialisation and order; ValueError where initialisations do not differ."""
    if isinstance(seeds, int):
        raise TypeError(f"Expected a list of seeds, was given {seeds}: write range({seeds}).")
    pairs = [seed if isinstance(seed, tuple) else (seed, seed) for seed in seeds]
    starts = [*dict.fromkeys(start for start, _ in pairs)][:2]  # two tell whether a seed matters
    one, *others = (list(spec.build(seed=start).state_dict().values()) for start in starts or [0])
    if one and any(all(map(torch.equal, one, other)) for other in others):
        raise ValueError(
            f"Expected other initial weights from another seed, {spec.name} gives the same for {starts[0]} "
            f"and {starts[1]}: build the network inside the function, or give pairs ({starts[0]}, order)."
        )
    return pairs


def train_each(
    spec: Spec,
    seeds: list[SeedPair],
    device: torch.device,
    n_jobs: int | None,
    progress: bool,
    *,
    of: int | None = None,
    checkpoints: Mapping[SeedPair, Path] | None = None,
) -> Iterator[tuple[SeedPair, Trained]]:
    """Yield every network as soon as it is trained, in any order.

    These are still to train, out of so many (`of`): threads per network depend on that number, so that an
    interrupted run goes on as it began, from its `checkpoints`.
    """
    if not seeds:
        return
    network = spec.build(seed=seeds[0][0])
    check_data(network, spec.data.images, spec.data.labels)
    # a forward of the caller's own may do what no GPU records, and dropout would draw by another generator
    ours = isinstance(spec.architecture, str)
    plain = ours and not any(isinstance(layer, _DropoutNd) for layer in network.modules())
    # in float32 one after another: a recorded step has its learning rate in float32, and so other last bits
    fast = device.type == "cuda" and devices.precision(network, device, spec.recipe.dtype) != torch.float32
    if fast and len(seeds) > 1 and not n_jobs and plain:
        for lot in (seeds[k : k + AT_ONCE] for k in range(0, len(seeds), AT_ONCE)):
            made = dict(zip(lot, _at_once(spec, lot, device, progress), strict=True))
            finite = {seed: each for seed, each in made.items() if np.isfinite(each.history["loss"]).all()}
            yield from finite.items()
            if lost := [seed for seed in lot if seed not in finite]:
                raise FloatingPointError(f"The losses of seeds {lost} are not finite: use a smaller lr.")
        return
    jobs = n_jobs or (min(of or len(seeds), torch.get_num_threads()) if device.type == "cpu" else 1)
    threads = max(1, torch.get_num_threads() // jobs)
    # arrays, because joblib maps them into the memory of all processes; views would be copied whole
    arrays = [tensor.numpy(force=True) for tensor in (spec.data.images, spec.data.labels)]
    none = [tensor[:0].clone() for tensor in (spec.data.images, spec.data.labels)]
    light = replace(spec, data=replace(spec.data, images=none[0], labels=none[1], hashed=()))
    alone = progress and len(seeds) == 1
    call = partial(delayed(_train), light, *arrays, threads=threads, device=str(device), progress=alone)
    calls = (call(seed=seed, checkpoint=(checkpoints or {}).get(seed)) for seed in seeds)
    run = Parallel(n_jobs=jobs, return_as="generator_unordered", mmap_mode="c")
    yield from tqdm(run(calls), total=len(seeds), unit="network", disable=alone or not progress)


def _train(
    spec: Spec, images: np.ndarray, labels: np.ndarray, *, seed: SeedPair, threads: int, **options
) -> tuple[SeedPair, Trained]:
    """Train one network with so many threads."""
    pixels, classes = torch.from_numpy(images), torch.from_numpy(labels)
    data = replace(spec.data, images=pixels, labels=classes, hashed=())
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return seed, train(spec.build(seed=seed[0]), data, spec.recipe, seed=seed[1], **options)
    finally:
        torch.set_num_threads(before)


def _at_once(spec: Spec, seeds: list[SeedPair], device: torch.device, progress: bool) -> list[Trained]:
    """Train networks at once on a GPU, which one of them alone leaves idle; no checkpoint is written."""
    data, recipe = spec.data, spec.recipe
    networks = [devices.channels_last(spec.build(seed=start).to(device)).train() for start, _ in seeds]
    dtype = devices.precision(networks[0], device, recipe.dtype)
    labels = data.labels.to(device)
    images = data.images.to(device, devices.input_dtype(networks[0], dtype))
    batches = Batches(images, labels, recipe, fill_of(data, recipe))

    def objective(model: nn.Module, images: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        with devices.autocast(device, dtype):
            logits = model(images)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        loss = F.cross_entropy(wide, labels[numbers], label_smoothing=recipe.label_smoothing)
        return loss[None], correct(logits, labels[numbers]).sum()[None]

    steps = [
        Steps(
            partial(objective, pooled_first(network)),
            build_optimizer(recipe, network.named_parameters()),
            batches,
            recipe,
            seed=order,
        )
        for network, (_, order) in zip(networks, seeds, strict=True)
    ]
    rows: list[list[dict[str, float]]] = [[] for _ in seeds]
    for number in tqdm(range(recipe.epochs), unit="epoch", disable=not progress):
        start = time.perf_counter()
        found = run_epoch(steps, number)
        seconds = (time.perf_counter() - start) / len(seeds)
        for each, ((loss,), (accuracy,)) in zip(rows, found, strict=True):
            row = {"epoch": number + 1, "lr": recipe.lr * steps[0].factors[-1], "loss": loss}
            row |= {"accuracy": accuracy, "seconds": seconds, "images_per_s": steps[0].seen / seconds}
            each.append(row)
    return [
        Trained(network.to(memory_format=torch.contiguous_format).eval(), pd.DataFrame(each))
        for network, each in zip(networks, rows, strict=True)
    ]
