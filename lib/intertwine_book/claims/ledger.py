"""The ledger of claims: what a paper states, where, and which table is to judge it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from beartype.door import is_bearable

from intertwine_book.results import PROFILES

KINDS = ("number", "ordering", "universal", "existence")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, in our own words, and how it is measured.

    Example:
        >>> Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...       chapter="01_x", table="swap", columns=["holds"], minimum="smoke").tolerance is None
        True

    Attributes:
        id: short, unique in the ledger.
        paper: the paper's key in the bibliography.
        place: where in the paper, e.g. `Lemma 3.1`.
        statement: what it says, in MyST markdown.
        kind: *number*, the mean over trials of one column; *ordering*, two columns, the one claimed to be
            larger first, paired over trials; *universal*, true of every row; *existence*, true of some row.
        chapter: whose table judges it.
        table: the table's name.
        columns: what is judged. For universal and existence a column of booleans, or of residuals, of which
            a universal claim says that none exceeds `tolerance`, an existence claim that one does; then
            columns that identify a row.
        where: which rows count, as `pandas.DataFrame.query` takes it; all when not given.
        printed: the printed value; a number has to have one.
        tolerance: contains the reading error of `printed`, or the rounding error of residuals.
        minimum: the lowest profile that may judge.
        link: a label in the chapter: of a section (`sec-…`), figure (`fig-…`), equation (`eq-…`), or theorem.
        reason: why there may be no measurement yet.
        erratum: what is true instead, or what the statement needs.
    """

    id: str
    paper: str
    place: str
    statement: str
    kind: str
    chapter: str
    table: str
    columns: list[str]
    minimum: str
    where: str | None = None
    printed: float | int | str | None = None
    tolerance: float | int | None = None
    link: str | None = None
    reason: str | None = None
    erratum: str | None = None


def load(path: str | Path) -> list[Claim]:
    """Read a ledger: a yaml file that maps each paper's key to the list of its claims.

    Raises:
        ValueError: one sentence that names the entry, the field, what was expected and what was given.
    """
    import yaml  # belongs to the extra `book`

    papers = yaml.safe_load(Path(path).read_text())
    if not isinstance(papers, dict):
        raise ValueError(f"Ledger {path}: expected papers, each with a list of claims, was given {papers!r}.")
    claims = [claim_from(paper, entry) for paper, entries in papers.items() for entry in entries or []]
    twice = [name for name, times in Counter(claim.id for claim in claims).items() if times > 1]
    if twice:
        raise ValueError(f"Claim '{twice[0]}': expected an id of its own, it is given to two entries.")
    return claims


def claim_from(paper: str, entry: Any) -> Claim:
    """One entry of the ledger, checked.

    Example:
        >>> claim_from("godfrey2022", {"id": "lemma-3-1", "kind": "guess"})
        Traceback (most recent call last):
        ...
        ValueError: Claim 'lemma-3-1': expected the field 'place', it is missing.

    Raises:
        ValueError: see `load`.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"Claims of {paper}: expected a mapping with an id, was given {entry!r}.")
    given = {"paper": paper, **entry}
    hints = get_type_hints(Claim)

    def refuse(field: str, expected: str) -> None:
        has = f"was given {given[field]!r}" if field in given else "it is missing"
        raise ValueError(f"Claim '{entry.get('id', f'without id, of {paper}')}': expected {expected}, {has}.")

    for field in given:
        if field not in hints:
            refuse(field, f"the fields {', '.join(hints)}, not '{field}'")
    for field in fields(Claim):
        if field.default is MISSING and field.name not in given:
            refuse(field.name, f"the field '{field.name}'")
        if field.name in given and not is_bearable(given[field.name], hints[field.name]):
            refuse(field.name, f"'{field.name}' of type {field.type}")
    claim = Claim(**given)
    if claim.kind not in KINDS:
        refuse("kind", f"'kind' to be one of {', '.join(KINDS)}")
    if claim.minimum not in PROFILES:
        refuse("minimum", f"'minimum' to be one of {', '.join(PROFILES)}")
    if not re.fullmatch(r"[a-z0-9-]+", claim.id):
        refuse("id", "'id' of lower-case letters, digits and -")
    if claim.kind == "number" and not isinstance(claim.printed, (int, float)):
        refuse("printed", "'printed' to be a number, as the kind is number")
    if claim.kind == "number" and claim.tolerance is None:
        refuse("tolerance", "a 'tolerance' that contains the reading error, as the kind is number")
    if claim.tolerance is not None and claim.tolerance < 0:
        refuse("tolerance", "'tolerance' of at least 0")
    wanted = {"number": 1, "ordering": 2}.get(claim.kind)
    if not claim.columns or (wanted and len(claim.columns) != wanted):
        refuse("columns", f"'columns' to name {wanted or 'at least one'}, as the kind is {claim.kind}")
    return claim
