"""Specificity of measures to layers, and their sensitivity to removed components (Ding et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.similarity import cca, cka

Features = Mapping[str, Float[Tensor, "n ..."]]
"""Layer → features, of one network."""
Measures = Mapping[str, Callable[[Tensor, Tensor], Tensor]]
"""Name → similarity, higher is more similar."""


def probe(
    X: Float[Tensor, "n c"],
    labels: Int[Tensor, " n"],
    X_test: Float[Tensor, "m c"],
    labels_test: Int[Tensor, " m"],
    *,
    ridge: float = 1e-3,
) -> float:
    """Accuracy in per cent of a linear classifier, fitted to the classes by ridge regression.

    Example:
        >>> X, labels = torch.eye(3).repeat(4, 1), torch.arange(3).repeat(4)
        >>> probe(X, labels, X, labels)
        100.0

    Args:
        ridge: times the mean variance of the channels.
    """
    X, X_test = X.double(), X_test.double()
    mean = X.mean(0)
    centred, targets = X - mean, torch.nn.functional.one_hot(labels).double()
    scatter = centred.T @ centred
    scale = ridge * scatter.diagonal().mean().clamp(min=1e-300)
    weight = torch.linalg.solve(scatter + scale * torch.eye(len(scatter)).to(scatter), centred.T @ targets)
    guesses = ((X_test - mean) @ weight + targets.mean(0)).argmax(1)
    return 100 * (guesses == labels_test).double().mean().item()


def specificity(networks: Sequence[Features], measures: Measures) -> pd.DataFrame:
    """Is a layer of one network most similar to the same layer of another, trained from another seed?

    Example:
        >>> from intertwine.similarity import cka
        >>> first = {"a": torch.randn(20, 3), "b": torch.randn(20, 3)}
        >>> bool(specificity([first, first], {"cka": cka})["found"].all())
        True

    Returns:
        Columns measure, pair, layer, same (similarity with the same layer of the other network), best_other
        (with the most similar other layer), found (whether same is larger); in both directions.
    """
    rows = []
    pairs = enumerate(combinations(networks, 2))
    for (name, measure), (pair, (first, second)) in product(measures.items(), pairs):
        values = {(a, b): measure(first[a], second[b]).item() for a in first for b in second}
        for layer, side in product(first, (0, 1)):
            line = {key[1 - side]: v for key, v in values.items() if key[side] == layer}
            same = line.pop(layer)
            row = {"measure": name, "pair": pair, "layer": layer, "same": same}
            rows.append(row | {"best_other": max(line.values()), "found": same > max(line.values())})
    return pd.DataFrame(rows)


def between_layers(networks: Sequence[Features], components: int = 16) -> pd.DataFrame:
    """CCA and CKA between all layers of all pairs of networks, CCA also of as many components everywhere.

    Example:
        >>> first = {"a": torch.randn(20, 3), "b": torch.randn(20, 2)}
        >>> between_layers([first, first], 2).query("row == column")["cca_2"].round(6).tolist()
        [1.0, 1.0]

    Args:
        networks: layer → features averaged over space, (n, c).
        components: leading principal components, of which every layer has its own.

    Returns:
        pair, row and column (layers), cca, cca_<components> and cka.
    """
    rows = []
    for pair, (first, second) in enumerate(combinations(networks, 2)):
        for (a, X), (b, Y) in product(first.items(), second.items()):
            row = {"pair": pair, "row": a, "column": b, "cca": cca(X, Y).item()}
            row[f"cca_{components}"] = cca(_leading(X, components), _leading(Y, components)).item()
            rows.append(row | {"cka": cka(X, Y).item()})
    return pd.DataFrame(rows)


def _leading(X: Float[Tensor, "n c"], components: int) -> Float[Tensor, "n k"]:
    U, S, _ = torch.linalg.svd(X.double() - X.double().mean(0), full_matrices=False)
    return U[:, :components] * S[:components]


def sensitivity(
    networks: Sequence[Float[Tensor, "n c"]],
    labels: Int[Tensor, " n"],
    test: Sequence[Float[Tensor, "m c"]],
    test_labels: Int[Tensor, " m"],
    measures: Measures,
    kept: Sequence[float],
) -> pd.DataFrame:
    """Principal components are taken away: does a measure notice before a linear probe does?

    Example:
        >>> from intertwine.similarity import cka
        >>> X, labels = torch.randn(30, 4), torch.arange(30) % 3
        >>> table = sensitivity([X, -X], labels, [X, -X], labels, {"cka": cka}, [1.0, 0.5])
        >>> abs(table["dissimilarity"].round(6).tolist()[0])
        0.0

    Args:
        networks, labels: one layer of several networks, on the training images.
        test, test_labels: the same layer on test images.
        kept: shares of the components, those of largest variance, that remain.

    Returns:
        Columns measure, network, kept, dissimilarity (1 minus the measure of the whole test features with
        the rest), between_seeds (1 minus the mean measure between the networks), detected (whether the
        first is larger: only then does the measure tell a reduced layer from a seed), accuracy (of a
        probe of the rest, percent), lost (points of accuracy).
    """
    pairs = list(combinations(test, 2))
    between = {name: 1 - sum(m(A, B).item() for A, B in pairs) / len(pairs) for name, m in measures.items()}
    rows = []
    for network, (X, X_test) in enumerate(zip(networks, test, strict=True)):
        X, X_test = X.double(), X_test.double()
        mean = X.mean(0)
        _, _, Vh = torch.linalg.svd(X - mean, full_matrices=False)
        whole = probe(X, labels, X_test, test_labels)
        for share in kept:
            V = Vh[: max(1, round(share * len(Vh)))]
            left, left_test = ((Z - mean) @ V.T @ V + mean for Z in (X, X_test))
            accuracy = probe(left, labels, left_test, test_labels)
            for name, measure in measures.items():
                value = 1 - measure(X_test, left_test).item()
                row = {"measure": name, "network": network, "kept": share, "dissimilarity": value}
                row |= {"between_seeds": between[name], "detected": value > between[name]}
                rows.append(row | {"accuracy": accuracy, "lost": whole - accuracy})
    return pd.DataFrame(rows)
