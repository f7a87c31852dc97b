"""Specificity of measures to layers, and their sensitivity to removed components (Ding et al. 2021)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.similarity import cca, cka
from intertwine_book.experiments.rows import Row, tabled

Features = Mapping[str, Float[Tensor, "n ..."]]
"""Layer → features, of one network."""
Measures = Mapping[str, Callable[[Tensor, Tensor], Tensor]]
"""Name → similarity, higher is more similar."""


def probe(
    X: Float[Tensor, "n c"],
    labels: Int[Tensor, " n"],
    X_test: Float[Tensor, "m c"],
    labels_test: Int[Tensor, " m"],
) -> float:
    """Accuracy in percent of a linear classifier, fitted by ridge regression.

    Example:
        >>> X, labels = torch.eye(3).repeat(4, 1), torch.arange(3).repeat(4)
        >>> probe(X, labels, X, labels)
        100.0
    """
    X, X_test = X.double(), X_test.double()
    mean = X.mean(0)
    centred, targets = X - mean, torch.nn.functional.one_hot(labels).double()
    scatter = centred.T @ centred
    scale = 1e-3 * scatter.diagonal().mean().clamp(min=1e-300)
    weight = torch.linalg.solve(scatter + scale * torch.eye(len(scatter)).to(scatter), centred.T @ targets)
    guesses = ((X_test - mean) @ weight + targets.mean(0)).argmax(1)
    return 100 * (guesses == labels_test).double().mean().item()


@tabled
def specificity(networks: Sequence[Features], measures: Measures) -> Iterator[Row]:
    """Is a layer of one network most similar to the same layer of another, trained from another seed?

    Example:
        >>> from intertwine.similarity import cka
        >>> first = {"a": torch.randn(20, 3), "b": torch.randn(20, 3)}
        >>> bool(specificity([first, first], {"cka": cka})["found"].all())
        True

    Columns measure, pair, layer, same (similarity with the same layer of the other network), best_other (with
    the most similar other layer), found (whether same is larger); in both directions.
    """
    pairs = enumerate(combinations(networks, 2))
    for (name, measure), (pair, (first, second)) in product(measures.items(), pairs):
        values = {(a, b): measure(first[a], second[b]).item() for a in first for b in second}
        for layer, side in product(first, (0, 1)):
            line = {key[1 - side]: v for key, v in values.items() if key[side] == layer}
            same, best = line.pop(layer), max(line.values())
            row = {"measure": name, "pair": pair, "layer": layer, "same": same}
            yield row | {"best_other": best, "found": same > best}


@tabled
def between_layers(networks: Sequence[Features], components: int = 16) -> Iterator[Row]:
    """CCA and CKA between all layers of all pairs of networks, CCA also of as many components everywhere.

    Example:
        >>> first = {"a": torch.randn(20, 3), "b": torch.randn(20, 2)}
        >>> between_layers([first, first], 2).query("row == column")["cca_2"].round(6).tolist()
        [1.0, 1.0]

    Features are averaged over space; every layer has principal components of its own, of which the leading
    ones count. Columns pair, row and column (layers), cca, cca_<components> and cka.
    """
    for pair, (first, second) in enumerate(combinations(networks, 2)):
        for (a, X), (b, Y) in product(first.items(), second.items()):
            row = {"pair": pair, "row": a, "column": b, "cca": cca(X, Y).item()}
            row[f"cca_{components}"] = cca(_leading(X, components), _leading(Y, components)).item()
            yield row | {"cka": cka(X, Y).item()}


def _leading(X: Float[Tensor, "n c"], components: int) -> Float[Tensor, "n k"]:
    U, S, _ = torch.linalg.svd(X.double() - X.double().mean(0), full_matrices=False)
    return U[:, :components] * S[:components]


@tabled
def sensitivity(
    networks: Sequence[Float[Tensor, "n c"]],
    labels: Int[Tensor, " n"],
    test: Sequence[Float[Tensor, "m c"]],
    test_labels: Int[Tensor, " m"],
    measures: Measures,
    kept: Sequence[float],
) -> Iterator[Row]:
    """Principal components are taken away: does a measure notice before a linear probe does?

    Given one layer of several networks on training and on test images, the share `kept` of its components
    remains, those of largest variance. Columns measure, network, kept, dissimilarity (1 minus the measure of
    the whole test features with the rest), between_seeds (1 minus the mean measure between the networks),
    detected (whether the first is larger: only then does the measure tell a reduced layer from a seed),
    accuracy (of a probe of the rest, percent), lost (points).
    """
    pairs = list(combinations(test, 2))
    between = {name: 1 - sum(m(A, B).item() for A, B in pairs) / len(pairs) for name, m in measures.items()}
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
                yield row | {"accuracy": accuracy, "lost": whole - accuracy}
