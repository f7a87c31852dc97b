"""A ReLU network with one hidden layer, and the moves that may keep its function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int, Shaped

from intertwine.shallow.arithmetic import TOLERANCE, Numbers, is_exact, numbers, reciprocal

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, eq=False, init=False)
class ShallowReLU:
    """x ↦ A2 σ(A1 x + b1) + b2, with σ(u) = max(u, 0): the parameters Ω_(m,n,k) of ramakrishnan2026.

    Example:
        >>> p = ShallowReLU(A2=[[1, 1, 1]], A1=[[1, 0], [0, 1], [-1, -1]], b1=[0, 0, 1], b2=[0])
        >>> p.m, p.n, p.k, p.exact
        (2, 3, 1, True)
        >>> p([[2, 3]]).tolist()
        [[5]]

    Lists, arrays and tensors are taken; arrays of the right type are not copied. If all numbers are integers
    or fractions they stay so, and all that is computed of them is exact; otherwise all become float64. Row i
    of A1 is w_i, column i of A2 is λ_i.

    Raises:
        ValueError: shapes that do not fit, or numbers that are not finite.
    """

    A2: Shaped[np.ndarray, "k n"]
    A1: Shaped[np.ndarray, "n m"]
    b1: Shaped[np.ndarray, " n"]
    b2: Shaped[np.ndarray, " k"]
    tolerance: float = TOLERANCE
    """What `same_function` is to forgive: more where a module's numbers have been rounded to float32."""

    def __init__(self, A2: object, A1: object, b1: object, b2: object) -> None:
        given = {"A2": A2, "A1": A1, "b1": b1, "b2": b2}
        arrays = {name: numbers(values, name) for name, values in given.items()}
        shapes = {name: array.shape for name, array in arrays.items()}
        n, k = shapes["b1"][:1], shapes["b2"][:1]
        fits = shapes["A2"] == k + n and shapes["A1"][:1] == n and len(shapes["A1"]) == 2 and n and k
        if not fits or len(shapes["b1"]) != 1 or len(shapes["b2"]) != 1:
            raise ValueError(
                "Expected A2 (k, n), A1 (n, m), b1 (n,) and b2 (k,), was given "
                + ", ".join(f"{name} {shape}" for name, shape in shapes.items())
                + "."
            )
        exact = is_exact(*arrays.values())
        for name, array in arrays.items():
            object.__setattr__(self, name, array if exact else array.astype(np.float64, copy=False))

    m = property(lambda self: self.A1.shape[1], doc="Inputs.")
    n = property(lambda self: self.A1.shape[0], doc="Neurons.")
    k = property(lambda self: self.A2.shape[0], doc="Outputs.")
    exact = property(lambda self: is_exact(self.A1), doc="Whether the numbers are integers and fractions.")
    rows = property(lambda self: np.column_stack([self.A1, self.b1]), doc="(w_i, b_i), n×(m+1).")

    def __call__(self, x: object, activation: Callable[[Numbers], Numbers] | None = None) -> Numbers:
        """The outputs, (..., k), for inputs (..., m); exact if network and inputs are.

        Args:
            x: integers, fractions or floats.
            activation: another σ, on arrays.
        """
        x = numbers(x, "inputs")
        p = self if is_exact(x) else self.float()
        x = x if p.exact else x.astype(np.float64, copy=False)
        u = x @ p.A1.T + p.b1
        return (np.maximum(u, 0) if activation is None else activation(u)) @ p.A2.T + p.b2

    def float(self) -> ShallowReLU:
        """The same numbers rounded to float64.

        Example:
            >>> ShallowReLU([[1]], [[2]], [0], [0]).float().exact
            False
        """
        return self._map(lambda array: array.astype(np.float64, copy=False))

    def with_neurons(self, chosen: Iterable[Any]) -> ShallowReLU:
        """The network of some of the neurons, in the given order, with the same b2.

        Example:
            >>> ShallowReLU([[1, 5]], [[2], [3]], [0, 0], [0]).with_neurons([1]).A2.tolist()
            [[5]]
        """
        index = np.asarray(list(chosen), dtype=np.int64)
        return ShallowReLU(self.A2[:, index], self.A1[index], self.b1[index], self.b2)

    def _map(self, f: Callable[[Numbers], Numbers]) -> ShallowReLU:
        return ShallowReLU(*(f(array) for array in (self.A2, self.A1, self.b1, self.b2)))

    @staticmethod
    def from_module(module: nn.Sequential) -> ShallowReLU:
        """From `nn.Sequential(Linear, ReLU, Linear)`, in float64; a leading Flatten is allowed.

        The network remembers by its `tolerance`, eight rounding units, that the module was not in float64.
        What is computed of it, such as `act`, is in float64 and forgets.

        Example:
            >>> from torch import nn
            >>> ShallowReLU.from_module(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))).n
            8

        Raises:
            ValueError: other layers.
        """
        import torch  # slow to import
        from torch import nn

        layers = [layer for layer in module if not isinstance(layer, nn.Flatten)]
        kinds = [type(layer).__name__ for layer in layers]
        if kinds != ["Linear", "ReLU", "Linear"]:
            raise ValueError(f"Expected the layers Linear, ReLU, Linear, was given {', '.join(kinds)}.")
        first, last = layers[0], layers[2]
        b1, b2 = (
            np.zeros(layer.out_features) if layer.bias is None else numbers(layer.bias)
            for layer in (first, last)
        )
        p = ShallowReLU(numbers(last.weight), numbers(first.weight), b1, b2)
        unit = max(torch.finfo(each.dtype).eps for each in module.parameters())
        object.__setattr__(p, "tolerance", max(TOLERANCE, 8 * unit))
        return p

    def to_module(self) -> nn.Sequential:
        """The network as `nn.Sequential(Linear, ReLU, Linear)`, in float64.

        Example:
            >>> ShallowReLU([[1]], [[2]], [0], [0]).to_module()[0].weight.item()
            2.0
        """
        import torch
        from torch import nn

        module = nn.Sequential(nn.Linear(self.m, self.n), nn.ReLU(), nn.Linear(self.n, self.k)).double()
        p, parameters = self.float(), list(module.parameters())
        with torch.no_grad():
            for parameter, array in zip(parameters, (p.A1, p.b1, p.A2, p.b2), strict=True):
                parameter.copy_(torch.from_numpy(array))
        return module


