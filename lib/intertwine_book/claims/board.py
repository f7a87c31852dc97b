"""The scoreboard, computed, in MyST markdown: counts in three columns, and a row for each statement."""

import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import pandas as pd

from intertwine_book.claims.claim import ERRATA, READING, Claim
from intertwine_book.claims.errata import errata, label
from intertwine_book.claims.links import csv_link, escaped, paper_name, record_link
from intertwine_book.claims.rules import Verdict
from intertwine_book.wording import markdown_table

OUTCOMES = {  # a difference that is too small to matter is none, so a statement that claims one fails
    "agree": ("reproduced", "no counterexample", "consistent"),
    "undecided": ("inconclusive",),
    "disagree": ("differs", "refuted", "no difference", "inconsistent"),
    "no verdict": ("not yet measured", "not judged"),
}
_OUTCOME = {word: outcome for outcome, words in OUTCOMES.items() for word in words}
SETTINGS = ("mathematics", "the paper's own setting", "another scale")
OURS = "this book"  # in the place of a paper, where a statement is ours
SORTS = {"ordering": "orderings", "number": "printed numbers"}  # others hold always, or in some case
Judged = Sequence[tuple[Claim, Verdict]]


def scoreboard(judged: Judged) -> dict[str, str]:
    """The computed parts of the pages, by name, and the errata by kind.

    `sum` is for the home page, `counts` and `rows` are for the scoreboard. A row of a figure, theorem or
    section comes first, and further statements of it below; scripts fold these.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="A swap.", kind="universal",
        ...               chapter="records/01_x", table="swap", columns=["holds"])
        >>> row = scoreboard([(claim, Verdict("not yet measured", "No row."))])["rows"].splitlines()[-1]
        >>> row.startswith("| [A 2022]{.paper} [Lemma 1]{.place} [universal]{.kind} | A swap. |  | No row. |")
        True
    """
    head = ("Place", "Statement", "Printed", "Measured", "Scale", "Verdict", "Record")
    groups: dict[str, dict[str, list[tuple[Claim, Verdict]]]] = {}
    for claim, verdict in judged:
        groups.setdefault(claim.paper, {}).setdefault(claim.part, []).append((claim, verdict))
    rows = [row for places in groups.values() for group in places.values() for row in _place(group)]
    parts = {"sum": _sum(judged), "counts": _counts(judged), "rows": markdown_table([head, *rows])}
    return parts | errata(judged)


