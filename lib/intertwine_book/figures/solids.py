"""Bodies to turn with the mouse: the class of |x| with four neurons, and the surface around a hole."""

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from scipy.spatial import ConvexHull
from torch import Tensor

from intertwine_book.figures.epsilon_slider import layout, slider
from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.style import COLOURS


def polytope(epsilons: Sequence[float], member: Sequence[float], *, name: str) -> Interactive:
    """The cuboctahedron {w ∈ R⁴ : Σ w = 0, Σ max(w, 0) = 1}, its corners, its ε-sets, and one orbit on it.

    On Σ w = 0 the network x ↦ Σ ReLU(w_i x) is t|x| with t = Σ max(w, 0), and J/E[y²] = (t − 1)². So the
    ε-set is the shell between the body scaled by 1 − √ε and by 1 + √ε.

    The epsilons grow from 0; `member` has the weights of one network of the class, whose 24 orders are drawn.
    """
    pairs = list(permutations(range(4), 2))
    corners = np.array([np.eye(4)[i] - np.eye(4)[j] for i, j in pairs])
    basis = np.array([[1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3]]) / np.sqrt([[2], [6], [12]])
    at = corners @ basis.T
    faces = dict(zip("ijk", ConvexHull(at).simplices.T.tolist(), strict=True))
    edges = [(a, b) for a, b in combinations(range(12), 2) if ((corners[a] - corners[b]) ** 2).sum() == 2]
    lines = np.concatenate([[at[a], at[b], [np.nan] * 3] for a, b in edges])
    traces: list[Any] = []
    for epsilon in epsilons:
        for size, shade in ((1 + epsilon**0.5, 0.18), (1 - epsilon**0.5, 0.4)):
            style = {"color": COLOURS["sky"], "opacity": shade, "flatshading": True, "hoverinfo": "skip"}
            traces.append(go.Mesh3d(**_at(size * at), **faces, **style))
    grey = {"color": COLOURS["grey"], "width": 4}
    fixed = [go.Scatter3d(**_at(lines), mode="lines", line=grey, name="edges of the class", hoverinfo="skip")]
    text = [f"{i + 1}↑{j + 1}↓" for i, j in pairs]
    words = {"mode": "text", "text": text, "textfont": {"size": 14}, "showlegend": False, "hoverinfo": "skip"}
    fixed.append(go.Scatter3d(**_at(1.1 * at), **words))
    orders = np.array(list(permutations(member))) @ basis.T
    dots = {"mode": "markers", "marker": {"size": 5, "color": COLOURS["red"]}, "hoverinfo": "skip"}
    fixed.append(go.Scatter3d(**_at(orders), name="one network, its 24 orders", **dots))
    shown = [[k // 2 == step for k in range(2 * len(epsilons))] + [True] * 3 for step in range(len(epsilons))]
    for trace, visible in zip(traces, shown[0], strict=False):
        trace.visible = visible
    hidden = {"visible": False, "range": [-2.1, 2.1]}
    scene = {f"{axis}axis": hidden for axis in "xyz"} | {"camera": {"eye": {"x": 0.82, "y": 0.77, "z": 0.46}}}
    made = layout(scene, [slider(epsilons, shown, 0)]) | {"legend": {"orientation": "h", "x": 0, "y": 0}}
    return Interactive(go.Figure(traces + fixed, made), name, says="the set at ε = {}")


def hyperboloid(
    surface: Float[Tensor, "u v 3"], shade: Float[Tensor, "u v"], *, label: str, name: str
) -> Interactive:
    """A surface to turn with the mouse, coloured by a quantity of either sign; nan where there is none."""
    x, y, z = (each.round(decimals=2).tolist() for each in surface.unbind(-1))
    scale = [[0, COLOURS["blue"]], [0.5, "#e8e8e8"], [1, COLOURS["red"]]]
    bar = {"title": {"text": label}, "thickness": 12, "len": 0.7}
    most = float(shade[~surface.isnan().any(-1)].abs().max())
    look = {"colorscale": scale, "cmin": -most, "cmax": most, "colorbar": bar, "hoverinfo": "skip"}
    look["lighting"] = {"ambient": 0.8, "diffuse": 0.3, "specular": 0.0}
    drawn = go.Surface(x=x, y=y, z=z, surfacecolor=shade.round(decimals=2).tolist(), **look)
    scene = {f"{a}axis": {"title": {"text": f"t{k}"}, "range": [-2, 2]} for k, a in enumerate("xyz", 1)}
    return Interactive(go.Figure([drawn], layout(scene, [])), name)


def _at(points: np.ndarray) -> dict[str, list[float | None]]:
    """Points of space as keywords of plotly, which breaks a line at None."""
    columns = [[None if np.isnan(v) else round(float(v), 3) for v in column] for column in points.T]
    return dict(zip("xyz", columns, strict=True))
