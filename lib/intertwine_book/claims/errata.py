"""The computed parts of the page of errata, in MyST markdown."""

from collections.abc import Sequence

from intertwine_book.claims.ledger import ERRATA, Claim
from intertwine_book.claims.rules import Verdict
from intertwine_book.claims.wording import chapter_link, csv_link, measured, setting

Judgements = Sequence[tuple[Claim, Verdict]]


def errata(judged: Judgements) -> dict[str, str]:
    """The errata by kind, and what is not judged."""
    parts = {}
    for kind in ERRATA:
        found = [pair for pair in judged if pair[0].erratum and pair[0].erratum.kind == kind]
        parts[kind.replace(" ", "-")] = "\n".join(_entry(*pair) for pair in found)
    lost = [claim for claim, _ in judged if claim.not_judged]
    parts["not-judged"] = "\n".join(f"- {{cite:t}}`{x.paper}`, {x.place}. {x.not_judged}" for x in lost)
    return parts


def anchor(claim: Claim) -> str:
    """The label of an erratum, to which the scoreboard links."""
    return f"erratum-{claim.id}"


def _entry(claim: Claim, verdict: Verdict) -> str:
    assert claim.erratum
    where = [f"chapter {chapter_link(claim)}"] if claim.link else []
    where += [link] if (link := csv_link(claim, verdict, "its table")) else []
    told, links = found_in_words(claim, verdict), f" ({', '.join(where)})" if where else ""
    tested = [f"*Tested:* {claim.statement}", f"*Found:* {told}{links}"]
    lines = [
        claim.erratum.context,
        f"“{claim.erratum.quote}”",
        *([f"*Not tested:* {told}{links}"] if claim.not_judged else tested),
        f"*Right:* {claim.erratum.right}",
    ]
    details = "\n".join(f": {' '.join(line.split())}\n" for line in lines)
    permalink = f"[#](#{anchor(claim)})"
    return f"({anchor(claim)})=\n{{cite:t}}`{claim.paper}`, {claim.place} {permalink}\n{details}"


def found_in_words(claim: Claim, verdict: Verdict) -> str:
    """The sentence of the erratum with the numbers of the table; without either, what was measured.

    A ValueError names an entry whose sentence asks for a number that the table does not have.
    """
    sentence = claim.erratum and claim.erratum.found
    if verdict.word == "no counterexample":
        return f"No counterexample in {verdict.trials} cases: {measured(claim, verdict)}."
    if not (sentence and verdict.numbers):
        return measured(claim, verdict)
    try:
        return sentence.format_map(verdict.numbers) + setting(verdict)
    except (KeyError, ValueError) as error:
        known = ", ".join(map(str, verdict.numbers))
        message = f"Claim '{claim.id}': expected 'found' to use {known}, it has {error}: {sentence}"
        raise ValueError(message) from error
