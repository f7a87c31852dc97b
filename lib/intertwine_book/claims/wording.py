"""Words and links that the pages of verdicts share, in MyST markdown."""

import re

from intertwine_book.claims.ledger import READING, Claim
from intertwine_book.claims.rules import Verdict

_NAMES = {  # of the papers, as the bibliography cites them
    "csiszarik2021": "Csiszárik et al. 2021",
    "godfrey2022": "Godfrey et al. 2022",
    "lengyel2020": "Lengyel et al. 2020",
    "swap-and-scale-2022": "Fowler 2022",
}
_ROLES = {"sec": "ref", "fig": "ref", "rec": "ref", "eq": "eq"}  # by a label's prefix; others are theorems


def paper_name(claim: Claim) -> str:
    return _NAMES.get(claim.paper, f"{claim.paper[:-4].strip('-').capitalize()} {claim.paper[-4:]}")


def printed(claim: Claim) -> str:
    """The printed value; of a number with its error, and where that comes from."""
    if claim.kind != "number":
        return "" if claim.printed is None else str(claim.printed)
    source = str(claim.tolerance_from)
    if ends := claim.printed_interval:
        source += f" {claim.tolerance:g}, and the figure's own interval, {ends[0]:g} to {ends[1]:g}"
    elif source == READING:
        source += " alone, the figure's own interval is not known"
    return f"{claim.printed:g} ± {claim.printed_error:.2g} ({source})"


def measured(claim: Claim, verdict: Verdict) -> str:
    """What was measured, or why nothing was, and where the run is not the paper's."""
    return (claim.not_judged or escaped(verdict.measured)) + setting(verdict)


def setting(verdict: Verdict) -> str:
    """Where the run is not the paper's."""
    if not verdict.scale:
        return ""
    return f" *{'Another setting' if verdict.decisive else 'Listed only'}:* {escaped(verdict.scale)}."


def chapter_link(claim: Claim) -> str:
    """A link to where the chapter tests the claim; its text is the chapter's number."""
    if not claim.link:
        return ""
    role = _ROLES.get(claim.link.split("-")[0], "prf:ref")
    number = claim.chapter.removeprefix("records/").split("_")[0].lstrip("0")
    return f"{{{role}}}`{claim.link}`" if role == "eq" else f"{{{role}}}`{number} <{claim.link}>`"


def csv_link(claim: Claim, verdict: Verdict, text: str = "csv") -> str:
    """A link to the table that the verdict rests on, which `build.render` puts beside the pages."""
    if (
        not verdict.profile or claim.table == claim.id
    ):  # the second: a cell computes its rows, no table has them
        return ""
    of_record = claim.chapter.startswith("records/")  # whose tables hold all scales
    path = f"tables/{'' if of_record else f'{verdict.profile}/'}{claim.chapter}/{claim.table}.csv"
    return f'<a href="{path}" title="the table {claim.table}">{text}</a>'


def escaped(text: str) -> str:
    """Text of tables and errors, with markup characters escaped, and a minus sign before numbers.

    Example:
        >>> escaped("G_ReLU: -1")
        'G\\\\_ReLU: −1'
    """
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text)
    return "".join(f"\\{character}" if character in "\\`*_[]<>$#~{}@^" else character for character in text)
