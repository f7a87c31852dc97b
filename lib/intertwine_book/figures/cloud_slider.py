"""Two clouds of points, of which a slider moves the second, and what measures say of the two."""

import base64
import io
from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go
import torch
from jaxtyping import Float
from torch import Tensor

from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.schematics import NETWORKS
from intertwine_book.figures.style import COLOURS, new_figure


def letter() -> Float[Tensor, "11 2"]:
    """Points in the shape of an F around the origin, so that turns and swaps are seen.

    They are a little off the strokes, so that no two distances are equal.
    """
    strokes = [(0.0, y) for y in (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)]
    strokes += [(0.4, 2.0), (0.8, 2.0), (1.2, 2.0), (0.4, 1.2), (0.8, 1.2)]
    points = torch.tensor(strokes, dtype=torch.float64)
    order = torch.Generator().manual_seed(0)
    points += 0.03 * torch.randn(points.shape, generator=order, dtype=torch.float64)
    return points - points.mean(0)


def turned(cloud: Float[Tensor, "n 2"], degrees: float | int) -> Float[Tensor, "n 2"]:
    """The cloud after a rotation around the origin.

    Example:
        >>> turned(torch.tensor([[1.0, 0.0]]), 90).round().abs().tolist()
        [[0.0, 1.0]]
    """
    c, s = (f(torch.deg2rad(torch.tensor(float(degrees)))).to(cloud) for f in (torch.cos, torch.sin))
    return cloud @ torch.stack([c, s, -s, c]).view(2, 2)


def cloud_slider(
    cloud: Float[Tensor, "n 2"],
    moved: Mapping[str, Float[Tensor, "n 2"]],
    measures: Mapping[str, Callable[[Tensor, Tensor], Tensor]],
    *,
    name: str,
    start: int = 0,
    shuffles: int = 50,
) -> Interactive:
    """A cloud and its image under one map after another, with the similarity of the two by each measure.

    Example:
        >>> from intertwine.similarity import cka
        >>> moved = {"0°": letter(), "90°": turned(letter(), 90)}
        >>> "turned" in cloud_slider(letter(), {f"turned by {k}": Z for k, Z in moved.items()}, {"CKA": cka},
        ...                          name="clouds")._repr_html_()
        True

    Args:
        moved: what the slider says → the second cloud.
        measures: similarities, 1 for equal clouds. A tick at each bar is their mean over `shuffles` orders of
            the second cloud's points.
        start: the number of the cloud that is seen first.
    """
    generator = torch.Generator().manual_seed(0)
    orders = [torch.randperm(len(cloud), generator=generator) for _ in range(shuffles)]
    names, states = [*measures], []
    for Z in moved.values():
        values = [float(f(cloud, Z)) for f in measures.values()]
        nulls = [sum(float(f(cloud, Z[order])) for order in orders) / shuffles for f in measures.values()]
        states.append((_coordinates(Z), values, nulls))
    steps = []
    for label, ((x, y), values, nulls) in zip(moved, states, strict=True):
        update: dict[str, Any] = {
            "x": [x, _lengths(values), nulls],
            "y": [y, names, names],
            "text": [None, _words(values), None],
        }
        steps.append({"method": "restyle", "label": label, "args": [update, [1, 2, 3]]})
    second, values, nulls = states[start]
    right: dict[str, Any] = {"y": names, "xaxis": "x2", "yaxis": "y2", "showlegend": False}
    inside = {"textposition": "auto", "insidetextanchor": "end", "orientation": "h", "hoverinfo": "skip"}
    tick = {"symbol": "line-ns", "size": 22, "line": {"width": 3, "color": COLOURS["red"]}}
    traces = [
        _dots(_coordinates(cloud), NETWORKS[0], 13),
        _dots(second, NETWORKS[1], 8),
        go.Bar(x=_lengths(values), text=_words(values), marker={"color": COLOURS["sky"]}, **inside, **right),
        go.Scatter(x=nulls, mode="markers", marker=tick, **right),
    ]
    reach = 1.08 * max(float(Z.abs().max()) for Z in (cloud, *moved.values()))
    slider = {"active": start, "steps": steps, "currentvalue": {"prefix": "the orange cloud:"}}
    figure = go.Figure(traces, _layout(reach) | {"sliders": [slider]})
    opens = dict(zip(names, values, strict=True))
    picture = _picture(cloud, [*moved.values()][start], opens, nulls, reach)
    return Interactive(figure, name, "the orange cloud is {}", picture)


def _coordinates(Z: Tensor) -> tuple[list[float], list[float]]:
    x, y = Z.round(decimals=3).T.tolist()
    return x, y


def _lengths(values: list[float]) -> list[float]:
    return [max(value, 0) for value in values]


def _words(values: list[float]) -> list[str]:
    return [f"{value:.2f}".replace("-", "−") for value in values]


def _dots(at: tuple[list[float], list[float]], colour: str, size: int) -> go.Scatter:
    mark = {"size": size, "color": colour}
    return go.Scatter(x=at[0], y=at[1], mode="markers", marker=mark, hoverinfo="skip", showlegend=False)


def _layout(reach: float) -> dict[str, Any]:
    """The clouds on the left, the bars on the right."""
    cloud: dict[str, Any] = {
        "zeroline": True,
        "showgrid": False,
        "showticklabels": False,
        "zerolinecolor": COLOURS["grey"],
    }
    cloud |= {"range": [-reach, reach], "fixedrange": True}
    bars: dict[str, Any] = {
        "domain": [0.66, 1],
        "range": [-0.15, 1.02],
        "anchor": "y2",
        "tickvals": [0, 0.5, 1],
    }
    bars |= {"fixedrange": True, "showgrid": False, "title": {"text": "similarity", "standoff": 8}}
    clear = "rgba(0,0,0,0)"
    return {
        "template": "none",
        "height": 235,
        "margin": {"l": 5, "r": 15, "t": 0, "b": 46},
        "paper_bgcolor": clear,
        "plot_bgcolor": clear,
        "font": {"color": COLOURS["grey"], "size": 13},
        "xaxis": {"domain": [0, 0.42], **cloud},
        "yaxis": {"scaleanchor": "x", **cloud},
        "xaxis2": bars,
        "yaxis2": {"anchor": "x2", "autorange": "reversed", "fixedrange": True},
    }


def _picture(
    cloud: Tensor, other: Tensor, values: Mapping[str, float], nulls: list[float], reach: float
) -> str:
    """The state in which the figure opens."""
    figure, (left, right) = new_figure(1, 2, width=6.9, height=2.35)
    for Z, colour, size in zip((cloud, other), NETWORKS, (9, 6), strict=True):
        left.plot(*Z.T.numpy(), "o", color=colour, ms=size, mew=0)
    left.axhline(0, color=COLOURS["grey"], lw=0.6)
    left.axvline(0, color=COLOURS["grey"], lw=0.6)
    left.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    left.axis("off")
    right.barh([*values], [*values.values()], color=COLOURS["sky"])
    right.plot(nulls, range(len(nulls)), "|", color=COLOURS["red"], ms=20, mew=2.5)
    for k, value in enumerate(values.values()):
        right.text(0.03, k, f"{value:.2f}", va="center", color=COLOURS["ink"])
    right.invert_yaxis()
    right.set(xlim=(-0.15, 1.02), xlabel="similarity")
    with io.BytesIO() as file:
        figure.savefig(file, format="png", transparent=True, dpi=110)
        data = base64.b64encode(file.getvalue()).decode()
    return f'<img class="still" alt="The figure before it moves" src="data:image/png;base64,{data}">'
