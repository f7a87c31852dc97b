"""A printed statement: where it stands in the paper, in our own words, and how rows judge it."""

import math
import re
from dataclasses import MISSING, dataclass, fields
from typing import Any, NoReturn, get_type_hints

from beartype.door import is_bearable

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
        >>> Claim(id="swap", paper="a2022", place="§5.1 and figure 2, ordering", statement="...",
        ...       kind="universal", chapter="records/01_x", table="swap", columns=["holds"]).part
        'Figure 2'
    """

    id: str  #: short, its own
    paper: str  #: the paper's key in the bibliography
    place: str  #: where in the paper, e.g. `Lemma 3.1`
    statement: str  #: in MyST markdown
    #: *number*, the mean over trials of one column; *ordering*, two columns, the one claimed to be larger
    #: first, paired over trials; *universal*, true of every row; *existence*, true of some row
    kind: str
    chapter: str  #: the record whose rows judge it
    table: str  #: their table
    #: that are judged. For universal and existence a column of booleans, or of residuals, of which in a
    #: universal claim none exceeds `tolerance`, in an existence claim one does; then columns that identify a
    #: row. A number may stand for one side of an ordering.
    columns: list[str]
    whose: str = "paper"  #: or *ours*, for a correction or a stronger statement of this book
    #: the column that tells independent trials apart, such as a pair of networks; the rows of one are
    #: averaged. Every row is a trial when not given.
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
    #: values of columns in the paper's experiment; where the rows have others, the run is at another scale
    protocol: dict[str, Any] | None = None
    link: str | None = None  #: the label of the record's section
    reason: str | None = None  #: why there may be no measurement yet
    not_judged: str | None = None  #: why no measurement can judge it: its formula is lost, for instance
    erratum: Erratum | None = None  #: the error and its correction
    words: dict[str, str] | None = None  #: how pages write a column

    @property
    def about(self) -> str:
        """*mathematics*, which a calculation decides, or *experiments*, on networks that were trained."""
        calculated = self.kind in ("universal", "existence") and not self.protocol
        return "mathematics" if calculated else "experiments"

    @property
    def part(self) -> str:
        """The figure, table or else the section or theorem of the paper that the statement is of."""
        if found := re.search(r"(figure|table)s? (\d+)", self.place, re.IGNORECASE):
            return f"{found[1].capitalize()} {found[2]}"
        several = re.match(r"(Lemmas|Appendices) ", self.place)
        return self.place if several else self.place.partition(",")[0]

    @property
    def printed_error(self) -> float:
        """Of a number: the error of reading and the figure's own interval, added as independent errors.

        Example:
            >>> Claim(id="a", paper="a2022", place="Figure 1", columns=["x"], statement="...", kind="number",
            ...       printed=8.0, tolerance=3.0, printed_interval=[4, 12], chapter="records/01_x",
            ...       table="a").printed_error
            5.0
        """
        low, high = self.printed_interval or (0, 0)
        return math.hypot(self.tolerance or 0, (high - low) / 2)

    def in_words(self, name: str) -> str:
        """A column of the table, as pages write it."""
        return (self.words or {}).get(name, name.replace("_", " "))


def claim_from(given: dict[str, Any]) -> Claim:
    """A claim whose fields are checked.

    Raises:
        ValueError: one sentence that names the claim, the field, what was expected and what was given.
    """

    def expect(fits: object, field: str, expected: str) -> None:
        if not fits:
            refuse(f"'{field}' {expected}", repr(given[field]) if given.get(field) is not None else "none")

    def refuse(expected: str, was: str) -> NoReturn:
        raise ValueError(f"Claim '{given.get('id')}': expected {expected}, was given {was}.")

    hints, erratum = get_type_hints(Claim), given.get("erratum")
    if isinstance(erratum, dict):
        names = [field.name for field in fields(Erratum) if field.default is MISSING]
        texts = {*erratum} - {"found"} == {*names} and all(isinstance(text, str) for text in erratum.values())
        expect(texts, "erratum", f"with the texts {', '.join(names)}")
        given = given | {"erratum": Erratum(**erratum)}
        expect(erratum["kind"] in ERRATA, "erratum", f"of a kind {', '.join(ERRATA)}")
    for field in given:
        if field not in hints:
            refuse(f"the fields {', '.join(hints)}", f"'{field}'")
        expect(is_bearable(given[field], hints[field]), field, f"of type {hints[field]}")
    claim = Claim(**given)
    expect(re.fullmatch(r"[a-z0-9-]+", claim.id), "id", "of lower-case letters, digits and -")
    expect(claim.kind in CLAIM_KINDS, "kind", f"to be one of {', '.join(CLAIM_KINDS)}")
    expect(claim.whose in ("paper", "ours"), "whose", "to be paper or ours")
    expect(claim.tolerance is None or claim.tolerance >= 0, "tolerance", "of at least 0")
    for field in ("resolution", "noise"):
        expect((value := getattr(claim, field)) is None or value > 0, field, "above 0")
    if claim.kind == "number":
        expect(isinstance(claim.printed, int | float), "printed", "to be a number, as the kind is number")
        expect(claim.tolerance is not None, "tolerance", "that contains the error of reading")
        expect(claim.tolerance_from, "tolerance_from", "to say where the tolerance is from")
    if ends := claim.printed_interval:
        expect(len(ends) == 2 and ends[0] < ends[1], "printed_interval", "to be its lower and its upper end")
    if claim.kind in ("number", "ordering"):
        expect((claim.matters or 0) > 0, "matters", "above 0, the smallest difference that matters")
    wanted = {"number": 1, "ordering": 2}.get(claim.kind)
    fits = len(claim.columns) == wanted if wanted else claim.columns
    expect(fits, "columns", f"to name {wanted or 'at least one'}, as the kind is {claim.kind}")
    return claim
