"""Networks that ramakrishnan2026 shows, and what its statements say of them."""

from collections.abc import Iterator

import numpy as np

from intertwine.shallow import ShallowReLU, is_generic, same_function, stabilizer, zero_factor_rank
from intertwine_book.experiments.rows import Row, tabled

P = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
"""σ(x) + σ(y) + σ(1 − x − y), of the introduction."""
Q = ShallowReLU([[-1, 0], [0, -1], [1, 1]], [0, 0, -1], [[1, 1, 1]], [1])
"""The same function, with every neuron active on the opposite side."""


@tabled
def introduction() -> Iterator[Row]:
    """Whether neurons have to be flipped to take P to Q.

    Example:
        >>> introduction()["hidden"].tolist()
        [True]
    """
    symmetry = same_function(P, Q).symmetry
    yield {"hidden": symmetry is not None and symmetry.flips != ()}


@tabled
def example_1() -> Iterator[Row]:
    """Example 1: the number of 0-factors of four networks.

    Example:
        >>> example_1()["rank"].tolist()
        [3, 1, 1, 0]
    """
    networks = {
        "all zero": ShallowReLU([[1, 2], [1, 2], [0, 1]], [0, 0, 5], [[1, -1, 0]], [1]),
        "parallel": ShallowReLU([[1, 0], [2, 0], [0, 1]], [1, 2, 0], [[1, 1, 1]], [0]),
        "constant": ShallowReLU([[1, 0], [0, 1], [0, 0]], [0, 0, 3], [[1, 1, 2]], [0]),
        "none": P,
    }
    yield from ({"network": name, "rank": zero_factor_rank(p)} for name, p in networks.items())


@tabled
def hierarchy() -> Iterator[Row]:
    """Generic ⇒ no 0-factors ⇒ trivial stabiliser, on networks that show the converses to be false.

    Example:
        >>> hierarchy()[["generic", "no_zero_factors", "stabilizer_trivial"]].sum().tolist()
        [2, 3, 4]
    """
    networks = {
        "σ(x) + σ(y)": ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0]),
        "σ(x) + 2σ(−x)": ShallowReLU([[1], [-1]], [0, 0], [[1, 2]], [0]),
        "σ(x) + σ(y) + σ(1−x−y)": P,
        "σ(x) + 0σ(y)": ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 0]], [0]),
        "σ(x) + σ(x)": ShallowReLU([[1], [1]], [0, 0], [[1, 1]], [0]),
    }
    for name, p in networks.items():
        row = {"function": name, "generic": is_generic(p).generic}
        row |= {"no_zero_factors": zero_factor_rank(p) == 0}
        yield row | {"stabilizer_trivial": stabilizer(p).trivial}


@tabled
def grigsby() -> Iterator[Row]:
    """P against Lemma D15 of grigsby2023: lines in general position, regions that differ, and two orbits.

    Example:
        >>> grigsby().iloc[0].to_dict()
        {'lines': 3, 'regions': 7, 'functions': 7, 'refutes': True}

    Regions are those that a grid meets; functions are the affine functions on them.
    """
    ticks, rows = np.linspace(-3, 3, 100), P.rows.astype(float)
    grid = np.stack(np.meshgrid(ticks, ticks, 1.0), -1).reshape(-1, 3)
    regions = np.unique(grid @ rows.T > 0, axis=0)
    functions = np.unique(regions @ rows, axis=0)
    corners = [np.linalg.det(rows[[i, j], :2]) for i, j in ((0, 1), (0, 2), (1, 2))]
    general = np.linalg.det(rows) != 0 and np.all(corners)
    refutes = general and len(regions) == len(functions) and introduction()["hidden"].all()
    row = {"lines": P.n, "regions": len(regions), "functions": len(functions)}
    yield row | {"refutes": bool(refutes)}
