"""The statistics behind verdicts: the paired t-test, Holm's correction, and how many trials would decide."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd


def p_value(differences: pd.Series) -> float:
    """Two-sided p of the t-test that the mean of paired differences is 0.

    Example:
        >>> round(p_value(pd.Series([1.0, 2.0, 3.0])), 4)
        0.0742
        >>> p_value(pd.Series([0.0, 0.0, 0.0])), p_value(pd.Series([1.0, 1.0, 1.0]))
        (1.0, 0.0)
    """
    from scipy import special  # scipy.stats takes a second to import

    error = differences.sem()
    if error == 0:
        return float(differences.mean() == 0)
    return float(2 * special.stdtr(len(differences) - 1, -abs(differences.mean()) / error))


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Holm 1979): values of at most α control the family-wise error at α.

    Example:
        >>> adjusted([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    k, result, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (k - rank) * p_values[index]))
        result[index] = largest
    return result


def trials_needed(values: pd.Series, margin: float) -> str:
    """How many trials of this spread give an interval whose half-width is below `margin`, in words.

    Example:
        >>> trials_needed(pd.Series([40.0, 70.0, 55.0]), 5.0)
        'about 38 trials'
    """
    from scipy import special  # scipy.stats takes a second to import

    spread = float(values.std())
    if margin <= 0 or not math.isfinite(spread):
        return "no number of trials"
    counts = np.arange(len(values) + 1, 10_001)
    enough = special.stdtrit(counts - 1, 0.975) * spread / np.sqrt(counts) < margin
    return f"about {counts[enough.argmax()]} trials" if enough.any() else "more than 10,000 trials"
