"""The rules of judgement: from a claim and the rows of a table to a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool, is_bool_dtype, is_numeric_dtype

from intertwine_book.claims.claim import Claim
from intertwine_book.claims.statistics import half_width, normal_quantile, p_value, trials_needed

_DRAWS = ("trial", "seed", "path", "pair")  # numbers of a draw, which tell a reader nothing
Estimates = float | Sequence[float] | np.ndarray
_ELSEWHERE = dict.fromkeys(("reproduced", "no counterexample"), "consistent")
_ELSEWHERE |= dict.fromkeys(("differs", "refuted"), "inconsistent")
LEAST_TRIALS = 3  # fewer independent trials give values, and no verdict
_FEW = f"fewer than {LEAST_TRIALS} trials decide nothing"


@dataclass(frozen=True)
class Verdict:
    """The verdict of some rows on a claim.

    The word is one of `board.WORDS`; `measured` are the numbers it rests on, or why there are none.
    """

    word: str
    measured: str
    trials: int = 0  #: independent ones
    p: float | None = None  #: of the paired t-test of an ordering, two-sided, before any correction
    interval: tuple[float, float, float] | None = None  #: mean over trials and its 95 % t-interval
    scale: str | None = None  #: where the rows are not of the paper's experiment, in words
    decisive: bool = False  #: whether they are at another scale: more differs than the number of trials
    #: what a sentence may tell: see `claim.Erratum.found`; empty where no case decides
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """The word at its scale: where that is not the paper's, agreement and disagreement are weaker."""
        return _ELSEWHERE.get(self.word, self.word) if self.decisive else self.word


def judge_rows(claim: Claim, rows: pd.DataFrame) -> Verdict:
    """The verdict that the rules give of these rows alone.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Fig. 1", statement="...", kind="number",
        ...               printed=55.0, tolerance=5.0, tolerance_from="reading error", matters=1,
        ...               chapter="records/01_x", table="swap", columns=["penalty"])
        >>> judge_rows(claim, pd.DataFrame({"penalty": [54.0, 55.5, 55.0, 56.0]})).word
        'reproduced'
    """
    return {"number": _number, "ordering": _ordering}.get(claim.kind, _exact)(claim, rows)


def _number(claim: Claim, rows: pd.DataFrame) -> Verdict:
    """The mean against the printed value: its error and the printed one add like independent errors."""
    name = claim.in_words(claim.columns[0])
    values = _by_trial(claim, rows, side(rows, claim.columns[0]))
    if undecided := _too_few(values, name):
        return undecided
    assert isinstance(claim.printed, (int, float))  # `claim_from` made sure
    mean, half = values.mean(), half_width(values, claim.resolution)
    apart, matters = abs(mean - claim.printed), float(claim.matters or 0)
    word = str(number_word(apart, half, claim.printed_error, matters))
    text = _described(name, mean, half)
    if word == "inconclusive":
        text += f"; {trials_needed(values, _enough(apart, claim.printed_error, matters))}"
    return Verdict(word, text, trials=len(values), interval=(mean, mean - half, mean + half))


def number_word(apart: Estimates, half: Estimates, tolerance: float, matters: float) -> np.ndarray:
    """The word for means that lie so far from the printed value, with this half-width of their intervals.

    Example:
        >>> number_word([0.0, 0.0, 9.0], [0.5, 5.0, 1.0], tolerance=1.0, matters=1.0).tolist()
        ['reproduced', 'inconclusive', 'differs']

    Reproduced: the difference and its error together are at most what matters, on top of the printed error.
    """
    error, margin = np.hypot(half, tolerance), tolerance + matters
    alike, differs = np.asarray(apart) + error <= margin, np.asarray(apart) > np.maximum(error, margin)
    return np.select([alike, differs], ["reproduced", "differs"], "inconclusive")


def ordering_word(mean: Estimates, half: Estimates, matters: float) -> np.ndarray:
    """The word for mean differences with this half-width of their intervals.

    Example:
        >>> ordering_word([2.0, -2.0, 0.4, 0.1], [0.1, 0.1, 0.3, 0.1], matters=0.5).tolist()
        ['reproduced', 'differs', 'inconclusive', 'no difference']

    An effect that is sure but smaller than what matters decides nothing: more trials would make it no
    difference.
    """
    mean, half = np.asarray(mean), np.asarray(half)
    none = np.abs(mean) + half <= matters
    larger = (mean - half > 0) & (mean >= matters)
    smaller = (mean + half < 0) & (mean <= -matters)
    return np.select([none, larger, smaller], ["no difference", "reproduced", "differs"], "inconclusive")


def _enough(apart: float, tolerance: float, matters: float) -> float:
    """The half-width of the mean with which a number that lies so far from the printed one is decided."""
    margin = tolerance + matters
    error = margin - apart if apart < margin else apart
    return float(max(error**2 - tolerance**2, 0) ** 0.5)  # hypot(half, tolerance) = error


def _ordering(claim: Claim, rows: pd.DataFrame) -> Verdict:
    larger, smaller = claim.columns
    values = _by_trial(claim, rows, side(rows, larger) - side(rows, smaller))
    name = f"{claim.in_words(larger)} − {claim.in_words(smaller)}"
    if undecided := _too_few(values, name):
        return undecided
    matters = float(claim.matters or 0)
    mean, half = values.mean(), half_width(values, claim.resolution)
    word = str(ordering_word(mean, half, matters))
    text = _described(name, mean, half)
    if word == "no difference":
        text += f"; less than {matters:g} does not matter"
    if word == "inconclusive" and abs(mean) > half:
        text += f"; one sign, but perhaps less than the {matters:g} that matters"
    if word == "inconclusive":  # this mean would be a difference, or none
        enough = abs(mean) if abs(mean) >= matters else matters - abs(mean)
        text += f"; {trials_needed(values, enough)}"
    p = p_value(values, claim.resolution)
    numbers = {"mean": mean, "low": mean - half, "high": mean + half, "cases": len(values)}
    interval = (mean, mean - half, mean + half)
    return Verdict(word, text, trials=len(values), p=p, interval=interval, numbers=numbers)


