"""Independent scalars: the solutions of homogeneous equations between them, of numbers and of signs."""

from __future__ import annotations

from fractions import Fraction

from intertwine.weightspace.axes import Powers, Signs, Variable


def free_numbers(
    equations: list[Powers], variables: set[Variable]
) -> tuple[dict[Variable, dict[int, Fraction]], int]:
    """Each variable in terms of independent ones, for homogeneous equations; and how many there are."""
    pivots: dict[Variable, Powers] = {}
    for equation in equations:
        row = _substitute(dict(equation), pivots)
        if not row:
            continue
        v = max(row)
        scale = -1 / row.pop(v)
        pivots[v] = {w: scale * c for w, c in row.items()}
    expressed = {v: _substitute({v: Fraction(1)}, pivots) for v in variables}
    free = sorted({w for row in expressed.values() for w in row})
    number = {w: k for k, w in enumerate(free)}
    return {v: {number[w]: c for w, c in row.items()} for v, row in expressed.items()}, len(free)


def _substitute(row: Powers, pivots: dict[Variable, Powers]) -> Powers:
    while True:
        v = max((w for w in row if w in pivots), default=None)
        if v is None:
            return row
        c = row.pop(v)
        for w, d in pivots[v].items():
            total = row.get(w, Fraction(0)) + c * d
            if total:
                row[w] = total
            else:
                row.pop(w, None)


def free_signs(
    equations: list[Signs], variables: set[Variable]
) -> tuple[dict[Variable, frozenset[int]], int]:
    """The same over the field of two elements."""
    pivots: dict[Variable, Signs] = {}

    def substitute(row: Signs) -> Signs:
        while True:
            v = max((w for w in row if w in pivots), default=None)
            if v is None:
                return row
            row = (row - {v}) ^ pivots[v]

    for equation in equations:
        row = substitute(equation)
        if row:
            v = max(row)
            pivots[v] = row - {v}
    expressed = {v: substitute(frozenset([v])) for v in variables}
    free = sorted({w for row in expressed.values() for w in row})
    number = {w: k for k, w in enumerate(free)}
    return {v: frozenset(number[w] for w in row) for v, row in expressed.items()}, len(free)
