"""The statistics behind verdicts: t-intervals, the false discovery rate, how many trials would decide."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd


def half_width(values: pd.Series, resolution: float | int | None = None) -> float:
    """Half the width of the 95 % t-interval of a mean; the deviation is at least the resolution.

    Example:
        >>> round(half_width(pd.Series([1.0, 2.0, 3.0])), 3)
        2.484
        >>> half_width(pd.Series([1.0, 1.0, 1.0])), round(half_width(pd.Series([1.0, 1.0, 1.0]), 0.01), 3)
        (0.0, 0.025)

    Three trials that agree to the last test image are known to one test image, not exactly.
    """
    spread = max(float(values.std()), resolution or 0.0)
    return quantile(len(values), 0.95) * spread / len(values) ** 0.5


def quantile(trials: int, level: float) -> float:
    """Student's t that bounds an interval of this level from so many trials.

    Example:
        >>> round(quantile(3, 0.95), 2)
        4.3
    """
    from scipy import special  # scipy.stats takes a second to import

    return float(special.stdtrit(trials - 1, (1 + level) / 2))


def p_value(differences: pd.Series, resolution: float | int | None = None) -> float:
    """Two-sided p of the t-test that the mean of paired differences is 0; the resolution as in `half_width`.

    Example:
        >>> round(p_value(pd.Series([1.0, 2.0, 3.0])), 4)
        0.0742
        >>> p_value(pd.Series([0.0, 0.0, 0.0])), p_value(pd.Series([1.0, 1.0, 1.0]))
        (1.0, 0.0)
    """
    from scipy import special

    # scipy.stats.ttest_1samp has no place for a resolution, and warns where all differences are the same
    error = max(float(differences.std()), resolution or 0.0) / len(differences) ** 0.5
    if error == 0:
        return float(differences.mean() == 0)
    return float(2 * special.stdtr(len(differences) - 1, -abs(differences.mean()) / error))


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini's and Hochberg's correction (1995): of what has at most α, a share of α is false on average.

    Example:
        >>> [round(p, 3) for p in adjusted([0.01, 0.04, 0.03])]
        [0.03, 0.04, 0.04]
    """
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(np.asarray(p_values))] if len(p_values) else []


def normal_quantile(share: float) -> float:
    """The number that a standard normal variable does not exceed in this share of cases."""
    from scipy import special

    return float(special.ndtri(share))


def trials_needed(values: pd.Series, margin: float) -> str:
    """How many trials of this spread give an interval whose half-width is at most `margin`, in words.

    Example:
        >>> trials_needed(pd.Series([40.0, 70.0, 55.0]), 5.0)
        'about 38 trials would settle it'
        >>> trials_needed(pd.Series([40.0, 70.0, 55.0]), 0.1)
        'more than 100 trials, or none, would settle it'
    """
    from scipy import special

    spread = float(values.std())
    if margin <= 0 or not math.isfinite(spread):
        return f"more than {MOST} trials, or none, would settle it"
    counts = np.arange(len(values) + 1, MOST + 1)
    enough = special.stdtrit(counts - 1, 0.975) * spread / np.sqrt(counts) <= margin
    if not enough.any():
        return f"more than {MOST} trials, or none, would settle it"
    return f"about {counts[enough.argmax()]} trials would settle it"


MOST = 100  # trials; a larger number is no plan but a sign that the tolerance is too small
