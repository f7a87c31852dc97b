"""The statements of godfrey2022 §5 and its appendix about its measures, as tables that can refute them."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from intertwine import groups
from intertwine.groups.scalar import gaussian
from intertwine.similarity import MEASURES, gram, grelu_cka, grelu_procrustes, procrustes
from intertwine_book.experiments.rows import Row, tabled

VERSIONS: list[tuple[dict[str, Any], Callable[..., Tensor]]] = [
    ({"measure": name, "version": version}, partial(measure, corrected=version == "corrected"))
    for name, measure in {"G_ReLU-CKA": grelu_cka, "G_ReLU-Procrustes": grelu_procrustes}.items()
    for version in ("as printed", "corrected")
]


@tabled
def invariance(width: int, samples: int, trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """How far the two measures move when groups act on X and, with other elements, on Y (Lemma 5.1 and (i)).

    Example:
        >>> table = invariance(3, 10, 1, generator=torch.Generator().manual_seed(0))
        >>> bool(table.query("action == 'permutations'")["change"].max() < 1e-10)
        True

    Columns measure, version ("as printed" or "corrected"), action, trial, change (absolute).
    """
    actions: dict[str, Callable[[Tensor], Tensor]] = {
        "permutations": lambda X: X @ groups.Permutations(width).sample(generator),
        "positive diagonal": lambda X: X * groups.GReLU(width).sample(generator).sum(0),
        "G_ReLU": lambda X: X @ groups.GReLU(width).sample(generator),
        "translations": lambda X: X + gaussian(generator, width),
    }
    for trial in range(trials):
        X, Y = (gaussian(generator, samples, width).relu() + 0.01 for _ in range(2))
        for (version, measure), (action, act) in itertools.product(VERSIONS, actions.items()):
            change = abs(measure(act(X), act(Y)) - measure(X, Y)).item()
            yield version | {"action": action, "trial": trial, "change": change}


def moved_by(measures: Iterable[str], *, generator: torch.Generator) -> pd.DataFrame:
    """The largest change of measures when the channels of the first features are moved by each kind of map.

    Example:
        >>> table = moved_by(["cka"], generator=torch.Generator().manual_seed(0))
        >>> bool(table.loc["cka", "orthogonal"] < 1e-9 < 1e-3 < table.loc["cka", "positive scaling"])
        True

    A row for each measure by its name, a column for each of five kinds of maps, named as invariances.
    """
    width = 6
    actions: dict[str, Callable[[Tensor], Tensor]] = {
        "permutation": lambda X: X @ groups.Permutations(width).sample(generator).double(),
        "positive scaling": lambda X: X * groups.GReLU(width).sample(generator, scale=2.5).sum(0),
        "orthogonal": lambda X: X @ groups.Orthogonal(width).sample(generator).double(),
        "invertible linear": lambda X: X @ groups.GeneralLinear(width).sample(generator, scale=2.0).double(),
        "translation": lambda X: X + 5 * gaussian(generator, width),
    }

    def change(name: str, act: Callable[[Tensor], Tensor]) -> float:
        X, noise = gaussian(generator, 2, 40, width).exp()
        return abs(MEASURES[name](act(X), X + 0.7 * noise) - MEASURES[name](X, X + 0.7 * noise)).item()

    rows = {
        name: {kind: max(change(name, act) for _ in range(8)) for kind, act in actions.items()}
        for name in measures
    }
    return pd.DataFrame.from_dict(rows, orient="index")


MEASURE_TITLES = {
    "permutation": "permutation Procrustes, centred",
    "grelu procrustes, as printed": "G_ReLU-Procrustes, as printed",
    "grelu procrustes": "G_ReLU-Procrustes, centred",
    "grelu cka, as printed": "G_ReLU-CKA, as printed",
    "grelu cka": "G_ReLU-CKA, centred by 1/N",
    "procrustes, as printed": "orthogonal Procrustes, as printed",
    "procrustes": "orthogonal Procrustes, centred",
    "cka": "linear CKA",
    "svcca": "SVCCA",
    "cca": "CCA",
}
"""Ten measures: their name in `MEASURES` → in a table for people."""
HEADINGS = {
    "measure": "does not change under",
    "permutation": "permu\u00adtations",  # soft hyphens, so that all columns are seen on a telephone
    "positive scaling": "positive scal\u00adings",
    "orthogonal": "ortho\u00adgonal maps",
    "invertible linear": "invert\u00adible maps",
    "translation": "transla\u00adtions",
}


def invariances() -> pd.DataFrame:
    """Which maps leave which of ten measures unchanged, by drawing some.

    Example:
        >>> invariances().set_index("measure").loc["linear CKA", ["orthogonal", "invertible linear"]].tolist()
        ['✓', '·']
    """
    moves = moved_by(MEASURE_TITLES, generator=torch.Generator().manual_seed(0))
    marks = (moves < 1e-9).replace({True: "✓", False: "·"})
    return marks.rename(index=MEASURE_TITLES).rename_axis("measure").reset_index()


@tabled
def alignment_property(width: int, samples: int, trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """The measures of X and Y = XA + 1vᵀ with A in G_ReLU: by (ii) they are 1.

    Example:
        >>> table = alignment_property(3, 10, 1, generator=torch.Generator().manual_seed(0))
        >>> bool(table.query("version == 'corrected'")["short_of_1"].max() < 1e-10)
        True

    Columns measure, version, v ("0" or "random"), trial, short_of_1 (1 minus the measure).
    """
    for trial in range(trials):
        X = gaussian(generator, samples, width).relu() + 0.01
        Y = X @ groups.GReLU(width).sample(generator)
        v = 1 + torch.rand(width, generator=generator, dtype=torch.float64)
        for (version, measure), shift in itertools.product(VERSIONS, ("0", "random")):
            value = measure(X, Y + v if shift == "random" else Y).item()
            yield version | {"v": shift, "trial": trial, "short_of_1": 1 - value}


@tabled
def range_of_cka(samples: int, width: int, trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Corrected G_ReLU-CKA of independent Gaussian features, after a case by hand: is it in [0, 1]?

    Example:
        >>> range_of_cka(8, 2, 0, generator=torch.Generator())["value"].round(6).tolist()
        [-1.0]

    Columns features ("by hand" or "Gaussian"), trial, value, below_0 (how far below 0, else 0).
    """
    X = torch.tensor([[0, 0], [1, 1], [-1, 0], [1, -1]], dtype=torch.float64)
    Y = torch.tensor([[0, 1], [0, 0], [1, 0], [1, 1]], dtype=torch.float64)
    pairs = [("by hand", X, Y)]
    for _ in range(trials):
        pairs.append(("Gaussian", gaussian(generator, samples, width), gaussian(generator, samples, width)))
    for trial, (name, A, B) in enumerate(pairs):
        value = grelu_cka(A, B).item()
        yield {"features": name, "trial": trial, "value": value, "below_0": max(0.0, -value)}


