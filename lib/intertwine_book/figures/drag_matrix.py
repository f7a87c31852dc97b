"""A matrix to drag, before a ReLU, and the best matrix after it."""

import json

from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PANEL = """<figure><svg viewBox="{box}" role="img" aria-label="{alt}"></svg>
<figcaption>{caption}</figcaption></figure>
"""
_WHOLE, _CORNER = "-2.1 -2.1 4.2 4.2", "-0.4 -1.8 2.2 2.2"  # the plane, and the quadrant that ReLU leaves
_PANELS = {
    "<i>x</i>, and the columns of <i>A</i>": (_WHOLE, "Points of the plane, and two knobs for A"),
    "ReLU(<i>Ax</i>)": (_CORNER, "The points moved by A, then by ReLU"),
    "<i>B</i> ReLU(<i>x</i>), best <i>B</i>": (_CORNER, "The points moved by ReLU, then by the best matrix"),
}
_ENTRIES = ("a₁₁", "a₁₂", "a₂₁", "a₂₂")
_PRESETS: dict[str, list[float]] = {
    "turn by 45°": [0.71, -0.71, 0.71, 0.71],
    "change a sign": [-1, 0, 0, 1],
    "swap and scale": [0, 1.5, 0.5, 0],
    "identity": [1, 0, 0, 1],
}


def drag_matrix() -> HTML:
    """A grid of points x, ReLU(Ax), and B ReLU(x) with the best B, for a 2×2 matrix A that the reader drags.

    Example:
        >>> "best" in drag_matrix().data
        True

    B is the least-squares solution on the grid, and the number is what it leaves of the mean square, in
    percent. For an invertible A it is 0 exactly where A is a permutation with positive scalings. The green
    knobs are A's columns. Nothing is loaded.
    """
    start = _PRESETS["turn by 45°"]
    entries = " ".join(
        f'<label>{entry} <input type="range" min="-2" max="2" step="0.01" value="{value}">'
        "<span></span></label>"
        for entry, value in zip(_ENTRIES, start, strict=True)
    )
    buttons = " ".join(
        f'<button type="button" value="{value}">{text}</button>' for text, value in _PRESETS.items()
    )
    panels = "".join(
        _PANEL.format(box=box, alt=alt, caption=caption) for caption, (box, alt) in _PANELS.items()
    )
    return HTML(
        f'<div class="widget" id="drag-matrix">\n<div class="panels">\n{panels}</div>\n'
        f'<p><output aria-live="polite"></output></p>\n'
        f'<p class="entries">{entries}</p>\n<p>{buttons}</p>\n</div>\n'
        + script("drag_matrix", "drag-matrix", json.dumps(COLOURS))
    )
