"""Intervals over trials."""

import pandas as pd


def interval(values: pd.Series) -> tuple[float, float]:
    """95 % interval of the mean over trials, by Student's t; there is none from a single trial.

    Example:
        >>> low, high = interval(pd.Series([1.0, 2.0, 3.0]))
        >>> round(low, 3), round(high, 3)
        (-0.484, 4.484)
    """
    from scipy import special  # scipy.stats takes a second to import

    half = float(special.stdtrit(len(values) - 1, 0.975) * values.sem())
    return float(values.mean()) - half, float(values.mean()) + half
