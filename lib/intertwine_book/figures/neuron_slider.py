"""Networks of one input on a slider: what each neuron adds, and the sum."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from intertwine.shallow import ShallowReLU
from intertwine_book.figures.interactive import Interactive
from intertwine_book.figures.style import COLOURS


def neuron_slider(networks: Mapping[str, ShallowReLU], *, name: str, prefix: str) -> Interactive:
    """A line for what each neuron adds to the output, one for the constant, and a thick one for their sum.

    The networks, by the label of a position of the slider, have one input, one output and one width. The
    prefix stands before the label.
    """
    reach = (-1.5, 2.5)  # of the inputs
    nets = [network.float() for network in networks.values()]
    kinks = np.concatenate([-net.b / net.W[:, 0] for net in nets])
    x = np.unique(np.clip([*reach, *kinks], *reach))  # between these every line is straight
    heights = []
    for net in nets:
        parts = net.V[0] * np.maximum(x[:, None] * net.W[:, 0] + net.b, 0)
        constant = np.full(len(x), net.c[0])
        heights.append(np.round([*parts.T, constant, parts.sum(1) + constant], 3).tolist())
    labels = [f"neuron {k + 1}" for k in range(nets[0].n)] + ["constant", "their sum"]
    colours = [COLOURS[c] for c in ("blue", "orange", "green", "red", "pink", "sky")][: nets[0].n]
    styles: list[dict[str, Any]] = [{"color": colour, "width": 2} for colour in colours]
    styles += [{"color": COLOURS["grey"], "width": 1, "dash": "dot"}, {"color": COLOURS["grey"], "width": 5}]
    start = len(nets) // 2
    lines = [
        go.Scatter(x=x.tolist(), y=y, name=label, line=style, mode="lines")
        for y, label, style in zip(heights[start], labels, styles, strict=True)
    ]
    steps = [
        {"method": "restyle", "label": label, "args": [{"y": y}]}
        for label, y in zip(networks, heights, strict=True)
    ]
    ends = float(np.min(heights)), float(np.max(heights))
    slider = {"active": start, "steps": steps, "currentvalue": {"prefix": prefix}, "pad": {"t": 45}}
    layout: dict[str, Any] = {"template": "none", "height": 400}
    layout |= {"margin": {"l": 40, "r": 20, "t": 60, "b": 40}}
    layout |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "sliders": [slider]}
    layout |= {
        "font": {"color": COLOURS["grey"]},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    quiet = {"gridcolor": "rgba(128,128,128,0.25)", "zerolinecolor": "rgba(128,128,128,0.5)"}
    layout |= {"xaxis": quiet | {"title": {"text": "x"}}, "yaxis": quiet | {"range": ends}}
    return Interactive(go.Figure(lines, layout), name, says=f"{prefix}{{}}")
