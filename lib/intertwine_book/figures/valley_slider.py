"""A point that a reader moves along an orbit, and the valley of the loss around it."""

import json

import pandas as pd
from IPython.display import HTML

from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS, check_columns

_PAGE = """<div class="widget" id="valley-slider">
<div class="panels two">
<figure><svg viewBox="0 0 240 190" role="img"
aria-label="Level curves of the loss over the scales p and q, the orbit thick, and a point on it"></svg>
<figcaption>scales of both layers</figcaption></figure>
<figure><svg viewBox="0 0 240 190" role="img"
aria-label="A parabola: the loss near the point, in the direction in which it bends most"></svg>
<figcaption>loss near the point</figcaption></figure>
</div>
<p><label>position on the orbit: t = <input type="range" min="0" max="{last}" step="1" value="{start}">
<span></span></label></p>
<p><output aria-live="polite"></output></p>
</div>
"""


def valley_slider(orbit: pd.DataFrame) -> HTML:
    """A slider that moves a point along the orbit pq = 1, p = exp t, for |t| up to 1.5.

    Example:
        >>> columns = ["t", "loss", "largest_eigenvalue", "squared_norm"]
        >>> rows = [[-1.0, 0.1, 4.0, 9.0], [0.0, 0.1, 8.0, 5.0], [1.0, 0.1, 60.0, 9.0]]
        >>> "position on the orbit" in valley_slider(pd.DataFrame(rows, columns=columns)).data
        True

    Columns t, loss, largest_eigenvalue (of the Hessian: half of it times the squared distance is what the
    loss rises by), squared_norm (of all weights). The slider starts at the smallest |t|.
    """
    columns = ["t", "loss", "largest_eigenvalue", "squared_norm"]
    check_columns(orbit, *columns)
    shown = orbit.loc[orbit["t"].abs() <= 1.5, columns].reset_index(drop=True)
    rows = [[float(f"{value:.4g}") for value in row] for row in shown.to_numpy()]
    page = _PAGE.format(last=len(shown) - 1, start=shown["t"].abs().idxmin())
    data = {"rows": rows, "colours": [COLOURS[name] for name in ("green", "grey", "blue")]}
    return HTML(page + script("valley_slider", "valley-slider", json.dumps(data)))
