"""The list of claims: a paper's statement, its place, and the table that judges it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from beartype.door import is_bearable

from intertwine_book.results import PROFILES

CLAIM_KINDS = ("number", "ordering", "universal", "existence")
ERRATA = ("false as printed", "misprint", "remark")
READING = "error of reading"  # of a number that was read off a figure


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """An error in a printed statement, or a missing assumption."""

    #: *false as printed*, which a counterexample shows; *misprint*; or *remark*: a loose phrase, a missing
    #: hypothesis, or a stronger result of ours
    kind: str
    context: str  #: what the paper speaks of there, for a reader without the paper
    quote: str  #: the printed words, at most a line
    right: str  #: the corrected statement, in MyST markdown
    #: a sentence on the case that decides, as `str.format` takes it: `{deciding}` of `{cases}` cases decide,
    #: `{value}` is the judged column's in the clearest, and a column that the claim names that row's; for an
    #: ordering `{mean}`, `{low}`, `{high}`. Without it the page writes what was measured.
    found: str | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, in our own words, and how it is measured.

    Example:
        >>> Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...       chapter="01_x", table="swap", columns=["holds"], minimum="smoke").tolerance is None
        True
    """

    id: str  #: short, unique in the ledger
    paper: str  #: the paper's key in the bibliography
    place: str  #: where in the paper, e.g. `Lemma 3.1`
    statement: str  #: in MyST markdown
    #: *number*, the mean over trials of one column; *ordering*, two columns, the one claimed to be larger
    #: first, paired over trials; *universal*, true of every row; *existence*, true of some row
    kind: str
    chapter: str  #: whose table judges it
    table: str  #: the table's name
    #: that are judged. For universal and existence a column of booleans, or of residuals, of which in a
    #: universal claim none exceeds `tolerance`, in an existence claim one does; then columns that identify a
    #: row. A number may stand for one side of an ordering.
    columns: list[str]
    minimum: str  #: the lowest profile that is large enough; a smaller one is consistent or not
    whose: str = "paper"  #: or *ours*, for a correction or a stronger statement of this book
    where: str | None = None  #: which rows count, as `pandas.DataFrame.query` takes it; all when not given
    #: the column that tells independent trials apart, such as a pair of networks; the rows of one are
    #: averaged; *all* where the table has one pair. Every row is a trial when not given.
    trial: str | None = None
    printed: float | int | str | None = None  #: the printed value; a number has to have one
    #: of a number, the error of `printed`; of residuals, rounding
    tolerance: float | int | None = None
    tolerance_from: str | None = None  #: its origin: the printed spread, or `READING`, that of a figure
    #: of a number that a figure shows with an interval of its own: the interval's ends
    printed_interval: list[float | int] | None = None
    matters: float | int | None = None  #: of a number or an ordering, the smallest difference that matters
    resolution: float | int | None = None  #: of a number or an ordering, such as one test image in points
    noise: float | int | None = None  #: of residuals that are measured with an error, its standard deviation
    #: parameters of the run that make its network and protocol the paper's; where one differs, the run is
    #: in another setting, and the page shows the difference
    protocol: dict[str, Any] | None = None
    #: further parameters of the paper's run: a difference is shown, and makes no other setting. What is
    #: protocol of one statement is protocol of all: else a setting could be chosen after its result is seen
    recipe: dict[str, Any] | None = None
    given: dict[str, Any] | None = None  #: what the recorded run had of both, where its parameters do not say
    #: a label in the chapter: of a section (`sec-…`), figure (`fig-…`), equation (`eq-…`), or theorem
    link: str | None = None
    reason: str | None = None  #: why there may be no measurement yet
    not_judged: str | None = None  #: why no measurement can judge it: its formula is lost, for instance
    erratum: Erratum | None = None  #: the error and its correction
    #: how pages write a column or the name of a parameter; of one table alone, its key is `table.column`
    words: dict[str, str] | None = None
    #: how pages write the value of a parameter, apart from `words`: a column may have the same name
    values: dict[str, str] | None = None

    @property
    def about(self) -> str:
        """*mathematics*, which a calculation decides, or *experiments*, on networks that were trained."""
        calculated = self.kind in ("universal", "existence") and not self.protocol
        return "mathematics" if calculated and self.minimum in ("smoke", "quick") else "experiments"

    @property
    def part(self) -> str:
        """The figure, table or else the section of the paper that the statement is of.

        Example:
            >>> place = "§5.1 and figure 2, ordering"
            >>> claim = Claim(id="swap", paper="a2022", place=place, columns=["holds"], statement="...",
            ...               kind="universal", chapter="01_x", table="swap", minimum="smoke")
            >>> claim.part
            'Figure 2'
        """
        if found := re.search(r"(figure|table)s? (\d+)", self.place, re.IGNORECASE):
            return f"{found[1].capitalize()} {found[2]}"
        return self.place.partition(",")[0]

    @property
    def printed_error(self) -> float:
        """Of a number: the error of reading and the figure's own interval, added as independent errors.

        Example:
            >>> Claim(id="a", paper="a2022", place="Figure 1", columns=["x"], statement="...", kind="number",
            ...       printed=8.0, tolerance=3.0, printed_interval=[4, 12], chapter="01_x", table="a",
            ...       minimum="smoke").printed_error
            5.0
        """
        low, high = self.printed_interval or (0, 0)
        return math.hypot(self.tolerance or 0, (high - low) / 2)

    def in_words(self, name: str) -> str:
        """A column of the table, or the name of a parameter of its run, as pages write it."""
        words = self.words or {}
        return words.get(f"{self.table}.{name}", words.get(name, name.replace("_", " ")))


