"""Figures of chapter 5: always the same file, and what they draw is what the tables say."""

import numpy as np
import pandas as pd
import pytest
import torch

from intertwine.data import Masks
from intertwine.dissection import Example
from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dissection import counting, dissection_steps, gallery
from intertwine_book.figures.forest import forest
from intertwine_book.intervals import interval

rng = np.random.default_rng(0)
pictures = rng.random((5, 6, 6, 3))
selected = torch.zeros(3, 6, 6, dtype=torch.bool)
selected[:, 1:3, 2:5] = True
chosen = [
    Example(7, "red", 0.123, torch.tensor([4, 0, 2]), selected),
    Example(1, "disc", 0.05, torch.tensor([1, 2, 3]), selected),
]
masks = Masks.of(torch.from_numpy(rng.random((5, 2, 6, 6)) < 0.5), ["red", "disc"])
areas = pd.DataFrame({"concept": list("abc"), "area": [0.004, 0.1, 0.5], "dataset": ["x", "x", "y"]})
trials = pd.DataFrame(
    [
        {"kind": kind, "layer": layer, "gap": value - k}
        for k, kind in enumerate(("ReLU", "none"))
        for layer in ("output", "inside")
        for value in (0.1, 0.2, 0.4)
    ]
)
curves = pd.DataFrame(
    [
        {
            "layer": layer,
            "weights": weights,
            "network": n,
            "block": block,
            "alpha": alpha,
            "iou": n - alpha + block,
        }
        for layer in ("behind", "linear")
        for weights in ("trained", "untrained")
        for n in range(3)
        for block in (1, 2)
        for alpha in (0.0, 0.5, 1.0)
    ]
)
labels = {"panels": "layer", "xlabel": "α", "ylabel": "IoU, %"}
labels["colours"] = {"trained": "#0072B2", "untrained": "#7A7A7A"}
FIGURES = {
    "gallery": lambda: gallery(pictures, masks, {"own": chosen, "rotated": chosen[::-1]}),
    "single_curves": lambda: single_curves(curves, "alpha", "iou", "weights", "network", **labels),
    "counting": lambda: counting(areas, quantile=0.005, threshold=0.04),
    "dissection_steps": lambda: dissection_steps(
        pictures[0], *(pictures[k, ..., 0] > 0.5 for k in (1, 2, 3))
    ),
    "forest": lambda: forest(trials, "kind", "gap", panels="layer", xlabel="gap"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_made_once_and_always_the_same(name, always_the_same):
    always_the_same(FIGURES[name])


def test_a_gallery_shows_selected_pixels_as_they_are_dims_the_others_and_outlines_the_concept():
    axes = np.array(FIGURES["gallery"]().axes).reshape(2, 6)
    shown = axes[0, 1].images[0].get_array()
    inside = selected[1].numpy()
    assert np.allclose(shown[inside], pictures[0][inside])
    assert shown[~inside].min() >= 0.75 and np.ptp(shown[~inside]) < 0.21
    assert axes[0, 0].get_title(loc="left") == "own: red, 12.3 %"
    assert axes[1, 3].get_title(loc="left") == "rotated: red, 12.3 %"
    (outline,) = axes[0, 1].collections
    assert outline.get_paths() and np.allclose(axes[1, 4].images[0].get_array(), shown)


def test_single_curves_are_the_means_of_each_trial_and_their_mean():
    left, right = FIGURES["single_curves"]().axes
    assert (left.get_title(), right.get_title()) == ("behind", "linear")
    heights = [line.get_ydata().tolist() for line in left.lines[:4]]
    assert heights == [[n + 1.5, n + 1.0, n + 0.5] for n in (0, 1, 2, 1)]
    assert {text.get_text() for text in right.texts} == {"trained", "untrained"}


def test_a_forest_has_the_means_and_intervals_of_the_trials():
    left, right = FIGURES["forest"]().axes
    assert (left.get_title(), right.get_title()) == ("output", "inside")
    values = trials.loc[(trials["kind"] == "none") & (trials["layer"] == "output"), "gap"]
    means = next(line.get_xdata() for line in left.lines if line.get_marker() == "o")
    assert np.isclose(means[1], values.mean())
    spans = [line.get_xdata() for line in left.lines if len(line.get_xdata()) == 2]
    assert any(np.allclose(span, interval(values)) for span in spans)
    assert np.allclose(np.sort(left.collections[1].get_offsets()[:, 0]), values)


def test_a_unit_that_places_the_drawn_share_of_its_pixels_is_at_the_threshold():
    (axis,) = FIGURES["counting"]().axes
    (line,) = axis.lines
    a, p = (np.asarray(values) / 100 for values in line.get_data())
    q = 0.005
    assert np.allclose(p * q / (q + a - p * q), 0.04)
    assert {text.get_text() for text in axis.texts} >= {"a", "b", "c"}
