"""The tables that claims on ramakrishnan2026 are judged by, at the size of a run."""

from collections.abc import Iterator

import pandas as pd
import torch

from intertwine.shallow import ShallowReLU, same_function
from intertwine_book.experiments.rows import Row, tabled
from intertwine_book.experiments.shallow_relu import examples, other_activations, stabilizers, theorems
from intertwine_book.experiments.shallow_relu.identifiability import identifiability
from intertwine_book.results import Run


def statements(run: Run, trials: int, *, generator: torch.Generator) -> dict[str, pd.DataFrame]:
    """Each statement tried on random networks, and each example: tables by name."""
    some, names = {"generator": generator}, ("ReLU", "Softplus", "SiLU", "GELU", "Hardswish", "LeakyReLU")
    return {  # in this order, as one generator is drawn from
        "verdicts": theorems.verdicts(trials, **some),
        "differences": theorems.differences(trials, generator=run.generator(1)),
        "reductions": theorems.reductions(trials, **some),
        "affine": theorems.affine(trials, **some),
        "identifiability": identifiability(2 * trials, generator=run.generator(2)),
        "stabilizers": stabilizers.stabilizers(trials, **some),
        "fibres": theorems.fibres(5 * trials, **some),
        "density": theorems.density([1, 2, 4, 8, 16, 32, 64, 0], trials, **some),
        "apart": theorems.apart(5 * trials, generator=run.generator(5)),
        "remark_1": other_activations.remark_1(("ReLU", "tanh", "GELU", "abs", "sigmoid"), 2, **some),
        "flips": other_activations.flips((*names, "abs", "ELU", "Mish", "tanh"), **some),
        "minors": theorems.minors(5 * trials, generator=run.generator(3)),
        "stabilizers_searched": stabilizers.searched(trials, generator=run.generator(4)),
        "grigsby": examples.grigsby(),
        "hierarchy": examples.hierarchy(),
        "example_1": examples.example_1(),
        "introduction": examples.introduction(),
    }


@tabled
def rounding(network: ShallowReLU) -> Iterator[Row]:
    """Verdicts on a network in floats and on its copy with one output weight off by ε of itself.

    Example:
        >>> rounding(ShallowReLU([[1.0]], [0.0], [[1.0]], [0.0]))["verdict"].tolist()
        ['different', 'different', 'different', 'different', 'equal', 'equal', 'equal']
    """
    for epsilon in (10.0**-power for power in (2, 4, 6, 8, 10, 12, 14)):
        V = network.V.copy()
        V[0, 0] *= 1 + epsilon
        found = same_function(network, ShallowReLU(network.W, network.b, V, network.c))
        verdict = {True: "equal", False: "different", None: "undecided"}[found.equal]
        yield {"ε": epsilon, "verdict": verdict, "discrepancy": found.discrepancy}
