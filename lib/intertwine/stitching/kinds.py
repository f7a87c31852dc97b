"""The kinds of stitches, by name."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from intertwine import alignment
from intertwine.alignment import LinearMap, Statistics
from intertwine.stitching.g_relu import Birkhoff, Entropic, Matched, one_width
from intertwine.stitching.maps import Full, LowRank, Orthogonal, Sparse

NEEDED = object()  # an option without a default


class Place(NamedTuple):
    """Where a stitch stands: the numbers of channels, their statistics, and a generator."""

    widths: tuple[int, int]
    statistics: Callable[[], Statistics]
    generator: torch.Generator


Kind = str | Tensor | LinearMap | nn.Module | Callable[[Statistics], LinearMap]


class Entry(NamedTuple):
    """A kind of stitch: its closed form, its training and its options."""

    closed: Callable[..., LinearMap | nn.Module] | None
    """The map without a training, of a `Place` and the options."""
    layer: Callable[..., nn.Module] | None
    """The layer that is trained, of a `Place`, a map to start from or None, and the options."""
    start: str | None = None
    """Where its training starts by default: a name with a closed form. Without it, it always starts alike."""
    defaults: Mapping[str, Any] = {}
    """Of its options."""


def build(
    kind: Kind, place: Place, *, trained: bool = False, start: str | LinearMap | None = None, **options: Any
) -> LinearMap | nn.Module:
    """The map of a kind, or the layer that its training starts with; arguments are those of `stitch_at`."""
    if not isinstance(kind, str):
        if given := [*options, *(["start"] if start is not None else [])]:
            raise ValueError(
                f"Expected options of kinds that are names alone, was given {', '.join(given)} for {kind!r}."
            )
        if isinstance(kind, Tensor):
            return LinearMap(kind)
        return kind if isinstance(kind, LinearMap | nn.Module) else kind(place.statistics())
    entry = _entry(kind, "kind")
    if unknown := [name for name in options if name not in entry.defaults]:
        known = " and ".join(entry.defaults) or "none"
        raise ValueError(f"Expected options of the kind {kind!r} ({known}), was given {', '.join(unknown)}.")
    options = {**entry.defaults, **options}
    if missing := [name for name, value in options.items() if value is NEEDED]:
        raise ValueError(f"Expected {missing[0]}= for the kind {kind!r}, was given none.")
    if not trained and start is None:
        if entry.closed is None:
            raise ValueError(
                f"Expected a recipe for the kind {kind!r}, which has no closed form: pass recipe=."
            )
        return entry.closed(place, **options)
    if entry.layer is None:
        raise ValueError(
            f"Expected a kind that is trained, was given {kind!r}: leave out recipe= and start=, or use "
            f"kind='full', start={kind!r}."
        )
    if entry.start is None and start is not None:
        raise ValueError(f"Expected no start= for the kind {kind!r}, which has its own, was given {start!r}.")
    return entry.layer(place, _first(entry.start if start is None else start, place, options), **options)


def _first(start: str | LinearMap | None, place: Place, options: Mapping[str, Any]) -> LinearMap | None:
    if start is None or start == "random":
        return None
    if not isinstance(start, str):
        return start
    shared = {name: options[name] for name in _entry(start, "start").defaults if name in options}
    first = build(start, place, **shared)
    if not isinstance(first, LinearMap):
        raise ValueError(f"Expected to start from a kind with a closed form, was given {start!r}.")
    return first


def _entry(name: str, argument: str) -> Entry:
    if name not in KINDS:
        raise ValueError(f"Expected {argument} to be one of {', '.join(KINDS)}, was given {name!r}.")
    return KINDS[name]


def _random_permutation(place: Place) -> LinearMap:
    (p, q), most = place.widths, max(place.widths)
    return LinearMap(torch.eye(most)[torch.randperm(most, generator=place.generator)][:q, :p])


def _fit(closed: Callable[..., LinearMap]) -> Callable[..., LinearMap]:
    return lambda place, **options: closed(place.statistics(), **options)


def _layer(kind: Callable[..., nn.Module], draw: Callable[..., LinearMap]) -> Callable[..., nn.Module]:
    def layer(place: Place, start: LinearMap | None, affine: bool, **options: Any) -> nn.Module:
        first, (p, q) = draw(place, **options) if start is None else start, place.widths
        if first.weight.shape != (q, p):
            given = tuple(first.weight.shape[::-1])
            raise ValueError(
                f"Expected to start from a map of {p} channels to {q}, was given one of {given}."
            )
        bias = torch.zeros(q) if first.bias is None else first.bias
        return kind(first.weight, bias if affine else None, **options)

    return layer


def _uniform(place: Place, **_: Any) -> LinearMap:
    """Weight and bias in ±1/√p, torch's default."""
    (p, q), most = place.widths, place.widths[0] ** -0.5
    weight, bias = (torch.empty(n).uniform_(-most, most, generator=place.generator) for n in ((q, p), (q,)))
    return LinearMap(weight, bias)


