"""Our methods beside public libraries, in one run: do the values agree, and who is faster?

    python benchmarks/bench_peers.py [--short] [--record] [--memory]

The peers are the extra `peers`, and numpy, scipy, torch and scikit-learn, which are ours too. Two are in no
extra, and are measured where they are installed: repsim, which has no wheels and needs a C++ compiler, and
rebasin, whose last release is of 2024. Peers that are missing are named and left out. Each row is one size in
one precision. Fails where values differ by more than the tolerance of the row, or where a time exceeds the
peer's by more than budgets.yml allows. `--short` measures one small size of each; `--record` writes the
tables of the book's page *Beside other libraries*; `--memory` measures the memory alone, at the largest
sizes, and writes its table.
"""

import contextlib
import copy
import io
import itertools
import math
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch

if __name__ == "__main__":
    from paired import one_thread

    one_thread()

from paired import HERE, ROUNDS, broken, medians, peaks, provenance, write
from torch import Tensor

from intertwine import alignment, genni, similarity, stitching, weightspace
from intertwine.dissection import geodesic, haar_rotation
from intertwine.features import activations
from intertwine_book import data, models, zoo

Calls = tuple[Callable[[], object], Callable[[], object]]
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Row(NamedTuple):
    what: str
    peer: str
    size: str
    precision: str
    difference: float
    ours: float
    theirs: float


class Case(NamedTuple):
    """A method, the module of its peer, and sizes from small to large."""

    what: str
    peer: str
    prepare: Callable[..., Calls]
    sizes: list[tuple[int, ...]]
    precisions: tuple[str, ...] = ("float64",)
    tolerance: float = 1e-4
    rounds: int = ROUNDS


