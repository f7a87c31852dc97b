"""Figures of chapter 7 show what is in the networks and tables that they are given."""

import numpy as np
import pandas as pd

from intertwine.shallow import ShallowReLU
from intertwine_book.figures.shallow import folded_planes, hidden_counts

networks = {
    "p": ShallowReLU([[1, 0]], [0], [[1]], [0]),
    "q": ShallowReLU([[-1, 1]], [0.5], [[2]], [0]),
}
ticks = np.linspace(-1, 1, 5)
counted = pd.DataFrame({"size": [1, 1, 2, 2], "hidden": [10, 20, 0, 3]})


def test_the_line_of_counts_is_the_median():
    (line,) = hidden_counts(counted).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [15, 1.5])


def test_a_fold_lies_where_the_neuron_is_zero():
    left, right = folded_planes(networks, ticks).axes
    assert [left.get_title(), right.get_title()] == ["p", "q"]
    (fold,) = [line for line in right.get_lines() if hasattr(line, "_xy2")]
    for point in (fold._xy1, fold._xy2):
        assert abs(-point[0] + point[1] + 0.5) < 1e-12
