"""The statements of godfrey2022 §3.1 as experiments: each draws elements and returns a table."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import groups
from intertwine.weightspace import relative_error
from intertwine_book.experiments.intertwiner_groups.activation_table import TABLE_1_ACTIVATIONS
from intertwine_book.experiments.intertwiner_groups.swap_and_scale import scale, swap, swap_count
from intertwine_book.experiments.rows import HOLDS, Row, tabled

Activations = Mapping[str, str | Callable[[Tensor], Tensor]]


@tabled
def lemma_3_1(
    activations: Activations, widths: Iterable[int], trials: int, generator: torch.Generator
) -> Iterator[Row]:
    """Lemma 3.1: the group is one, φ a homomorphism, and σ(Ax) = φ(A)σ(x), for random A and B.

    Example:
        >>> table = lemma_3_1({"ReLU": "ReLU"}, [2, 8], 3, torch.Generator().manual_seed(0))
        >>> len(table), bool(table["holds"].all())
        (6, True)

    Columns activation, n, trial, rank (of σ(I_n); the lemma assumes n), closure_error (0 or 1),
    homomorphism_error and intertwining_error (relative), holds.
    """
    for (name, activation), n in itertools.product(activations.items(), widths):
        G, eye = groups.intertwiner_group(activation, n), torch.eye(n, dtype=torch.float64)
        rank = torch.linalg.matrix_rank(groups.as_activation(activation)(eye)).item()
        for trial in range(trials):
            A, B = G.sample(generator), G.sample(generator)
            closed = G.contains(A @ B) and G.contains(G.inverse(A)) and G.contains(eye)
            errors = {"closure_error": float(not closed)}
            errors["homomorphism_error"] = relative_error(G.phi(A @ B), G.phi(A) @ G.phi(B))
            errors["intertwining_error"] = groups.intertwining_error(G, A, generator)
            row = {"activation": name, "n": n, "trial": trial, "rank": rank}
            yield row | errors | {"holds": max(errors.values()) < HOLDS}


def printed_formula(
    activation: str | Callable[[Tensor], Tensor], A: Float[Tensor, "n n"]
) -> Float[Tensor, "n n"]:
    """σ(A) σ(I_n)^{-1}, Lemma 3.1, whether or not A is in the group; σ(I_n) has to be invertible."""
    sigma = groups.as_activation(activation)
    return sigma(A) @ torch.linalg.inv(sigma(torch.eye(len(A), dtype=torch.float64)))


@tabled
def phi_on_gl(activations: Activations, n: int, trials: int, generator: torch.Generator) -> Iterator[Row]:
    """After Definition 3.2: the formula for φ is multiplicative on the group and not on all of GL(n).

    Example:
        >>> table = phi_on_gl({"square": "square"}, 3, 4, torch.Generator().manual_seed(0))
        >>> table.groupby("in_group")["holds"].all().to_dict()
        {False: False, True: True}
    """
    for (name, activation), inside in itertools.product(activations.items(), (True, False)):
        G = groups.intertwiner_group(activation, n) if inside else groups.GeneralLinear(n)
        for trial in range(trials):
            A, B = G.sample(generator), G.sample(generator)
            image = printed_formula(activation, A) @ printed_formula(activation, B)
            error = relative_error(printed_formula(activation, A @ B), image)
            row = {"activation": name, "n": n, "trial": trial, "in_group": inside}
            yield row | {"homomorphism_error": error, "holds": error < HOLDS}


PRINTED_GROUPS: dict[str, Callable[[int], groups.MatrixGroup]] = {
    "linear": groups.GeneralLinear,
    "trivial": groups.Permutations,
    "signs": groups.SignedPermutations,
    "positive": groups.GReLU,
    "nonzero": groups.NonzeroMonomial,
}
"""The groups that the paper names in Table 1, by the word for their scalars."""

Printed = tuple[str, str | Callable[[Tensor], Tensor], str, Callable[[Tensor], Tensor]]


def _same(A: Tensor) -> Tensor:
    return A


TABLE_1: list[Printed] = [
    ("Identity", "Identity", "linear", _same),
    ("Sigmoid", "sigmoid", "trivial", _same),
    ("ReLU", "ReLU", "positive", _same),
    *((f"LeakyReLU({s})", nn.LeakyReLU(s), "positive", _same) for s in (-2.0, -1.0, -0.5, 0.1, 2.0)),
    ("RBF", TABLE_1_ACTIVATIONS["RBF"], "signs", torch.abs),
    *(
        (f"x^{d}", partial(torch.pow, exponent=d), "nonzero", partial(torch.pow, exponent=d))
        for d in (1, 2, 3, 4)
    ),
]
"""Table 1 as printed: name, activation, the word for its group (a key of `PRINTED_GROUPS`), and φ."""


@tabled
def table_1(n: int, generator: torch.Generator, printed: Iterable[Printed] = TABLE_1) -> Iterator[Row]:
    """Table 1: the printed group and φ of each activation beside the computed ones.

    Example:
        >>> rows = [(name, name, "positive", lambda A: A) for name in ("ReLU", "abs")]
        >>> table_1(3, torch.Generator().manual_seed(0), rows)["holds"].tolist()
        [True, False]

    Columns activation, printed, computed (scalar groups), dimension, components, accepted_residual,
    refused_residual (the certificate), phi_error (of the printed φ on the printed group), holds.
    """
    for name, activation, word, phi in printed:
        G, A = groups.intertwiner_group(activation, n), PRINTED_GROUPS[word](n).sample(generator)
        certificate = G.scalars.certificate
        assert certificate is not None
        row: Row = {"activation": name, "printed": word, "computed": str(G.scalars)}
        row |= {"dimension": G.dimension, "components": G.components}
        row |= {"accepted_residual": certificate.accepted, "refused_residual": certificate.refused}
        row["phi_error"] = relative_error(printed_formula(activation, A), phi(A))
        yield row | {"holds": word == str(G.scalars)}


def rays(vectors: Float[Tensor, "N n"]) -> set[tuple[float, ...]]:
    """The different rays that some vectors span: unit vectors, to nine digits."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return {tuple(row) for row in (unit.round(decimals=9) + 0.0).tolist()}


