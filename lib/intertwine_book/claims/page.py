"""The pages of verdicts, computed: the scoreboard and the errata, in MyST markdown."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import pandas as pd

from intertwine_book.claims.errata import Judgements, anchor, errata
from intertwine_book.claims.ledger import ERRATA, Claim
from intertwine_book.claims.rules import Verdict
from intertwine_book.claims.wording import chapter_link, csv_link, escaped, measured, paper_name, printed
from intertwine_book.markdown_table import markdown_table

FAMILIES = {  # what agrees and what disagrees in another setting have a name, and a place, alike
    "agrees": ("reproduced", "no counterexample"),
    "agrees in another setting": ("consistent",),
    "undecided": ("inconclusive", "no difference"),
    "disagrees in another setting": ("inconsistent",),
    "disagrees": ("differs", "refuted"),
    "no verdict": ("not yet measured", "not judged"),
}
_FAMILY = {word: family for family, words in FAMILIES.items() for word in words}
OURS = "this book"  # in the place of a paper, where a statement is ours
SORTS = {  # of statements, as totals and bars have them: one sum over all would hide which of them fail
    "mathematics": "statements of mathematics",
    "orderings": "orderings",
    "numbers": "printed numbers",
    "always or some": "statements that something holds always, or in some case",
}


def scoreboard(judged: Judgements) -> dict[str, str]:
    """The computed parts of the pages, by name, and the errata by kind.

    `sum` is for the home page; `totals`, `counts`, `parts` (the papers' figures and tables) and `rows` are
    for the scoreboard.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...               chapter="01_x", table="swap", columns=["holds"], minimum="smoke")
        >>> parts = scoreboard([(claim, Verdict("not yet measured", "No table."))])
        >>> "| A 2022 | Lemma 1 | universal | ... |  | No table. |  |" in parts["rows"]
        True
    """
    families = summary(judged).groupby(["paper", "kind"], sort=False)["family"]
    kinds = families.value_counts().unstack(fill_value=0).reindex(columns=list(FAMILIES), fill_value=0)
    counts = [("paper", "kind", *FAMILIES)]
    counts += [(paper, _filtered(paper, kind), *map(str, row)) for (paper, kind), row in kinds.iterrows()]
    what, found = ("Paper", "Place", "Kind", "Statement", "Printed"), ("Measured", "Trials or cases")
    head = (*what, *found, "Verdict", "Chapter")
    parts = {
        "sum": _sum(judged),
        "totals": _totals(judged),
        "counts": markdown_table(counts),
        "parts": _parts(judged),
    }
    parts["rows"] = markdown_table([head, *(_row(*pair) for pair in judged)])
    return parts | errata(judged)


def summary(judged: Judgements) -> pd.DataFrame:
    """One row a claim: where it stands, of what kind it is, the family of its verdict, what was measured.

    The paper of a statement of ours is `this book`; these come last. The sort is one of `SORTS`, the family
    one of `FAMILIES`, and a number has `printed`, its `mean`, and the ends `low` and `high` of its interval.
    """
    rows = [
        {"paper": OURS if claim.whose == "ours" else paper_name(claim)}
        | {"place": claim.place, "kind": claim.kind, "sort": _sort_of(claim)}
        | {"family": _FAMILY[verdict.word]}
        | {"printed": claim.printed if claim.kind == "number" else None}
        | dict(zip(("mean", "low", "high"), verdict.interval or (None,) * 3, strict=True))
        for claim, verdict in judged
    ]
    columns = ["paper", "place", "kind", "sort", "family", "printed", "mean", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("paper", key=lambda paper: paper == OURS, kind="stable")


def _sort_of(claim: Claim) -> str:
    """One of `SORTS`: the kind of a statement about trained networks, or mathematics."""
    of_kind = {"ordering": "orderings", "number": "numbers"}.get(claim.kind, "always or some")
    return "mathematics" if claim.about == "mathematics" else of_kind


def _sum(judged: Judgements) -> str:
    """The papers' statements in numbers, for the home page: mathematics, then experiments by kind."""
    theirs = [(claim, verdict) for claim, verdict in judged if claim.whose == "paper"]
    calculated = [pair for pair in theirs if _sort_of(pair[0]) == "mathematics"]
    families = Counter(_FAMILY[verdict.word] for _, verdict in calculated)
    loose = sum(_is_loose(*pair) for pair in calculated)
    holds, fails = families["agrees"], families["disagrees"]
    rows: list[tuple[str, ...]] = [
        ("statements about trained networks", "agree", "undecided", "disagree", "no verdict")
    ]
    for sort, things in list(SORTS.items())[1:]:
        words = [verdict for claim, verdict in theirs if _sort_of(claim) == sort]
        rows.append((f"{len(words)} {things}", *(_own(words, each) for each in _SIDES)))
    return (
        f"**Mathematics.** Of {len(calculated)} statements {holds} hold as far as we tested. "
        f"{fails - loose} are false as printed, {loose} are misprints or loose words, right as meant, and "
        f"{len(calculated) - holds - fails} are open or were not judged.\n\n"
        "**Experiments**, by kind. In brackets: those tested in the paper's own setting. Elsewhere neither "
        "agreement nor disagreement is proof.\n\n" + markdown_table(rows)
    )


_SIDES = {  # of a verdict, wherever it was reached
    "agree": ("agrees", "agrees in another setting"),
    "undecided": ("undecided",),
    "disagree": ("disagrees in another setting", "disagrees"),
    "no verdict": ("no verdict",),
}


