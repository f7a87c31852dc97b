"""Figures: each takes a table and returns a Figure, leaves pyplot empty, and is the same file every time."""

import numpy as np
import pandas as pd
import pytest
import torch

from intertwine_book.figures.curves import mean_curves, single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.forest import forest
from intertwine_book.figures.groups import (
    moved_points,
    orbits_of_a_neuron,
    pull_through,
    scalar_strip,
)
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.orbits import residual_block, traced_shortcut
from intertwine_book.figures.penalties import insertion_diagram
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.stitching import map_pictures, matched_channels, stitch_diagram
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS
from intertwine_book.figures.symmetries import neuron_diagram
from intertwine_book.intervals import interval

a = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])
network = {"W1": [[1.0], [-2.0]], "b1": [0.5, 1.0], "W2": [[3.0, -1.0]]}
many = pd.DataFrame(
    [
        {"layer": layer, "stitch": stitch, "pair": pair, "penalty": float(layer * pair + (stitch == "full"))}
        for layer in (3, 6, 10)
        for stitch in ("full", "rank 1")
        for pair in range(4)
    ]
)
costs = pd.DataFrame(
    [
        {"layer": layer, "group": group, "penalty": cost + trial, "own": group == "permutations"}
        for layer in (0, 2)
        for group, cost in (("control", 0.0), ("permutations", 2.0), ("orthogonal", 8.0))
        for trial in range(3)
    ]
)
FIGURES = {
    "curves": lambda: mean_curves(many, "layer", "penalty", "stitch", panels="pair", level=0.0),
    "matrix": lambda: heatmap(many, "layer", "stitch", "penalty"),
    "forest": lambda: forest(many, "layer", "penalty", panels="stitch", xlabel="penalty"),
    "insertion_diagram": insertion_diagram,
    "neuron_diagram": lambda: neuron_diagram({"before": network, "after": network}),
    "scalar_strip": lambda: scalar_strip(
        pd.DataFrame(
            {"activation": ["ReLU"] * 5 + ["abs"] * 5, "a": [*a, *a], "residual": [1, 1, 0, 0, 0] + [0] * 5}
        )
    ),
    "stitch_diagram": stitch_diagram,
    "pull_through": pull_through,
    "moved_points": lambda: moved_points({"axes": {"e": np.eye(2)}}),
    "orbits_of_a_neuron": lambda: orbits_of_a_neuron(
        {"tanh": [(1.0, 2.0)], "ReLU": [(1.0, 2.0)] * 2}, ["signed permutations", "G_ReLU"]
    ),
    "map_pictures": lambda: map_pictures({"full": torch.eye(3) - 0.5, "G_ReLU": torch.eye(3)}),
    "matched_channels": lambda: matched_channels(torch.eye(4), *torch.eye(4).expand(2, 2, 4, 4), [(0, 1)]),
    "residual_block": residual_block,
    "traced_shortcut": traced_shortcut,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_made_once_and_always_the_same(name, always_the_same):
    always_the_same(FIGURES[name])


def test_what_lies_on_an_axis_stays_there():
    (axis,) = moved_points({"axes": {"$e_1$": [(1.0, 0.0), (2.0, 0.0)], "$e_2$": [(0.0, 1.0)]}}).axes
    assert [text.get_text() for text in axis.texts] == ["$e_1$", "$e_2$"]
    assert axis.lines[1].get_xydata().tolist() == [[1, 0], [2, 0]]


def test_the_palette_can_be_told_apart_on_white_and_on_black():
    def luminance(colour: str) -> float:
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    shades = {name: luminance(colour) for name, colour in COLOURS.items() if name != "ink"}
    assert all(1.05 / (shade + 0.05) > 2 and (shade + 0.05) / 0.05 > 2 for shade in shades.values())
    assert len(set(GROUP_COLOURS.values())) == len(GROUP_COLOURS)


def test_curves_go_through_the_means_and_bands_are_the_intervals():
    (axis,) = mean_curves(many, "layer", "penalty", "stitch").axes
    lines = [line for line in axis.lines if len(line.get_ydata())]  # the others are of the legend
    for line, (_, trials) in zip(lines, many.groupby("stitch", sort=False), strict=True):
        assert line.get_ydata().tolist() == trials.groupby("layer")["penalty"].mean().tolist()
    assert len(axis.collections) == 2
    low, high = interval(many.query("stitch == 'full' and layer == 10")["penalty"])
    band = axis.collections[0].get_paths()[0].vertices
    assert {low, high} <= set(band[band[:, 0] == 10][:, 1])


def test_a_matrix_writes_the_means():
    axis = heatmap(many, "layer", "stitch", "penalty").axes[0]
    assert [text.get_text() for text in axis.texts] == ["5.5", "4.5", "10", "9", "16", "15"]


def test_curves_are_logarithmic_on_demand():
    scales = [
        mean_curves(many, "layer", "penalty", "stitch", log=log).axes[0].get_yscale() for log in (False, True)
    ]
    assert scales == ["linear", "log"]


def test_means_are_arithmetic_in_every_panel_of_a_logarithmic_figure():
    trials = pd.DataFrame(
        {"x": 1, "y": [1.0, 100.0] * 2, "stitch": "a", "panel": ["left"] * 2 + ["right"] * 2}
    )
    for axis in mean_curves(trials, "x", "y", "stitch", panels="panel", log=True).axes:
        assert axis.get_lines()[0].get_ydata().tolist() == [50.5]


def test_no_two_curves_share_a_colour():
    fixed = {"full": GROUP_COLOURS["G_ReLU"]}
    (axis,) = mean_curves(many, "layer", "penalty", "stitch", colours=fixed).axes
    assert axis.lines[0].get_color() == fixed["full"]
    assert len({line.get_color() for line in axis.lines}) == 2


def test_the_intertwiner_groups_of_a_matrix_are_framed():
    axis = heatmap(costs, "group", "layer", "penalty", outlined="own").axes[0]
    assert [(round(frame.get_x()), round(frame.get_y())) for frame in axis.patches] == [(0, 1), (1, 1)]
    assert not heatmap(costs, "group", "layer", "penalty").axes[0].patches


@pytest.mark.parametrize(
    "draw",
    [
        lambda: mean_curves(many, "layer", "loss", "stitch"),
        lambda: mean_curves(many, "layer", "penalty", "stitch", panels="loss"),
        lambda: heatmap(many, "layer", "stitch", "loss"),
        lambda: single_curves(many, "layer", "penalty", "stitch", "loss", colours={}, xlabel=""),
        lambda: scatter(many, "layer", "loss", "stitch", colours={}, xlabel=""),
        lambda: dots(many, "layer", "penalty", "loss", colours={}, xlabel="", ylabel=""),
        lambda: forest(many, "stitch", "loss", xlabel="loss"),
        lambda: forest(many, "loss", "stitch", xlabel="loss"),
        lambda: heatmap(many, "layer", "stitch", "penalty", outlined="loss"),
    ],
)
def test_missing_columns_are_named(draw):
    with pytest.raises(ValueError, match=r"columns 'loss', was given one with .*'layer'.*: rename"):
        draw()
