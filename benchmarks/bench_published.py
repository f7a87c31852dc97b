"""Accuracy of the published networks on all of CIFAR-10's test images, and how fast they run on this CPU.

    INTERTWINE_DATA=<torchvision root> python benchmarks/bench_published.py

Reads <torchvision root>/checkpoints. akamaster/pytorch_resnet_cifar10 prints 91.73 % for its ResNet-20.
"""

import os
import time
from pathlib import Path

import torch

from intertwine.data import Dataset
from intertwine_book import data, models

PRECISIONS = (torch.float32, torch.bfloat16)


def accuracy(published: models.Published, test: Dataset, dtype: torch.dtype) -> tuple[float, float]:
    """In percent, and images per second of the forward passes alone."""
    network = published.network.to(dtype, memory_format=torch.channels_last)
    images = (test.images * test.std + test.mean - published.mean) / published.std
    batches = images.to(dtype, memory_format=torch.channels_last).split(500)
    with torch.inference_mode():
        network(batches[0])
        start = time.perf_counter()
        guesses = torch.cat([network(batch).argmax(1) for batch in batches])
        seconds = time.perf_counter() - start
    return 100 * (guesses == test.labels).double().mean().item(), len(images) / seconds


def main() -> None:
    root = Path(os.environ.get("INTERTWINE_DATA", "data"))
    paths = sorted((root / "checkpoints").glob("*.*"))
    if not paths or not (root / "cifar-10-batches-py").is_dir():
        print(f"skipped: no published checkpoints, or no CIFAR-10, under {root}")
        return
    test = data.load("cifar10", "test", root=root)
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, channels last, "
        f"{len(test.labels)} images"
    )
    print(f"{'checkpoint':34}" + "".join(f"{dtype!s:>16} %{'images/s':>10}" for dtype in PRECISIONS))
    for path in paths:
        results = [accuracy(models.load_published(path), test, dtype) for dtype in PRECISIONS]
        print(f"{path.name:34}" + "".join(f"{percent:18.2f}{speed:10,.0f}" for percent, speed in results))


if __name__ == "__main__":
    main()
