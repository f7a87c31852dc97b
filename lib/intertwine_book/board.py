"""Claims and their verdicts as a table for people."""

import re
from collections.abc import Sequence
from html import escape

import pandas as pd
from IPython.display import HTML

from intertwine_book.claims.ledger import Claim
from intertwine_book.claims.rules import Verdict
from intertwine_book.figures.readable import readable


def board_of(judged: Sequence[tuple[Claim, Verdict]]) -> HTML:
    """Claims as a table; below it stands each scale of theirs once, with a letter."""
    scales = [*dict.fromkeys(found.scale for _, found in judged if found.scale)]
    letters = {scale: chr(ord("a") + k % 26) * (1 + k // 26) for k, scale in enumerate(scales)}
    rows = [
        {
            "place": _unformatted(claim.place),
            "statement": _unformatted(claim.statement),
            "printed": "" if claim.printed is None else f"{claim.printed:g}",
            "measured": found.measured,
            "scale": letters.get(found.scale or "", ""),
            "verdict": found.said,
        }
        for claim, found in judged
    ]
    headings = {name: name for name in ("place", "statement", "printed", "measured", "scale", "verdict")}
    table = readable(pd.DataFrame(rows, columns=[*headings]), headings, title="Claims and verdicts")
    said = "".join(f"<p><i>{letter}</i>: {escape(scale)}.</p>" for scale, letter in letters.items())
    fold = f"<details><summary>Scales: what differs from the paper</summary>{said}</details>"
    return HTML(table.data + (fold if said else ""))


def _unformatted(statement: str) -> str:
    """A statement without the signs of formulas, which a table has not."""
    return re.sub(r"mathrm|[${}\\]", "", statement).replace("GL_n", "GLₙ")
