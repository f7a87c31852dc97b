"""Verdicts from the list of claims and the tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from intertwine_book import results
from intertwine_book.claims.ledger import Claim
from intertwine_book.claims.rules import LEAST_TRIALS, ONE_TRIAL, Verdict, judge_rows
from intertwine_book.claims.statistics import adjusted

LEVEL = 0.05
_ELSEWHERE = dict.fromkeys(("reproduced", "no counterexample"), "consistent")
_ELSEWHERE |= dict.fromkeys(("differs", "refuted", "no difference"), "inconsistent")


def judge_all(
    claims: Sequence[Claim], places: Iterable[tuple[str, str | Path]]
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict; orderings are corrected for their number by Holm's method (Holm 1979).

    A family of tests is all orderings of one paper, and ours of that paper are one of their own. An ordering
    that the t-test alone would decide, and the correction does not, is inconclusive; both p-values are shown.

    The places, and the errors, are those of `judge`.
    """
    places = list(places)
    judged = [(claim, judge(claim, places)) for claim in claims]
    families = [(claim.paper, claim.whose) for claim in claims]
    for family in dict.fromkeys(families):
        tests = {k: found.p for k, (_, found) in enumerate(judged) if families[k] == family}
        alone = {k: p for k, p in tests.items() if p is not None}
        for (k, single), p in zip(alone.items(), adjusted([*alone.values()]), strict=True):
            claim, found = judged[k]
            text = f"{found.measured}; p = {single:.2g}, {p:.2g} after Holm's correction"
            decided = found.word not in ("inconclusive", "no difference")
            word = "inconclusive" if decided and p > LEVEL else found.word
            judged[k] = claim, replace(found, word=word, measured=text)
    return judged


def judge(claim: Claim, places: Iterable[tuple[str, str | Path]]) -> Verdict:
    """The verdict on one claim, from the profile nearest the paper that measured it with enough trials.

    Where none has enough, the nearest is shown. The scoreboard states the rules, under *How a verdict is
    reached*. Places are (profile, folder) pairs; a table is at `<folder>/<chapter>/<table>.csv`. A table that
    lacks a column of the claim, has another type, or does not fit its filter raises a ValueError.
    """
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
        found, differs = judge_rows(claim, rows), _differences(claim, provenance["parameters"])
        if rank(profile) < rank(claim.minimum):
            differs = differs or {"": f"profile: {profile} instead of {claim.minimum}"}
        if verdict is None or found.trials >= LEAST_TRIALS:
            word = _ELSEWHERE.get(found.word, found.word) if differs else found.word
            verdict = replace(found, word=word, profile=profile, scale="; ".join(differs.values()) or None)
    if verdict:
        return verdict
    why = " ".join(dict.fromkeys(reasons)) or claim.reason
    return Verdict("not yet measured", why or f"{claim.chapter} has no table {claim.table} yet.")


def rows_of(claim: Claim, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that count, with every column of the claim checked."""
    of = f"Claim '{claim.id}': table {claim.table} of {claim.chapter}"
    needed = [*filter(_is_column, claim.columns)]
    needed += [claim.trial] if claim.trial and claim.trial != ONE_TRIAL else []
    if missing := [column for column in needed if column not in table]:
        raise ValueError(f"{of}: expected a column '{missing[0]}', found {', '.join(table.columns)}.")
    try:
        rows = table.query(claim.where, engine="python") if claim.where else table
    except Exception as error:
        message = f"{of}: expected 'where' to select rows, `{claim.where}` does not: {error}."
        raise ValueError(message) from error
    for column in filter(_is_column, claim.columns[: 2 if claim.kind == "ordering" else 1]):
        boolean = is_bool_dtype(rows[column])
        numeric = is_numeric_dtype(rows[column]) and not boolean
        if claim.kind in ("number", "ordering"):
            fits, expected = numeric, f"numbers in '{column}'"
        else:
            fits = boolean or (numeric and claim.tolerance is not None)
            expected = f"True and False in '{column}', or residuals and a tolerance"
        if not fits:
            raise ValueError(f"{of}: expected {expected}, found {rows[column].dtype}.")
    return rows


def _is_column(name: str) -> bool:
    return not name.replace(".", "", 1).lstrip("-").isdecimal()


def _differences(claim: Claim, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Where a run's parameters are not those of the paper, in words."""
    found = {}
    for name, wanted in (claim.protocol or {}).items():
        given = parameters.get(name)
        if given != wanted:
            given, wanted = (claim.in_words(str(value)) for value in (given, wanted))
            instead = f"{given} instead of {wanted}" if name in parameters else f"not {wanted}"
            found[name] = f"{claim.in_words(name)}: {instead}"
    return found
