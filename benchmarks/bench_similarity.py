"""Similarity of representations: ratios to the obvious ways, and to the matrix products that cannot be saved.

    python benchmarks/bench_similarity.py [--memory]

1. The max-kernel Gram matrix of 2,000 samples with 64 channels of 8×8, in float64, against one row at a time,
   and against its matrix products alone (of which symmetry saves half). Fails below 12× or above 2.5×.
2. Unbiased linear CKA between all 19 × 19 hidden layers of two quarter-width ResNet-20, with 2,000 images of
   32×32, networks and all, against pair by pair with n×n Gram matrices from features at hand, timed on 3 × 3
   layers and extrapolated. Fails below 10×, or where the values differ by more than 1e-9.
3. With --memory, the same of 10,000 images, 7.5 GB of features, with a budget of 512 MiB: the peak memory of
   the whole process, with python, torch and the images. Takes minutes. Fails from 2 GB on.

Ratios are medians over runs in turn, so that other work on the machine, named by its load, slows both sides.
"""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from intertwine.features import activations
from intertwine.similarity import compare, max_gram
from intertwine_book import models


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def medians(*calls: Callable[[], object], runs: int = 5) -> list[float]:
    times = [[seconds(call) for call in calls] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def bench_max_kernel(n: int = 2000, channels: int = 64, positions: int = 64) -> bool:
    X = torch.randn(n, channels, positions, dtype=torch.float64).mT  # as feature maps lie in memory
    firsts = X.movedim(2, 0).contiguous()
    out, rows = torch.empty(n, n, dtype=X.dtype), n // 20

    def products() -> None:
        for Z in firsts:
            torch.mm(Z, Z.T, out=out)

    def row_by_row() -> None:
        for x in X[:rows]:
            torch.einsum("pc,npc->nc", x, X).amax(1)

    ours, alone, slow = medians(lambda: max_gram(X), products, row_by_row)
    faster, above = slow * (n / rows) / ours, ours / (alone / 2)
    print(f"max kernel: {ours:.2f} s; {faster:.0f}× faster than row by row ({rows} rows timed), ", end="")
    print(f"{above:.2f}× half of its products alone")
    return faster >= 12 and above <= 2.5


def textbook_cka(X: Tensor, Y: Tensor) -> float:
    """From n×n Gram matrices, the formula as it is printed."""
    n = len(X)
    K, L = (Z @ Z.T for Z in (X - X.mean(0), Y - Y.mean(0)))

    def hsic(K: Tensor, L: Tensor) -> Tensor:
        K, L = K - torch.diag(K.diagonal()), L - torch.diag(L.diagonal())
        rows, columns = K.sum(1), L.sum(1)
        middle = rows.sum() * columns.sum() / ((n - 1) * (n - 2))
        return ((K * L).sum() + middle - 2 / (n - 2) * rows @ columns) / (n * (n - 3))

    return (hsic(K, L) / (hsic(K, K) * hsic(L, L)).sqrt()).item()


def networks() -> tuple[list[torch.nn.Module], list[str]]:
    both = [models.resnet20(4, seed=seed).eval() for seed in (0, 1)]
    return both, [layer.name for layer in both[0].hidden_layers()]


def bench_compare(n: int = 2000) -> bool:
    (first, second), layers = networks()
    images = torch.randn(n, 3, 32, 32)
    some = [layers[0], layers[9], layers[18]]
    kept = [
        {name: X.flatten(1).double() for name, X in activations(net, some, images).items()}
        for net in (first, second)
    ]
    pairs = list(product(some, some))
    values: dict[tuple[str, str], float] = {}
    tables = []
    ours, slow = medians(
        lambda: tables.append(compare(first, second, layers, images, device="cpu")),
        lambda: values.update({(a, b): textbook_cka(kept[0][a], kept[1][b]) for a, b in pairs}),
        runs=3,
    )
    ratio = slow * len(layers) ** 2 / len(pairs) / ours
    error = max(abs(tables[0].loc[pair] - value) for pair, value in values.items())
    print(
        f"CKA of {len(layers)} × {len(layers)} layers, {n} images: {ours:.1f} s; {ratio:.0f}× faster than ",
        end="",
    )
    print(f"pair by pair, extrapolated from {len(pairs)}; largest difference {error:.0e}")
    return ratio >= 10 and error < 1e-9


def bench_memory(n: int = 10_000) -> bool:
    (first, second), layers = networks()
    images = torch.randn(n, 3, 32, 32)
    took = seconds(lambda: compare(first, second, layers, images, memory=2**29, device="cpu"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"CKA of {len(layers)} × {len(layers)} layers, {n} images: {took:.0f} s, peak memory {peak:.2f} GB")
    return peak < 2


def main() -> None:
    threads, load = torch.get_num_threads(), os.getloadavg()[0]
    print(f"torch {torch.__version__}, {threads} threads, load {load:.1f} on {os.cpu_count()} cores")
    benches = [bench_memory] if "--memory" in sys.argv else [bench_max_kernel, bench_compare]
    if not all([bench() for bench in benches]):
        raise SystemExit("expected at least 12×, at most 2.5×, at least 10× and less than 2 GB")


if __name__ == "__main__":
    main()
