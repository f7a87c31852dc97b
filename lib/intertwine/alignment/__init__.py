"""Closed-form maps between two sets of features, from statistics that stream over the data.

Example:
    >>> import torch
    >>> A = torch.randn(100, 3)
    >>> batches = zip(A.split(32), (2 * A + 1).split(32))
    >>> stretch = least_squares(statistics(batches), affine=True)
    >>> torch.allclose(stretch(A), 2 * A + 1, atol=1e-5)
    True
"""

from intertwine.alignment.assignment import assignment, g_relu, monomial, permutation, unit_assignment
from intertwine.alignment.channel_statistics import Statistics, statistics
from intertwine.alignment.fit import fit
from intertwine.alignment.linear_map import LinearMap
from intertwine.alignment.regression import lasso, least_squares, orthogonal, reduced_rank, variance_restored

__all__ = [
    "LinearMap",
    "Statistics",
    "assignment",
    "fit",
    "g_relu",
    "lasso",
    "least_squares",
    "monomial",
    "orthogonal",
    "permutation",
    "reduced_rank",
    "statistics",
    "unit_assignment",
    "variance_restored",
]
