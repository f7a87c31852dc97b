"""Figures of chapter 4: made from a table, always the same file, and showing what the table says."""

import numpy as np
import pandas as pd
import pytest

from intertwine_book.figures.matrices import layer_matrices
from intertwine_book.figures.similarity import similarity_by_layer


def by_layer(layers: list, pairs: int = 2) -> pd.DataFrame:
    rows = [
        {"pair": p, "layer": layer, "grelu": 0.5 + 0.01 * k + 0.1 * p, "orthogonal": 0.7, "grelu_null": 0.4}
        for p in range(pairs)
        for k, layer in enumerate(layers)
    ]
    return pd.DataFrame(rows).assign(orthogonal_null=0.45)


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
    "similarity_by_layer": lambda: similarity_by_layer(by_layer([3, 6, 10, 14]), floor=0.3),
    "one pair": lambda: similarity_by_layer(by_layer(["3", "8*", "11"], pairs=1)),
    "layer_matrices": lambda: layer_matrices(between([3, 6, 10, 14])),
    "other columns": lambda: layer_matrices(between([3, 6, 10]).query("row != 3 and column != 10")),
    "of compare": lambda: layer_matrices(WIDE),
    "many layers": lambda: layer_matrices(between(list(range(9)))),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_always_the_same_and_leaves_pyplot_empty(name, always_the_same):
    always_the_same(FIGURES[name])


def test_lines_are_means_over_pairs_beside_their_nulls():
    (axis,) = similarity_by_layer(by_layer([3, 6, 10, 14]), floor=0.3).axes
    lines = {line.get_label(): line.get_ydata() for line in axis.lines}
    assert np.allclose(lines["$G_{\\mathrm{ReLU}}$"], [0.55, 0.56, 0.57, 0.58])
    assert np.allclose(lines["orthogonal, null"], 0.45) and np.allclose(lines["least possible value"], 0.3)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["3", "6", "10", "14"]
    assert "residual" not in axis.get_xlabel()
    (starred,) = similarity_by_layer(by_layer(["3", "8*"])).axes
    assert "inside a residual block" in starred.get_xlabel()
    runs = pd.concat([by_layer([3, 6]).assign(run="here"), by_layer(["3", "8*"]).assign(run="there")])
    left, right = similarity_by_layer(runs, panels="run").axes
    assert [axis.get_title() for axis in (left, right)] == ["here", "there"]
    assert [label.get_text() for label in right.get_xticklabels()] == ["3", "8*"]


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
            lambda: similarity_by_layer(by_layer([3]).drop(columns=["grelu", "grelu_null"])),
            "'grelu', 'gr",
        ),
        (
            lambda: similarity_by_layer(by_layer([3]), panels="run"),
            "'run', was given one with 'pair', 'la",
        ),
    ],
)
def test_missing_columns_are_named(draw, missing):
    with pytest.raises(ValueError, match=missing):
        draw()
