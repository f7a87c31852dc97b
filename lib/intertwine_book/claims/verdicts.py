"""From a claim and the tables to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from intertwine_book import results
from intertwine_book.claims.ledger import Claim

WORDS = ("reproduced", "no counterexample", "differs", "refuted", "inconclusive", "not yet measured")


@dataclass(frozen=True)
class Verdict:
    """What the tables say of a claim.

    Attributes:
        word: one of `WORDS`.
        measured: the numbers it rests on, or the reason why there are none.
        profile: of the run that was judged; None when not yet measured.
        trials: how many trials were judged.
    """

    word: str
    measured: str
    profile: str | None = None
    trials: int = 0

    def __str__(self) -> str:
        return f"no counterexample in {self.trials}" if self.word == "no counterexample" else self.word


def judge(claim: Claim, places: Iterable[tuple[str, str | Path]]) -> Verdict:
    """The verdict on a claim, from the largest profile that measured it.

    Example:
        >>> import tempfile
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...               chapter="01_x", table="swap", columns=["holds"], minimum="smoke")
        >>> folder = Path(tempfile.mkdtemp())
        >>> judge(claim, [("quick", folder)]).word
        'not yet measured'
        >>> table = pd.DataFrame({"holds": [True, True, True]})
        >>> _ = results.write(table, "swap", parameters={}, seed=0, folder=folder / "01_x", device="cpu")
        >>> str(judge(claim, [("quick", folder)]))
        'no counterexample in 3'

    Args:
        places: (profile, folder) pairs; a table is at `<folder>/<chapter>/<table>.csv`.

    Raises:
        ValueError: a table lacks what the claim asks of it: a column, its type, or a filter that can be read.
    """
    reasons, rank = [], results.PROFILES.index
    for profile, folder in sorted(places, key=lambda place: rank(place[0]), reverse=True):
        try:
            table, _ = results.read(claim.table, folder=Path(folder) / claim.chapter)
        except FileNotFoundError:
            continue
        except ValueError as unsealed:
            reasons.append(str(unsealed))
            continue
        rows = _rows(claim, table)
        if rows.empty:
            reasons.append(f"No row of {claim.table} at {profile} has {claim.where or 'anything in it'}.")
        elif rank(profile) < rank(claim.minimum):
            reasons.append(f"Measured at {profile} only; judged from {claim.minimum} on.")
            break
        else:
            return _JUDGES[claim.kind](claim, rows, profile)
    why = " ".join(reasons) or claim.reason or f"{claim.chapter} has no table {claim.table} yet."
    return Verdict("not yet measured", why)


def _rows(claim: Claim, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that count, every column of the claim checked."""
    asked = f"Claim '{claim.id}': table {claim.table} of {claim.chapter}"
    if missing := [column for column in claim.columns if column not in table]:
        raise ValueError(f"{asked}: expected a column '{missing[0]}', found {', '.join(table.columns)}.")
    try:
        rows = table.query(claim.where, engine="python") if claim.where else table
    except Exception as error:
        raise ValueError(
            f"{asked}: expected 'where' to select rows, `{claim.where}` does not: {error}."
        ) from error
    judged = claim.columns[: 2 if claim.kind == "ordering" else 1]
    for column in judged:
        boolean = is_bool_dtype(rows[column])
        numeric = is_numeric_dtype(rows[column]) and not boolean
        if claim.kind in ("number", "ordering"):
            fits, expected = numeric, f"numbers in '{column}'"
        else:
            fits = boolean or (numeric and claim.tolerance is not None)
            expected = f"True and False in '{column}', or residuals and a tolerance"
        if not fits:
            raise ValueError(f"{asked}: expected {expected}, found {rows[column].dtype}.")
    return rows


def _over_trials(values: pd.Series, profile: str, word: Callable[[float, float], str]) -> Verdict:
    """The verdict that `word` gives of the interval's two ends."""
    trials = len(values)
    if lost := int((~np.isfinite(values)).sum()):
        return Verdict("inconclusive", f"{lost} of {trials} trials gave no number", profile, trials)
    if trials < 2:
        text = f"{values.mean():.3g} in one trial, which has no interval"
        return Verdict("inconclusive", text, profile, trials)
    low, high = results.interval(values)
    mean = f"mean {_words(str(values.name))} {values.mean():.3g}"
    text = f"{mean}, 95 % t-interval [{low:.3g}, {high:.3g}] over {trials} trials"
    return Verdict(word(low, high), text, profile, trials)


def _number(claim: Claim, rows: pd.DataFrame, profile: str) -> Verdict:
    printed, tolerance = claim.printed, claim.tolerance
    assert isinstance(printed, (int, float)) and tolerance is not None  # as `claim_from` made sure

    def word(low: float, high: float) -> str:
        return "reproduced" if low <= printed + tolerance and printed - tolerance <= high else "differs"

    return _over_trials(rows[claim.columns[0]], profile, word)


def _ordering(claim: Claim, rows: pd.DataFrame, profile: str) -> Verdict:
    def word(low: float, high: float) -> str:
        return "reproduced" if low > 0 else "differs" if high < 0 else "inconclusive"

    larger, smaller = claim.columns
    return _over_trials((rows[larger] - rows[smaller]).rename(f"{larger} − {smaller}"), profile, word)


def _exact(claim: Claim, rows: pd.DataFrame, profile: str) -> Verdict:
    """One row decides: the one where a universal claim fails, or where an existence claim comes true."""
    universal = claim.kind == "universal"
    column, cases = rows[claim.columns[0]], len(rows)
    residual = not is_bool_dtype(column)
    deciding = column > claim.tolerance if residual else column != universal
    if deciding.any():
        row = rows.loc[(column[deciding] if residual else deciding).idxmax()]
        word, what = ("refuted", "counterexample") if universal else ("reproduced", "example")
        return Verdict(word, f"{what}: {_row(claim, row)}; {deciding.sum()} of {cases} cases", profile, cases)
    if lost := int(column.isna().sum()):
        return Verdict("inconclusive", f"{lost} of {cases} cases gave no number", profile, cases)
    if not universal:
        return Verdict("inconclusive", f"no example in {cases} cases", profile, cases)
    largest = f"{_words(claim.columns[0])} at most {column.max():.1g}" if residual else ""
    text = largest or f"true in {cases} of {cases} cases"
    return Verdict("no counterexample", text, profile, cases)


_JUDGES = {"number": _number, "ordering": _ordering, "universal": _exact, "existence": _exact}


def _row(claim: Claim, row: pd.Series) -> str:
    """What identifies a row: the claim's columns, less those that say only True or False."""
    shown = {name: row[name] for name in claim.columns if not pd.api.types.is_bool(row[name])}
    words = [f"{_words(name)} = {f'{at:.3g}' if isinstance(at, float) else at}" for name, at in shown.items()]
    return ", ".join(words) or f"row {row.name}"


def _words(column: str) -> str:
    return column.replace("_", " ")
