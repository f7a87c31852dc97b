"""How often each rule gives which verdict, on trials that are drawn: what a verdict is worth."""

from itertools import product

import numpy as np
import pandas as pd

from intertwine_book.claims.rules import number_word, ordering_word
from intertwine_book.claims.statistics import quantile

TRIALS = (3, 4, 5, 6, 8, 10)
MATTERS = 1.0  # in standard deviations of a trial
RESOLUTION = 2.0  # of trials that are rounded


def _normal(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return draw.standard_normal(shape)


def _skewed(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return draw.exponential(size=shape) - 1


def _rounded(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (draw.standard_normal(shape) / RESOLUTION).round() * RESOLUTION


def _failing(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """One trial in ten fails by three deviations, the others agree but for a tenth of one."""
    failed = draw.random(shape) < 0.1
    values = np.where(failed, -3.0, 0.3)
    return values + 0.1 * draw.standard_normal(shape) + 0.03


DISTRIBUTIONS = {"normal": _normal, "skewed": _skewed, "rounded": _rounded, "rare failures": _failing}


def rates(draws: int = 4000, seed: int = 0) -> pd.DataFrame:
    """The share of each word, by rule, distribution, number of trials and true effect.

    Example:
        >>> table = rates(200)
        >>> table.groupby(["rule", "distribution", "trials", "effect"])["rate"].sum().round(9).unique()
        array([1.])

    Trials have deviation 1, and the smallest difference that matters is 1. The effect of an ordering is 0 or
    2. A number lies at the printed value, whose error is 0.5, or 3 away from it. Columns rule, distribution,
    trials, effect, word, rate.
    """
    draw, rows = np.random.default_rng(seed), []
    for (distribution, sample), n in product(DISTRIBUTIONS.items(), TRIALS):
        noise = sample(draw, (draws, n))
        resolution = RESOLUTION if distribution == "rounded" else 0.0
        half = quantile(n, 0.95) * np.maximum(noise.std(1, ddof=1), resolution) / n**0.5
        for effect in (0.0, 3.0):
            words = number_word(np.abs(noise.mean(1) + effect), half, 0.5, MATTERS)
            rows += _shares("number", distribution, n, effect, words)
        for effect in (0.0, 2.0):
            words = ordering_word(noise.mean(1) + effect, half, MATTERS)
            rows += _shares("ordering", distribution, n, effect, words)
    return pd.DataFrame(rows)


def _shares(rule: str, distribution: str, n: int, effect: float, words: np.ndarray) -> list[dict]:
    known = ("reproduced", "no difference", "inconclusive", "differs")
    of = {"rule": rule, "distribution": distribution, "trials": n, "effect": effect}
    return [of | {"word": word, "rate": float((words == word).mean())} for word in known]
