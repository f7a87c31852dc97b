"""The scoreboard page, computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from intertwine.claims.ledger import Claim
from intertwine.claims.verdicts import WORDS, Verdict, judge

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
    places = list(places)
    judged = [(claim, judge(claim, places)) for claim in claims]
    badges = {word.replace(" ", "_"): _badge(word, word) for word in WORDS}
    papers = len({claim.paper for claim in claims})
    counts = _counts([verdict for _, verdict in judged])
    totals = f"**{_plural(len(claims), 'statement')} of {_plural(papers, 'paper')}: {counts}.**"
    parts = [_HEAD.format(totals=totals, **badges)]
    for paper in dict.fromkeys(claim.paper for claim in claims):
        found = [(claim, verdict) for claim, verdict in judged if claim.paper == paper]
        parts.append(f"## {{cite:t}}`{paper}`\n\n{_counts([verdict for _, verdict in found])}.\n")
        parts += [_entry(claim, verdict) for claim, verdict in found]
    return "\n".join(parts)


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


def _counts(verdicts: Sequence[Verdict]) -> str:
    times = Counter(verdict.word for verdict in verdicts)
    counts = ", ".join(f"{times[word]} {word}" for word in WORDS if times[word])
    return counts.replace("no counterexample", "without counterexample") or "none"


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