def draw(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def drawn(n: int, p: int, q: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Features of which the second are linear in the first, up to noise."""
    X = draw(n, p)
    return X.to(dtype), (X @ draw(p, q, seed=1) / p**0.5 + draw(n, q, seed=2)).to(dtype)


def procrustes(n: int, p: int, dtype: torch.dtype) -> Calls:
    from scipy.linalg import orthogonal_procrustes

    X, Y = drawn(n, p, p, dtype)
    ours = lambda: alignment.fit(X, Y, alignment.orthogonal).weight.T  # noqa: E731
    return ours, lambda: orthogonal_procrustes(X.numpy(), Y.numpy())[0]


def procrustes_similarity(n: int, p: int, dtype: torch.dtype) -> Calls:
    from scipy.linalg import orthogonal_procrustes

    X, Y = drawn(n, p, p, dtype)

    def theirs() -> float:
        A, B = (Z - Z.mean(0) for Z in (X.numpy(), Y.numpy()))
        nuclear = orthogonal_procrustes(A, B)[1] / np.linalg.norm(A) / np.linalg.norm(B)
        return 1 - np.sqrt(2 - 2 * nuclear) / 2

    return lambda: similarity.procrustes(X, Y, dtype=dtype), theirs


def procrustes_angle(n: int, p: int, dtype: torch.dtype) -> Calls:
    """As netrep does it: the nuclear norm of the product of centred features."""
    X, Y = drawn(n, p, p, dtype)

    def theirs() -> float:
        A, B = (Z - Z.mean(0) for Z in (X.numpy(), Y.numpy()))
        return np.arccos(np.linalg.norm(A.T @ B, "nuc") / np.linalg.norm(A) / np.linalg.norm(B))

    return lambda: similarity.procrustes(X, Y, form="angular"), theirs


def permutation(n: int, p: int, dtype: torch.dtype) -> Calls:
    from scipy.optimize import linear_sum_assignment

    X, noise = drawn(n, p, p, dtype)
    Y = X.roll(1, 1) + noise / 2
    ours = lambda: alignment.fit(X, Y, alignment.permutation).weight.argmax(0)  # noqa: E731
    return ours, lambda: linear_sum_assignment(X.numpy().T @ Y.numpy(), maximize=True)[1]


def lstsq(n: int, p: int, dtype: torch.dtype) -> Calls:
    X, Y = drawn(n, p, p, dtype)
    ours = lambda: alignment.fit(X, Y, affine=False).weight.T  # noqa: E731
    return ours, lambda: torch.linalg.lstsq(X, Y, driver="gelsy").solution


def least_squares(n: int, p: int, dtype: torch.dtype) -> Calls:
    from sklearn.linear_model import LinearRegression

    X, Y = drawn(n, p, p, dtype)
    ours = lambda: alignment.fit(X, Y, affine=True).weight  # noqa: E731
    return ours, lambda: LinearRegression().fit(X.numpy(), Y.numpy()).coef_


def lasso(n: int, p: int, dtype: torch.dtype) -> Calls:
    from sklearn.linear_model import Lasso

    X, Y = drawn(n, p, p, dtype)
    alpha = 0.05 * n
    peer = Lasso(alpha / n, fit_intercept=False, tol=1e-10)
    ours = lambda: alignment.fit(X, Y, alignment.lasso, alpha=alpha, affine=False).weight  # noqa: E731
    return ours, lambda: peer.fit(X.numpy(), Y.numpy()).coef_


def cca(n: int, p: int, dtype: torch.dtype) -> Calls:
    from sklearn.cross_decomposition import CCA

    X, Y = drawn(n, p, p, dtype)

    def theirs() -> float:
        scores = CCA(n_components=p, max_iter=5000, tol=1e-9).fit_transform(X.numpy(), Y.numpy())
        return np.mean([np.corrcoef(*columns)[0, 1] for columns in zip(*(s.T for s in scores), strict=True)])

    return lambda: similarity.cca(X, Y), theirs


def power(p: int, dtype: torch.dtype) -> Calls:
    from scipy.linalg import expm, logm

    Q = haar_rotation(p, torch.Generator().manual_seed(0)).to(dtype)
    alphas = torch.linspace(0, 1, 11, dtype=dtype)
    theirs = lambda: np.stack([expm(a * logm(Q.numpy()).real) for a in alphas.numpy()])  # noqa: E731
    return lambda: geodesic(Q, alphas), theirs


def soft_matching(n: int, p: int, q: int, dtype: torch.dtype) -> Calls:
    import ot

    X, Y = drawn(n, p, q, dtype)

    def theirs() -> float:
        A, B = (Z - Z.mean(0) for Z in (X, Y))
        A, B = (Z / Z.norm() * Z.shape[1] ** 0.5 for Z in (A, B))
        return ot.emd2([], [], torch.cdist(A.T, B.T).square().numpy()) ** 0.5

    return lambda: similarity.soft_matching(X, Y, dtype=dtype), theirs


def gram_cka(n: int, p: int, dtype: torch.dtype) -> Calls:
    import repsim

    X, Y = drawn(n, p, p, dtype)
    ours = lambda: similarity.cka(X, Y, estimator="biased")  # noqa: E731
    return ours, lambda: repsim.cka([X.numpy(), Y.numpy()], "linear", "gretton")[0, 1]


def unbiased_cka(n: int, p: int, dtype: torch.dtype) -> Calls:
    from ckatorch.core import cka_base

    X, Y = drawn(n, p, p, dtype)
    return lambda: similarity.cka(X, Y), lambda: cka_base(X, Y, unbiased=True)


def two_networks(images: int) -> tuple[list[torch.nn.Module], Tensor, list[str]]:
    networks = [models.myrtle(8, in_channels=1, seed=seed).eval() for seed in (0, 1)]
    return networks, draw(images, 1, 16, 16, dtype=torch.float32), [f"relu{k}" for k in (1, 2, 3, 4)]


def layers(n: int, dtype: torch.dtype) -> Calls:
    from torch.utils.data import DataLoader, TensorDataset
    from torch_cka import CKA

    networks, images, names = two_networks(n)
    ours = lambda: similarity.compare(*networks, names, images, device="cpu").to_numpy()  # noqa: E731

    def theirs() -> Tensor:
        loader = DataLoader(TensorDataset(images), batch_size=len(images))
        with torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
            peer = CKA(*copy.deepcopy(networks), "one", "other", names, names)
            peer.compare(loader, loader)
        return peer.export()["CKA"]

    return ours, theirs


def recorded(n: int, dtype: torch.dtype) -> Calls:
    from captum.attr import LayerActivation

    (network, _), images, names = two_networks(n)
    modules = [network.get_submodule(name) for name in names]
    join = lambda found: torch.cat([Z.flatten() for Z in found])  # noqa: E731
    ours = lambda: join(activations(network, names, images, batch_size=n).values())  # noqa: E731
    return ours, lambda: join(LayerActivation(network, modules).attribute(images))


def orthogonal_layer(p: int, dtype: torch.dtype) -> Calls:
    import geotorch

    X, start = draw(512, p, dtype=dtype), torch.eye(p, dtype=dtype)
    Y = X @ haar_rotation(p, torch.Generator().manual_seed(0)).to(dtype)

    def lowered(layer: torch.nn.Module) -> bool:
        optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
        losses = []
        for _ in range(100):
            optimizer.zero_grad()
            loss = (X @ layer.weight.T - Y).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses[-1] < losses[0] / 2

    def theirs() -> bool:
        layer = torch.nn.Linear(p, p, bias=False, dtype=dtype)
        geotorch.orthogonal(layer, "weight")
        layer.weight = start
        return lowered(layer)

    return lambda: lowered(stitching.OrthogonalMap(start)), theirs


def persistence(n: int, dtype: torch.dtype) -> Calls:
    import gudhi

    values = draw(n, n, dtype=dtype)

    def theirs() -> np.ndarray:
        cubes = gudhi.CubicalComplex(top_dimensional_cells=values.double().numpy())
        cubes.compute_persistence()
        return in_order(cubes.persistence_intervals_in_dimension(0))

    def in_order(pairs: np.ndarray) -> np.ndarray:
        return np.sort(np.minimum(pairs, 1e6), axis=0)

    return lambda: in_order(genni.persistence(values).to_numpy()), theirs


def weight_matching(width: int, dtype: torch.dtype) -> Calls:
    """The coordinate descent of Git Re-Basin for one architecture, in a few lines."""
    from scipy.optimize import linear_sum_assignment

    layers = [torch.nn.Linear(p, q) for p, q in itertools.pairwise([10, width, width, 5])]
    for k, parameter in enumerate(p for layer in layers for p in layer.parameters()):
        parameter.data = draw(*parameter.shape, dtype=torch.float32, seed=k)
    one = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2]).eval()
    # the question that the peer answers, which knows no scales
    space = weightspace.find_symmetries(one, torch.zeros(1, 10), group="permutation")
    # from seed 0 the descent of the peer ends in a local optimum at width 256; ours finds the order of each
    other = space.act(one, space.sample(torch.Generator().manual_seed(1)))
    A, B = ([m for m in net if isinstance(m, torch.nn.Linear)] for net in (one, other))

    def theirs() -> Tensor:
        orders = [torch.arange(width), torch.arange(width)]
        for _ in range(20):
            before = [order.clone() for order in orders]
            for k in (0, 1):
                reads = B[k].weight[:, orders[0]] if k else B[k].weight
                writes = B[k + 1].weight if k else B[k + 1].weight[orders[1]]
                alike = A[k].weight @ reads.T + A[k].bias.outer(B[k].bias) + A[k + 1].weight.T @ writes
                found = linear_sum_assignment(alike.detach().numpy(), maximize=True)[1]
                orders[k] = torch.as_tensor(found)
            if all(map(torch.equal, before, orders)):
                return torch.stack(orders)
        return torch.stack(orders)

    def ours() -> Tensor:
        element = weightspace.match(space, one, other).element
        return torch.stack([move.order[0] for move in element.values()])

    return ours, theirs


def matching(width: int, dtype: torch.dtype) -> Calls:
    """The mean accuracy half-way between matched networks, whose batch norm is estimated again."""
    from rebasin import PermutationCoordinateDescent

    train, test = data.load("digits", "train"), data.load("digits", "test")
    spec = zoo.Spec("myrtle", train, zoo.RECIPES["digits"], {"width": width, "in_channels": 1})
    found = zoo.train_many(spec, range(8), device="cpu", n_jobs=1)
    networks = [each.network.eval() for each in found]
    pairs = [
        *zip(networks[::2], networks[1::2], strict=True),
        *zip(networks[1::2], networks[::2], strict=True),
    ]

    def ours() -> list[torch.nn.Module]:
        space = weightspace.find_symmetries(networks[0], train.images[:2])
        return [weightspace.match(space, *pair).model for pair in pairs]

    def theirs() -> list[torch.nn.Module]:
        moved = [copy.deepcopy(second) for _, second in pairs]
        for (first, _), second in zip(pairs, moved, strict=True):
            PermutationCoordinateDescent(first, second, train.images[:2]).rebasin()
        return moved

    def half_way(first: torch.nn.Module, second: torch.nn.Module) -> float:
        middle = copy.deepcopy(first)
        with torch.no_grad():
            for x, y in zip(middle.parameters(), second.parameters(), strict=True):
                x.lerp_(y, 0.5)
            for module in middle.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.reset_running_stats()
                    module.momentum = None
            middle.train()(train.images)
            return (middle.eval()(test.images).argmax(1) == test.labels).float().mean().item()

    for name, moved in (("not matched", [y for _, y in pairs]), ("ours", ours()), ("rebasin", theirs())):
        accuracy = np.mean([half_way(first, second) for (first, _), second in zip(pairs, moved, strict=True)])
        QUALITY[f"Accuracy half-way, width {width}, {name}"] = f"{100 * accuracy:.0f} % of {len(pairs)} pairs"
    return lambda: bool(ours()), lambda: bool(theirs())


QUALITY: dict[str, str] = {}
NAMES = {"sklearn": "scikit-learn", "ot": "POT", "torch_cka": "torch-cka"}
LINE = "{:34}{:10}{:17}{:10}{:>8}{:>9}{:>9}{:>7}"
SINGLE, BOTH = ("float32",), ("float32", "float64")
WIDTHS: list[tuple[int, ...]] = [(2000, 64), (200, 16), (2000, 256), (5000, 512)]
CASES = [
    Case("orthogonal Procrustes", "scipy", procrustes, WIDTHS, BOTH),
    Case("Procrustes similarity", "scipy", procrustes_similarity, WIDTHS, BOTH),
    Case("least squares", "sklearn", least_squares, WIDTHS),
    Case("Procrustes angle", "numpy", procrustes_angle, [(2000, 128), (200, 16)]),
    Case("permutation of units", "scipy", permutation, [(2000, 512), (2000, 64)]),
    Case("least squares, no bias", "torch", lstsq, [(2000, 64), (5000, 256)], BOTH),
    Case("matching an MLP", "scipy", weight_matching, [(256,), (64,)], SINGLE),
    Case("lasso", "sklearn", lasso, [(2000, 64), (200, 16), (2000, 256)]),
    Case("CCA", "sklearn", cca, [(1000, 16), (200, 4), (2000, 32)]),
    Case("11 powers of a rotation", "scipy", power, [(64,), (8,), (256,)]),
    Case("soft matching", "ot", soft_matching, [
        (500, 100, 99), (100, 8, 6), (500, 64, 128), (500, 96, 64), (1000, 512, 384), (1000, 512, 512)
    ], BOTH),
    Case("biased CKA", "repsim", gram_cka, [(200, 64), (50, 8), (1000, 256)], BOTH),
    Case("unbiased CKA", "ckatorch", unbiased_cka, [(500, 64), (50, 8), (2000, 256)], BOTH),
    Case("unbiased CKA of 4 × 4 layers", "torch_cka", layers, [(200,), (50,), (800,)], SINGLE, 0.02),
    Case("activations of 4 layers", "captum", recorded, [(200,), (50,), (800,)], SINGLE),
    Case("100 steps of an orthogonal layer", "geotorch", orthogonal_layer, [(64,), (16,), (128,)], SINGLE),
    Case("persistence of components", "gudhi", persistence, [(64,), (16,), (256,)]),
    Case("matching 8 pairs of networks", "rebasin", matching, [(8,), (16,)], SINGLE, rounds=3),
]  # fmt: skip


def value(found: object) -> np.ndarray:
    return np.asarray(found.detach() if isinstance(found, Tensor) else found, dtype=float)


def measured(case: Case, sizes: int | None = None) -> list[Row]:
    rows = []
    for size in case.sizes[:sizes]:
        for precision in case.precisions[-1:] if sizes else case.precisions:
            ours, theirs = case.prepare(*size, DTYPES[precision])
            mine, other = value(ours()), value(theirs())
            difference = float(np.abs(mine - other).max() / np.abs(other).max())
            times = medians(ours, theirs, rounds=case.rounds)
            rows.append(Row(case.what, case.peer, " × ".join(map(str, size)), precision, difference, *times))
    return rows


def check(rows: list[Row]) -> list[str]:
    """Rows whose values differ from the peer's, and methods slower than their budget at some size."""
    tolerances = {case.what: case.tolerance for case in CASES}
    wrong = [f"{row.what}, {row.size}: values differ by {row.difference:.1e}" for row in rows
             if not row.difference <= tolerances[row.what]]  # fmt: skip
    ratios: dict[str, float] = {}
    for row in rows:
        ratios[row.what] = max(ratios.get(row.what, 0), row.ours / row.theirs)
    return wrong + broken(ratios, "peers")


def main(short: bool, record: bool) -> None:
    warnings.simplefilter("ignore")  # the peers'
    rows: list[Row] = []
    print(LINE.format("method", "peer", "size", "precision", "differ", "ours s", "peer s", "ratio"))
    for case in CASES[: -1 if short else None]:
        if find_spec(case.peer) is None:
            print(f"{case.what:34}{case.peer:10}not installed")
            continue
        rows += (found := measured(case, 1 if short else None))
        for r in found:
            print(
                f"{r.what:34}{r.peer:10}{r.size:17}{r.precision:10}{r.difference:8.0e}{r.ours:9.4f}", end=""
            )
            print(f"{r.theirs:9.4f}{r.theirs / r.ours:7.2f}", flush=True)
    print(*(f"{name}: {quality}" for name, quality in QUALITY.items()), sep="\n")
    if record:
        table(rows)
    if failures := check(rows):
        raise SystemExit("\n".join(failures))


def memory() -> None:
    rows = []
    for case in CASES[:-1]:
        if find_spec(case.peer) is None:
            print(f"{case.what:34}{case.peer:10}not installed")
            continue
        size = max(case.sizes, key=math.prod)
        ours, theirs = peaks(*case.prepare(*size, DTYPES[case.precisions[-1]]))
        rows.append((case.what, NAMES.get(case.peer, case.peer), " × ".join(map(str, size)),
                     case.precisions[-1], f"{ours:.3g}", f"{theirs:.3g}"))  # fmt: skip
        print("{:34}{:14}{:19}{:10}{:>8}{:>8}".format(*rows[-1]), flush=True)
    write(HERE / "memory.csv", ("Method", "Peer", "Size", "Precision", "Ours, MB", "Peer, MB"), rows)
    peers = {row[1]: 0 for row in rows if row[1] not in ("torch", "numpy", "scipy")}  # in order
    how = dict(provenance(peers, {}))
    how["Memory"] = "the largest resident set in a call, beyond that before it: medians of three processes"
    told = [(name, how[name]) for name in ("Date", "Processor", "Memory", "Versions")]
    write(HERE / "memory_run.csv", ("What", "Value"), told)


def table(rows: list[Row]) -> None:
    header = (
        "Method",
        "Peer",
        "Size",
        "Precision",
        "Values differ by",
        "Ours, ms",
        "Peer, ms",
        "Peer ÷ ours",
    )
    write(HERE / "peers.csv", header, (
        (r.what, NAMES.get(r.peer, r.peer), r.size, r.precision, f"{r.difference:.0e}", f"{1e3 * r.ours:.3g}",
         f"{1e3 * r.theirs:.3g}", f"{r.theirs / r.ours:.2f}")
        for r in rows
    ))  # fmt: skip
    peers = [row.peer for row in rows if row.peer not in ("torch", "numpy", "scipy")]
    packages = [NAMES.get(peer, peer) for peer in dict.fromkeys(peers)]
    packages += ["lapx"] if find_spec("lap") else []
    write(HERE / "peers_run.csv", ("What", "Value"), provenance(packages, QUALITY))


if __name__ == "__main__":
    memory() if "--memory" in sys.argv else main("--short" in sys.argv, "--record" in sys.argv)
