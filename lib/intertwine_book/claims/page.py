"""The pages that verdicts appear on, computed: the scoreboard, the errata, and texts that quote claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from intertwine_book.claims.ledger import Claim
from intertwine_book.claims.verdicts import WORDS, Verdict, judge

_BADGES = dict(zip(WORDS, ("success", "success", "warning", "danger", "secondary", "light"), strict=True))
_ROLES = {"sec": "ref", "fig": "numref", "eq": "eq"}  # by a label's prefix; any other names a theorem

_HEAD = """# Scoreboard

What the papers state, and what the tables of this book say of it. No verdict on this page is typed: each is
computed from a table, at the largest profile that measured it.

{totals}

:::{{dropdown}} How a verdict is reached
*A number* is {reproduced} if the 95 % t-interval of the mean over trials meets the printed value with
its reading error, else it {differs}. *An ordering* is tested on paired trials: {reproduced} if the
interval of the difference lies above 0, it {differs} if it lies below, {inconclusive} if it contains 0.
*A universal statement* is {refuted} by one exact counterexample, otherwise there is {no_counterexample}
in so many cases. *A statement that something exists* is {reproduced} by one exact example, otherwise
{inconclusive}. What has no table yet, or none at a sufficient profile, is {not_yet_measured}.
:::
"""

_ERRATA = """# Errata

Printed statements that need a correction, or a condition that is missing. Under each: the case that our code
found or the number that it measured, the place in the book with the proof, and what is true instead.
"""


def scoreboard(claims: Sequence[Claim], places: Iterable[tuple[str, str | Path]]) -> str:
    """The scoreboard page in MyST markdown: totals, then every claim with its verdict, paper by paper.

    A definition list rather than a table: seven columns do not fit a telephone.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...               chapter="01_x", table="swap", columns=["holds"], minimum="smoke")
        >>> print(scoreboard([claim], []).splitlines()[5])
        **1 statement of 1 paper: 1 not yet measured.**

    Args:
        claims: the ledger (`load`).
        places: (profile, folder) pairs, as `judge` takes them.

    Raises:
        ValueError: see `judge`.
    """
    judged = _judged(claims, places)
    badges = {word.replace(" ", "_"): _badge(word, word) for word in WORDS}
    parts = [_HEAD.format(totals=_totals(judged), **badges)]
    for paper, found in _by_paper(judged).items():
        parts.append(f"## {{cite:t}}`{paper}`\n\n{_counts(found)}.\n")
        parts += [_entry(*pair) for pair in found]
    return "\n".join(parts)


def errata(claims: Sequence[Claim], places: Iterable[tuple[str, str | Path]]) -> str:
    """The errata page in MyST markdown: what is printed, what is true, and the calculation that shows it.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...               chapter="01_x", table="swap", columns=["holds"], minimum="smoke", erratum="...")
        >>> errata([claim], []).splitlines()[0]
        '# Errata'

    Args:
        claims: the ledger; those without an erratum are left out.
        places: as `scoreboard` takes them.

    Raises:
        ValueError: see `judge`.
    """
    parts = [_ERRATA]
    for paper, found in _by_paper(_judged([each for each in claims if each.erratum], places)).items():
        parts += [f"## {{cite:t}}`{paper}`\n", *(_entry(*pair) for pair in found)]
    return "\n".join(parts)


def filled(text: str, claims: Sequence[Claim], places: Iterable[tuple[str, str | Path]]) -> str:
    """A text in MyST markdown, every line `[[id]]` in it replaced by that claim, `[[totals]]` by the totals.

    Example:
        >>> filled("Today:\\n\\n[[totals]]", [], []).splitlines()[2]
        '**0 statements of 0 papers: none.**'

    Args:
        text: the template.
        claims: the ledger.
        places: as `scoreboard` takes them.

    Raises:
        ValueError: an id that is not in the ledger; see also `judge`.
    """
    asked = re.findall(_QUOTE, text)
    known = {claim.id: claim for claim in claims}
    if strange := set(asked) - set(known) - {"totals"}:
        raise ValueError(f"Expected the id of a claim or 'totals' in [[ ]], was given '{min(strange)}'.")
    places = list(places)
    quotes = {}
    for claim in (known[name] for name in asked if name in known):
        quotes[claim.id] = f"{{cite:t}}`{claim.paper}`, {_entry(claim, judge(claim, places))}"
    if "totals" in asked:
        quotes["totals"] = _totals(_judged(claims, places))
    return re.sub(_QUOTE, lambda found: quotes[found[1]], text)


_QUOTE = re.compile(r"^\[\[([a-z0-9-]+)\]\]$", re.MULTILINE)


def _judged(claims: Sequence[Claim], places: Iterable[tuple[str, str | Path]]) -> list[tuple[Claim, Verdict]]:
    places = list(places)
    return [(claim, judge(claim, places)) for claim in claims]


def _by_paper(judged: Sequence[tuple[Claim, Verdict]]) -> dict[str, list[tuple[Claim, Verdict]]]:
    papers: dict[str, list[tuple[Claim, Verdict]]] = {}
    for claim, verdict in judged:
        papers.setdefault(claim.paper, []).append((claim, verdict))
    return papers


def _totals(judged: Sequence[tuple[Claim, Verdict]]) -> str:
    statements, papers = _plural(len(judged), "statement"), _plural(len(_by_paper(judged)), "paper")
    return f"**{statements} of {papers}: {_counts(judged)}.**"


def _entry(claim: Claim, verdict: Verdict) -> str:
    numbers = []
    if claim.printed is not None:
        number = f"{claim.printed:g} ± {claim.tolerance:g}" if claim.kind == "number" else claim.printed
        numbers.append(f"**Printed** {number}")
    measured = _plain(verdict.measured)
    numbers.append(f"**Measured** {measured}, profile *{verdict.profile}*" if verdict.profile else measured)
    if claim.link:
        role = _ROLES.get(claim.link.split("-")[0], "prf:ref")
        numbers.append(f"{{{role}}}`{claim.link}`")
    lines = [claim.statement, " · ".join(numbers)]
    if claim.erratum:
        lines.append(f"**Erratum** {claim.erratum}")
    details = "\n".join(f": {' '.join(line.split())}\n" for line in lines)
    return f"{claim.place} {_badge(verdict.word, str(verdict))}\n{details}"


def _badge(word: str, text: str) -> str:
    return f"{{bdg-{_BADGES[word]}}}`{text}`"


def _plain(text: str) -> str:
    """Text of tables and errors, with nothing left that markdown would read as markup."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>$#|~{}@^" else character for character in text)


def _counts(judged: Sequence[tuple[Claim, Verdict]]) -> str:
    times = Counter(verdict.word for _, verdict in judged)
    counts = ", ".join(f"{times[word]} {word}" for word in WORDS if times[word])
    return counts.replace("no counterexample", "without counterexample") or "none"


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