def load(path: str | Path) -> list[Claim]:
    """Read a ledger: a yaml file that maps each paper's key to the list of its claims; `words` and `values`.

    A ValueError is one sentence that names the entry, the field, what was expected and what was given.
    """
    import yaml  # belongs to the extra `book`

    papers = yaml.load(Path(path).read_text(), Loader=yaml.CSafeLoader)  # seven times as fast as in Python
    if not isinstance(papers, dict):
        raise ValueError(f"Ledger {path}: expected papers, each with a list of claims, was given {papers!r}.")
    words, values = papers.pop("words", {}), papers.pop("values", {})
    claims = [claim_from(paper, entry) for paper, entries in papers.items() for entry in entries or []]
    claims = [replace(claim, words=words, values=values) for claim in claims]
    twice = [name for name, times in Counter(claim.id for claim in claims).items() if times > 1]
    if twice:
        raise ValueError(f"Claim '{twice[0]}': expected an id of its own, it is given to two entries.")
    return claims


def claim_from(paper: str, entry: Any) -> Claim:
    """One entry of the ledger, checked; errors as in `load`."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"Claims of {paper}: expected a mapping with an id, was given {entry!r}.")
    given = {"paper": paper, **entry}
    if isinstance(given.get("erratum"), Mapping):
        given["erratum"] = _erratum(entry)
    hints = get_type_hints(Claim)
    refuse = partial(_refuse, given)
    for field in given:
        if field not in hints:
            refuse(field, f"the fields {', '.join(hints)}, not '{field}'")
    for field in fields(Claim):
        if field.default is MISSING and field.name not in given:
            refuse(field.name, f"the field '{field.name}'")
        if field.name in given and not is_bearable(given[field.name], hints[field.name]):
            refuse(field.name, f"'{field.name}' of type {field.type}")
    claim = Claim(**given)
    if claim.kind not in CLAIM_KINDS:
        refuse("kind", f"'kind' to be one of {', '.join(CLAIM_KINDS)}")
    if claim.minimum not in PROFILES:
        refuse("minimum", f"'minimum' to be one of {', '.join(PROFILES)}")
    if claim.whose not in ("paper", "ours"):
        refuse("whose", "'whose' to be paper or ours")
    if not re.fullmatch(r"[a-z0-9-]+", claim.id):
        refuse("id", "'id' of lower-case letters, digits and -")
    if claim.kind == "number":
        if not isinstance(claim.printed, (int, float)):
            refuse("printed", "'printed' to be a number, as the kind is number")
        if claim.tolerance is None:
            refuse("tolerance", "a 'tolerance' that contains the reading error, as the kind is number")
        if not claim.tolerance_from:
            refuse("tolerance_from", "'tolerance_from', the source of the tolerance, as the kind is number")
    if (ends := claim.printed_interval) is not None and not (len(ends) == 2 and ends[0] < ends[1]):
        refuse("printed_interval", "'printed_interval' to be its lower and its upper end")
    if claim.tolerance is not None and claim.tolerance < 0:
        refuse("tolerance", "'tolerance' of at least 0")
    if claim.kind in ("number", "ordering") and (claim.matters is None or claim.matters <= 0):
        kind = f"as the kind is {claim.kind}"
        refuse("matters", f"'matters', the smallest difference that matters, above 0, {kind}")
    for field in ("resolution", "noise"):
        if (value := getattr(claim, field)) is not None and value <= 0:
            refuse(field, f"'{field}' above 0")
    wanted = {"number": 1, "ordering": 2}.get(claim.kind)
    if not claim.columns or (wanted and len(claim.columns) != wanted):
        refuse("columns", f"'columns' to name {wanted or 'at least one'}, as the kind is {claim.kind}")
    return claim


def _refuse(given: Mapping[str, Any], field: str, expected: str) -> None:
    has = f"was given {given[field]!r}" if field in given else "it is missing"
    name = given.get("id", f"without id, of {given['paper']}")
    raise ValueError(f"Claim '{name}': expected {expected}, {has}.")


def _erratum(entry: Mapping[str, Any]) -> Erratum:
    given = entry["erratum"]
    names = [field.name for field in fields(Erratum) if field.default is MISSING]
    expected = ""
    if set(given) - {"found"} != set(names) or not all(isinstance(value, str) for value in given.values()):
        expected = f"an 'erratum' with the texts {', '.join(names)}"
    elif given["kind"] not in ERRATA:
        expected, given = f"the kind of an erratum to be one of {', '.join(ERRATA)}", given["kind"]
    if expected:
        raise ValueError(f"Claim '{entry.get('id')}': expected {expected}, was given {given!r}.")
    return Erratum(**given)