@tabled
def smallest_eigenvalues(grams: Iterable[tuple[str, Tensor]]) -> Iterator[Row]:
    """How far Gram matrices are from positive (Lemma 5.5).

    Example:
        >>> X = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
        >>> table = smallest_eigenvalues([("by hand", gram(X, "max"))])
        >>> table[["smallest", "relative"]].round(3).to_numpy().tolist()
        [[-0.414, 0.172]]

    Columns features, smallest, largest (eigenvalues), relative (how far the smallest lies below 0, as a share
    of the largest), negative (share of the eigenvalues below −10⁻¹⁰ of the largest), energy (their share of
    squares).
    """
    for name, K in grams:
        values = torch.linalg.eigvalsh(K.double())
        below = values[values < -1e-10 * values.abs().max()]
        row = {"features": name, "smallest": values[0].item(), "largest": values[-1].item()}
        row["relative"] = max(0.0, -(values[0] / values.abs().max()).item())
        row["negative"] = len(below) / len(values)
        yield row | {"energy": (below.square().sum() / values.square().sum()).item()}


def pairs_of_the_max_kernel(width: int, trials: int, *, generator: torch.Generator) -> pd.DataFrame:
    """Determinants of 2×2 max-kernel Grams, of Gaussian pairs: k(x, x)k(y, y) ≥ k(x, y)² survives Lemma 5.5.

    Example:
        >>> bool(pairs_of_the_max_kernel(3, 5, generator=torch.Generator())["below_0"].max() == 0)
        True

    Columns trial, below_0 (how far the determinant of the Gram with diagonal 1 lies below 0, else 0).
    """
    grams = [gram(pair, "max") for pair in gaussian(generator, trials, 2, width)]
    determinants = [1 - (K[0, 1] / (K[0, 0] * K[1, 1]).sqrt()).item() ** 2 for K in grams]
    return pd.DataFrame([{"trial": k, "below_0": max(0.0, -value)} for k, value in enumerate(determinants)])


@tabled
def kernel_symmetries(width: int, trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """How far max(Ax ⊙ Ay) moves from max(x ⊙ y), for A from several groups (Lemma E.44).

    Example:
        >>> table = kernel_symmetries(3, 2, generator=torch.Generator().manual_seed(0))
        >>> bool(table.query("group == 'signed permutations'")["change"].max() == 0)
        True

    Columns group, claimed (whether the lemma states invariance of the kernel), trial, change (largest of 200
    Gaussian pairs, relative to the largest value), as_claimed.
    """
    kinds: dict[str, Callable[[int], groups.MatrixGroup]]
    kinds = {"signed permutations": groups.SignedPermutations, "G_ReLU": groups.GReLU}
    kinds["orthogonal"] = groups.Orthogonal
    for (name, group), trial in itertools.product(kinds.items(), range(trials)):
        A = group(width).sample(generator)
        x, y = gaussian(generator, 2, 200, width)
        before, after = (x * y).amax(1), ((x @ A.T) * (y @ A.T)).amax(1)
        change = (after - before).abs().max() / before.abs().max()
        claimed = name == "signed permutations"
        row = {"group": name, "claimed": claimed, "trial": trial, "change": change.item()}
        yield row | {"as_claimed": bool(change < 1e-12) == claimed}


@tabled
def order_of_groups(width: int, samples: int, trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Procrustes similarities under G_ReLU and O(n), neither centred: is the first the lower one?

    Example:
        >>> order_of_groups(3, 10, 0, generator=torch.Generator()).round(3)["excess"].tolist()
        [0.336]

    Columns features ("by hand": 1 and diag(1, 10); "scaled": XA + noise, A in G_ReLU), trial, grelu,
    orthogonal, excess (how far grelu lies above orthogonal, else 0).
    """
    pairs = [("by hand", torch.eye(2), torch.diag(torch.tensor([1.0, 10.0])))]
    for _ in range(trials):
        X, noise = gaussian(generator, 2, samples, width).relu()
        pairs.append(("scaled", X, (X + 0.1 * noise) @ groups.GReLU(width).sample(generator)))
    for trial, (name, X, Y) in enumerate(pairs):
        values = {g: procrustes(X, Y, g, centred=False).item() for g in ("grelu", "orthogonal")}
        excess = max(0.0, values["grelu"] - values["orthogonal"])
        yield {"features": name, "trial": trial, **values, "excess": excess}
