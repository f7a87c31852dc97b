"""Figures of chapter 4: made from a table, always the same file, and showing what the table says."""

import numpy as np
import pandas as pd
import pytest
import torch

from intertwine.similarity import cka, gram
from intertwine_book.figures.matrices import layer_matrices
from intertwine_book.figures.similarity import (
    against_penalty,
    beside_nulls,
    gram_matrices,
    impossible_triangle,
    point_clouds,
    shared_units,
)

TRIALS = pd.DataFrame(
    [
        {"panel": p, "layer": k, "group": g, "what": w, "value": k + 0.1 * n + (w == "trained")}
        for p in ("Procrustes", "CKA")
        for k in (3, 6)
        for g in ("G_ReLU", "orthogonal")
        for w in ("trained", "shuffled")
        for n in range(3)
    ]
)
PRINTED = (
    TRIALS[TRIALS["what"] == "trained"].groupby(["panel", "layer", "group"])["value"].max().reset_index()
)
LOST = pd.DataFrame({"layer": [3, 3, 6], "similarity": [0.5, 0.6, 0.7], "penalty": [8.0, 9.0, 3.0]})
X = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)


def between(layers: list) -> pd.DataFrame:
    rows = [
        {"measure": m, "pair": p, "row": a, "column": b, "value": (i + 10 * j + 100 * p) / 300}
        for m in ("G_ReLU-CKA", "linear CKA")
        for p in range(2)
        for i, a in enumerate(layers)
        for j, b in enumerate(layers)
    ]
    return pd.DataFrame(rows)


WIDE = pd.DataFrame([[0.9, 0.2, 0.1], [0.3, 0.8, 0.4]], ["relu1", "relu2"], ["a", "b", "c"])
FIGURES = {
    "beside_nulls": lambda: beside_nulls(TRIALS, PRINTED, ylabel="similarity"),
    "without printed values": lambda: beside_nulls(TRIALS, ylabel="similarity"),
    "against_penalty": lambda: against_penalty(LOST, LOST.groupby("layer", as_index=False).mean()),
    "point_clouds": lambda: point_clouds([("one", X, X + 1)] * 3),
    "gram_matrices": lambda: gram_matrices(
        *torch.rand(2, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
        torch.arange(9) % 2,
    ),
    "shared_units": lambda: shared_units({"given": (X[:, 0], X[:, 1]), "turned": (X[0], X[1])}),
    "impossible_triangle": lambda: impossible_triangle(X, gram(X, "max")),
    "layer_matrices": lambda: layer_matrices(between([3, 6, 10, 14])),
    "other columns": lambda: layer_matrices(between([3, 6, 10]).query("row != 3 and column != 10")),
    "of compare": lambda: layer_matrices(WIDE),
    "many layers": lambda: layer_matrices(between(list(range(9)))),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_always_the_same_and_leaves_pyplot_empty(name, always_the_same):
    always_the_same(FIGURES[name])


def test_measured_values_are_means_rings_are_printed_and_dashes_are_nulls():
    left, right = beside_nulls(TRIALS, PRINTED, ylabel="similarity").axes
    heights = {
        mark: sorted(
            float(y) for line in left.lines if line.get_marker() == mark for y in np.ravel(line.get_ydata())
        )
        for mark in ("o", "_")
    }
    assert np.allclose(heights["_"], [3.1, 3.1, 6.1, 6.1])  # the mean of the nulls
    assert np.allclose(heights["o"], [4.1, 4.1, 4.2, 4.2, 7.1, 7.1, 7.2, 7.2])  # means, and printed values
    assert [axis.get_title() for axis in (left, right)] == ["Procrustes", "CKA"]
    assert [text.get_text() for text in right.texts] == ["$G_{\\mathrm{ReLU}}$", "orthogonal"]


def test_the_triangle_has_the_distances_that_the_kernel_asks_for():
    right = impossible_triangle(X, gram(X, "max")).axes[2]
    assert [text.get_text() for text in right.texts][:3] == ["0", "0", "$\\sqrt{2}$"]


def test_the_title_of_two_gram_matrices_is_their_cka():
    Z = torch.randn(2, 12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    figure = gram_matrices(*(gram(part, "linear") for part in Z), torch.arange(12))
    assert figure.axes[2].get_title().endswith(f"{cka(*Z).item():.2f}")


def test_matrices_show_means_with_rows_down_and_columns_across():
    left, right, bar = layer_matrices(between([3, 6, 10, 14])).axes
    assert [axis.get_title() for axis in (left, right)] == ["G_ReLU-CKA", "linear CKA"]
    shown = left.collections[0].get_array()
    assert np.isclose(shown[1, 2], (1 + 20 + 50) / 300) and np.isclose(shown[2, 1], (2 + 10 + 50) / 300)
    assert left.texts[6].get_text() == f"{shown[1, 2]:.2f}"
    assert left.collections[0].get_clim() == right.collections[0].get_clim() == (0, 1)
    assert bar.get_ylabel() == "similarity"
    assert not layer_matrices(between(list(range(9)))).axes[0].texts


def test_rows_and_columns_may_be_different_layers():
    axis = layer_matrices(WIDE).axes[0]
    assert axis.collections[0].get_array().tolist() == WIDE.to_numpy().tolist()
    labels = [
        [label.get_text() for label in ticks] for ticks in (axis.get_yticklabels(), axis.get_xticklabels())
    ]
    assert labels == [["relu1", "relu2"], ["a", "b", "c"]]
    part = between([3, 6, 10]).query("row != 3 and column != 10")
    assert layer_matrices(part).axes[0].collections[0].get_array().shape == (2, 2)


@pytest.mark.parametrize(
    ("draw", "missing"),
    [
        (
            lambda: layer_matrices(between([3, 6]).drop(columns="value")),
            "columns 'value', was given one",
        ),
        (
            lambda: beside_nulls(TRIALS.drop(columns="value"), ylabel="similarity"),
            "columns 'value', was given one",
        ),
        (lambda: against_penalty(LOST.drop(columns="penalty"), LOST), "'penalty', was given one"),
    ],
)
def test_missing_columns_are_named(draw, missing):
    with pytest.raises(ValueError, match=missing):
        draw()
