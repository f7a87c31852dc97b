"""Tables for people."""

from collections.abc import Mapping
from html import escape

import pandas as pd
from IPython.display import HTML

from intertwine_book.figures.style import check_columns

LONG = 12
"""Rows that are seen at once; a longer table scrolls within the page."""


def readable(
    table: pd.DataFrame,
    headings: Mapping[str, str],
    *,
    digits: int | Mapping[str, int] = 2,
    bold: pd.DataFrame | None = None,
    title: str = "",
) -> HTML:
    """Chosen columns under headings in words, numbers aligned and rounded, without an index.

    Example:
        >>> table = pd.DataFrame({"stitch": ["full", "rank 1"], "penalty": [1.64, 42.0], "seed": [3, 4]})
        >>> shown = readable(table, {"stitch": "map", "penalty": "penalty, points"}, digits=1)
        >>> "penalty, points" in shown.data, "1.6" in shown.data, "seed" in shown.data
        (True, True, False)

    A heading has the unit of its column; digits behind the decimal point are those of all columns or, by
    name, of each; the title stands above. True and False are written as marks, a missing value as a
    dash. Where `bold`, a table of the same rows and some of the columns, is true, a value is bold. More than
    twelve rows scroll within the page, by mouse and by keyboard.
    """
    check_columns(table, *headings)
    places = digits if isinstance(digits, Mapping) else dict.fromkeys(headings, digits)

    def written(name: str, value: object) -> str:
        if isinstance(value, float) and pd.notna(value):
            return f"{value:,.{places.get(name, 2)}f}".replace("-", "−")
        if pd.api.types.is_bool(value):
            return "✓" if value else "·"
        if isinstance(value, int):
            return f"{value:,}".replace("-", "−")
        return "–" if pd.isna(value) else escape(str(value)).replace("G_ReLU", "<i>G</i><sub>ReLU</sub>")

    def cell(row: object, name: str, value: object) -> str:
        kind, text = "number" if isinstance(value, (int, float)) else "word", written(name, value)
        strong = bold is not None and name in bold and bold.loc[row, name]
        return f'<td class="{kind}">{f"<b>{text}</b>" if strong else text}</td>'

    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings.values())
    rows = ("".join(cell(k, n, row[n]) for n in headings) for k, row in table.astype(object).iterrows())
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    kind = "readable long" if len(table) > LONG else "readable"
    around = f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(title or "table")}">'
    above = f"<caption>{escape(title)}</caption>" if title else ""
    return HTML(f"{around}<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