def check_scale(claim: Claim, rows: pd.DataFrame) -> None:
    """Refuse an ordering whose `matters` exceeds what it compares: no result could reproduce it."""
    if claim.kind == "ordering":
        # of single values, as those of a change may have both signs and a mean near 0
        size = max(side(rows, column).abs().mean() for column in claim.columns)
        if (claim.matters or 0.0) > size:
            raise ValueError(
                f"Claim '{claim.id}': expected 'matters' of at most what is compared, {size:.3g}, was given "
                f"{claim.matters:g}: no result could reproduce the claim, so write a smaller one."
            )


def side(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column, or a number in its place."""
    return rows[name] if name in rows else pd.Series(float(name), rows.index)


def _exact(claim: Claim, rows: pd.DataFrame) -> Verdict:
    """One row decides; of trained networks, if there are enough of them that are independent."""
    found = _by_one_row(claim, rows)
    if claim.about == "mathematics":
        return found
    trials, word, text = _trials(claim, rows).nunique(), found.word, found.measured
    if trials < LEAST_TRIALS:
        word, text = "inconclusive", f"{text}; {_FEW}"
    return replace(found, word=word, measured=text, trials=trials)


def _by_one_row(claim: Claim, rows: pd.DataFrame) -> Verdict:
    """The word of one row: of the one where a universal claim fails, or an existence claim comes true.

    Where the column is measured with an error (`noise`, a standard deviation), a row decides only if it lies
    beyond the tolerance by what the largest of so many errors exceeds in 2.5 of 100 cases.
    """
    universal = claim.kind == "universal"
    column, cases = side(rows, claim.columns[0]), len(rows)
    residual = not is_bool_dtype(column)
    if residual and (claim.tolerance is None or not is_numeric_dtype(column)):
        raise ValueError(
            f"Claim '{claim.id}': expected booleans, or numbers and the error that they may have, in "
            f"'{claim.columns[0]}', was given {column.dtype}."
        )
    # Bonferroni: the largest of so many cases exceeds by noise alone in 2.5 % of tables
    margin = normal_quantile(1 - 0.025 / cases) * claim.noise if claim.noise else 0.0
    deciding = column > (claim.tolerance or 0) + margin if residual else column != universal
    if deciding.any():
        row = rows.loc[(column[deciding] if residual else deciding).idxmax()]
        word, name = ("refuted", "counterexample") if universal else ("reproduced", "example")
        text = f"{name}{_row(claim, row)}; {deciding.sum()} of {cases} cases"
        numbers = {name: row[name] for name in claim.columns if name in row}
        numbers |= {"deciding": int(deciding.sum()), "cases": cases, "value": column[row.name]}
        return Verdict(word, text, trials=cases, numbers=numbers)
    if lost := int(column.isna().sum()):
        return Verdict("inconclusive", f"{lost} of {cases} cases gave no number", trials=cases)
    largest = f"{claim.in_words(claim.columns[0])} at most {column.max():.1g}" if residual else ""
    largest += f" in {cases} cases" * bool(largest and claim.trial)  # else the table counts them as they are
    if margin and (column > claim.tolerance).any():
        beyond = int((column > claim.tolerance).sum())
        return Verdict("inconclusive", f"{largest}; {beyond} of {cases} within the noise", trials=cases)
    if not universal:
        return Verdict("inconclusive", f"no example in {cases} cases", trials=cases)
    return Verdict("no counterexample", largest or f"true in {cases} of {cases} cases", trials=cases)


def _by_trial(claim: Claim, rows: pd.DataFrame, values: pd.Series) -> pd.Series:
    """One value for each independent trial: layers, starts and paths of one pair are averaged."""
    if claim.trial is None:
        return values.reset_index(drop=True)
    means = values.groupby(_trials(claim, rows)).agg(lambda trial: trial.mean(skipna=False))
    return means.reset_index(drop=True)


def _trials(claim: Claim, rows: pd.DataFrame) -> pd.Series:
    """The trial of each row."""
    return pd.Series(range(len(rows)), rows.index) if claim.trial is None else rows[claim.trial]


def _too_few(values: pd.Series, name: str) -> Verdict | None:
    trials = len(values)
    if lost := int((~np.isfinite(values)).sum()):
        return Verdict("inconclusive", f"{lost} of {trials} trials gave no number", trials=trials)
    if trials < LEAST_TRIALS:
        shown = " and ".join(f"{value:.3g}" for value in values)
        text = f"{name}: {shown}; {_FEW}"
        return Verdict("inconclusive", text, trials=trials)
    return None


def _described(name: str, mean: float, half: float) -> str:
    return f"{name}: {mean:.3g} [{mean - half:.3g}, {mean + half:.3g}]"


def _row(claim: Claim, row: pd.Series) -> str:
    """The columns that identify a row, without those that say only True or False, or which draw."""
    shown = {name: row[name] for name in claim.columns if name in row and name not in _DRAWS}
    words = [f"{claim.in_words(name)} = {_value(at)}" for name, at in shown.items() if not is_bool(at)]
    return f": {', '.join(words)}" if words else ""


def _value(at: object) -> str:
    if not isinstance(at, float):
        return str(at)
    return f"{at:.3g}" if abs(at) < 1000 else f"{at:,.0f}"
