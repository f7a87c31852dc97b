"""All subsets of up to 40 vectors with a given sum, by meeting in the middle (Horowitz and Sahni 1974).

The vectors are cut into two halves. The 2^20 sums of either half are sorted by one number each, their key. A
sum of the one half with a sum of the other makes the target only if the keys fit. Pairs whose keys fit are
compared in full.

The key of integers is a random linear map modulo a random number of 58 bits, so that sums of keys are keys of
sums. The key of floats is their projection to a line, where sums within the tolerance fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped

from intertwine.shallow.exact import ROUNDING, Numbers, integers, is_exact

MOST_VECTORS = 40  # two halves with 2^20 sums each
CHUNK = 1 << 16  # sums at a time
PAIRS = 20_000_000  # of floats, compared in full


@dataclass(frozen=True, eq=False)
class SubsetSums:
    """The subsets with the target as their sum: their number, and an iterator over them."""

    count: int
    left: Int[np.ndarray, " a"]
    """Masks of the first half, sorted by key."""
    right: Int[np.ndarray, " b"]
    """Masks of the second half with a partner."""
    spans: Int[np.ndarray, "b 2"]
    """The range of `left` that each of them goes with."""
    middle: int
    """How many vectors the first half has."""

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for mask, (start, stop) in zip(self.right.tolist(), self.spans.tolist(), strict=True):
            for low in self.left[start:stop].tolist():
                both = low | mask << self.middle
                yield tuple(i for i in range(both.bit_length()) if both >> i & 1)


def subset_sums(
    vectors: Shaped[np.ndarray, "n d"], target: Shaped[np.ndarray, " d"], rounding: float = ROUNDING
) -> SubsetSums:
    """All S with $Σ_S v_i$ = target, the empty set included if the target is 0.

    Example:
        >>> from intertwine.shallow.exact import numbers
        >>> found = subset_sums(numbers([[1], [2], [3], [4]]), numbers([5]))
        >>> found.count, sorted(found)
        (2, [(0, 3), (1, 2)])

    A sum of floats equals the target when no entry is off by more than `rounding` times Σ ‖v_i‖_∞, which is
    10⁻¹³ for numbers of float64.

    Raises:
        ValueError: more than 40 vectors, or floats with too many candidates to compare.
    """
    if len(vectors) > MOST_VECTORS:
        raise ValueError(
            f"Expected at most {MOST_VECTORS} vectors, was given {len(vectors)}: 2^n are too many."
        )
    middle = len(vectors) // 2
    if is_exact(vectors, target):
        whole = integers(np.vstack([vectors, target]))
        return _exact(whole[:-1], whole[-1], middle)
    return _float(vectors.astype(float), target.astype(float), middle, rounding)


def _exact(V: Numbers, target: Numbers, middle: int) -> SubsetSums:
    random = np.random.default_rng(0)
    while True:
        # a random linear map to numbers: equal sums of vectors get equal keys, and others seldom do
        modulus, *multipliers = random.integers(2**57, 2**58, (1 + V.shape[1],)).tolist()
        hashed = [sum(x * y for x, y in zip(v, multipliers, strict=True)) % modulus for v in [*V, target]]
        keys = np.array(hashed, dtype=np.int64)
        low = _all_sums(keys[:middle]) % modulus
        high = (keys[-1] - _all_sums(keys[middle:-1])) % modulus  # sums of 20 stay below 2^63
        left = np.argsort(low, kind="stable")
        spans = np.stack([np.searchsorted(low[left], high, side) for side in ("left", "right")], 1)
        right = np.flatnonzero(spans[:, 0] < spans[:, 1])
        spans = spans[right]
        found = SubsetSums(int((spans[:, 1] - spans[:, 0]).sum()), left, right, spans, middle)
        if _verified(found, V, target):
            return found  # else two sums share a hash: with 2^40 pairs once in 2^17 times


def _float(V: Numbers, target: Numbers, middle: int, rounding: float) -> SubsetSums:
    size = rounding * np.abs(V).max(1, initial=0).sum()
    direction = np.random.default_rng(0).uniform(-1, 1, V.shape[1])
    direction /= np.abs(direction).sum()  # a sum off by `size` at most is off by no more than that here
    low, high = _all_sums(V[:middle] @ direction), target @ direction - _all_sums(V[middle:] @ direction)
    left = np.argsort(low, kind="stable")
    start = np.searchsorted(low[left], high - size, "left")
    partners = np.searchsorted(low[left], high + size, "right") - start
    pairs = int(partners.sum())
    if pairs > PAIRS:
        raise ValueError(
            f"Expected at most {PAIRS:,} sums close to the target, found {pairs:,}: if the numbers are "
            "integers or fractions, give them as such."
        )
    right = np.repeat(np.arange(len(high)), partners)
    places = _ranges(start, partners)
    near = np.zeros(pairs, dtype=bool)
    for chunk in np.array_split(np.arange(pairs), pairs // CHUNK + 1):
        lower, upper = _bits(left[places[chunk]], middle), _bits(right[chunk], len(V) - middle)
        total = lower @ V[:middle] + upper @ V[middle:]
        near[chunk] = np.abs(total - target).max(1, initial=0) <= size
    places = places[near]
    return SubsetSums(len(places), left, right[near], np.stack([places, places + 1], 1), middle)


def _all_sums(values: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " s"]:
    """Sums of all subsets; entry i is the sum over the bits of i."""
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _sums(masks: Int[np.ndarray, " s"], V: Numbers) -> Numbers:
    """The vectors of the masks, exactly."""
    bits = _bits(masks, len(V))
    # float64 holds whole numbers up to 2⁵³, and multiplies them many times faster than objects
    return bits @ V.astype(float) if np.abs(V).sum() < 2**53 else bits.astype(int).astype(object) @ V


def _bits(masks: Int[np.ndarray, " s"], n: int) -> Float[np.ndarray, "s n"]:
    return (masks[:, None] >> np.arange(n) & 1).astype(float)


def _verified(found: SubsetSums, V: Numbers, target: Numbers) -> bool:
    """Whether all sums with one key are one vector."""
    low, high = V[: found.middle], V[found.middle :]
    first = found.spans[:, 0]
    for chunk in np.array_split(np.arange(len(first)), len(first) // CHUNK + 1):
        wanted = target - _sums(found.right[chunk], high)
        if (wanted != _sums(found.left[first[chunk]], low)).any():
            return False
    # above, only the first of each range was compared; here all others of the range with it
    starts, index = np.unique(first, return_index=True)
    lengths = found.spans[index, 1] - starts
    leaders, members = np.repeat(starts, lengths), _ranges(starts, lengths)
    for chunk in np.array_split(np.arange(len(members)), len(members) // CHUNK + 1):
        pair = (_sums(found.left[each[chunk]], low) for each in (members, leaders))
        if np.not_equal(*pair).any():
            return False
    return True


def _ranges(starts: Int[np.ndarray, " g"], lengths: Int[np.ndarray, " g"]) -> Int[np.ndarray, " _"]:
    """start, start + 1, … for each start, as many as its length."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
