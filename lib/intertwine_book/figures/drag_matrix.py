"""A matrix to drag, before and behind a ReLU."""

import json

from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PANEL = """<figure><svg viewBox="-2.1 -2.1 4.2 4.2" role="img" aria-label="{alt}"></svg>
<figcaption>{caption}</figcaption></figure>
"""
_PANELS = {
    "Points moved by A, then by ReLU": "ReLU(<i>Ax</i>)",
    "Points moved by ReLU, then by phi of A": "<i>φ</i>(<i>A</i>) ReLU(<i>x</i>)",
}
_ENTRIES = ("a₁₁", "a₁₂", "a₂₁", "a₂₂")
_PRESETS: dict[str, list[float]] = {
    "identity": [1, 0, 0, 1],
    "swap and scale": [0, 1.5, 0.5, 0],
    "turn by 45°": [0.71, -0.71, 0.71, 0.71],
    "change a sign": [-1, 0, 0, 1],
}


def drag_matrix() -> HTML:
    """A grid of points under ReLU(Ax) and under φ(A) ReLU(x), for a 2×2 matrix that the reader drags.

    Example:
        >>> "φ" in drag_matrix().data
        True

    φ(A) = ReLU(A), as in godfrey2022, section 3. For an invertible A the two agree on all points exactly
    where A is a permutation with positive scalings. The green knobs are A's columns. Nothing is loaded.
    """
    start = _PRESETS["swap and scale"]
    entries = " ".join(
        f'<label>{entry} <input type="range" min="-2" max="2" step="0.01" value="{value}">'
        "<span></span></label>"
        for entry, value in zip(_ENTRIES, start, strict=True)
    )
    buttons = " ".join(
        f'<button type="button" value="{value}">{text}</button>' for text, value in _PRESETS.items()
    )
    panels = "".join(_PANEL.format(alt=alt, caption=caption) for alt, caption in _PANELS.items())
    return HTML(
        f'<div class="widget" id="drag-matrix">\n<div class="panels">\n{panels}</div>\n'
        f'<p class="entries">{entries}</p>\n<p>{buttons} <output aria-live="polite"></output></p>\n</div>\n'
        + script("drag_matrix", "drag-matrix", json.dumps(COLOURS))
    )
