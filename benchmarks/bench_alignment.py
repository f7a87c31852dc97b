"""Affine least squares between published Tiny-10 networks: streamed statistics against LAPACK on all rows.

    INTERTWINE_DATA=<torchvision root> python benchmarks/bench_alignment.py

Reads <torchvision root>/checkpoints. Each map is fitted after a ReLU, on the first 10,000 training images of
CIFAR-10, and judged by the stitched network's correct answers to the 10,000 test images. Fails if a weight
differs from torch.linalg.lstsq's, in float64 on the features themselves, by more than 1e-6 of the largest, or
if an answer's correctness does. The seconds are without those of the networks; LAPACK needs up to 5 GB.
"""

import os
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from intertwine.alignment import LinearMap, least_squares, statistics
from intertwine.features import activations, rows
from intertwine_book import data, models

PAIRS = ((0, 1), (2, 3), (4, 5))
IMAGES = 10_000


def lapack(A: Tensor, B: Tensor) -> LinearMap:
    """The same map from the matrices [A 1] and B of all rows."""
    inputs, targets = (rows(X).double() for X in (A, B))
    inputs = torch.cat([inputs, torch.ones(len(inputs), 1, dtype=torch.float64)], 1)
    solution = torch.linalg.lstsq(inputs, targets).solution
    return LinearMap(solution[:-1].T, solution[-1], residual=float("nan"), total=float("nan"))


def difference(ours: LinearMap, theirs: LinearMap) -> float:
    x, y = (torch.cat([fitted.weight, fitted.bias[:, None]], 1) for fitted in (ours, theirs))
    return ((x - y).abs().max() / y.abs().max()).item()


def correct(network: nn.Module, test: Tensor, labels: Tensor) -> int:
    with torch.inference_mode():
        guesses = torch.cat([network(batch).argmax(1) for batch in test.split(500)])
    return int((guesses == labels).sum())


def main() -> None:
    root = Path(os.environ.get("INTERTWINE_DATA", "data"))
    paths = [[root / f"checkpoints/tiny10-in{k}-gn{k}.pt" for k in pair] for pair in PAIRS]
    if (
        not all(path.is_file() for pair in paths for path in pair)
        or not (root / "cifar-10-batches-py").is_dir()
    ):
        print(f"skipped: no published Tiny-10, or no CIFAR-10, under {root}")
        return
    train, test = (data.load("cifar10", split, root=root) for split in ("train", "test"))
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {IMAGES} training images")
    print(
        f"{'pair':6}{'layer':7}{'rows × channels':>16}{'streamed s':>12}{'LAPACK s':>10}{'difference':>12}"
        f"{'R²':>7}{'correct':>9}{'LAPACK':>8}{'% of model 2':>14}"
    )
    worst, unequal = 0.0, 0
    for pair, pair_paths in zip(PAIRS, paths, strict=True):
        (front, mean, std), (back, _, _) = map(models.load_published, pair_paths)
        images, tests = ((d.images[:IMAGES] * d.std + d.mean - mean) / std for d in (train, test))
        alone = correct(back, tests, test.labels)
        names = [name for name, _ in front.named_children()]
        for name in (layer.name for layer in front.hidden_layers()):
            k = names.index(name) + 1
            A, B = (activations(net[:k], [name], images)[name] for net in (front, back))
            start = time.perf_counter()
            batches = zip(A.split(500), B.split(500), strict=True)
            ours = least_squares(statistics(batches), affine=True)
            middle = time.perf_counter()
            theirs = lapack(A, B)
            end = time.perf_counter()
            layers = (fitted.as_module(convolution=True) for fitted in (ours, theirs))
            mine, other = (
                correct(nn.Sequential(front[:k], layer, back[k:]), tests, test.labels) for layer in layers
            )
            error = difference(ours, theirs)
            worst, unequal = max(worst, error), unequal + (mine != other)
            row = f"{pair[0]}→{pair[1]:<4}{name:7}{A[:, 0].numel():>11,} × {A.shape[1]:<2}"
            row += f"{middle - start:12.2f}{end - middle:10.2f}{error:12.1e}{ours.r2:7.3f}"
            print(f"{row}{mine:9}{other:8}{100 * mine / alone:14.1f}", flush=True)
    print(f"largest difference {worst:.1e}; unequal accuracies: {unequal}")
    if worst > 1e-6 or unequal:
        raise SystemExit("expected a difference of at most 1e-6 and equal accuracies")


if __name__ == "__main__":
    main()
