"""The pages that verdicts appear on, computed: the scoreboard, the errata, and texts that quote claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from intertwine_book.claims.ledger import ERRATA, Claim
from intertwine_book.claims.rules import WORDS, Verdict

_BADGES = dict.fromkeys(("reproduced", "no counterexample", "consistent"), "success")
_BADGES |= dict.fromkeys(("inconclusive", "no difference"), "warning")
_BADGES |= dict.fromkeys(("inconsistent", "differs", "refuted"), "danger")
_BADGES |= dict.fromkeys(("not yet measured", "not judged"), "light")
Judged = Sequence[tuple[Claim, Verdict]]
_ROLES = {"sec": "ref", "fig": "numref", "eq": "eq"}  # by a label's prefix; any other names a theorem

_HEAD = """# Scoreboard

Every statement of the papers that can be measured, and the verdict that the tables of this book give
it. No verdict on this page is typed: each is computed from a table, at the largest profile that
measured it.

{totals}

:::{{dropdown}} How a verdict is reached
**A number** is {reproduced} if the 95 % t-interval of its mean lies within the tolerance around the
printed value, {differs} if the interval lies outside, and is {inconclusive} otherwise; the page then
says how many trials would settle it. The tolerance is the printed spread or the error of reading a
figure. *Example:* printed 55 ± 5; trials of 54, 55.5, 55 and 56 reproduce it, trials of 40, 55 and 70
are inconclusive.

**An ordering** or a trend compares two columns trial by trial. It is {reproduced} if the interval of
the difference lies above 0, it {differs} if it lies below. If the interval lies within ± the smallest
difference that matters, there is {no_difference}, even where rounding would make it significant.
*Example:* with 1 point as the smallest difference that matters, differences of 0.2, 0.3 and 0.25 points
are no difference.

**A universal statement** is {refuted} by one exact counterexample; otherwise there is
{no_counterexample} in so many cases. **A statement that something exists** is {reproduced} by one exact
example.

**A trial is an independent unit**: a pair of networks or a seed. Layers, starts and paths of one pair
are averaged first. Fewer than three trials give values and no verdict.

**Many orderings of one paper** are corrected for their number by Holm's method; the page shows both
p-values, and the corrected one decides.

**A run that is not the paper's** – narrower networks, another data set – is shown with the difference
and called {consistent} or {inconsistent} with the statement. A statement that no table holds yet is
{not_yet_measured}. A statement whose formula is lost in the text that we have is {not_judged}.
:::
"""

_ERRATA = """# Errata

