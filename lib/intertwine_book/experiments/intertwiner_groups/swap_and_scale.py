"""The statements of swap-and-scale-2022 as experiments, and a network before and after a move."""

import itertools
import math
from collections.abc import Iterable, Iterator

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.groups import Permutations
from intertwine.groups.scalar import gaussian
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book.experiments.rows import HOLDS, Row, tabled
from intertwine_book.models import fcn
from intertwine_book.stories.intertwiner_groups import NEURONS


@tabled
def swap(widths: Iterable[int], trials: int, generator: torch.Generator) -> Iterator[Row]:
    """Swap: a permutation of the hidden neurons of a random ReLU network leaves its function.

    Example:
        >>> bool(swap([2, 8], 3, torch.Generator().manual_seed(0))["holds"].all())
        True
    """
    for n, trial in itertools.product(widths, range(trials)):
        net = fcn([5, n, 3], bias=True, seed=generator).double().eval()
        x, P = gaussian(generator, 50, 5), Permutations(n).sample(generator)
        error = relative_error(find_symmetries(net, x).act(net, {"relu1": P})(x), net(x))
        yield {"n": n, "trial": trial, "error": error, "holds": error < HOLDS}


@tabled
def swap_count(widths: Iterable[int], generator: torch.Generator) -> Iterator[Row]:
    """How many different weights the permutations of n hidden neurons give; holds where it is n!.

    Example:
        >>> swap_count([1, 2, 3], torch.Generator().manual_seed(0))["found"].tolist()
        [1, 2, 6]
    """
    for n in widths:
        W = gaussian(generator, n, 5)
        found = {tuple(W[list(order)].flatten().tolist()) for order in itertools.permutations(range(n))}
        yield {"n": n, "found": len(found), "holds": len(found) == math.factorial(n)}


@tabled
def scale(*, with_bias: bool = True) -> Iterator[Row]:
    """Scale: the blue neuron of the page by any α that the source allows; holds for α > 0.

    Example:
        >>> scale().query("holds")["alpha"].tolist()
        [0.01, 0.5, 2.0, 100.0]
    """
    x = torch.linspace(-2, 2, 5, dtype=torch.float64)[:, None]
    W1, b1, W2 = (torch.tensor(NEURONS[name], dtype=torch.float64) for name in ("W1", "b1", "W2"))
    for alpha in (0.01, 0.5, 2.0, 100.0, -0.5, -1.0, -2.0):
        a = torch.tensor([alpha, 1.0], dtype=torch.float64)
        moved = torch.relu(x @ (a[:, None] * W1).T + (a * b1 if with_bias else b1)) @ (W2 / a).T
        error = relative_error(moved, torch.relu(x @ W1.T + b1) @ W2.T)
        yield {"alpha": alpha, "error": error, "holds": error < 1e-12}


@tabled
def any_point(trials: int, generator: torch.Generator) -> Iterator[Row]:
    """Swap and scale at special points of parameter space: three neurons, in all six orders.

    Example:
        >>> any_point(1, torch.Generator().manual_seed(0)).set_index("point")["networks"].to_dict()
        {'generic': 6, 'two equal neurons': 3, 'a dead neuron': 6, 'one without weights': 6, 'all 0': 1}

    Columns point, trial, error (the largest change of an output), networks (different weights of the six
    orders), moves_for_each.
    """
    x = gaussian(generator, 50, 3)

    def outputs(theta: Float[Tensor, "3 5"]) -> Float[Tensor, " 50"]:
        return torch.relu(x @ theta[:, :3].T + theta[:, 3]) @ theta[:, 4]

    points = ("generic", "two equal neurons", "a dead neuron", "one without weights", "all 0")
    for point, trial in itertools.product(points, range(trials)):
        theta = gaussian(generator, 3, 5)  # a neuron's weights, bias and output weight in a row
        match point:
            case "two equal neurons":
                theta[1] = theta[0]
            case "a dead neuron":
                theta[1, 4] = 0
            case "one without weights":
                theta[1] = 0
            case "all 0":
                theta[:] = 0
        a = gaussian(generator, 3, 1).exp()
        scalings = torch.cat([a.expand(3, 4), 1 / a], 1)
        orders = [list(order) for order in itertools.permutations(range(3))]
        changes = [outputs(scalings * theta[order]) - outputs(theta) for order in orders]
        error = max(change.abs().max().item() for change in changes)
        networks = len({tuple(theta[order].flatten().tolist()) for order in orders})
        row = {"point": point, "trial": trial, "error": error, "networks": networks}
        yield row | {"moves_for_each": 6 / networks}


def changes(before: nn.Sequential, after: nn.Sequential, x: Float[Tensor, "samples n_0"]) -> pd.DataFrame:
    """What a move changes of a network: columns quantity, before and after, a row for each number."""

    def numbers(net: nn.Sequential) -> dict[str, Tensor]:
        weights = torch.cat([W.flatten() for W in net.parameters() if W.ndim == 2])
        return {
            "weights": weights,
            "hidden activations": net[:2](x[:60]).flatten(),
            "outputs": net(x).flatten(),
        }

    old, new = numbers(before), numbers(after)
    parts = [{"quantity": name, "before": old[name].cpu(), "after": new[name].cpu()} for name in old]
    return pd.concat(map(pd.DataFrame, parts))
