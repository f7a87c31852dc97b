"""How near training and the largest similarity sums come to the rate of matrix products on this machine.

    python benchmarks/bench_machine.py [widths of the Myrtle CNN, 16 64 by default]

One thread, CPU seconds, medians of 5 rounds in turn. A training step counts three forward passes; the rate of
matrix products is that of 2048 × 2048 in the same precision. The sum is the max kernel's Gram matrix of 2,000
samples with 64 channels of 8×8 in float64, half of whose products symmetry saves.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch.utils.flop_counter import FlopCounterMode

from intertwine import data, devices, models
from intertwine.similarity import max_gram
from intertwine.training import RECIPES, train

IMAGES, ROUNDS, SIZE = 1_280, 5, 2_048


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def multiplied(dtype: torch.dtype) -> Callable[[], object]:
    A, B = (torch.randn(SIZE, SIZE).to(dtype) for _ in range(2))
    return lambda: A @ B


def trained(width: int, dtype: str) -> tuple[Callable[[], object], float]:
    network = models.myrtle(width, seed=0)
    labels = torch.arange(IMAGES) % 10
    images = data.Dataset.of(torch.rand(IMAGES, 3, 32, 32), labels)
    recipe = replace(RECIPES["fast"], epochs=1, dtype=dtype)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network.eval()(images.images[:8])
    operations = 3 * counter.get_total_flops() / 8 * (IMAGES // recipe.batch_size * recipe.batch_size)
    return lambda: train(network, images, recipe, seed=0, device="cpu"), operations


def main(widths: list[int]) -> None:
    torch.set_num_threads(1)
    rates = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}
    tasks: dict[str, tuple[Callable[[], object], float, str]] = {
        f"matrix product, {name}": (multiplied(dtype), 2.0 * SIZE**3, name) for name, dtype in rates.items()
    }
    chosen = devices.precision(models.myrtle(16), torch.device("cpu"), "auto")
    for width in widths:
        for name in ("float32", "bfloat16"):
            tasks[f"training at width {width}, {name}"] = (*trained(width, name), name)
    X = torch.randn(2000, 64, 64, dtype=torch.float64).mT
    tasks["max kernel, float64"] = (lambda: max_gram(X), 2000 * 2001 * 64.0 * 64, "float64")
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, (call, _, _) in tasks.items():
            times[name].append(seconds(call))
    peak = {}
    for name, (_, operations, precision) in tasks.items():
        rate = operations / statistics.median(times[name]) / 1e9
        peak.setdefault(precision, rate)
        images = f", {IMAGES / statistics.median(times[name]):,.0f} images/s" * name.startswith("training")
        print(f"{name:36} {rate:7,.0f} GFLOP/s, {rate / peak[precision]:4.0%} of matrix products{images}")
    print(f"auto takes {str(chosen).removeprefix('torch.')} here")


if __name__ == "__main__":
    main([int(width) for width in sys.argv[1:]] or [16, 64])
