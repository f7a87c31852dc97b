"""The measures by name, each with its invariances; the tests draw group elements for every one of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Literal

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.similarity.cca import Rounding, cca, forced, pwcca, r2, r2_forced, svcca
from intertwine.similarity.cka import cka, grelu_cka
from intertwine.similarity.inputs import Spatial, arranged, of_one_size
from intertwine.similarity.neighbours import mutual_knn
from intertwine.similarity.procrustes import grelu_procrustes, procrustes
from intertwine.similarity.soft_matching import soft_matching

INVARIANCES = (
    "permutation",
    "positive scaling",
    "isotropic scaling",
    "rotation",
    "orthogonal",
    "invertible linear",
    "translation",
)
"""Transformations of the channels: *positive scaling* has a factor for each neuron, *isotropic* one for all;
*rotation* is SO(c), *orthogonal* O(c)."""

SMALLEST = ("permutation", "isotropic scaling")
RIGID = (*SMALLEST, "rotation", "orthogonal", "translation")


@dataclass(frozen=True)
class Measure:
    """A measure with its range and invariances.

    Example:
        >>> MEASURES["cca"].range, MEASURES["cca"].similarity
        ((0.0, 1.0), True)
    """

    name: str
    function: Callable[..., Float[Tensor, ""]]
    """Of X, Y and the keyword `spatial`."""
    invariances: tuple[str, ...]
    """Out of `INVARIANCES`, in the first argument, and in the second unless `of_target` has others."""
    needs: Literal["grams", "moments", "features"]
    """The statistics that `compare` streams: Gram matrices, second moments of the channels, or none."""
    spatial: Spatial
    """How the papers treat feature maps; see `cka`."""
    use: str
    """When to use it."""
    range: tuple[float, float] = (0.0, 1.0)
    metric: str = "no"
    """Whether the distance, or 1 minus the similarity, obeys the triangle inequality: *yes* (for any widths),
    for *equal widths* of layers without constant units, or *no*."""
    similarity: bool = True
    """Higher is more similar, and equal features score 1; else a distance, lower is more similar, from 0."""
    of_target: tuple[str, ...] | None = None
    forced: Callable[[Tensor, Tensor, int, Rounding], bool] | None = None
    """Whether the value is 1, wholly or in part, whatever the features: of rows with their second moments,
    the number of samples and the rounding of the features, which the function takes, too."""

    def __call__(self, X: Tensor, Y: Tensor, *, spatial: Spatial | None = None) -> Float[Tensor, ""]:
        spatial = spatial or self.spatial
        X, Y = of_one_size(X, Y) if spatial == "samples" else (X, Y)  # as `compare` does
        return self.function(X, Y, spatial=spatial)

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The invariances in the first and in the second argument."""
        return self.invariances, self.invariances if self.of_target is None else self.of_target


_PERMUTING = (*SMALLEST, "translation")
_GRELU = (*SMALLEST, "positive scaling")
_ALL = [
    Measure("cka", cka, RIGID, "grams", "features", "the usual choice; few samples too", range=(-1.0, 1.0)),
    Measure(
        "cka biased", partial(cka, estimator="biased"), RIGID, "grams", "features",
        "many more samples than features, or to reproduce printed values",
    ),
    Measure(
        "cka rbf", partial(cka, kernel="rbf"), RIGID, "features", "features",
        "neighbourhoods rather than principal components", range=(-1.0, 1.0),
    ),
    Measure(
        "cka max", partial(cka, kernel="max"), SMALLEST, "grams", "sum",
        "single units, without the normalisation of grelu cka", range=(-1.0, 1.0),
    ),
    Measure(
        "grelu cka", grelu_cka, (*_GRELU, "translation"), "grams", "sum",
        "ReLU layers, up to the changes that ReLU networks cannot see; any widths", range=(-1.0, 1.0),
    ),
    Measure(
        "grelu cka, as printed", partial(grelu_cka, corrected=False), _GRELU, "features", "sum",
        "Definition 5.3 as it is printed", range=(-1.0, 1.0),
    ),
    Measure(
        "procrustes", procrustes, RIGID, "moments", "samples",
        "rotations of the whole layer; a metric", metric="yes",
    ),
    Measure(
        "procrustes angle", partial(procrustes, form="angular"), RIGID, "moments", "samples",
        "a metric between shapes", range=(0.0, math.pi), metric="yes", similarity=False,
    ),
    Measure(
        "procrustes, as printed", partial(procrustes, centred=False), (*SMALLEST, "rotation", "orthogonal"),
        "moments", "samples", "Table 2, second row", metric="yes",
    ),
    Measure(
        "rotation", partial(procrustes, group="rotation"), ("isotropic scaling", "rotation", "translation"),
        "moments", "samples", "where reflections count as differences", metric="equal widths",
    ),
    Measure(
        "permutation", partial(procrustes, group="permutation"), _PERMUTING, "moments", "samples",
        "which unit is which; a metric for equal widths", metric="equal widths",
    ),
    Measure(
        "grelu procrustes", grelu_procrustes, (*_GRELU, "translation"), "moments",
        "samples", "which unit is which, up to positive scales; a metric for equal widths",
        metric="equal widths",
    ),
    Measure(
        "grelu procrustes, as printed", partial(grelu_procrustes, corrected=False), _GRELU, "moments",
        "samples", "Table 2, first row", metric="equal widths",
    ),
    Measure(
        "cca", cca, INVARIANCES, "moments", "mean", "anything linear; many times more samples than features",
        forced=forced,
    ),
    Measure(
        "svcca", svcca, RIGID, "moments", "mean", "as cca, without directions of little variance",
        forced=partial(forced, variance=0.99),
    ),
    Measure(
        "pwcca", pwcca, _PERMUTING, "moments", "mean", "as cca, weighted by its share of the first features",
        of_target=INVARIANCES, forced=forced,
    ),
    Measure(
        "r2", r2, INVARIANCES, "moments", "mean", "how much of the second features is linear in the first",
        of_target=RIGID, forced=r2_forced,
    ),
    Measure(
        "soft matching", soft_matching, _PERMUTING, "moments", "samples",
        "units of layers of different widths; a metric", range=(0.0, 2.0), metric="yes", similarity=False,
    ),
    Measure(
        "mutual knn", mutual_knn, RIGID, "features", "features",
        "which inputs are neighbours, and no distances", metric="yes",
    ),
]  # fmt: skip

