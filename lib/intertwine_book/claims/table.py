"""Claims and their verdicts as a table for people."""

import re
from collections.abc import Sequence
from html import escape

import pandas as pd
from IPython.display import HTML

from intertwine_book.claims.claim import Claim
from intertwine_book.claims.rules import Verdict
from intertwine_book.figures.readable import readable


def table_of(judged: Sequence[tuple[Claim, Verdict]]) -> HTML:
    """Claims as a table; below it stands each scale of theirs once, with a letter."""
    scales = [*dict.fromkeys(found.scale for _, found in judged if found.scale)]
    letters = {scale: chr(ord("a") + k % 26) * (1 + k // 26) for k, scale in enumerate(scales)}
    rows = [
        {
            "place": _unformatted(claim.place),
            "statement": _unformatted(claim.statement),
            "printed": _printed(claim),
            "measured": _unformatted(found.measured),
            "scale": letters.get(found.scale or "", ""),
            "verdict": found.said,
        }
        for claim, found in judged
    ]
    names = ("place", "statement", "printed", "measured", "scale", "verdict")
    told = {name: name for name in names if name == "measured" or any(row[name] for row in rows)}
    table = readable(pd.DataFrame(rows, columns=[*names]), told, title="Claims and verdicts")
    said = "".join(f"<p><i>{letter}</i>: {escape(scale)}.</p>" for scale, letter in letters.items())
    fold = f"<details><summary>Scales: what differs from the paper</summary>{said}</details>"
    return HTML(table.data + (fold if said else ""))


def _printed(claim: Claim) -> str:
    """The printed value and its error; a 0 is how we read words such as “similar” or “unchanged”."""
    if claim.printed is None or claim.kind != "number":
        return "" if claim.printed is None else f"{claim.printed:g}"
    return f"{'' if claim.printed else 'read as '}{claim.printed:g} ± {claim.printed_error:.3g}"


_SIGNS = {
    "varphi": "φ",
    "sigma": "σ",
    "Sigma": "Σ",
    "alpha": "α",
    "beta": "β",
    "circ": "∘",
    "mapsto": "↦",
    "in": "∈",
}
_SIGNS |= {"lVert": "‖", "rVert": "‖"}
_SIGNS |= {"ge": "≥", "le": "≤", "ne": "≠", "pm": "±", "times": "×", "mathrm": ""}


def _unformatted(text: str) -> str:
    """Text without the signs of formulas and the roles of citations, which a table has not.

    Example:
        >>> _unformatted("$\\\\sigma_n$ for $GL_n(\\\\mathbb R)$, {cite:t}`sussmann1992`")
        'σ_n for GLₙ(ℝ), Sussmann 1992'
    """
    text = re.sub(r"\{cite:t\}`([a-z]+)(\d{4})`", lambda found: f"{found[1].capitalize()} {found[2]}", text)
    text = re.sub(r"\\mathbb\s*R", "ℝ", text).replace("\\tfrac12", "½")
    text = re.sub(r"\\([A-Za-z]+)", lambda found: _SIGNS.get(found[1], found[1]), text)
    return re.sub(r"[${}\\]", "", text).replace("GL_n", "GLₙ")
