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
    points += 0.03 * torch.randn(
        points.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    return points - points.mean(0)


def turned(cloud: Float[Tensor, "n 2"], degrees: float | int) -> Float[Tensor, "n 2"]:
    """The cloud after a rotation around the origin.

    Example:
        >>> turned(torch.tensor([[1.0, 0.0]]), 90).round().abs().tolist()
        [[0.0, 1.0]]
    """
    c, s = (f(torch.deg2rad(torch.tensor(float(degrees)))).to(cloud) for f in (torch.cos, torch.sin))
    return cloud @ torch.stack([c, s, -s, c]).view(2, 2)


class _Clouds(Interactive):
    """Its still picture has the clouds and the bars of the state in which it opens."""

    def __init__(self, figure: Any, name: str, says: str, picture: str) -> None:
        super().__init__(figure, name, says)
        self.picture = picture

    def _still(self) -> str:
        return self.picture


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
    values = {k: [float(f(cloud, Z)) for f in measures.values()] for k, Z in moved.items()}
    nulls = {
        k: [sum(float(f(cloud, Z[order])) for order in orders) / shuffles for f in measures.values()]
        for k, Z in moved.items()
    }
    names, (first, opens) = [*measures], ([*moved][start], moved[[*moved][start]])

    def coordinates(Z: Tensor) -> tuple[list[float], list[float]]:
        x, y = Z.round(decimals=3).T.tolist()
        return x, y

    def dots(Z: Tensor, colour: str, size: int) -> Any:
        x, y = coordinates(Z)
        return go.Scatter(
            x=x,
            y=y,
            mode="markers",
            marker={"size": size, "color": colour},
            hoverinfo="skip",
            showlegend=False,
        )

    def written(k: str) -> list[str]:
        return [f"{value:.2f}".replace("-", "−") for value in values[k]]

    bars = {"orientation": "h", "xaxis": "x2", "yaxis": "y2", "showlegend": False, "hoverinfo": "skip"}
    ticks = {"symbol": "line-ns", "size": 22, "line": {"width": 3, "color": COLOURS["red"]}}
    figure = go.Figure(
        [
            dots(cloud, NETWORKS[0], 13),
            dots(opens, NETWORKS[1], 8),
            go.Bar(
                x=[max(value, 0) for value in values[first]],
                y=names,
                text=written(first),
                textposition="auto",
                insidetextanchor="end",
                marker={"color": COLOURS["sky"]},
                **bars,
            ),
            go.Scatter(
                x=nulls[first],
                y=names,
                mode="markers",
                marker=ticks,
                xaxis="x2",
                yaxis="y2",
                showlegend=False,
            ),
        ]
    )
    steps = []
    for k, Z in moved.items():
        x, y = coordinates(Z)
        lengths = [max(value, 0) for value in values[k]]
        update: dict[str, Any] = {"x": [x, lengths, nulls[k]], "y": [y, names, names]}
        update["text"] = [None, written(k), None]
        steps.append({"method": "restyle", "label": k, "args": [update, [1, 2, 3]]})
    reach = 1.08 * max(float(Z.abs().max()) for Z in (cloud, *moved.values()))
    hidden = {"zeroline": True, "showgrid": False, "showticklabels": False, "zerolinecolor": COLOURS["grey"]}
    hidden |= {"range": [-reach, reach], "fixedrange": True}
    figure.update_layout(
        template="none",
        height=235,
        margin={"l": 5, "r": 15, "t": 0, "b": 46},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": COLOURS["grey"], "size": 13},
        xaxis={"domain": [0, 0.42], **hidden},
        yaxis={"scaleanchor": "x", **hidden},
        xaxis2={
            "domain": [0.66, 1],
            "range": [-0.15, 1.02],
            "anchor": "y2",
            "tickvals": [0, 0.5, 1],
            "fixedrange": True,
            "showgrid": False,
            "title": {"text": "similarity", "standoff": 8},
        },
        yaxis2={"anchor": "x2", "autorange": "reversed", "fixedrange": True},
        sliders=[{"active": start, "steps": steps, "currentvalue": {"prefix": "the second cloud:"}}],
    )
    picture = _picture(cloud, opens, dict(zip(names, values[first], strict=True)), nulls[first], reach)
    return _Clouds(figure, name, "the second cloud is {}", picture)


def _picture(
    cloud: Tensor, other: Tensor, values: Mapping[str, float], nulls: list[float], reach: float
) -> str:
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
