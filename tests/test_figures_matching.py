"""Figures of chapters 3b and 4b: always the same file, and what they draw is what the tables say."""

import numpy as np
import pandas as pd
import pytest
import torch

from intertwine_book.figures.function import (
    above_and_below,
    best_matches,
    index_and_accuracy,
    labelled_clouds,
)
from intertwine_book.figures.matching import loud_and_quiet, two_ways_diagram
from intertwine_book.figures.trials import apart, small_panels, trials

many = pd.DataFrame(
    [
        {"layer": layer, "stitch": stitch, "pair": pair, "penalty": float(layer * pair + (stitch == "full"))}
        for layer in (3, 6, 10)
        for stitch in ("full", "rank 1")
        for pair in range(4)
    ]
)
loudness = pd.DataFrame(
    [
        {"stitch": name, "variance": v, "kept": 3 * v, "distance": 1 + v, "base": 1.0}
        for name in ("removed", "fit")
        for v in (0.1, 0.2, 0.7)
    ]
)
TWO = {"colours": {"full": "#D55E00", "rank 1": "#0072B2"}, "xlabel": "layer", "ylabel": "penalty"}
rings = pd.DataFrame({"layer": [6], "pair": 1, "stitch": "full", "penalty": 7.0, "spread": 1.0})
stitches = pd.DataFrame({"way": ["a", "a", "b"], "cka": [1.0, 0.9, 0.6], "accuracy": [9.0, 20.0, 80.0]})
half = pd.DataFrame({"epoch": [0, 1, 0, 1], "name": "a", "trial": [0, 0, 1, 1], "value": [1.0, 3, 2, 6]})
square = pd.DataFrame(
    [
        {"measure": "CCA", "row": a, "column": b, "value": abs(i - j) / 2 + trial / 10}
        for i, a in enumerate("xyz")
        for j, b in enumerate("xyz")
        for trial in (0, 1)
    ]
)
BELOW = {"xlabel": "epoch", "ylabels": ("above", "below"), "colours": {"a": "#D55E00"}}
cloud = torch.tensor([[0.0, 1.0], [1.0, -1.0]]), torch.tensor([True, False])
FIGURES = {
    "index_and_accuracy": lambda: index_and_accuracy(
        stitches, {"a": (0.9, 10.0, "#D55E00"), "b": (0.6, 70.0, "#0072B2")}, level=87.0, printed=0.7
    ),
    "labelled_clouds": lambda: labelled_clouds({"one": cloud, "two": cloud}, ["", "note"]),
    "above_and_below": lambda: above_and_below(half, half, "epoch", level=0.7, **BELOW),
    "best_matches": lambda: best_matches(square, xlabel="other", ylabel="layer"),
    "two_ways_diagram": two_ways_diagram,
    "loud_and_quiet": lambda: loud_and_quiet(loudness, {"fit": "#0072B2"}),
    "trials": lambda: trials(many, "layer", "penalty", "stitch", panels="pair", **TWO, printed=rings),
    "small_panels": lambda: small_panels(
        many, "layer", "penalty", "stitch", panels="pair", trial="pair", columns=3, **TWO
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_made_once_and_always_the_same(name, always_the_same):
    always_the_same(FIGURES[name])


def test_trials_are_dots_beside_their_mean_and_what_is_printed_is_a_ring():
    axes = trials(many, "layer", "penalty", "stitch", panels="pair", **TWO, printed=rings).axes
    assert [axis.get_title() for axis in axes] == ["0", "1", "2", "3"]
    (axis,) = trials(many, "layer", "penalty", "stitch", **TWO).axes
    heights = [line.get_ydata().tolist() for line in axis.lines]
    assert [5.5, 10.0, 16.0] in heights and [4.5, 9.0, 15.0] in heights
    dots = [line for line in heights if len(line) == 12]
    assert sorted(dots[0]) == sorted(many.query("stitch == 'full'")["penalty"])
    assert [axes[k].containers != [] for k in range(4)] == [False, True, False, False]
    assert axes[1].containers[0].lines[0].get_ydata() == [7.0]
    assert [text.get_text() for text in axis.texts] == ["full", "rank 1"]


def test_small_panels_have_a_curve_for_every_trial_on_one_scale():
    options = {"panels": "stitch", "trial": "pair", **TWO}
    axes = small_panels(many, "layer", "penalty", "stitch", **options).axes
    assert [len(axis.lines) for axis in axes] == [4, 4]
    assert len({axis.get_ylim() for axis in axes}) == 1


def test_labels_are_moved_apart_no_more_than_needed():
    assert apart([1.0, 0.0, 3.0], 0.5) == [1.0, 0.0, 3.0]
    found = apart([1.0, 1.0, 1.2, 5.0], 0.5)
    assert np.allclose(np.diff(found[:3]), 0.5) and np.isclose(np.mean(found[:3]), 3.2 / 3) and found[3] == 5


def test_the_panels_above_and_below_have_every_trial_and_their_mean():
    upper, lower = above_and_below(half, half.assign(value=0.5), "epoch", level=0.7, **BELOW).axes
    heights = [line.get_ydata().tolist() for line in upper.lines]
    assert heights == [[1.0, 3.0], [2.0, 6.0], [1.5, 4.5]]
    assert lower.lines[-1].get_ydata() == [0.7, 0.7] and upper.get_xlim() == lower.get_xlim()


def test_a_ring_marks_the_largest_mean_of_every_row():
    (axis,) = best_matches(square, xlabel="other", ylabel="layer").axes
    assert axis.lines[0].get_xdata().tolist() == [2, 0, 0]
    assert axis.lines[0].get_ydata().tolist() == [0, 1, 2]


def test_every_stitch_is_a_dot_at_its_index_and_accuracy():
    axis = FIGURES["index_and_accuracy"]().axes[0]
    dots = {(x, y) for line in axis.lines for x, y in zip(*line.get_data(), strict=True)}
    assert {(1.0, 9.0), (0.9, 20.0), (0.6, 80.0), (0.7, 87.0)} <= dots
