"""The computed parts of the page of errata, in MyST markdown: a row an entry, whose details unfold."""

from collections.abc import Sequence

from intertwine_book.claims.claim import ERRATA, Claim
from intertwine_book.claims.links import csv_link, escaped, record_link
from intertwine_book.claims.rules import Verdict

SUMMARY = "<summary>What was tested and found</summary>"
Judged = Sequence[tuple[Claim, Verdict]]


def errata(judged: Judged) -> dict[str, str]:
    """The errata by kind, and what is not judged."""
    parts = {}
    for kind in ERRATA:
        found = [pair for pair in judged if pair[0].erratum and pair[0].erratum.kind == kind]
        parts[kind.replace(" ", "-")] = "\n\n".join(_entry(*pair) for pair in found)
    lost = [claim for claim, _ in judged if claim.not_judged]
    parts["not-judged"] = "\n".join(f"- {{cite:t}}`{x.paper}`, {x.place}. {x.not_judged}" for x in lost)
    return parts


def label(claim: Claim) -> str:
    """The label of an erratum, to which the scoreboard links."""
    return f"erratum-{claim.id}"


def _entry(claim: Claim, found: Verdict) -> str:
    """A row: where it stands, the printed words, what is right; folded, the context and what was found."""
    assert claim.erratum
    links = [f"record {record_link(claim)}"] if claim.link else []
    links += [table] if (table := csv_link(claim, found, "its table")) else []
    told, where = found_in_words(claim, found), f" ({', '.join(links)})" if links else ""
    tested = [f"*Tested:* {claim.statement}", f"*Found:* {told}{where}"]
    folded = [claim.erratum.context, *([f"*Not tested:* {told}{where}"] if claim.not_judged else tested)]
    row = (
        f"({label(claim)})=\n{{cite:t}}`{claim.paper}`, **{claim.place}** [#](#{label(claim)})"
        f" “{_line(claim.erratum.quote)}” *Right:* {_line(claim.erratum.right)}"
    )
    details = [f'<details class="found">{SUMMARY}', *map(_line, folded), "</details>"]
    return "\n\n".join([row, *details])


def _line(text: str) -> str:
    return " ".join(text.split())


def found_in_words(claim: Claim, found: Verdict) -> str:
    """The sentence of the erratum with the numbers of the table; without either, what was measured.

    A ValueError names a claim whose sentence asks for a number that the table does not have.
    """
    sentence, measured = claim.erratum and claim.erratum.found, claim.not_judged or escaped(found.measured)
    if found.word == "no counterexample":
        return f"No counterexample in {found.trials} cases: {measured}."
    if not (sentence and found.numbers):
        return measured
    try:
        at_scale = f" *Another scale:* {escaped(found.scale)}." if found.scale else ""
        return sentence.format_map(found.numbers) + at_scale
    except (KeyError, ValueError) as error:
        known = ", ".join(map(str, found.numbers))
        message = f"Claim '{claim.id}': expected 'found' to use {known}, it has {error}: {sentence}"
        raise ValueError(message) from error
