"""Moves of a network that keep its function: an element of G_ReLU acts, a set of neurons is flipped."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from operator import index

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from intertwine.groups import Activation, GReLU, as_activation
from intertwine.shallow.exact import Numbers, is_exact, numbers, reciprocal
from intertwine.shallow.relu_network import ShallowReLU

SCALES = np.array([Fraction(1, 3), Fraction(1, 2), 1, 2, 3, 5], dtype=object)  # of random elements
ODD_TOLERANCE = 1e-9  # of κx, relative to the larger of σ(x) and x


def act(p: ShallowReLU, A: object) -> ShallowReLU:
    """Act by an element of G_ReLU, the group H_n of ramakrishnan2026: $W → AW$, $b → Ab$, $V → VA⁻¹$.

    Example:
        >>> p = ShallowReLU([[1], [2]], [0, 1], [[3, 5]], [0])
        >>> q = act(p, [[0, 2], [1, 0]])
        >>> q.W.tolist(), [str(x) for x in q.V[0]]
        ([[4], [1]], ['5/2', '3'])

    Args:
        p: the network; it is not changed.
        A: n×n, with one positive entry in each row and column: a tensor, as `intertwine.groups.GReLU` samples
            it, or integers and fractions, which keep an exact network exact.

    Raises:
        ValueError: a matrix that is no such element.
    """
    entries = numbers(A, "A")
    # an element has its nonzero entries in rows 0, 1, …, n − 1, and in each column once
    rows, columns = np.nonzero(np.atleast_2d(entries))[:2]
    n = np.arange(p.n)
    fits = entries.shape == (p.n, p.n) and np.array_equal(rows, n) and np.array_equal(np.sort(columns), n)
    if not fits or not (entries[rows, columns] > 0).all():
        raise ValueError(
            f"Expected an element of GReLU({p.n}), a matrix {(p.n, p.n)} with one positive entry in each row "
            f"and column, was given another matrix {entries.shape}: draw it with GReLU({p.n}).sample."
        )
    return moved(p, columns, entries[rows, columns])


def moved(p: ShallowReLU, columns: Int[np.ndarray, " n"], scales: Shaped[np.ndarray, " n"]) -> ShallowReLU:
    """`act` by the matrix with entries scales[i] at (i, columns[i]), which is not built."""
    q = p.with_neurons(columns)
    return ShallowReLU(q.W * scales[:, None], q.b * scales, q.V * reciprocal(scales), q.c)


def monomial_matrix(columns: Int[np.ndarray, " n"], scales: Shaped[np.ndarray, " n"]) -> Numbers | Tensor:
    """The matrix with entries scales[i] at (i, columns[i]): an array if exact, or a tensor of floats."""
    A = np.zeros((len(scales), len(scales)), dtype=scales.dtype)
    A[np.arange(len(scales)), columns] = scales
    return A if is_exact(scales) else torch.from_numpy(A)


def flip(p: ShallowReLU, S: Iterable[int], kappa: int | float = 1) -> ShallowReLU:
    """Flip a set S of neurons, which keeps the function iff $κ Σ_S λ_i w_iᵀ = 0$.

    A flip negates $(w_i, b_i)$ for i in S. Since σ(u) = σ(−u) + κu, this takes $κ Σ_S λ_i (w_i·x + b_i)$ away
    from the function. The part in x is 0, and the constant is added to c.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        >>> q = flip(p, [0, 1, 2])
        >>> q.c.tolist(), p([[5, -7]]).tolist() == q([[5, -7]]).tolist()
        ([1], True)

    Args:
        p: the network; it is not changed.
        S: a set of neurons, numbered from 0; to name one twice changes nothing.
        kappa: κ with σ(x) − σ(−x) = κx: 1 for ReLU, `odd_slope` computes it for others.
    """
    S = [*S]
    if any(str(getattr(i, "dtype", type(i).__name__)).endswith("bool") for i in S):  # True would be neuron 1
        raise ValueError("Expected neurons by their numbers, was given a mask: use np.flatnonzero(mask).")
    S = sorted({index(i) for i in S})
    if S and not 0 <= S[0] <= S[-1] < p.n:
        raise ValueError(f"Expected neurons from 0 to {p.n - 1}, was given {S}.")
    sign = np.ones(p.n, dtype=object if p.exact else np.float64)
    sign[S] = -1
    return ShallowReLU(p.W * sign[:, None], p.b * sign, p.V, p.c + kappa * (p.V[:, S] @ p.b[S]))


def odd_slope(activation: str | Callable[[Tensor], Tensor] | Activation) -> float | None:
    """The κ with $σ(x) − σ(−x) = κx$ for all x, or None if the odd part of σ is not linear.

    Example:
        >>> [
        ...     round(odd_slope(name), 9)
        ...     for name in ("ReLU", "GELU", "SiLU", "Softplus", "abs")
        ... ]
        [1.0, 1.0, 1.0, 1.0, 0.0]
        >>> odd_slope("ELU") is None
        True

    Flipping S keeps the function iff $κ Σ_S λ_i w_iᵀ = 0$; where κ = 0 every flip does.

    Args:
        activation: as in `as_activation`.
    """
    sigma = as_activation(activation)
    x = torch.logspace(-3, 3, 601, dtype=torch.float64)  # compared with σ at every scale
    odd, size = sigma(x) - sigma(-x), torch.maximum(sigma(x).abs(), x)
    kappa = float(x @ odd / (x @ x))  # by least squares; κ, if there is one
    return kappa if ((odd - kappa * x).abs() <= ODD_TOLERANCE * size).all() else None


def random_orbit(p: ShallowReLU, *, generator: torch.Generator) -> ShallowReLU:
    """p moved by a random element of G_ReLU, which is made of fractions if p is exact.

    Example:
        >>> from intertwine.shallow import random_network
        >>> draw = torch.Generator().manual_seed(0)
        >>> p = random_network(3, 2, 1, generator=draw)
        >>> random_orbit(p, generator=draw)([[1, 2]]).tolist() == p([[1, 2]]).tolist()
        True

    Args:
        p: the network; it is not changed.
        generator: of the element's order and scales.
    """
    if not p.exact:
        return act(p, GReLU(p.n).sample(generator))
    # a sample has random floats, which would make an exact network inexact
    columns = torch.randperm(p.n, generator=generator).numpy()
    return moved(p, columns, random_scales(p.n, generator))


def random_scales(number: int, generator: torch.Generator) -> Shaped[np.ndarray, " n"]:
    """Exact positive scales, drawn from a few, so that some may be equal."""
    return SCALES[torch.randint(len(SCALES), (number,), generator=generator).numpy()]


def difference(p: ShallowReLU, q: ShallowReLU) -> ShallowReLU:
    """θ ⊖ θ', Definition 7: the neurons of both, those of q with −λ; its function is that of p minus q's."""
    if (p.m, p.k) != (q.m, q.k):
        raise ValueError(
            f"Expected networks with the same inputs and outputs, was given {p.m} → {p.k} and {q.m} → {q.k}."
        )
    if not (p.exact and q.exact):  # exactness of one of both means nothing
        p, q = p.float(), q.float()
    return ShallowReLU(np.vstack([p.W, q.W]), np.concatenate([p.b, q.b]), np.hstack([p.V, -q.V]), p.c - q.c)
