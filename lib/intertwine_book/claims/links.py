"""Names of papers, links and escapes that the pages of verdicts share, in MyST markdown."""

import re

from intertwine_book.claims.claim import Claim
from intertwine_book.claims.rules import Verdict

_NAMES = {  # of the papers, as the bibliography cites them
    "csiszarik2021": "Csiszárik et al. 2021",
    "godfrey2022": "Godfrey et al. 2022",
    "lengyel2020": "Lengyel et al. 2020",
    "swap-and-scale-2022": "Fowler 2022",
}


def paper_name(claim: Claim) -> str:
    return _NAMES.get(claim.paper, f"{claim.paper[:-4].strip('-').capitalize()} {claim.paper[-4:]}")


def record_link(claim: Claim) -> str:
    """A link to the section of the record that tests the claim; its text is the record's number."""
    number = claim.chapter.removeprefix("records/").split("_")[0].lstrip("0")
    return f"{{ref}}`{number} <{claim.link}>`" if claim.link else ""


def csv_link(claim: Claim, found: Verdict, text: str = "csv") -> str:
    """A link to the table that the verdict rests on, which the build puts beside the pages."""
    if not found.trials or claim.table == claim.id:  # the latter: a cell computes its rows, no table has them
        return ""
    return f'<a href="tables/{claim.chapter}/{claim.table}.csv" title="the table {claim.table}">{text}</a>'


def escaped(text: str) -> str:
    """Text of tables and errors, with markup characters escaped, and a minus sign before numbers.

    Example:
        >>> escaped("G_ReLU: -1")
        'G\\\\_ReLU: −1'
    """
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text)
    return "".join(f"\\{character}" if character in "\\`*_[]<>$#~{}@^" else character for character in text)
