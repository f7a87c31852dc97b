"""What weight decay does to hidden neurons, those that never fire told apart from the others."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from intertwine.data import Dataset
from intertwine.shallow import ShallowReLU, degeneracy, is_generic
from intertwine_book.experiments.rows import Row, tabled


@tabled
def distances(p: ShallowReLU, inputs: Float[np.ndarray, "N m"]) -> Iterator[Row]:
    """How far a network is from degenerate ones, four ways: as it is, and without what never fires on inputs.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1], [0, 0.01]], [0, 0, -9], [[1, 1, 1]], [0])
        >>> table = distances(p, np.eye(2))
        >>> table.query("distance == 'constant'")[["neurons", "left", "value"]].round(3).values.tolist()
        [['all', 3, 0.001], ['active', 2, 1.0]]

    Columns neurons (all, or those that are active on some input), left (how many), generic (certified),
    distance (parallel, dead, constant, σ_min relative to the largest ‖λ_i w_iᵀ‖), value.
    """
    kept = {"all": np.arange(p.n), "active": np.flatnonzero(fires(p, inputs))}
    for neurons, chosen in kept.items():
        if not len(chosen):
            continue  # such a network has no neuron to compare
        q = p.with_neurons(chosen).float()
        near, known = degeneracy(q), is_generic(q)
        largest = (np.linalg.norm(q.V, axis=0) * np.linalg.norm(q.W, axis=1)).max()
        sigma = np.nan if known.distance is None else known.distance / largest
        values = {"parallel": near.parallel, "dead": near.silent, "constant": near.constant, "σ_min": sigma}
        facts = {"neurons": neurons, "left": q.n, "generic": known.generic is True}
        yield from (facts | {"distance": kind, "value": float(value)} for kind, value in values.items())


@tabled
def sizes(p: ShallowReLU, inputs: Float[np.ndarray, "N m"]) -> Iterator[Row]:
    """Every neuron: how often it fires, and how large its weights are.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 0]], [0, -1], [[3, 1]], [0])
        >>> sizes(p, np.eye(2)).round(2).values.tolist()
        [[0.0, 0.5, 1.0, 3.0], [1.0, 0.0, 0.0, 1.0]]

    Columns neuron, fires (the share of the inputs on which it is active), input (‖w‖), output (‖λ‖).
    """
    share, q = fires(p, inputs), p.float()
    norms = zip(share, np.linalg.norm(q.W, axis=1), np.linalg.norm(q.V, axis=0), strict=True)
    for neuron, (often, w, v) in enumerate(norms):
        yield {"neuron": neuron, "fires": float(often), "input": float(w), "output": float(v)}


def accuracy(p: ShallowReLU, test: Dataset) -> float:
    """The accuracy of the largest output, in percent."""
    outputs = p.float()(test.images.flatten(1).double().cpu().numpy())
    return 100 * float((outputs.argmax(1) == test.labels.cpu().numpy()).mean())


def fires(p: ShallowReLU, inputs: Float[np.ndarray, "N m"]) -> Float[np.ndarray, " n"]:
    """The share of the inputs on which each neuron is active."""
    rows = p.float().rows
    return (inputs @ rows[:, :-1].T + rows[:, -1] > 0).mean(0)
