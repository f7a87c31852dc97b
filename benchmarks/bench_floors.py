"""How far our heavy kernels are from what this machine can do, and how their time grows with the size.

    python benchmarks/bench_floors.py [--short] [--record]

The floor is the larger of two times: that of the arithmetic that cannot be saved, at the rate of a product of
matrices of 1,536 × 1,536 in the same precision, and that of reading the inputs once, at the rate at which
memory is copied. Both rates are measured in the same run. Sizes grow over two to three decades; the growth is
the slope of log(time) over log(size) between the two largest. Fails where the largest size takes more than
its budget in budgets.yml, which says why a kernel is above three times its floor. `--short` measures the
largest size alone, in two rounds; `--record` writes a table of the book's page *Beside other libraries*.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

if __name__ == "__main__":
    from paired import one_thread

    one_thread()

from paired import BUDGETS, HERE, ROUNDS, broken, medians, provenance, write
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from intertwine import alignment, genni, shallow, similarity, training
from intertwine.data import Dataset
from intertwine.dissection import dissect
from intertwine_book import data, models, zoo

SIDE = 1536
NUMBERS = 2**24  # copied to measure the memory, more than fit into a cache


class Work(NamedTuple):
    """A kernel at one size, the floating-point operations and the bytes that it cannot do without."""

    call: Callable[[], object]
    operations: float
    bytes: float
    precision: str


def draw(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def statistics(n: int) -> Work:
    """A root of the second moments of 2 × 64 channels, by a QR decomposition."""
    A, B = draw(n, 64), draw(n, 64, seed=1)
    return Work(lambda: alignment.Statistics.of(A, B), 2 * n * 128**2, A.nbytes + B.nbytes, "float64")


def cka(n: int) -> Work:
    """Two Gram matrices of features that are twice as wide as samples are many; symmetry could save half."""
    X, Y = draw(n, 2 * n), draw(n, 2 * n, seed=1)
    return Work(lambda: similarity.cka(X, Y), 2 * n * (n + 1) * 2 * n, X.nbytes + Y.nbytes, "float64")


def max_kernel(n: int) -> Work:
    """The max kernel of 64 channels of 4 × 4, of which symmetry saves half."""
    X = draw(n, 64, 16).mT
    return Work(lambda: similarity.max_gram(X), n * (n + 1) * 16 * 64, X.nbytes, "float64")


def procrustes(p: int) -> Work:
    """XᵀY of twice as many samples as channels, and 8p³/3 until it is bidiagonal, for its singular values."""
    X, Y = draw(2 * p, p), draw(2 * p, p, seed=1)
    return Work(lambda: similarity.procrustes(X, Y), (4 + 8 / 3) * p**3, X.nbytes + Y.nbytes, "float64")


def matching(p: int) -> Work:
    """The permutation of least distance, from statistics: an assignment, which has to read all costs once."""
    A = draw(2 * p, p)
    found = alignment.Statistics.of(A, A + draw(2 * p, p, seed=1), within=False)
    return Work(lambda: alignment.permutation(found), 0, 8 * p * p, "float64")


def dissection(units: int) -> Work:
    """Maps of 8 × 8 against 12 concepts in 100 images of 64 × 64 pixels; the maps are read twice."""
    _, masks = data.scenes(100, size=64)
    maps = draw(100, units, 8, 8, dtype=torch.float32)
    return Work(lambda: dissect(maps, masks), 0, 2 * maps.nbytes + masks.codes.nbytes, "float32")


def grid(n: int) -> Work:
    """The loss of LeNet at n points, with 100 images; all layers but the first at every point."""
    network, x = models.lenet(output_relu=False).eval(), draw(100, 1, 28, 28, dtype=torch.float32)
    theta = genni.parameter_vector(network)
    problem = genni.Problem(network, lambda x: genni.outputs(network, 2 * theta[None], x)[0], x)
    plane = genni.random_plane(theta, 1, generator=torch.Generator().manual_seed(0))
    operations = flops(network, x) - flops(network[:1], x)
    return Work(lambda: genni.grid_loss(problem, plane, (-1, 1), n), n * operations, x.nbytes, "float32")


def canonical(n: int) -> Work:
    """The canonical form of n neurons with 64 inputs and 10 outputs, whose weights are read once."""
    normal = np.random.default_rng(0).normal
    p = shallow.ShallowReLU(normal(size=(n, 64)), normal(size=n), normal(size=(10, n)), normal(size=10))
    return Work(lambda: shallow.canonical_form(p), 0, 8 * n * (64 + 1 + 10), "float64")


def trained(images: int) -> Work:
    """An epoch of the Myrtle CNN of width 64 in bfloat16; a step counts three forward passes."""
    network = models.myrtle(64, seed=0)
    recipe = replace(zoo.RECIPES["fast"], epochs=1, dtype="bfloat16", batch_size=min(images, 128))
    generator = torch.Generator().manual_seed(0)
    given = Dataset.of(torch.rand(images, 3, 32, 32, generator=generator), torch.arange(images) % 10)
    operations = 3 * flops(network.eval(), given.images[:1]) * images
    call = lambda: training.train(network, given, recipe, seed=0, device="cpu")  # noqa: E731
    return Work(call, operations, given.images.nbytes, "bfloat16")


def flops(network: torch.nn.Module, x: Tensor) -> float:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(x)
    return counter.get_total_flops()


KERNELS: dict[str, tuple[Callable[[int], Work], list[int]]] = {
    "statistics of a stitch": (statistics, [100, 1_000, 10_000, 100_000]),
    "CKA": (cka, [10, 100, 1_000]),
    "max kernel": (max_kernel, [10, 100, 1_000]),
    "Procrustes": (procrustes, [2, 10, 100, 500]),
    "matching of units": (matching, [1, 10, 100, 1_000]),
    "dissection": (dissection, [1, 10, 100, 500]),
    "loss on a grid": (grid, [2, 20, 200]),
    "canonical form": (canonical, [100, 1_000, 10_000, 100_000]),
    "training": (trained, [4, 32, 256]),
}


def rates() -> tuple[dict[str, float], float]:
    """Floating-point operations a second by precision, and bytes read or written a second."""
    types = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
    factors = {name: draw(SIDE, SIDE, dtype=torch.float32).to(dtype) for name, dtype in types.items()}
    calls = [lambda A=A: A @ A for A in factors.values()]
    source, target = torch.zeros(2, NUMBERS)
    *times, copied = medians(*calls, lambda: target.copy_(source))
    return {name: 2 * SIDE**3 / t for name, t in zip(types, times, strict=True)}, 8 * NUMBERS / copied


def measured(short: bool) -> tuple[list[tuple[str, ...]], dict[str, float], dict[str, str]]:
    peak, memory = rates()
    rows, ratios = [], {}
    for name, (prepare, sizes) in KERNELS.items():
        work = [prepare(size) for size in (sizes[-1:] if short else sizes)]
        times = [medians(each.call, rounds=2 if short else ROUNDS)[0] for each in work]
        last = work[-1]
        arithmetic, reading = last.operations / peak[last.precision], last.bytes / memory
        ratios[name] = times[-1] / max(arithmetic, reading)
        growth = math.nan if short else math.log(times[-1] / times[-2]) / math.log(sizes[-1] / sizes[-2])
        size = f"{sizes[-1]:,}"
        spent = [f"{1e3 * each:.3g}" for each in (times[-1], arithmetic, reading)]
        rows.append((name, size, last.precision, *spent, f"{ratios[name]:.1f}", f"{growth:.1f}"))
        print("{:24}{:>9} {:9}{:>9} ms, floors {:>8} and {:>8} ms: {:>7} times, growth {}".format(*rows[-1]))
    words = {f"Matrix products, {name}": f"{rate / 1e9:.0f} GFLOP/s" for name, rate in peak.items()}
    return rows, ratios, words | {"Memory": f"{memory / 1e9:.1f} GB/s read and written"}


def main(short: bool, record: bool) -> None:
    rows, ratios, words = measured(short)
    print(words)
    if record:
        header = (
            "Kernel",
            "Size",
            "Precision",
            "Time, ms",
            "Arithmetic, ms",
            "Reading, ms",
            "Times its floor",
        )
        reasons = [BUDGETS["floors"][row[0]]["why"] for row in rows]
        full = [(*row, why) for row, why in zip(rows, reasons, strict=True)]
        write(HERE / "floors.csv", (*header, "Growth", "Why"), full)
        write(HERE / "floors_run.csv", ("What", "Value"), provenance([], words))
    if failures := broken(ratios, "floors"):
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main("--short" in sys.argv, "--record" in sys.argv)