def _isometry(place: Place, rank: int | None = None) -> LinearMap:
    """A random isometry, or for a rank a product of two (csiszarik2021)."""
    p, q = place.widths
    shapes = [(q, p)] if rank is None else [(q, rank), (rank, p)]
    drawn = (nn.init.orthogonal_(torch.empty(shape), generator=place.generator) for shape in shapes)
    return LinearMap(reduce(torch.matmul, drawn))


def _matched(kind: Callable[[Statistics], nn.Module]) -> Callable[..., nn.Module]:
    return lambda place, start=None: kind(place.statistics())


def _birkhoff(place: Place, start: LinearMap | None, alpha: float) -> nn.Module:
    return Birkhoff(one_width(place.widths), alpha=alpha, generator=place.generator)


_FULL = Entry(_fit(alignment.least_squares), _layer(Full, _uniform), "least squares", {"affine": True})

KINDS: dict[str, Entry] = {
    "identity": Entry(lambda place: LinearMap(torch.eye(*place.widths[::-1])), None),
    "random permutation": Entry(_random_permutation, None),
    "least squares": _FULL,
    "full": _FULL,
    "low rank": Entry(
        _fit(alignment.reduced_rank), _layer(LowRank, _isometry), "low rank", {"rank": NEEDED, "affine": True}
    ),
    "sparse": Entry(
        _fit(alignment.lasso), _layer(Sparse, _uniform), "least squares", {"alpha": NEEDED, "affine": True}
    ),
    "orthogonal": Entry(
        _fit(alignment.orthogonal), _layer(Orthogonal, _isometry), "orthogonal", {"affine": False}
    ),
    "permutation": Entry(_fit(alignment.permutation), None, defaults={"affine": False}),
    "scaled permutation": Entry(_matched(Matched), _matched(Matched)),
    "G_ReLU": Entry(_fit(alignment.g_relu), _matched(Entropic)),
    "Birkhoff": Entry(None, _birkhoff, defaults={"alpha": 0.1}),
}
"""The kinds of stitches from p channels to q: closed forms of activations, and maps that a recipe trains.

- ``identity``: no stitch, the baseline; channels that only one of the layers has are dropped, or 0.
- ``random permutation``: the baseline of G_ReLU; not trained.
- ``full``, or ``least squares``: every matrix, from least squares on; ``affine`` for a bias.
- ``low rank``: matrices of rank at most ``rank``, from reduced-rank regression on.
- ``sparse``: the lasso with the weight ``alpha``. Trained: every matrix, from least squares on, with
  alpha·Σ|m_ij| added to the task loss; the two weights are not comparable.
- ``orthogonal``: p ≤ q, from the orthogonal Procrustes map on.
- ``permutation``: the nearest to the activations; not trained.
- ``scaled permutation``: the permutation of best matching activations, with positive scales that are trained.
- ``G_ReLU``: the nearest to the activations. Trained: a scaled permutation, of which the permutation is
  trained too, by annealed entropic assignment; p = q.
- ``Birkhoff``: G_ReLU by the relaxation of godfrey2022, from random on; p = q, trained only.
"""
