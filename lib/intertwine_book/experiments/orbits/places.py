"""What else an orbit tells: where two networks meet, and known elements found through noise."""

import copy
from collections.abc import Iterator, Mapping

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.stitching import line
from intertwine.weightspace import WeightSpace, match, relative_error
from intertwine.weightspace.act.space import Element
from intertwine_book.experiments.rows import Row, tabled


def apart(model1: nn.Module, model2: nn.Module) -> float:
    """The largest relative difference of a parameter.

    Example:
        >>> apart(nn.Linear(2, 2), nn.Linear(2, 2)) > 0
        True
    """
    both = zip(model1.parameters(), model2.parameters(), strict=True)
    return max(relative_error(p.detach(), q.detach()) for p, q in both)


def halfway(one: nn.Module, others: Mapping[str, nn.Module], train: Dataset, test: Dataset) -> pd.DataFrame:
    """Accuracy of a network and of its mean with each other network, by name in the column `way`."""
    walks = (line(one, other, train, test, [0.0, 0.5]).assign(way=way) for way, other in others.items())
    return pd.concat(walks)


@tabled
def through_noise(
    space: WeightSpace,
    network: nn.Module,
    element: Element,
    inputs: Float[Tensor, "n ..."],
    generator: torch.Generator,
) -> Iterator[Row]:
    """How many units `match` assigns as a known element does, from weights with noise.

    Columns noise (in standard deviations of each parameter), by (weights or activations), units (percent).
    """
    known = space.inverse(element)
    for noise in (0.0, 0.1, 0.3, 1.0, 3.0):
        noisy = copy.deepcopy(network)
        with torch.no_grad():
            for p in noisy.parameters():
                z = torch.randn(p.shape, generator=generator, dtype=p.dtype).to(p)
                p.add_(noise * p.std(correction=0) * z)
        noisy = space.act(noisy, element)
        for by, seen in {"weights": None, "activations": inputs}.items():
            found = match(space, network, noisy, inputs=seen).element
            hits = [(found[name].order == move.order).flatten() for name, move in known.items()]
            yield {"noise": noise, "by": by, "units": 100 * torch.cat(hits).double().mean().item()}