def _own(verdicts: Sequence[Verdict], side: str) -> str:
    """How many verdicts are of this side, and in brackets how many of these in the paper's own setting."""
    of_side = [verdict for verdict in verdicts if _FAMILY[verdict.word] in _SIDES[side]]
    own = sum(not verdict.decisive for verdict in of_side)
    return f"{len(of_side)}" + f" ({own})" * (side != "no verdict")


def _parts(judged: Judgements) -> str:
    """A block for each figure and table of a paper; folded, one for each section with three statements."""
    groups: dict[tuple[str, str], list[tuple[Claim, Verdict]]] = {}
    for claim, verdict in judged:
        if claim.whose == "paper":
            groups.setdefault((paper_name(claim), claim.part), []).append((claim, verdict))
    blocks = []
    for paper in sorted({paper for paper, _ in groups}):
        names = sorted((part for by, part in groups if by == paper), key=_by_number)
        drawn = [part for part in names if part.startswith(("Figure", "Table"))]
        others = [part for part in names if part not in drawn and len(groups[paper, part]) > 2]
        if not (drawn or others):
            continue
        blocks += [f"**{paper}**", "\n".join(_part(paper, part, groups[paper, part]) for part in drawn)]
        if others:
            text = "\n".join(_part(paper, part, groups[paper, part]) for part in others)
            blocks.append(f":::{{dropdown}} Sections and theorems of {paper}\n{text}\n:::")
    return "\n\n".join(block for block in blocks if block)


_SAID = {  # of one statement, of several
    "agrees": ("holds", "hold"),
    "agrees in another setting": ("holds in another setting", "hold in another setting"),
    "disagrees": ("does not hold", "do not hold"),
    "disagrees in another setting": ("does not hold in another setting", "do not hold in another setting"),
    "undecided": ("is undecided", "are undecided"),
    "no verdict": ("has no verdict", "have no verdict"),
}


def _part(paper: str, part: str, pairs: Judgements) -> str:
    """Two sentences: how the statements of a figure came out, and what differs from the paper."""
    words = Counter(_FAMILY[verdict.word] for _, verdict in pairs)
    counts = ", ".join(f"{words[key]} {_SAID[key][words[key] > 1]}" for key in _SAID if words[key])
    few = sum("trials decide nothing" in verdict.measured for _, verdict in pairs)
    counts += f" ({few} for want of trials)" * bool(few)
    why = Counter(each for _, verdict in pairs for each in (verdict.scale or "").split("; ") if each)
    apart = "; ".join(f"{escaped(each)} ({times})" for each, times in why.most_common(6))
    wanted = {"paper": paper, "part": part, "whose": "the papers'"}
    link = f'<a href="?{escape(urlencode(wanted))}#statements">{part}</a>'
    differs = f" Our run differs: {apart}." if apart else ""
    return f"- {link}, {_plural(len(pairs), 'statement')}: {counts}.{differs}"


def _by_number(part: str) -> tuple[str, int]:
    word, _, number = part.partition(" ")
    return word, int(number) if number.isdecimal() else 0


def _filtered(paper: str, kind: str) -> str:
    """The kind, as a link that filters the table (book/_static/scoreboard.js)."""
    wanted = {"whose": "ours"} if paper == OURS else {"paper": paper, "whose": "the papers'"}
    return f'<a href="?{escape(urlencode(wanted | {"kind": kind}))}#statements">{kind}</a>'


def _totals(judged: Judgements) -> str:
    """A line for each kind of statements, the papers' first."""
    lines = []
    for whose, owner in (
        ("paper", f"of {_plural(len({claim.paper for claim, _ in judged}), 'paper')}"),
        ("ours", "of our own"),
    ):
        for sort, things in SORTS.items():
            pairs = [
                (claim, found) for claim, found in judged if claim.whose == whose and _sort_of(claim) == sort
            ]
            if pairs:
                lines.append(f"- {len(pairs)} {things} {owner}: {_counts_of(pairs)}.")
    return "\n".join(lines)


def _row(claim: Claim, verdict: Verdict) -> tuple[str, ...]:
    place = claim.place + " *(ours)*" * (claim.whose == "ours")
    mark = f"[{verdict.word}]{{.verdict .{_FAMILY[verdict.word].replace(' ', '-')}}}"
    if claim.erratum:
        mark += f" {{ref}}`erratum <{anchor(claim)}>`"
    where = f"{chapter_link(claim)} {csv_link(claim, verdict)}"
    found = (measured(claim, verdict), str(verdict.trials or ""), mark, where)
    return (paper_name(claim), place, claim.kind, claim.statement, printed(claim), *found)


def _counts_of(pairs: Judgements) -> str:
    """How many statements have each verdict, family by family."""
    times = Counter(verdict.word for _, verdict in pairs)
    loose = sum(_is_loose(*pair) for pair in pairs)
    counts = []
    for family, words in FAMILIES.items():
        each = [f"{times[word]} {word}" for word in words if times[word]]
        if loose and family == "disagrees":
            each += [f"{loose} of these by a misprint or a loose phrase"]
        if each:
            counts.append(f"**{family} {sum(times[word] for word in words)}** ({', '.join(each)})")
    return ", ".join(counts)


def _is_loose(claim: Claim, verdict: Verdict) -> bool:
    """Whether a statement fails to the letter, and stands as its authors mean it."""
    erratum = claim.erratum
    return verdict.word in FAMILIES["disagrees"] and erratum is not None and erratum.kind != ERRATA[0]


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
