"""Figures of chapter 7: each takes a table and returns a Figure that shows what is in it."""

import numpy as np
import pandas as pd
import pytest

from intertwine.shallow import ShallowReLU
from intertwine_book.figures.shallow import (
    decision_tree,
    degeneracies,
    folded_planes,
    hidden_counts,
    nearest_hyperplanes,
    neuron_rays,
)

x, y = (part.ravel() for part in np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5)))
surface = pd.concat([pd.DataFrame({"network": name, "x": x, "y": y, "f": x + y}) for name in ("p", "q")])
neurons = pd.DataFrame({"network": ["p", "q"], "w1": [1.0, -1.0], "w2": [0.0, 1.0], "b": [0.0, 0.5]})
steps = pd.DataFrame(
    {
        "network": ["given", "given", "left"],
        "w1": [1, 0, 1],
        "b": [1, 2, 1],
        "weight": [2, 0, -1],
        "constant": [0, 0, 3],
    }
)
distances = pd.DataFrame(
    {
        "neurons": ["all", "active"] * 2,
        "distance": ["parallel", "dead"] * 2,
        "network": ["trained"] * 2 + ["random"] * 2,
        "value": [0.1, 1e-3, 0.2, 0.5],
    }
)
counted = pd.DataFrame({"size": [1, 1, 2, 2], "hidden": [10, 20, 0, 3]})
angles = pd.DataFrame({"pair": ["one orbit"] * 3 + ["two seeds"] * 3, "angle": [0, 1e-16, 1e-17, 30, 20, 50]})
FIGURES = {
    "folded_planes": lambda: folded_planes(surface, neurons),
    "neuron_rays": lambda: neuron_rays(steps),
    "degeneracies": lambda: degeneracies(distances),
    "hidden_counts": lambda: hidden_counts(counted),
    "decision_tree": decision_tree,
    "nearest_hyperplanes": lambda: nearest_hyperplanes(angles),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_made_once_and_always_the_same(name, always_the_same):
    always_the_same(FIGURES[name])


def test_panels_and_labels_come_from_the_tables():
    assert [axis.get_title() for axis in folded_planes(surface, neurons).axes] == ["p", "q"]
    assert [axis.get_title() for axis in neuron_rays(steps).axes] == ["given\nc = 0", "left\nc = 3"]
    all_neurons, active = degeneracies(distances).axes
    assert [text.get_text() for text in all_neurons.get_yticklabels()] == ["to merge", "to drop"]
    assert active.get_title() == "without neurons that never fire"
    (axis,) = nearest_hyperplanes(angles).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["one orbit", "two seeds"]
    assert all(line.get_ydata()[-1] == 1 for line in axis.get_lines())


def test_the_line_of_counts_is_the_median():
    (line,) = hidden_counts(counted).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [15, 1.5])


def test_a_fold_lies_where_the_neuron_is_zero():
    axis = folded_planes(surface, neurons).axes[1]
    (fold,) = [line for line in axis.get_lines() if hasattr(line, "_xy2")]
    for point in (fold._xy1, fold._xy2):
        assert abs(-point[0] + point[1] + 0.5) < 1e-12


def test_a_slider_of_neurons_shows_parts_that_add_up_to_the_function():
    pytest.importorskip("plotly")
    from intertwine_book.figures.neuron_slider import neuron_slider

    nets = {
        "|x|": ShallowReLU([[1], [-2]], [0, 0], [[1, 0.5]], [0]),
        "x": ShallowReLU([[1], [-1]], [1, -1], [[1, -1]], [-1]),
    }
    figure = neuron_slider(nets, name="two", prefix="").figure
    assert [line.name for line in figure.data] == ["neuron 1", "neuron 2", "constant", "their sum"]
    x = np.array(figure.data[0].x)
    for step, net in zip(figure.layout.sliders[0].steps, nets.values(), strict=True):
        *parts, total = map(np.array, step.args[0]["y"])
        assert np.allclose(sum(parts), total, atol=2e-3) and np.allclose(
            total, net(x[:, None])[:, 0], atol=1e-3
        )
