"""From what a caller names or hands over to the map, or the layer, that joins two networks."""

from collections.abc import Callable
from inspect import Parameter
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine import devices
from intertwine.alignment import LinearMap, Statistics
from intertwine.checks import check_tensor
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps import KINDS, FromMatrix, Full, Stitch, options_of
from intertwine.stitching.stitched import Layers, Rest, Stitched, check_fit, cut, run_part

Kind = str | type | Tensor | LinearMap | nn.Module | Callable[[Statistics], LinearMap]


def described(kind: object) -> str:
    """What was given, in a few words: a tensor, or what holds tensors, would fill pages."""
    if isinstance(kind, str):
        return repr(kind)
    return getattr(kind, "__name__", f"a {type(kind).__name__}")


def check_kind(kind: object) -> None:
    """Raise a ValueError, in one sentence, for what is no kind of stitch, such as an element of a group."""
    if not (isinstance(kind, str | type | Tensor | LinearMap | nn.Module) or callable(kind)):
        raise ValueError(
            f"Expected kind to be a name, a class, a matrix, a LinearMap, a module or a function, was given "
            f"{described(kind)}: of an element of a group take the matrix, as space.matrix(element, at)."
        )
    if isinstance(kind, Tensor):
        check_tensor(kind, "kind")
        if not kind.isfinite().all():
            raise ValueError("Expected a finite matrix as kind, was given NaN or infinity: look where from.")


def build(
    kind: Kind,
    junction: Junction,
    generator: torch.Generator,
    *,
    trained: bool = False,
    start: str | LinearMap | None = None,
    **options: Any,
) -> LinearMap | nn.Module:
    """The map of a kind, or the layer that its training starts with; arguments are those of `stitch_at`."""
    check_kind(kind)
    if not isinstance(kind, str | type):
        if given := [*options, *(["start"] if start is not None else [])]:
            raise ValueError(
                f"Expected options of kinds that are names or classes alone, was given {', '.join(given)} "
                f"for a {type(kind).__name__}: leave them out."
            )
        made = kind if isinstance(kind, Tensor | LinearMap | nn.Module) else kind(junction.statistics)
        if not isinstance(made, Tensor | LinearMap | nn.Module):
            raise ValueError(
                f"Expected a function of statistics that returns a matrix, a LinearMap or a module, was "
                f"given one that returns {described(made)}."
            )
        return LinearMap(made) if isinstance(made, Tensor) else made
    # a name or a class of its own: from here on both are a class with `fit` or `start`
    made, name = _class(kind, "kind"), repr(kind) if isinstance(kind, str) else kind.__name__
    options = _filled(options, options_of(made), name)
    # without a recipe it is the closed form, or what needs no training
    if not trained and start is None:
        if hasattr(made, "fit"):
            return made.fit(junction.statistics, **options)
        if issubclass(made, Stitch):
            raise ValueError(
                f"Expected a recipe for the kind {name}, which has no closed form: pass recipe=."
            )
        return made.start(junction, generator, **options)
    if not issubclass(made, Stitch):
        raise ValueError(
            f"Expected a kind that is trained, was given {name}: leave out recipe= and start=, or use "
            f"kind='full', start={name}."
        )
    if start is None:
        return made.start(junction, generator, **options)
    # a kind with parameters of its own cannot take a matrix, such as a point of a polytope
    if not issubclass(made, FromMatrix):
        raise ValueError(
            f"Expected no start= for the kind {name}, which has its own, was given {described(start)}."
        )
    if start == "random":
        start = made.draw(junction.widths, generator, **options)
    elif isinstance(start, str):
        # such as `affine`, which both the start and the trained kind have
        shared = options_of(_class(start, "start")).keys() & options
        # untrained, so that it is a closed form where there is one
        first = build(start, junction, generator, **{each: options[each] for each in shared})
        if not isinstance(first, LinearMap):
            raise ValueError(f"Expected to start from a kind with a closed form, was given {start!r}.")
        start = first
    return made.start(junction, generator, start, **options)


def _class(kind: str | type, argument: str) -> Any:
    made = KINDS.get(kind) if isinstance(kind, str) else kind
    if made is None:
        raise ValueError(f"Expected {argument} to be one of {', '.join(KINDS)}, was given {kind!r}.")
    if not (hasattr(made, "fit") or hasattr(made, "start")):
        raise ValueError(
            f"Expected a class with `fit` or `start`, was given {made.__name__}: give an object of it, or "
            f"derive it from Stitch."
        )
    if lacking := sorted(getattr(made, "__abstractmethods__", ())):
        raise ValueError(
            f"Expected a class with {' and '.join(lacking)}, {made.__name__} has none: derive it from "
            f"FromMatrix, or write what Stitch asks for."
        )
    return made


def _filled(given: dict[str, Any], known: dict[str, Any], name: str) -> dict[str, Any]:
    """The options that are given, and the others' defaults."""
    if unknown := [each for each in given if each not in known]:
        raise ValueError(
            f"Expected options of the kind {name} ({' and '.join(known) or 'none'}), was given "
            f"{', '.join(unknown)}."
        )
    # in the order of the signature, so that the first one missing is the first one named
    options = known | given
    if missing := [each for each, value in options.items() if value is Parameter.empty]:
        raise ValueError(f"Expected {missing[0]}= for the kind {name}, was given none.")
    return options


def join(
    model1: nn.Module,
    model2: nn.Module,
    at: Layers,
    map: LinearMap | nn.Module,
    *,
    example: Float[Tensor, "n ..."] | None = None,
    shortcut: str = "refuse",
) -> Stitched:
    """The network of `stitch` with a given map; a module is not copied.

    Without an example of the inputs nothing is resampled or checked. With one, a map or layers that do not
    fit raise a ValueError, where all are on one device and of one type.
    """
    front, _, back, widths = cut(model1, model2, at, example, shortcut=shortcut)
    # of the back's type, whose values it must make
    rest = Rest(as_module(map, devices.like(back)), back, shortcut)
    stitched = Stitched(front, rest)
    if example is not None and len({(p.device, p.dtype) for p in stitched.parameters()}) < 2:
        check_fit(rest, run_part(front, example[:1]), widths)
    return stitched


def as_module(map: LinearMap | nn.Module, like: Tensor) -> nn.Module:
    """A closed form as a stitch that may be trained further, in the type of `like`; a module as it is."""
    return map if isinstance(map, nn.Module) else Full(map.weight, map.bias).to(like)
