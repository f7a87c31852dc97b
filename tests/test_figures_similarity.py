"""Figures of chapter 4: made from a table, always the same file, and showing what the table says."""

import pytest
import torch

from intertwine.similarity import cka, gram
from intertwine_book.figures.similarity import (
    gram_matrices,
    impossible_triangle,
    shared_units,
    units_in_three_bases,
)

X = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)


FIGURES = {
    "units_in_three_bases": units_in_three_bases,
    "gram_matrices": lambda: gram_matrices(
        *torch.rand(2, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
        torch.arange(9) % 2,
    ),
    "shared_units": lambda: shared_units({"given": (X[:, 0], X[:, 1]), "turned": (X[0], X[1])}),
    "impossible_triangle": lambda: impossible_triangle(X, gram(X, "max")),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_always_the_same_and_leaves_pyplot_empty(name, always_the_same):
    always_the_same(FIGURES[name])


def test_the_triangle_has_the_distances_that_the_kernel_asks_for():
    right = impossible_triangle(X, gram(X, "max")).axes[2]
    assert [text.get_text() for text in right.texts][:3] == ["0", "0", "√2"]


def test_the_title_of_two_gram_matrices_is_their_cka():
    Z = torch.randn(2, 12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    figure = gram_matrices(*(gram(part, "linear") for part in Z), torch.arange(12))
    assert figure.axes[2].get_title().endswith(f"{cka(*Z).item():.2f}")