Printed statements that need a correction, or a condition that is missing, in three kinds. *False as
printed*: a calculation gives a counterexample. *Misprint*: the paper itself shows what is meant.
*Remark*: a loose phrase, a missing hypothesis, or a stronger result of this book; nothing is refuted.
Each entry quotes the printed words, gives the case that our code found, and says what is right. The last
section lists what this book does not judge, with the reason.
"""


def scoreboard(judged: Judged) -> str:
    """The scoreboard page in MyST markdown: totals, then every claim with its verdict, paper by paper.

    A definition list rather than a table: seven columns do not fit a telephone.

    Example:
        >>> claim = Claim(id="swap", paper="a2022", place="Lemma 1", statement="...", kind="universal",
        ...               chapter="01_x", table="swap", columns=["holds"], minimum="smoke")
        >>> print(scoreboard([(claim, Verdict("not yet measured", "No table."))]).splitlines()[6])
        **1 statement of 1 paper: 1 not yet measured.**

    Args:
        judged: the claims of the ledger with their verdicts, as `judge_all` gives them.
    """
    badges = {word.replace(" ", "_"): _badge(word, word) for word in WORDS}
    parts = [_HEAD.format(totals=_totals(judged), **badges)]
    for paper in dict.fromkeys(claim.paper for claim, _ in judged):
        found = [pair for pair in judged if pair[0].paper == paper]
        theirs, ours = _counts_of(found, "paper"), _counts_of(found, "ours")
        parts.append(f"## {{cite:t}}`{paper}`\n\n{theirs[1].capitalize()}.")
        parts[-1] += f" Our own corrections: {ours[1]}.\n" if ours[0] else "\n"
        parts += [_entry(*pair) for pair in found]
    return "\n".join(parts)


def errata(judged: Judged) -> str:
    """The errata page in MyST markdown: by kind, the printed words, the correction, and the calculation.

    Example:
        >>> errata([]).splitlines()[0]
        '# Errata'

    The argument is that of `scoreboard`; of other claims, those that are not judged come last, each with why.
    """
    parts = [_ERRATA]
    for kind in ERRATA:
        found = [pair for pair in judged if pair[0].erratum and pair[0].erratum.kind == kind]
        if found:
            parts.append(f"## {kind.capitalize()}\n")
            parts += [f"{{cite:t}}`{claim.paper}`, {_entry(claim, verdict)}" for claim, verdict in found]
    if lost := [claim for claim, _ in judged if claim.not_judged]:
        parts.append("## What is not judged, and why\n")
        parts += [f"- {{cite:t}}`{claim.paper}`, {claim.place}. {claim.not_judged}" for claim in lost]
    return "\n".join(parts)


def filled(text: str, judged: Judged) -> str:
    """A text in MyST markdown, every line `[[id]]` in it replaced by that claim, `[[totals]]` by the totals.

    Example:
        >>> filled("Today:\\n\\n[[totals]]", []).splitlines()[2]
        '**0 statements of 0 papers: none.**'

    Raises:
        ValueError: an id that is not in the ledger.
    """
    wanted = set(re.findall(_QUOTE, text))
    if strange := wanted - {claim.id for claim, _ in judged} - {"totals"}:
        raise ValueError(f"Expected the id of a claim or 'totals' in [[ ]], was given '{min(strange)}'.")
    quotes = {claim.id: f"{{cite:t}}`{claim.paper}`, {_entry(claim, verdict)}" for claim, verdict in judged}
    quotes["totals"] = _totals(judged)
    return re.sub(_QUOTE, lambda found: quotes[found[1]], text)


_QUOTE = re.compile(r"^\[\[([a-z0-9-]+)\]\]$", re.MULTILINE)


def _totals(judged: Sequence[tuple[Claim, Verdict]]) -> str:
    papers = _plural(len({claim.paper for claim, _ in judged}), "paper")
    (number, theirs), (own, ours) = (_counts_of(judged, whose) for whose in ("paper", "ours"))
    text = f"**{_plural(number, 'statement')} of {papers}: {theirs}.**"
    return f"{text} {_plural(own, 'statement')} of our own: {ours}." if own else text


def _entry(claim: Claim, verdict: Verdict) -> str:
    numbers = []
    if claim.printed is not None:
        number = f"{claim.printed:g} ± {claim.tolerance:g}" if claim.kind == "number" else claim.printed
        source = f" ({claim.tolerance_from})" if claim.tolerance_from else ""
        numbers.append(f"**Printed** {number}{source}")
    measured = claim.not_judged or _plain(verdict.measured)
    numbers.append(f"**Measured** {measured}, profile *{verdict.profile}*" if verdict.profile else measured)
    if verdict.scale:
        numbers.append(f"Not the paper's run: {_plain(verdict.scale)}")
    if claim.link:
        role = _ROLES.get(claim.link.split("-")[0], "prf:ref")
        numbers.append(f"{{{role}}}`{claim.link}`")
    lines = [claim.statement, " · ".join(numbers)]
    if claim.erratum:
        wrong = claim.erratum
        lines.append(f"**{wrong.kind.capitalize()}**: “{wrong.quote}” **Right**: {wrong.right}")
    details = "\n".join(f": {' '.join(line.split())}\n" for line in lines)
    mark = " (ours)" if claim.whose == "ours" else ""
    return f"{claim.place}{mark} {_badge(verdict.word, str(verdict))}\n{details}"


def _badge(word: str, text: str) -> str:
    return f"{{bdg-{_BADGES[word]}}}`{text}`"


def _plain(text: str) -> str:
    """Text of tables and errors, with markup characters escaped."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>$#|~{}@^" else character for character in text)


def _counts_of(judged: Sequence[tuple[Claim, Verdict]], whose: str) -> tuple[int, str]:
    """How many statements are the paper's or ours, and how often each verdict is among theirs, in words."""
    times = Counter(verdict.word for claim, verdict in judged if claim.whose == whose)
    counts = ", ".join(f"{times[word]} {word}" for word in WORDS if times[word])
    return times.total(), counts.replace("no counterexample", "without counterexample") or "none"


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"
