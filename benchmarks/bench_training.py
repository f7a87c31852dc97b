"""Training the Myrtle CNN of base width 16 on CIFAR-10: images per second beside a plain loop, and accuracy.

    INTERTWINE_DATA=<torchvision root> python benchmarks/bench_training.py [--train RUNS]

The plain loop is a tutorial's: torchvision's data set and transforms, a DataLoader, float32. Both take the
same network, optimiser, batch size and augmentation. With --train, whole trainings by the recipe "fast".

Measured once on two cores of a Xeon with bf16 instructions, torch 2.15, nothing else running, medians of 3:
plain loop 1,358 images/s without workers (36.8 s an epoch), 1,299 with two; intertwine 4,369 (11.4 s): 3.2×.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from intertwine.data import Dataset
from intertwine.training import evaluate, train
from intertwine_book import data, models
from intertwine_book.zoo import RECIPES

WIDTH = 16
IMAGES = 5_120  # in a measurement: 40 batches of 128
ROUNDS = 3


def plain(root: Path, workers: int) -> Callable[[], float]:
    """A tutorial's loop; call it for the seconds that one measurement takes."""
    from torchvision import datasets, transforms

    recipe = RECIPES["fast"]
    transform = transforms.Compose(
        [
            transforms.RandomCrop(32, padding=recipe.shift),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
        ]
    )
    dataset = torch.utils.data.Subset(datasets.CIFAR10(root, transform=transform), range(IMAGES))
    loader = torch.utils.data.DataLoader(
        dataset, recipe.batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    network, loss = models.myrtle(WIDTH, seed=0), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        network.parameters(), recipe.lr / 10, momentum=0.9, nesterov=True, weight_decay=recipe.weight_decay
    )

    def measure() -> float:
        start = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            loss(network(images), labels).backward()
            optimizer.step()
        return time.perf_counter() - start

    return measure


def ours(train_set: Dataset) -> Callable[[], float]:
    few = train_set[:IMAGES]
    recipe = replace(RECIPES["fast"], epochs=1)
    network = models.myrtle(WIDTH, seed=0)
    return lambda: train(network, few, recipe, seed=0, device="cpu").history["seconds"].item()


def speed(root: Path, train_set: Dataset) -> None:
    measures = {
        "plain loop, 0 workers": plain(root, 0),
        "plain loop, 2 workers": plain(root, 2),
        "intertwine": ours(train_set),
    }
    seconds: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values():
        measure()  # starts workers and fills caches
    for _ in range(ROUNDS):  # by turns, so that what else runs here slows all of them
        for name, measure in measures.items():
            seconds[name].append(measure())
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    best = min(value for name, value in middle.items() if name != "intertwine")
    print(f"{'':24}{'images/s':>10}{'s/epoch':>10}{'speed-up':>10}   median of {ROUNDS} × {IMAGES} images")
    for name, value in middle.items():
        speed_up = f"{best / value:10.2f}"
        print(f"{name:24}{IMAGES / value:10,.0f}{50_000 / IMAGES * value:10.1f}{speed_up}")


def accuracy(root: Path, train_set: Dataset, runs: int) -> None:
    test, recipe = data.load("cifar10", "test", root=root), RECIPES["fast"]
    for seed in range(runs):
        start = time.perf_counter()
        trained = train(models.myrtle(WIDTH, seed=seed), train_set, recipe, seed=seed, progress=True)
        minutes = (time.perf_counter() - start) / 60
        percent = 100 * evaluate(trained.network, test.images, test.labels)
        print(f"seed {seed}: {percent:.2f} % on the test set, {recipe.epochs} epochs, {minutes:.1f} minutes")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", type=int, default=0, metavar="RUNS")
    runs = parser.parse_args().train
    root = Path(os.environ.get("INTERTWINE_DATA", "data"))
    if not (root / "cifar-10-batches-py").is_dir():
        print(f"skipped: no CIFAR-10 under {root}")
        return
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    train_set = data.load("cifar10", "train", root=root)
    speed(root, train_set)
    accuracy(root, train_set, runs)


if __name__ == "__main__":
    main()
