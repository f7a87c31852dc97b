"""Frozen axes with their reasons: the last rows of the table of hidden spaces."""

from __future__ import annotations

from collections.abc import Iterable

from intertwine.weightspace.axes import Axis, Space, Unit, moves
from intertwine.weightspace.infer import Inference

Row = tuple[int, str, list[str]]
"""Width, reason and parameters."""
BOUNDARY = ("the model's output", "rows of a table", "kernel of", "read by")
"""Reasons that get no row: inputs and outputs of a network are not hidden."""


def frozen(state: Inference) -> list[Row]:
    """Spaces that an operation freezes, and those joined with them if a parameter has no other space."""
    where: dict[int, tuple[Space, list[str]]] = {}
    still: list[str] = []
    for index, name in state.run.names.items():
        label = state.labels.get(index, ())
        if not any(map(moves, label)):
            still.append(name)
        for space in (leaf for axis in label for leaf in _leaves(axis)):
            where.setdefault(id(space), (space, []))[1].append(name)
    rows = []
    for space, names in where.values():
        reasons, shown = _telling(space.reasons), names
        if not reasons:
            reasons, shown = _telling(space.frozen), [name for name in names if name in still]
        if reasons and shown:
            rows.append((space.size, "; ".join(reasons), list(dict.fromkeys(shown))))
    return rows


def _leaves(axis: Axis) -> Iterable[Space]:
    return (leaf for s in axis for f in s if isinstance(f, Unit) for leaf in f.space.leaves())


def _telling(reasons: list[str]) -> list[str]:
    return [reason for reason in reasons if not reason.startswith(BOUNDARY)]
