"""Random networks of small integers, in which coincidences are common, and random elements of G_ReLU."""

from fractions import Fraction

import numpy as np
import torch
from jaxtyping import Shaped

from intertwine.groups import GReLU
from intertwine.shallow.moves import act, moved
from intertwine.shallow.relu_network import ShallowReLU

SCALES = np.array([Fraction(1, 3), Fraction(1, 2), 1, 2, 3, 5], dtype=object)


def random_network(n: int, m: int, k: int, size: int = 3, *, generator: torch.Generator) -> ShallowReLU:
    """An exact network of integers in [−size, size], with w_i ≠ 0 and λ_i ≠ 0.

    Example:
        >>> random_network(
        ...     n=4, m=2, k=1, generator=torch.Generator().manual_seed(0)
        ... ).rows.shape
        (4, 3)

    Coincidences are likely: parallel neurons, opposite pairs, hidden flips.
    """
    shapes = ((n, m), (n,), (n, k), (k,))
    W, b, V, c = (random_integers(-size, size, shape, generator) for shape in shapes)
    for matrix in (W, V):
        matrix[~(matrix != 0).any(1), 0] = 1
    return ShallowReLU(W, b, V.T, c)


def random_orbit(p: ShallowReLU, *, generator: torch.Generator) -> ShallowReLU:
    """p moved by a random element of G_ReLU, which is made of fractions if p is exact.

    Example:
        >>> draw = torch.Generator().manual_seed(0)
        >>> p = random_network(3, 2, 1, generator=draw)
        >>> random_orbit(p, generator=draw)([[1, 2]]).tolist() == p([[1, 2]]).tolist()
        True
    """
    if not p.exact:
        return act(p, GReLU(p.n).sample(generator))
    columns = torch.randperm(p.n, generator=generator).numpy()
    return moved(p, columns, random_scales(p.n, generator))


def random_integers(
    low: int, high: int, shape: tuple[int, ...], generator: torch.Generator
) -> Shaped[np.ndarray, "..."]:
    """Exact integers from low to high, both included."""
    return torch.randint(low, high + 1, shape, generator=generator).numpy().astype(object)


def random_scales(number: int, generator: torch.Generator) -> Shaped[np.ndarray, " n"]:
    """Exact positive scales, some of them equal."""
    return SCALES[torch.randint(len(SCALES), (number,), generator=generator).numpy()]