MEASURES = {measure.name: measure for measure in _ALL}
"""All measures by name; `which` shows them as a table."""


def as_measure(measure: str | Measure | Callable[[Tensor, Tensor], Tensor | float]) -> Measure:
    """The measure of that name, or of a function; ValueError for an unknown name, with the nearest."""
    if isinstance(measure, Measure):
        return measure
    if callable(measure):
        name = getattr(measure, "__name__", repr(measure))
        return Measure(name, partial(_of_matrices, measure), (), "features", "features", "your own")
    if not isinstance(measure, str):
        raise ValueError(
            f"Expected a measure, its name or a function of two sets of features, was given {measure!r}."
        )
    if measure not in MEASURES:
        # without a cutoff there is always a nearest name
        near = get_close_matches(measure.lower(), MEASURES, n=1, cutoff=0.0)[0]
        raise ValueError(
            f"Expected a measure out of {', '.join(map(repr, MEASURES))}, was given {measure!r}; did you "
            f"mean {near!r}?"
        )
    return MEASURES[measure]


def _of_matrices(
    function: Callable[[Tensor, Tensor], Tensor | float], X: Tensor, Y: Tensor, *, spatial: Spatial
) -> Float[Tensor, ""]:
    """A function that knows nothing of positions."""
    if spatial == "sum":
        raise ValueError(
            "Expected 'features', 'mean' or 'samples' for a function of matrices, was given 'sum'."
        )
    # float64 matrices are what functions of other libraries expect
    value = torch.as_tensor(function(arranged(X, spatial), arranged(Y, spatial)), dtype=torch.float64)
    if value.ndim:
        raise ValueError(
            f"Expected a measure that returns a number for two sets of features, was given one that returns "
            f"a tensor of shape {tuple(value.shape)}: return its mean or its sum."
        )
    return value


def which() -> pd.DataFrame:
    """Which measure when: the registry as a table, one row a measure.

    Example:
        >>> (
        ...     which().loc["cca", "invertible linear"],
        ...     which().loc["r2", "invertible linear"],
        ... )
        ('yes', 'first')

    Returns:
        A row for each name. The columns are kind ("similarity", higher is more similar, or "distance"),
        range, metric, spatial (what positions are, see `cka`), a column for each of `INVARIANCES` ("yes",
        "first", "second" argument only, or "no"), use. Outside of a notebook,
        `which().drop(columns="use").to_string()` has all of them.
    """
    rows = {}
    for m in MEASURES.values():
        words = {(True, True): "yes", (True, False): "first", (False, True): "second", (False, False): "no"}
        first, second = m.sides
        rows[m.name] = {
            "kind": "similarity" if m.similarity else "distance",
            "range": "{:.3g} to {:.3g}".format(*m.range),
            "metric": m.metric,
            "spatial": m.spatial,
            **{name: words[name in first, name in second] for name in INVARIANCES},
            "use": m.use,
        }
    return pd.DataFrame.from_dict(rows, orient="index")