def act(p: ShallowReLU, permutation: Int[np.ndarray, " n"], scales: Shaped[np.ndarray, " n"]) -> ShallowReLU:
    """An element of H_n: neuron i becomes d_i times neuron permutation[i], and λ is divided by d_i.

    Example:
        >>> p = ShallowReLU([[3, 5]], [[1], [2]], [0, 1], [0])
        >>> q = act(p, np.array([1, 0]), numbers([2, 1]))
        >>> q.A1.tolist(), [str(x) for x in q.A2[0]]
        ([[4], [1]], ['5/2', '3'])

    Raises:
        ValueError: no permutation, or scales that are not positive.
    """
    if not np.array_equal(np.sort(permutation), np.arange(p.n)):
        raise ValueError(
            f"Expected a permutation of 0 to {p.n - 1}, was given {[*map(int, permutation)]}: name every "
            f"neuron once."
        )
    if not (scales > 0).all():
        raise ValueError(f"Expected positive scales, was given {scales.min()}: ReLU forgives no others.")
    q = p.with_neurons(permutation)
    return ShallowReLU(q.A2 * reciprocal(scales), q.A1 * scales[:, None], q.b1 * scales, q.b2)


def flip(p: ShallowReLU, S: Iterable[int], kappa: int | float = 1) -> ShallowReLU:
    """(w_i, b_i) negated for i in S, and c + κ Σ_S λ_i b_i: the same function iff κ Σ_S λ_i w_iᵀ = 0.

    Example:
        >>> p = ShallowReLU([[1, 1, 1]], [[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [0])
        >>> q = flip(p, [0, 1, 2])
        >>> q.b2.tolist(), (p([[5, -7]]) == q([[5, -7]])).all()
        ([1], np.True_)

    Args:
        S: a set of neurons, from 0: to name one twice changes nothing.
        kappa: κ with σ(x) − σ(−x) = κx: 1 for ReLU, `odd_slope` tells it for others.

    Raises:
        ValueError: neurons that the network does not have.
    """
    S = sorted(set(S))
    if S and not 0 <= S[0] <= S[-1] < p.n:
        raise ValueError(f"Expected neurons from 0 to {p.n - 1}, was given {S}.")
    sign = np.ones(p.n, dtype=object if p.exact else np.float64)
    sign[S] = -1
    constant = p.b2 + kappa * (p.A2[:, S] @ p.b1[S])
    return ShallowReLU(p.A2, p.A1 * sign[:, None], p.b1 * sign, constant)


def difference(p: ShallowReLU, q: ShallowReLU) -> ShallowReLU:
    """θ ⊖ θ', Definition 7: the neurons of both, those of q with −λ; its function is that of p minus q's.

    Example:
        >>> p = ShallowReLU([[1]], [[2]], [0], [0])
        >>> difference(p, p)([[7]]).tolist()
        [[0]]

    Raises:
        ValueError: numbers of inputs or outputs that differ.
    """
    if (p.m, p.k) != (q.m, q.k):
        raise ValueError(
            f"Expected networks with the same inputs and outputs, was given {p.m} → {p.k} and {q.m} → {q.k}."
        )
    if not (p.exact and q.exact):
        p, q = p.float(), q.float()
    return ShallowReLU(
        np.hstack([p.A2, -q.A2]), np.vstack([p.A1, q.A1]), np.concatenate([p.b1, q.b1]), p.b2 - q.b2
    )
