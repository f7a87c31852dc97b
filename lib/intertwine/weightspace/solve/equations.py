"""Independent scalars: the solutions of homogeneous equations between them, of numbers and of signs."""

from fractions import Fraction

from intertwine.weightspace.rules.axes import Powers, Variable


def eliminated(equations: list[Powers], variables: set[Variable], modulus: int = 0) -> dict[Variable, Powers]:
    """Each variable in terms of independent ones, the smallest, for homogeneous equations."""
    pivots: dict[Variable, Powers] = {}
    for equation in equations:
        if row := _substituted(dict(equation), pivots, modulus):
            v = max(row)  # later spaces are expressed by earlier ones, which so keep scalars of their own
            scale = -1 / row.pop(v)
            pivots[v] = {w: scale * c for w, c in row.items()}
    return {v: _substituted({v: Fraction(1)}, pivots, modulus) for v in variables}


def _substituted(row: Powers, pivots: dict[Variable, Powers], modulus: int) -> Powers:
    """The same combination without the variables that others stand for; changed in place, and returned."""
    while (v := max((w for w in row if w in pivots), default=None)) is not None:
        c = row.pop(v)
        for w, d in pivots[v].items():
            total = row.pop(w, Fraction(0)) + c * d
            if total := total % modulus if modulus else total:
                row[w] = total
    return row


def independent(
    equations: list[Powers], variables: set[Variable], kind: int
) -> tuple[dict[Variable, dict[int, Fraction]], int]:
    """The numbers (kind 0) or signs (1) in terms of independent ones, which are numbered; and how many."""
    rows = [{v: c for v, c in equation.items() if v[0] == kind} for equation in equations]
    # logarithms of numbers are linear over the fractions, signs over the field of two elements
    expressed = eliminated(rows, {v for v in variables if v[0] == kind}, 2 * kind)
    free = sorted({w for row in expressed.values() for w in row})
    number = {w: k for k, w in enumerate(free)}
    return {v: {number[w]: c for w, c in row.items()} for v, row in expressed.items()}, len(free)


def solutions(
    conditions: list[dict[int, Fraction]], unknowns: int, modulus: int = 0
) -> list[dict[int | None, Fraction]]:
    """Each unknown as a combination of the values of the first independent of these sums.

    The key None: it is not determined, and the combination is right where other unknowns are 0.
    """
    if not unknowns:  # as of signs, which few groups have
        return []
    # a value is a variable, too, and smaller, so that it is eliminated last
    equations: list[Powers] = [
        {(0, i): Fraction(-1), **{(1, k): c for k, c in row.items()}} for i, row in enumerate(conditions)
    ]
    found = eliminated(equations, {(1, k) for k in range(unknowns)}, modulus)
    return [{None if v[0] else v[1]: c for v, c in found[1, k].items()} for k in range(unknowns)]
