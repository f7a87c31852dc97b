"""Numbers that are exact (objects: integers and fractions) or float64, and operations on both.

Exact numbers are never rounded, and `tolerance` plays no part for them. A sum of float64 counts as zero when
it is at most `tolerance` times the sum of its terms' sizes.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from intertwine.checks import check_tensor

Numbers = Shaped[np.ndarray, "..."]
TOLERANCE = 1e-9  # of floats, relative to the terms that they are sums of
ROUNDING = 1e-13
"""The rounding of sums of some forty terms; 2^40 sums seldom come so close to each other by chance."""


def numbers(values: Any, name: str = "numbers") -> Numbers:
    """An array of exact objects for integers and fractions, of float64 for floats; tensors are copied.

    Example:
        >>> from fractions import Fraction
        >>> numbers([1, Fraction(1, 2)]).dtype, numbers([1, 0.5]).dtype
        (dtype('O'), dtype('float64'))
    """
    if isinstance(values, Tensor):
        check_tensor(values, name)
        values = values.detach().cpu()
        values = (values.double() if values.is_floating_point() else values).numpy().copy()
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array.astype(object)  # Python's integers, which do not overflow
    if array.dtype == object:  # as lists with fractions are; one float among them makes all floats
        strange = next((x for x in array.flat if not isinstance(x, Rational)), None)
        if strange is None:
            # NumPy's integers, which a fraction may hold as well, would overflow
            exact = all(type(x.numerator) is int for x in array.flat)
            return array if exact else np.vectorize(_of_python, otypes=[object])(array)
        if not isinstance(strange, float | np.floating):
            raise ValueError(f"Expected {name} of integers, fractions or floats, was given {strange!r}.")
    # O: with a float among the fractions; b: False and True count as 0.0 and 1.0
    if array.dtype.kind not in "fbO":
        raise ValueError(f"Expected {name} of real numbers, was given {array.dtype}.")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise ValueError(f"Expected finite {name}, was given nan or infinity.")
    return array


def _of_python(x: Rational) -> int | Fraction:
    numerator, denominator = int(x.numerator), int(x.denominator)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def is_exact(*arrays: Numbers) -> bool:
    """Whether all arrays hold exact numbers."""
    return all(array.dtype == object for array in arrays)


def half(array: Numbers) -> Numbers:
    """Half of every entry, without rounding."""
    return array * (Fraction(1, 2) if is_exact(array) else 0.5)


def reciprocal(array: Numbers) -> Numbers:
    """1/x of every entry, as a fraction where x is exact."""
    return (np.full(array.shape, Fraction(1), dtype=object) if is_exact(array) else 1.0) / array


def negligible(value: Numbers, size: Any, tolerance: float) -> Bool[np.ndarray, "..."]:
    """Whether entries are zero: exactly, or for floats at most `tolerance` times `size`."""
    if is_exact(value):
        return (value == 0).astype(bool)
    return np.abs(value) <= tolerance * size


def largest(array: Numbers) -> Numbers:
    """The largest absolute value along the first axis; 0 where that is empty."""
    return np.maximum.reduce(np.abs(array), axis=0, initial=0)


def outer(columns: Shaped[np.ndarray, "k n"], rows: Shaped[np.ndarray, "n m"]) -> Numbers:
    """The matrices (column i)(row i), each flattened into a row."""
    k, n = columns.shape
    return (columns.T[:, :, None] * rows[:, None, :]).reshape(n, k * rows.shape[1])


def sums(values: Shaped[np.ndarray, "k n"], labels: Int[np.ndarray, " n"], groups: int) -> Numbers:
    """Sums of the columns with labels 0, …, groups − 1."""
    if is_exact(values):  # bincount knows floats only
        total = np.zeros((len(values), groups), dtype=object)
        np.add.at(total.T, labels, values.T)
        return total
    rows = [np.bincount(labels, weights=row, minlength=groups) for row in values]
    return np.stack(rows) if rows else np.zeros((0, groups))


def primitive(row: Iterable[int | Fraction]) -> tuple[tuple[int, ...], int | Fraction]:
    """Coprime integers, the first of them positive, and the scale t with row = t · integers."""
    row = list(row)
    # to whole numbers first, then divided by what all of them share
    denominator = lcm(*(x.denominator for x in row))
    integers = [x.numerator * (denominator // x.denominator) for x in row]
    divisor = gcd(*integers)
    if next(x for x in integers if x) < 0:
        divisor = -divisor
    scale = divisor if denominator == 1 else Fraction(divisor, denominator)
    return tuple(x // divisor for x in integers), scale


def integers(array: Numbers) -> Numbers:
    """Exact numbers times their common denominator."""
    factor = lcm(*(x.denominator for x in array.flat))
    whole = [x.numerator * (factor // x.denominator) for x in array.flat]
    return np.array(whole, dtype=object).reshape(array.shape)


class Reduced(NamedTuple):
    """The reduced row echelon form of a matrix, without zero rows: rows = combination @ matrix."""

    rows: Shaped[np.ndarray, "r b"]
    pivots: list[int]
    combination: Shaped[np.ndarray, "r a"]


def row_reduce(matrix: Shaped[np.ndarray, "a b"], tolerance: float = TOLERANCE) -> Reduced:
    """Gauss–Jordan elimination; floats at most tolerance × the largest of the matrix are zero."""
    a, b = matrix.shape
    # what is done to the rows is done to an identity matrix next to them: that is the combination
    identity = np.eye(a, dtype=matrix.dtype)
    rows, size = np.hstack([matrix, identity]), np.abs(matrix).max(initial=0)
    pivots: list[int] = []
    for column in range(b):
        r = len(pivots)
        if r == a:
            break
        best = r + int(np.argmax(np.abs(rows[r:, column])))  # the largest pivot keeps rounding small
        if negligible(rows[best, column : column + 1], size, tolerance)[0]:
            continue
        rows[[r, best]] = rows[[best, r]]
        rows[r] = rows[r] * reciprocal(rows[r, column : column + 1])
        others = np.arange(a) != r
        rows[others] = rows[others] - rows[others, column : column + 1] * rows[r]
        pivots.append(column)
    return Reduced(rows[: len(pivots), :b], pivots, rows[: len(pivots), b:])
