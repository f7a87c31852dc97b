"""Shares as bars, at the position of a slider."""

import json

import pandas as pd
from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS, check_columns

_PAGE = """<div class="widget" id="{name}">
<p><label>{label} <input type="range" min="0" max="{last}" step="1" value="0"> <span></span></label></p>
<svg viewBox="0 0 320 {height}" role="img" aria-label="A bar for each share"></svg>
<output class="visually-hidden" aria-live="polite"></output>
</div>
"""


def bars_slider(table: pd.DataFrame, x: str, *, label: str, name: str) -> HTML:
    """A bar for each column of shares between 0 and 1; the slider goes through the rows.

    Example:
        >>> moved = pd.DataFrame({"t": [0.0, 1.0], "CKA": [1.0, 1.0], "accuracy": [0.9, 0.1]})
        >>> "turn by" in bars_slider(moved, "t", label="turn by", name="turn").data
        True

    The values of the column `x`, as text, stand beside the slider; `name` is the element's id.
    """
    check_columns(table, x)
    shares = table.drop(columns=x)
    page = _PAGE.format(name=name, label=label, last=len(table) - 1, height=34 * shares.shape[1])
    colours = [COLOURS[tone] for tone in ("orange", "blue", "green")]
    data = {"at": [f"{value:g}" for value in table[x]], "shares": shares.round(3).to_dict("list")}
    return HTML(page + script("bars_slider", name, json.dumps(data | {"colours": colours})))
