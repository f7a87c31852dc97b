"""An ε-set in three dimensions, to turn with the mouse, with ε on a slider."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

from intertwine.genni import Grid
from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.style import COLOURS

_KINDS = (COLOURS["sky"], COLOURS["red"], "#a3a9ad", COLOURS["green"])  # of points, where they have a kind


def epsilon_slider(
    grid: Grid,
    epsilons: Sequence[float],
    *,
    name: str,
    points: Any = None,
    kinds: Mapping[str, Any] | None = None,
    limit: int = 2500,
    start: int = -1,
) -> Interactive:
    """The ε-set on a grid of three dimensions, to turn with the mouse, with ε, growing, on a slider.

    Colours tell at which ε a point comes in, or of which of the kinds it is, name → mask of the grid. The
    networks that span the plane are drawn at their coordinates, `points`. A set of more than `limit` points
    is thinned evenly, the same at each ε. The slider starts at the ε of this number, the largest if nothing
    is said. The name of a figure is unique on its page.
    """
    relative = grid.relative.flatten().numpy(force=True)
    inside = np.flatnonzero(relative < epsilons[-1])
    inside = inside[:: -(-len(inside) // limit)]
    at = np.round(grid.coordinates().numpy(force=True)[inside], 3).astype(np.float32)
    shells = np.searchsorted(epsilons, relative[inside], side="right")
    shades = [*(COLOURS[k] for k in ("red", "orange", "green", "sky")), "#a3a9ad"]  # on light and on dark
    masks = {kind: torch.as_tensor(mask).flatten().numpy(force=True) for kind, mask in (kinds or {}).items()}
    clouds, shell_of = [], []
    for k, epsilon in enumerate(epsilons):  # each point once: the slider shows shells up to its own
        all_of_them = {f"J/E[y²] < {epsilon:g}": np.ones(len(at), bool)}
        parts = {kind: mask[inside] for kind, mask in masks.items()} or all_of_them
        for number, (kind, mask) in enumerate(parts.items()):
            shade = _KINDS[number] if masks else shades[min(k, len(shades) - 1)]
            cloud = _cloud(at[(shells == k) & mask], kind, {"size": 2.5, "color": shade})
            if masks:  # a kind stands once in the legend, at the first of its points
                first = shells[mask].min(initial=len(epsilons))
                cloud.update(legendgroup=kind, showlegend=bool(k == first))
            clouds.append(cloud)
            shell_of.append(k)
    extra = []
    if points is not None:
        cross = {"size": 6, "color": COLOURS["pink"], "symbol": "diamond"}
        extra.append(_cloud(torch.as_tensor(points).numpy(force=True), "networks spanning it", cross))
    shown = [[j <= k for j in shell_of] + [True] * len(extra) for k in range(len(epsilons))]
    for cloud, visible in zip(clouds, shown[start], strict=False):
        cloud.visible = visible
    lows, highs = at.min(0, initial=0.0), at.max(0, initial=0.0)  # the frame is filled by what is in it
    edge = float(grid.axis[1] - grid.axis[0])
    axes: dict[str, Any] = {
        f"{x}axis": {"title": {"text": f"t{k}"}, "range": [float(low) - edge, float(high) + edge]}
        for k, (x, low, high) in enumerate(zip("xyz", lows, highs, strict=True), 1)
    }
    sides = highs - lows + 2 * edge
    ratio = (sides / sides.max()).round(3).tolist()
    axes |= {"aspectmode": "manual", "aspectratio": dict(zip("xyz", ratio, strict=True))}
    made = layout(axes, [slider(epsilons, shown, range(len(epsilons))[start])])
    made["legend"] = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemsizing": "constant"}
    # above the scene also where the page is narrow
    made |= {"height": 520, "margin": made["margin"] | {"t": 45}}
    return Interactive(go.Figure(clouds + extra, made), name, says="the set at ε = {}")


def slider(epsilons: Sequence[float], shown: Sequence[Sequence[bool]], start: int) -> dict[str, Any]:
    """A slider whose steps, one for each ε, say which traces are seen."""
    steps = [
        {"method": "restyle", "label": f"{epsilon:g}", "args": ["visible", list(visible)]}
        for epsilon, visible in zip(epsilons, shown, strict=True)
    ]
    return {"active": start, "steps": steps, "currentvalue": {"prefix": "ε = "}, "pad": {"t": 10, "b": 30}}


def layout(scene: dict[str, Any], sliders: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of a figure in three dimensions, in words that are read on light and on dark pages."""
    made = {"template": "none", "height": 500, "margin": {"l": 20, "r": 30, "t": 0, "b": 35}, "scene": scene}
    made |= {"paper_bgcolor": "rgba(0,0,0,0)", "font": {"color": COLOURS["grey"]}, "sliders": [*sliders]}
    scene.setdefault("camera", {"eye": {"x": 1.3, "y": 1.3, "z": 0.95}, "center": {"z": -0.06}})
    for axis in ("xaxis", "yaxis", "zaxis"):  # few numbers, which do not meet at the corners
        scene[axis] = {"nticks": 4} | scene.get(axis, {})
    return made


def _cloud(at: np.ndarray, name: str, marker: dict[str, Any]) -> Any:
    x, y, z = (np.round(column.astype(float), 3).tolist() for column in at.reshape(-1, 3).T)
    return go.Scatter3d(x=x, y=y, z=z, mode="markers", name=name, marker=marker, hoverinfo="skip")
