"""Figures of chapters 3b and 4b: always the same file, and what they draw is what the tables say."""

import numpy as np
import pandas as pd
import pytest

from intertwine_book.figures.matching import loud_and_quiet, one_path, two_ways_diagram
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
a = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])
one_way = pd.DataFrame({"loss": "one", "alpha": 2.0**a, "size": -a, "residual": a})
TWO = {"colours": {"full": "#D55E00", "rank 1": "#0072B2"}, "xlabel": "layer", "ylabel": "penalty"}
rings = pd.DataFrame({"layer": [6], "pair": 1, "stitch": "full", "penalty": 7.0, "spread": 1.0})
FIGURES = {
    "two_ways_diagram": two_ways_diagram,
    "loud_and_quiet": lambda: loud_and_quiet(loudness, {"fit": "#0072B2"}),
    "one_path": lambda: one_path(pd.concat([one_way, one_way.assign(loss="other", alpha=a**2)])),
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