def summary(judged: Judged) -> pd.DataFrame:
    """One row a claim: whose it is, in what setting it was judged, how it came out, what was measured.

    The paper of a statement of ours is `this book`. A number has `printed`, its `mean`, and the ends `low`
    and `high` of its interval.
    """
    rows = [
        {"paper": OURS if claim.whose == "ours" else paper_name(claim), "place": claim.place}
        | {"sort": SORTS.get(claim.kind, "statements on all or some"), "outcome": _OUTCOME[found.word]}
        | {"setting": setting_of(claim, found), "loose": _is_loose(claim, found)}
        | {"printed": claim.printed if claim.kind == "number" else None}
        | dict(zip(("mean", "low", "high"), found.interval or (None,) * 3, strict=True))
        for claim, found in judged
    ]
    columns = ["paper", "place", "sort", "outcome", "setting", "loose", "printed", "mean", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def setting_of(claim: Claim, found: Verdict) -> str:
    """One of `SETTINGS`; *no run* for a statement about trained networks that no run has judged."""
    if claim.about == "mathematics":
        return "mathematics"
    if _OUTCOME[found.word] == "no verdict":
        return "no run"
    return "another scale" if found.decisive else "the paper's own setting"


def _is_loose(claim: Claim, found: Verdict) -> bool:
    """Whether a statement fails to the letter, and stands as its authors mean it."""
    erratum = claim.erratum
    return _OUTCOME[found.word] == "disagree" and erratum is not None and erratum.kind != ERRATA[0]


def _sum(judged: Judged) -> str:
    """The papers' statements in numbers, in three columns, for the home page."""
    table = summary(judged).query("paper != @OURS")
    rows: list[tuple[str, ...]] = [("", *SETTINGS)]
    for outcome in ("agree", "undecided", "disagree"):
        times = Counter(table[table["outcome"] == outcome]["setting"])
        rows.append((outcome, *(str(times[setting]) for setting in SETTINGS)))
    fails = table[(table["outcome"] == "disagree") & (table["setting"] == "mathematics")]
    loose = int(fails["loose"].sum())
    return (
        f"{markdown_table(rows)}\n\nOf the mathematical statements that disagree {len(fails) - loose} are "
        f"false as printed, and {loose} are misprints, loose words or lack a hypothesis. At another scale, "
        "with smaller networks or shorter training, neither agreement nor disagreement is proof. "
        f"{(table['outcome'] == 'no verdict').sum()} more statements have no verdict."
    )


def _counts(judged: Judged) -> str:
    """Papers, then sorts of statements about trained networks: how many agree · are undecided · disagree."""
    table = summary(judged)
    theirs = table[table["paper"] != OURS]
    trained = theirs[theirs["setting"] != "mathematics"]
    groups = [(name, {"paper": name, "whose": "the papers'"}, rows) for name, rows in _by(theirs, "paper")]
    groups.append((OURS, {"whose": "ours"}, table[table["paper"] == OURS]))
    groups += [(name, {"sort": name, "whose": "the papers'"}, rows) for name, rows in _by(trained, "sort")]
    lines: list[tuple[str, ...]] = [("", *SETTINGS, "no verdict")]
    for name, wanted, rows in groups:
        cells = [_cell(rows[rows["setting"] == at], wanted | {"setting": at}) for at in SETTINGS]
        without = wanted | ({"setting": "no run"} if "sort" in wanted else {})
        cells.append(_linked(int((rows["outcome"] == "no verdict").sum()), without, "no verdict"))
        lines.append((f"*{name}*" if "sort" in wanted else name, *cells))
    return markdown_table(lines)


def _by(table: pd.DataFrame, column: str) -> list[tuple[str, pd.DataFrame]]:
    return [(str(name), rows) for name, rows in table.groupby(column, sort=False)]


def _cell(rows: pd.DataFrame, wanted: dict[str, str]) -> str:
    times = Counter(rows["outcome"])
    numbers = [_linked(times[outcome], wanted, outcome) for outcome in ("agree", "undecided", "disagree")]
    return " · ".join(numbers) if len(rows) else ""


def _linked(number: int, wanted: dict[str, str], outcome: str) -> str:
    """A number that leads to its rows (book/_static/scoreboard.js)."""
    if not number:
        return "0"
    query = escape(urlencode(wanted | {"outcome": outcome}))
    return f'<a class="{outcome.replace(" ", "-")}" title="{outcome}" href="?{query}#statements">{number}</a>'


def _place(group: Judged) -> list[tuple[str, ...]]:
    """The rows of one place: the paper's own statements first, and orderings before single numbers."""
    ordered = sorted(group, key=lambda pair: (pair[0].whose == "ours", pair[0].kind == "number"))
    times = Counter(_OUTCOME[found.word] for _, found in ordered[1:])
    counts = ", ".join(f"{times[outcome]} {outcome}" for outcome in OUTCOMES if times[outcome])
    more = f"[{len(ordered) - 1} more: {counts}]{{.more}}" if times else ""
    first, *others = ordered
    return [_row(*first, more), *(_row(*pair) for pair in others)]


def _row(claim: Claim, found: Verdict, more: str = "") -> tuple[str, ...]:
    rest = claim.place.removeprefix(claim.part)
    place = f"[{paper_name(claim)}]{{.paper}} [{claim.part}]{{.place}}"
    place += rest if rest[:1] in ", " else f", {claim.place}"
    place += " *(ours)*" * (claim.whose == "ours") + f" [{claim.kind}]{{.kind}}"
    setting = setting_of(claim, found).replace("'", "").replace(" ", "-")
    mark = f"[{found.word}]{{.verdict .{_OUTCOME[found.word].replace(' ', '-')} .{setting}}}"
    if claim.erratum:
        mark += f" {{ref}}`erratum <{label(claim)}>`"
    measured = claim.not_judged or claim.reason if not found.trials else None
    where = f"{record_link(claim)} {csv_link(claim, found)}"
    cells = (f"{place} {more}".strip(), claim.statement, _printed(claim), measured or escaped(found.measured))
    return (*cells, _scale(claim, found), mark, where)


def _printed(claim: Claim) -> str:
    """The printed value; of a number with its error, and where that comes from."""
    if claim.kind != "number":
        return "" if claim.printed is None else str(claim.printed)
    source = str(claim.tolerance_from)
    if ends := claim.printed_interval:
        source += f" {claim.tolerance:g}, and the figure's own interval, {ends[0]:g} to {ends[1]:g}"
    elif source == READING:
        source += " alone, the figure's own interval is not known"
    return f"{claim.printed:g} ± {claim.printed_error:.3g} ({source})"


def _scale(claim: Claim, found: Verdict) -> str:
    """How many trials or cases, and what differs from the paper's experiment: what can be counted first."""
    counted, others = scale_in_words(found.scale or "")
    if not any(each.endswith(" trials") for each in counted) and found.trials:
        counted = [f"{found.trials:,} {'cases' if claim.about == 'mathematics' else 'trials'}", *counted]
    shown, folded = escaped(", ".join(counted[:2])), [*counted[2:], *others]
    more = f" <details><summary>{len(folded)} more</summary>{escaped('; '.join(folded))}</details>"
    return shown + more * bool(folded)


def scale_in_words(scale: str) -> tuple[list[str], list[str]]:
    """What differs from the paper's experiment: what is a part of a number of theirs, and the rest.

    Example:
        >>> scale_in_words("epochs: 24 instead of 50; optimiser: Adam instead of SGD; 4 of 32 trials")
        (['4 of 32 trials', '24 of 50 epochs'], ['optimiser Adam, not SGD'])
    """
    counted: list[str] = []
    others: list[str] = []
    for each in filter(None, scale.split("; ")):
        found = re.fullmatch(r"(.+?): (.+) instead of (.+)", each)
        if not found:
            counted.insert(0, each)
            continue
        name, ours, theirs = found.groups()
        part = name.endswith("s") and ours.isdecimal() and theirs.isdecimal() and int(ours) < int(theirs)
        if part:
            counted.append(f"{int(ours):,} of {int(theirs):,} {name}")
        else:
            others.append(f"{name} {ours}, not {theirs}")
    return counted, others
