"""Measures of similarity between representations: their invariances, their nulls, and all layers at once.

Example:
    >>> import torch
    >>> X = torch.randn(100, 8, generator=torch.Generator().manual_seed(0))
    >>> round(cka(X, 3 * X.flip(1) + 1).item(), 6), MEASURES["cka"].similarity
    (1.0, True)
"""

from intertwine.similarity.cca import cca, pwcca, r2, svcca
from intertwine.similarity.cka import cka, grelu_cka
from intertwine.similarity.compare import compare
from intertwine.similarity.grams import gram, max_gram
from intertwine.similarity.hsic import hsic, u_centred
from intertwine.similarity.neighbours import mutual_knn
from intertwine.similarity.nulls import Null, null
from intertwine.similarity.procrustes import grelu_procrustes, procrustes
from intertwine.similarity.registry import INVARIANCES, MEASURES, Measure, which
from intertwine.similarity.soft_matching import soft_matching

__all__ = [
    "INVARIANCES",
    "MEASURES",
    "Measure",
    "Null",
    "cca",
    "cka",
    "compare",
    "gram",
    "grelu_cka",
    "grelu_procrustes",
    "hsic",
    "max_gram",
    "mutual_knn",
    "null",
    "procrustes",
    "pwcca",
    "r2",
    "soft_matching",
    "svcca",
    "u_centred",
    "which",
]
