"""A plane of networks with a point to drag, and the function of the network at that point."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from IPython.display import HTML
from jaxtyping import Float
from matplotlib.image import imsave

from intertwine.genni import Grid, Plane
from intertwine_book.figures.interactive import script
from intertwine_book.figures.style import COLOURS

_PAGE = """<div class="widget" id="drag-plane">
<div class="panels">
<figure><svg viewBox="-50 -54 100 100" role="img"
aria-label="A square in space with axes w1, w2 and w3, coloured by loss, with a dark hexagon on it">
{in_space}</svg>
<figcaption>the plane in space</figcaption></figure>
<figure><svg viewBox="-6 -6 112 112" role="img"
aria-label="The square flat, with the dark hexagon and a point to drag">{unrolled}</svg>
<figcaption>unrolled: drag the point</figcaption></figure>
<figure><svg viewBox="-56 -106 112 112" role="img"
aria-label="The graphs of three neurons, of their sum and of the absolute value">{graph}</svg>
<figcaption>the network there, and its neurons</figcaption></figure>
</div>
<p><output aria-live="polite"></output></p>
<div hidden><p class="entries">{sliders}</p>
<p>{buttons}</p></div>
</div>
"""
_SIZE = 17  # pixels of a unit of space
_VIEW = np.array([[-0.42, 0.91, 0.0], [0.37, 0.17, -0.91]])  # of the three axes: to the right, and down
_NEURONS = ("blue", "green", "pink")


def drag_plane(grid: Grid, flat: Plane, networks: Mapping[str, Sequence[float]]) -> HTML:
    """A plane of networks Σ cᵢ ReLU(wᵢx) of three neurons, in space and unrolled, and the function of one.

    Example:
        >>> import torch
        >>> from intertwine import genni
        >>> w = torch.tensor([[1.0, -1, 0], [0, 1, -1], [-1, 0, 1]])
        >>> flat = genni.plane(torch.cat([w, torch.ones(3, 3)], 1))
        >>> axis = torch.linspace(-1, 1, 5)
        >>> grid = genni.Grid(axis, axis.square() + axis[:, None].square(), energy=1.0)
        >>> "a permutation" in drag_plane(grid, flat, {"a permutation": [1.0, 0.0, -1.0]}).data
        True

    The reader drags the point, moves it by two sliders, or takes one of the networks, name → input weights in
    the plane. The first of these is drawn at once, so that a page without scripts shows it. The relative loss
    in words is that to the target |x| for normal inputs, in closed form. Nothing is loaded.
    """
    centre, basis = (each.numpy(force=True).astype(float) for each in (flat.centre, flat.basis))
    low, high = float(grid.axis[0]), float(grid.axis[-1])
    side = high - low

    def in_space(t: np.ndarray) -> np.ndarray:
        return _SIZE * _VIEW @ (centre + t @ basis)[:3]

    def on_page(t: np.ndarray) -> np.ndarray:
        return 100 * np.array([t[0] - low, high - t[1]]) / side

    places = {name: basis[:, :3] @ (np.asarray(w, float) - centre[:3]) for name, w in networks.items()}
    start = next(iter(places.values()))
    corner = in_space(np.array([low, high]))
    right, down = (in_space(np.array(t)) - corner for t in ([high, high], [low, low]))
    tilt = "matrix({})".format(" ".join(f"{v:.2f}" for v in (*right, *down, *corner)))
    image = f'<image href="{_picture(grid)}" preserveAspectRatio="none" style="image-rendering: pixelated"'
    axes = [
        _line(np.stack([0 * end, end]), COLOURS["grey"], 1.2)
        + f'<text x="{1.14 * end[0]:.1f}" y="{1.14 * end[1] + 2:.1f}" {_WORD}>w{sub}</text>'
        for end, sub in zip(2.4 * _SIZE * _VIEW.T, "₁₂₃", strict=True)
    ]
    solved = flat.coordinates.numpy(force=True)
    drawn = {
        "in_space": f'{image} width="1" height="1" transform="{tilt}"/>'
        + "".join(axes)
        + _crosses([in_space(t) for t in solved])
        + _knob(in_space(start), 3.0),
        "unrolled": f'{image} width="100" height="100"/>'
        + _crosses([on_page(t) for t in solved])
        + _knob(on_page(start), 5.0),
        "graph": _functions(centre + start @ basis),
        "sliders": "".join(
            f'<label>t{sub} <input type="range" min="{low:g}" max="{high:g}" step="0.01" value="{t:.2f}">'
            "<span></span></label>"
            for sub, t in zip("₁₂", start, strict=True)
        ),
        "buttons": " ".join(
            f'<button type="button" value="{json.dumps(at.round(4).tolist())}">{name}</button>'
            for name, at in places.items()
        ),
    }
    data = {"centre": centre, "basis": basis, "view": _SIZE * _VIEW, "range": np.array([low, high])}
    data["start"] = start
    sent = json.dumps({name: value.round(4).tolist() for name, value in data.items()})
    return HTML(_PAGE.format(**drawn) + script("drag_plane", "drag-plane", sent))


_HALO = "paint-order: stroke; stroke: var(--pst-color-background, #fff); stroke-width: 3px"
_WORD = f'fill="currentColor" font-size="9" text-anchor="middle" style="{_HALO}"'  # read on the picture, too


def _picture(grid: Grid) -> str:
    """The losses as a picture within the page, the first coordinate to the right and the second up."""
    logs = np.log10(grid.relative.numpy(force=True).clip(1e-3, 10)).T
    with io.BytesIO() as file:
        look: dict[str, Any] = {
            "cmap": "GnBu_r",
            "vmin": -3,
            "vmax": 1,
            "origin": "lower",
            "metadata": {"Software": None},
        }
        imsave(file, logs, format="png", **look)
        return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _functions(theta: Float[np.ndarray, " 6"]) -> str:
    """The sum in the colour of the knob, |x| dashed, and each neuron."""
    ends, each = (-1.0, 0.0, 1.0), theta.reshape(2, 3).T
    neurons = [[(50 * x, -50 * c * max(w * x, 0.0)) for x in ends] for w, c in each]
    total = np.array(neurons).sum(0)
    total[:, 0] = [-50, 0, 50]
    lines = [_line(graph, COLOURS[name], 1.4) for graph, name in zip(neurons, _NEURONS, strict=True)]
    target = _line([(-50.0, -50.0), (0.0, 0.0), (50.0, -50.0)], "currentColor", 1.2, 'stroke-dasharray="5 4"')
    return _line(total, COLOURS["orange"], 4.0) + target + "".join(lines)


def _line(points: Sequence[Sequence[float]] | np.ndarray, colour: str, width: float, more: str = "") -> str:
    at = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="{width}" {more}/>'


def _crosses(places: Sequence[np.ndarray]) -> str:
    look = f'fill="none" stroke="{COLOURS["red"]}" stroke-width="1.8"'
    return "".join(
        f'<path d="M{x - 2.5:.1f} {y - 2.5:.1f}l5 5m0 -5l-5 5" {look}/>' for x, y in np.array(places)
    )


def _knob(at: np.ndarray, radius: float) -> str:
    look = f'fill="{COLOURS["orange"]}" stroke="#000000" stroke-width="0.8" style="touch-action: none"'
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" {look}/>'
