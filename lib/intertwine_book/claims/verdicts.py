"""Verdicts from the list of claims and the tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from intertwine_book import results
from intertwine_book.claims.ledger import Claim
from intertwine_book.claims.rules import LEAST_TRIALS, ONE_TRIAL, Verdict, check_scale, judge_rows, side
from intertwine_book.claims.statistics import adjusted, quantile

LEVEL = 0.05


def judge_all(
    claims: Sequence[Claim],
    places: Iterable[tuple[str, str | Path]],
    told: Sequence[tuple[Claim, Verdict]] = (),
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict; orderings are corrected for their number by the false discovery rate.

    The orderings of the papers are one family (Benjamini and Hochberg 1995), ours another: how finely a
    printed sentence is cut, and how many statements stand beside it, then changes little. An ordering that
    the t-test alone would decide, and the correction does not, is inconclusive. Both p-values are shown, and
    the interval of what is decided has the corrected level (Benjamini and Yekutieli 2005). Equivalences (*no
    difference*) rest on their interval, and are no discoveries.

    The places, and the errors, are those of `judge`; `told` are claims that a record has judged by its rows
    (`told.read_told`).
    """
    places = list(places)
    judged = [*((claim, _judged(claim, places)) for claim in claims), *told]
    for whose in ("paper", "ours"):
        tests = [k for k, (claim, found) in enumerate(judged) if claim.whose == whose and found.p is not None]
        corrected = adjusted([judged[k][1].p or 0.0 for k in tests])
        found_out = sum(p <= LEVEL for p in corrected)
        for k, p in zip(tests, corrected, strict=True):
            level = 1 - LEVEL * found_out / len(tests) if p <= LEVEL else 1 - LEVEL
            judged[k] = judged[k][0], _corrected(judged[k][1], p, level, len(tests))
    return [(claim, _in_its_setting(found)) for claim, found in judged]


def _corrected(found: Verdict, p: float, level: float, tests: int) -> Verdict:
    """The verdict on an ordering whose p-value and level are those of a family of so many tests."""
    assert found.interval and found.p is not None
    mean, low, high = found.interval
    half = (high - low) / 2 * quantile(found.trials, level) / quantile(found.trials, 1 - LEVEL)
    name = found.measured.partition(": ")[0]
    text = f"{name}: {mean:.3g} [{mean - half:.3g}, {mean + half:.3g}]"
    text += found.measured[found.measured.index("]") + 1 :] + f"; p = {found.p:.2g}, corrected {p:.2g}"
    decided = found.word in ("reproduced", "differs")
    word = "inconclusive" if decided and p > LEVEL else found.word
    if word != found.word:
        text += f": open, as it is one of {tests} orderings"
    return replace(found, word=word, measured=text, interval=(mean, mean - half, mean + half))


def _in_its_setting(found: Verdict) -> Verdict:
    """The word for another setting, where the run is in one; *inconclusive* and *no difference* stay."""
    return replace(found, word=found.said)


def judge(claim: Claim, places: Iterable[tuple[str, str | Path]]) -> Verdict:
    """The verdict on one claim alone, from the profile nearest the paper that has enough trials.

    Where none has enough, the nearest is shown. The scoreboard states the rules, under *How a verdict is
    reached*. Places are (profile, folder) pairs; a table is at `<folder>/<chapter>/<table>.csv`. A table that
    lacks a column of the claim, has another type, or does not fit its filter raises a ValueError.
    """
    return _in_its_setting(_judged(claim, places))


def _judged(claim: Claim, places: Iterable[tuple[str, str | Path]]) -> Verdict:
    """The verdict of the nearest run, in words for the paper's setting."""
    if claim.not_judged:
        return Verdict("not judged", claim.not_judged)
    reasons, rank, verdict = [], results.PROFILES.index, None
    for profile, folder in sorted(places, key=lambda place: rank(place[0]), reverse=True):
        if verdict and (verdict.word != "inconclusive" or verdict.trials >= LEAST_TRIALS):
            break
        if verdict and profile not in results.RECORDED:
            break  # a run of other networks, whose many trials would decide nothing about the paper's
        try:
            table, provenance = results.read(claim.table, folder=Path(folder) / claim.chapter)
        except FileNotFoundError:
            continue
        except ValueError as unsealed:
            reasons.append(str(unsealed))
            continue
        rows = rows_of(claim, table)
        if rows.empty:
            none = f"No row of {claim.table} at {profile} has {claim.where or 'anything in it'}."
            reasons.append(claim.reason or none)
            continue
        found, given = judge_rows(claim, rows), provenance["parameters"]
        if profile in results.RECORDED:
            check_scale(claim, rows)
            given = given | (claim.given or {})
        decisive = _differences(claim, claim.protocol, given)
        if rank(profile) < rank(claim.minimum):
            decisive = decisive or [f"profile: {profile} instead of {claim.minimum}"]
        differs = decisive + _differences(claim, claim.recipe, given)
        if verdict is None or found.trials >= LEAST_TRIALS:
            scale = "; ".join(differs) or None
            verdict = replace(found, profile=profile, scale=scale, decisive=bool(decisive))
    if verdict:
        return verdict
    why = " ".join(dict.fromkeys(reasons)) or claim.reason
    return Verdict("not yet measured", why or f"{claim.chapter} has no table {claim.table} yet.")


def rows_of(claim: Claim, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that count, with every column of the claim checked."""
    of = f"Claim '{claim.id}': table {claim.table} of {claim.chapter}"
    judged = claim.columns[: 2 if claim.kind == "ordering" else 1]
    needed = [name for column in judged for name in _names(column, table)] + claim.columns[len(judged) :]
    needed += [claim.trial] if claim.trial and claim.trial != ONE_TRIAL else []
    if missing := [column for column in needed if column not in table]:
        raise ValueError(f"{of}: expected a column '{missing[0]}', found {', '.join(table.columns)}.")
    try:
        rows = table.query(claim.where, engine="python") if claim.where else table
    except Exception as error:
        message = f"{of}: expected 'where' to select rows, `{claim.where}` does not: {error}."
        raise ValueError(message) from error
    for column in (each for each in judged if _names(each, table)):
        values = side(rows, column)
        boolean = is_bool_dtype(values)
        numeric = is_numeric_dtype(values) and not boolean
        if claim.kind in ("number", "ordering"):
            fits, expected = numeric, f"numbers in '{column}'"
        else:
            fits = boolean or (numeric and claim.tolerance is not None)
            expected = f"True and False in '{column}', or residuals and a tolerance"
        if not fits:
            raise ValueError(f"{of}: expected {expected}, found {values.dtype}.")
    return rows


def _names(formula: str, table: pd.DataFrame) -> list[str]:
    """The columns in a column's name, or in a formula of columns such as `1 - kept`; none in a number."""
    return [formula] if formula in table else re.findall(r"[A-Za-z_]\w*", formula)


def _differences(claim: Claim, of_paper: Mapping[str, Any] | None, given: Mapping[str, Any]) -> list[str]:
    """Where a run's parameters are not those of the paper, in words."""
    found = []
    for name, wanted in (of_paper or {}).items():
        if given.get(name) != wanted:
            values = claim.values or {}
            value, asked = (values.get(str(each), str(each)) for each in (given.get(name), wanted))
            instead = f"{value} instead of {asked}" if name in given else f"not {asked}"
            found.append(f"{claim.in_words(name)}: {instead}")
    return found
