"""Figures of chapter 5: always the same file, and what they draw is what the tables say."""

import numpy as np
import pandas as pd
import pytest
import torch

from intertwine.dissection import Example
from intertwine_book.figures.dissection import ceilings, gallery
from intertwine_book.figures.forest import forest
from intertwine_book.figures.matrices import threshold_sweep
from intertwine_book.results import interval

rng = np.random.default_rng(0)
pictures = rng.random((5, 6, 6, 3))
selected = torch.zeros(3, 6, 6, dtype=torch.bool)
selected[:, 1:3, 2:5] = True
chosen = [
    Example(7, "red", 0.123, torch.tensor([4, 0, 2]), selected),
    Example(1, "disc", 0.05, torch.tensor([1, 2]), selected[:2]),
]
areas = pd.DataFrame({"concept": list("abc"), "area": [0.004, 0.1, 0.5], "dataset": ["x", "x", "y"]})
trials = pd.DataFrame(
    [
        {"kind": kind, "layer": layer, "gap": value - k}
        for k, kind in enumerate(("ReLU", "none"))
        for layer in ("output", "inside")
        for value in (0.1, 0.2, 0.4)
    ]
)
swept = pd.DataFrame(
    [
        {"shown": shown, "model": model, "quantile": q, "threshold": level, "value": sign * (q + level)}
        for shown, sign in (("share", 1), ("slope", -1))
        for model in ("ReLU", "none")
        for q in (0.005, 0.02)
        for level in (0.02, 0.04, 0.08)
    ]
)
FIGURES = {
    "gallery": lambda: gallery(pictures, chosen),
    "ceilings": lambda: ceilings(areas, [0.005, 0.02], 0.04),
    "forest": lambda: forest(trials, "kind", "gap", panels="layer", xlabel="gap"),
    "threshold_sweep": lambda: threshold_sweep(swept),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_made_once_and_always_the_same(name, always_the_same):
    always_the_same(FIGURES[name])


def test_a_gallery_shows_selected_pixels_as_they_are_and_dims_the_others():
    axes = np.array(FIGURES["gallery"]().axes).reshape(2, 3)
    shown = axes[0, 1].images[0].get_array()
    inside = selected[1].numpy()
    assert np.allclose(shown[inside], pictures[0][inside])
    assert shown[~inside].min() >= 0.7 and np.ptp(shown[~inside]) < 0.26
    assert axes[0, 0].get_title(loc="left") == "unit 7: red, IoU 0.123"
    assert not axes[1, 2].images  # the second unit has two images


def test_a_forest_has_the_means_and_intervals_of_the_trials():
    left, right = FIGURES["forest"]().axes
    assert (left.get_title(), right.get_title()) == ("output", "inside")
    values = trials.loc[(trials["kind"] == "none") & (trials["layer"] == "output"), "gap"]
    means = next(line.get_xdata() for line in left.lines if line.get_marker() == "o")
    assert np.isclose(means[1], values.mean())
    spans = [line.get_xdata() for line in left.lines if len(line.get_xdata()) == 2]
    assert any(np.allclose(span, interval(values)) for span in spans)
    assert np.allclose(np.sort(left.collections[1].get_offsets()[:, 0]), values)


def test_ceilings_are_those_of_the_areas():
    (axis,) = FIGURES["ceilings"]().axes
    reach = sorted(point[1] for dots in axis.collections[:2] for point in dots.get_offsets())
    assert np.allclose(reach, [0.005 / 0.5, 0.005 / 0.1, 0.004 / 0.005])


def test_a_sweep_writes_the_means_and_frames_the_papers_setting():
    axes = FIGURES["threshold_sweep"]().axes
    assert len(axes) == 4
    expected = [f"{q + level:.2f}" for q in (0.005, 0.02) for level in (0.02, 0.04, 0.08)]
    assert [text.get_text() for text in axes[0].texts] == expected
    assert [text.get_text() for text in axes[3].texts] == [f"-{value}" for value in expected]
    (frame,) = axes[0].patches
    assert (round(frame.get_x()), round(frame.get_y())) == (1, 0)
