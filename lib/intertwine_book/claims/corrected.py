"""Verdicts after the correction for the number of orderings: the words that every page shows."""

from collections.abc import Sequence
from dataclasses import replace

from intertwine_book.claims.claim import Claim
from intertwine_book.claims.rules import Verdict
from intertwine_book.claims.statistics import adjusted, quantile

LEVEL = 0.05


def corrected(judged: Sequence[tuple[Claim, Verdict]]) -> list[tuple[Claim, Verdict]]:
    """All claims with their verdicts, corrected by the false discovery rate, in the words of their scale.

    The orderings of the papers are one family (Benjamini and Hochberg 1995), ours another: how finely a
    printed sentence is cut, and how many statements stand beside it, then changes little. An ordering that
    the t-test alone would decide, and the correction does not, is inconclusive. Both p-values are shown, and
    the interval of what is decided has the corrected level (Benjamini and Yekutieli 2005). Equivalences (*no
    difference*) rest on their interval, and are no discoveries.
    """
    found = [*judged]
    for whose in ("paper", "ours"):
        family = [k for k, (claim, each) in enumerate(found) if claim.whose == whose and each.p is not None]
        p_values = adjusted([found[k][1].p or 0.0 for k in family])
        discovered = sum(p <= LEVEL for p in p_values)
        for k, p in zip(family, p_values, strict=True):
            level = 1 - LEVEL * discovered / len(family) if p <= LEVEL else 1 - LEVEL
            found[k] = found[k][0], _corrected(found[k][1], p, level, len(family))
    return [(claim, replace(each, word=each.said)) for claim, each in found]


def _corrected(found: Verdict, p: float, level: float, tests: int) -> Verdict:
    """The verdict on an ordering whose p-value and level are those of a family of so many tests."""
    assert found.interval and found.p is not None
    mean, low, high = found.interval
    half = (high - low) / 2 * quantile(found.trials, level) / quantile(found.trials, 1 - LEVEL)
    name, _, rest = found.measured.partition(": ")
    text = f"{name}: {mean:.3g} [{mean - half:.3g}, {mean + half:.3g}]"
    text += rest[rest.index("]") + 1 :] + f"; p = {found.p:.2g}, corrected {p:.2g}"
    word = found.word
    if word in ("reproduced", "differs") and p > LEVEL:
        word, text = "inconclusive", f"{text}: open, as it is one of {tests} orderings"
    return replace(found, word=word, measured=text, interval=(mean, mean - half, mean + half))
