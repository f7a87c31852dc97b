"""A still picture of a plotly figure as it opens: for print, without WebGL, and until it is drawn."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from PIL import Image

from intertwine_book.figures.style import COLOURS

_WIDE = 6.9  # inches of 100 pixels: the column of a page
_OPEN = np.tan(np.pi / 8)  # plotly's scenes are seen at an angle of 45°


def still(figure: Any) -> str:
    """An image element with the traces that a plotly figure shows at first, from the same point of view.

    Example:
        >>> import plotly.graph_objects as go
        >>> still(go.Figure(go.Scatter(x=[0, 1], y=[0, 1])))[:18]
        '<img class="still"'

    It has scatters, meshes and surfaces in three dimensions, whose scene gives the range of each axis, or
    lines in two. The figure around it says what is seen.
    """
    drawn = Figure(figsize=(_WIDE, (figure.layout.height or 450) / 100), dpi=110)
    drawn.set_layout_engine("none")
    axis = drawn.add_axes((0, 0, 1, 0.9))
    seen = [trace for trace in figure.data if trace.visible in (None, True)]
    if any(trace.type in ("scatter3d", "mesh3d", "surface") for trace in figure.data):
        _solid(axis, seen, figure.layout.scene)
    else:
        _flat(axis, seen)
    handles, names = axis.get_legend_handles_labels()
    look: dict[str, Any] = {
        "loc": "upper left",
        "ncols": 3 if len(names) > 5 else 5,
        "frameon": False,
        "labelcolor": COLOURS["grey"],
        "fontsize": 9,
    }
    look |= {"markerscale": 1.3, "handletextpad": 0.4, "columnspacing": 1.2}
    if names:
        drawn.legend(handles, names, **look)
    with io.BytesIO() as file, io.BytesIO() as small:
        drawn.savefig(file, format="png", transparent=True)
        Image.open(file).quantize(128, Image.Quantize.FASTOCTREE).save(small, "png", optimize=True)
        data = base64.b64encode(small.getvalue()).decode()
    return f'<img class="still" alt="The figure before it moves" src="data:image/png;base64,{data}">'


class _View:
    """Where points of a scene are seen on its picture, which is 2 high, and how far away they are."""

    def __init__(self, scene: Any) -> None:
        ranges = np.array([scene[f"{axis}axis"].range for axis in "xyz"], float)
        ratio, camera = scene.aspectratio, scene.camera

        def vector(given: Any, otherwise: Sequence[float]) -> np.ndarray:
            each = zip("xyz", otherwise, strict=True)
            return np.array([value if given[a] is None else given[a] for a, value in each], float)

        self.low, self.side = ranges[:, 0], np.diff(ranges)[:, 0]
        self.aspect = vector(ratio, (1.0, 1.0, 1.0))
        self.eye = vector(camera.eye, (1.25, 1.25, 1.25))
        ahead = vector(camera.center, (0.0, 0.0, 0.0)) - self.eye
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, [0, 0, 1])
        right /= np.linalg.norm(right)
        self.frame = np.stack([right, np.cross(right, ahead), ahead])

    def __call__(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
        inside = ((points - self.low) / self.side - 0.5) * self.aspect - self.eye
        x, y, depth = np.moveaxis(inside @ self.frame.T, -1, 0)
        return np.stack([x / depth / _OPEN, y / depth / _OPEN, depth], -1)


def _solid(axis: Any, traces: Sequence[Any], scene: Any) -> None:
    view = _View(scene)
    if scene.xaxis.visible is not False:  # the box, without the three edges that meet in front
        corners = view(view.low + view.side * np.array(list(np.ndindex(2, 2, 2))))
        front = corners[:, 2].argmin()
        for edge in ((a, a ^ bit) for a in range(8) for bit in (1, 2, 4) if not a & bit):
            if front not in edge:
                axis.plot(*corners[list(edge), :2].T, color=COLOURS["grey"], linewidth=0.4, zorder=0)
    for trace in traces:
        shows = trace.name if trace.showlegend is not False else None
        at = np.stack([np.array(trace[a], float) for a in "xyz"], -1)
        x, y, depth = np.moveaxis(view(at), -1, 0)
        if trace.type == "surface":
            _patches(axis, _quads(view(at)), _shades(trace))
        elif trace.type == "mesh3d":
            corners = view(at)[np.stack([trace.i, trace.j, trace.k], 1)]
            _patches(axis, corners, np.full((len(corners), 4), to_rgba(trace.color, trace.opacity)))
        elif trace.mode == "text":
            for word, *place in zip(trace.text, x, y, strict=True):
                axis.text(*place, word, color=COLOURS["grey"], fontsize=9, ha="center", va="center")
        elif trace.mode == "lines":
            axis.plot(x, y, color=trace.line.color, linewidth=1.5, label=shows, zorder=3)
        else:
            order = np.argsort(-depth)
            size = trace.marker.size
            mark: dict[str, Any] = {
                "marker": "D" if trace.marker.symbol == "diamond" else "o",
                "linewidths": 0,
            }
            mark |= {"s": (1.2 * size) ** 2, "color": trace.marker.color}
            axis.scatter(x[order], y[order], label=shows, zorder=4, **mark)
    height = axis.figure.get_size_inches()[1] * 0.9
    axis.set(xlim=(-_WIDE / height, _WIDE / height), ylim=(-1, 1))
    axis.axis("off")


def _patches(axis: Any, corners: Float[np.ndarray, "n k 3"], colours: Float[np.ndarray, "n 4"]) -> None:
    """Polygons, the furthest first."""
    there = ~np.isnan(corners).any((1, 2))
    corners, colours = corners[there], colours[there]
    order = np.argsort(-corners[..., 2].mean(1))
    flat: Any = corners[order][..., :2]
    axis.add_collection(PolyCollection(flat, facecolors=colours[order], linewidths=0))


def _quads(at: Float[np.ndarray, "u v 3"]) -> Float[np.ndarray, "n 4 3"]:
    corners = at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]
    return np.stack(corners, 2).reshape(-1, 4, 3)


def _shades(surface: Any) -> Float[np.ndarray, "n 4"]:
    scale = LinearSegmentedColormap.from_list("surface", [tuple(each) for each in surface.colorscale])
    share = (np.array(surface.surfacecolor, float) - surface.cmin) / (surface.cmax - surface.cmin)
    return np.asarray(scale(share[:-1, :-1].reshape(-1)))


def _flat(axis: Any, traces: Sequence[Any]) -> None:
    axis.set_position((0.06, 0.1, 0.92, 0.75))
    dashes = {"dot": ":", "dash": "--", None: "-"}
    for trace in traces:
        line = {"color": trace.line.color, "linewidth": 0.8 * (trace.line.width or 2)}
        axis.plot(trace.x, trace.y, label=trace.name, linestyle=dashes[trace.line.dash], **line)
    axis.tick_params(colors=COLOURS["grey"], labelsize=9)
    axis.grid(color=COLOURS["grey"], alpha=0.25)
    for spine in axis.spines.values():
        spine.set_visible(False)
