"""Figures of chapter 6: the same file every time, and what they promise to draw."""

import json
import re

import numpy as np
import pytest
import torch

from intertwine import genni
from intertwine_book.figures.epsilon_slider import epsilon_slider
from intertwine_book.figures.genni import (
    loss_planes,
)
from intertwine_book.figures.solids import hyperboloid, polytope

AXIS = torch.linspace(-1, 1, 9, dtype=torch.float64)
FLAT = genni.Grid(AXIS, AXIS[:, None] ** 2 + AXIS**2, energy=2.0)
SOLID = genni.Grid(AXIS, sum(torch.meshgrid(*[AXIS**2] * 3, indexing="ij")), energy=2.0)
EPSILONS = [0.1, 0.5, 1.0]


def test_the_first_coordinate_goes_to_the_right():
    grid = FLAT._replace(loss=AXIS.exp()[:, None].expand(9, 9))
    image = loss_planes({"one": {"grid": grid}}).axes[0].images[0].get_array()
    assert (np.diff(image, axis=1) > 0).all() and (np.diff(image, axis=0) == 0).all()


def slider(**options):
    pytest.importorskip("plotly")
    return epsilon_slider(SOLID, EPSILONS, name="solid", points=[[0, 0, 0]], **options)


def test_the_slider_shows_the_sets_one_inside_the_other():
    figure = slider(limit=10_000).figure
    counts = np.array([len(cloud.x) for cloud in figure.data[:3]])
    sets = [int(genni.epsilon_set(SOLID, epsilon).sum()) for epsilon in EPSILONS]
    assert counts.cumsum().tolist() == sets
    steps = figure.layout.sliders[0].steps
    assert [list(step.args[1]) for step in steps] == [
        [True, False, False, True],
        [True, True, False, True],
        [True] * 4,
    ]
    assert figure.layout.sliders[0].active == 2 and figure.data[1].visible is True
    for cloud, low, high in zip(figure.data, [0, 0.1, 0.5], EPSILONS, strict=False):
        relative = (np.square(cloud.x) + np.square(cloud.y) + np.square(cloud.z)) / 2
        assert (relative < high).all() and (relative >= low - 1e-9).all()


def test_each_kind_of_points_has_one_colour_at_every_threshold_and_stands_once_in_the_legend():
    low = SOLID.coordinates()[:, 0] < 0
    figure = slider(limit=10_000, kinds={"low": low, "high": ~low}).figure
    parts = [cloud for cloud in figure.data if cloud.name == "low"]
    assert sum(len(cloud.x) for cloud in parts) == int((genni.epsilon_set(SOLID, 1.0).flatten() & low).sum())
    assert all(np.less(cloud.x, 0).all() for cloud in parts)
    assert len({cloud.marker.color for cloud in parts}) == 1
    assert [cloud.showlegend for cloud in parts] == [True, False, False]
    far = slider(limit=10_000, kinds={"far": SOLID.relative > 0.5}).figure.data[:3]
    assert [cloud.showlegend for cloud in far] == [False, False, True]
    first = figure.layout.sliders[0].steps[0]
    assert list(first.args[1]) == [True] * 2 + [False] * 4 + [True]


def test_a_fragment_is_small_the_same_every_time_and_fetches_nothing():
    html = slider()._repr_html_()
    assert html == slider()._repr_html_() and 'id="solid"' in html
    assert len(html) < 60_000 and "<html" not in html
    assert not re.search(r"<script[^>]+src=", html)
    thinned = slider(limit=50)
    assert sum(len(cloud.x) for cloud in thinned.figure.data[:3]) <= 50
    assert json.loads(thinned.figure.to_json())["layout"]["sliders"][0]["steps"][0]["label"] == "0.1"


def test_the_corners_of_the_polytope_have_one_neuron_up_and_one_down_and_its_shells_grow():
    pytest.importorskip("plotly")
    figure = polytope([0.0, 0.25], [0.7, 0.3, -0.9, -0.1], name="body").figure
    lines, corners, orbit = figure.data[-3:]
    assert len(set(corners.text)) == len(corners.x) == 12 and len(orbit.x) == 24
    assert len(lines.x) == 3 * 24  # edges
    sizes = [np.linalg.norm(np.stack([mesh.x, mesh.y, mesh.z]), axis=0) for mesh in figure.data[:4]]
    assert [size.mean() / 2**0.5 for size in sizes] == pytest.approx([1, 1, 1.5, 0.5], abs=1e-3)
    assert [mesh.visible for mesh in figure.data[:4]] == [True, True, False, False]


def test_the_hyperboloid_has_the_points_that_it_is_given():
    pytest.importorskip("plotly")
    sheet = torch.rand(4, 8, 3)
    sheet[0, 0] = torch.nan
    made = hyperboloid(sheet, sheet[..., 0], label="u", name="hole")
    assert np.allclose(np.array(made.figure.data[0].z, float)[1:], sheet[1:, :, 2], atol=0.006)
    assert "NaN" not in made._repr_html_()
