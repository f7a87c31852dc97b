"""Two units after a ReLU as axes, turned by the reader, and the concepts that they select on the way."""

import json

import numpy as np
from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PANEL = """<figure><svg viewBox="-1.1 -2.1 3.2 2.5" role="img" aria-label="{alt}"></svg>
<figcaption>unit {k}: <output aria-live="polite"></output></figcaption></figure>
"""
PICTURED = ("sky", "road", "neither")
"""What the pixels show; the first two are concepts."""


def pixels() -> list[tuple[float, float, int]]:
    """Values of two units at 240 pixels, and the number of what each shows: each unit likes one concept.

    Example:
        >>> values = np.array(pixels())
        >>> len(values), bool((values[:, :2] >= 0).all())
        (240, True)
    """
    draw = np.random.default_rng(0)
    faint = np.maximum(draw.normal(0, 0.3, (240, 2)), 0)  # after a ReLU
    shows = np.repeat([0, 1, 2], [60, 60, 120])
    for k in (0, 1):
        faint[shows == k, k] = np.maximum(draw.normal(1.2, 0.35, 60), 0)
    return [(round(x, 3), round(y, 3), int(k)) for (x, y), k in zip(faint, shows, strict=True)]


def turn_basis() -> HTML:
    """A slider that turns the basis of two units, and the quarter of the pixels that each unit selects.

    Example:
        >>> "unit 2" in turn_basis().data
        True
    """
    panels = "".join(
        _PANEL.format(k=k, alt=f"Pixels by the values of both units; those that unit {k} selects are filled")
        for k in (1, 2)
    )
    data = {
        "pixels": pixels(),
        "concepts": PICTURED,
        "colours": [COLOURS[c] for c in ("blue", "orange", "grey")],
    }
    return HTML(
        f'<div class="widget" id="turn-basis">\n<div class="panels">\n{panels}</div>\n'
        '<p><label>turn the basis by <input type="range" min="0" max="90" step="5" value="0"> '
        "<span></span></label></p>\n</div>\n" + script("turn_basis", "turn-basis", json.dumps(data))
    )