def orbit_size(start: Float[Tensor, "N n"], elements: int, generator: torch.Generator) -> int:
    """How many rays `start` and its images under random elements of G_ReLU span.

    Example:
        >>> orbit_size(torch.eye(3, dtype=torch.float64), 20, torch.Generator().manual_seed(0))
        3
    """
    G = groups.GReLU(start.shape[1])
    return len(rays(torch.cat([start, *(start @ G.sample(generator).T for _ in range(elements))])))


@tabled
def theorem_3_3(widths: Iterable[int], trials: int, generator: torch.Generator) -> Iterator[Row]:
    """Theorem 3.3: G_ReLU is the stabiliser of the rays of e_1, …, e_n; no finite sets but ±e_i are stable.

    Example:
        >>> table = theorem_3_3([2, 3], 4, torch.Generator().manual_seed(0))
        >>> len(table), bool(table["holds"].all())
        (16, True)
    """
    for n, trial in itertools.product(widths, range(trials)):
        G, axes = groups.GReLU(n), torch.eye(n, dtype=torch.float64)
        scales = torch.rand(n, 1, generator=generator, dtype=torch.float64).exp()
        stable = (axes[torch.randperm(n, generator=generator)] * scales).T  # moves the rays among themselves
        other = groups.GeneralLinear(n).sample(generator)
        stabiliser = G.contains(stable) and rays(G.sample(generator).T) == rays(axes)
        stabiliser &= G.contains(other) == (rays(other.T) == rays(axes))
        yield {"half": "stabiliser", "n": n, "trial": trial, "holds": stabiliser}
        v = torch.randn(1, n, generator=generator, dtype=torch.float64)
        only = orbit_size(v, 20, generator) > 10 and orbit_size(-axes, 20, generator) == n
        yield {"half": "only these rays", "n": n, "trial": trial, "holds": only}


def checks(trials: int, generator: torch.Generator) -> dict[str, pd.DataFrame]:
    """Tables of what the page says of the papers' statements, by name.

    Example:
        >>> len(checks(1, torch.Generator().manual_seed(0)))
        8
    """
    six = {name: name for name in ("ReLU", "GELU", "tanh", "sigmoid", "cos", "square")}
    singular: Activations = {  # σ(I_n) is not invertible
        "softshrink(1)": nn.Softshrink(1.0),
        "hardshrink(2)": nn.Hardshrink(2.0),
        "step": lambda x: (x >= 0).to(x.dtype),
    }
    three = {"RBF": TABLE_1_ACTIVATIONS["RBF"], "square": "square", "ReLU": "ReLU"}
    return {
        "lemma_3_1": lemma_3_1(six, [2, 3, 8], trials, generator),
        "theorem_3_3": theorem_3_3([2, 3, 8], trials, generator),
        "swap": swap([2, 8, 64], trials, generator),
        "swap_count": swap_count([1, 2, 3, 4, 5], generator),
        "lemma_3_1_singular": lemma_3_1(singular, [2, 3], trials, generator),
        "phi_on_gl": phi_on_gl(three, 3, trials, generator),
        "scale": scale(),
        "scale_without_bias": scale(with_bias=False)[["alpha", "error"]],
    }
