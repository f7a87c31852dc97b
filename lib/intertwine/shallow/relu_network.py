"""A ReLU network with one hidden layer, of exact numbers or of float64."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from intertwine.chains import hooked, is_chain
from intertwine.checks import kind
from intertwine.groups import Activation, as_activation
from intertwine.shallow.exact import ROUNDING, TOLERANCE, Numbers, is_exact, numbers


@dataclass(frozen=True, eq=False, init=False)
class ShallowReLU:
    """A network $x ↦ Vσ(Wx + b) + c$ with $σ(u) = max(u, 0)$: the parameters Ω_(m,n,k) of ramakrishnan2026.

    Example:
        >>> p = ShallowReLU(
        ...     W=[[1, 0], [0, 1], [-1, -1]], b=[0, 0, 1], V=[[1, 1, 1]], c=[0]
        ... )
        >>> p.m, p.n, p.k, p.exact
        (2, 3, 1, True)
        >>> p([[2, 3]]).tolist()
        [[5]]

    Row i of W is w_i, column i of V is λ_i. Lists, arrays and tensors are taken; arrays of the right type are
    not copied. If all numbers are integers or fractions they stay so, and all computations are exact.
    Otherwise all become float64.
    """

    W: Shaped[np.ndarray, "n m"]
    b: Shaped[np.ndarray, " n"]
    V: Shaped[np.ndarray, "k n"]
    c: Shaped[np.ndarray, " k"]
    tolerance: float = TOLERANCE
    """The relative error up to which all functions of the network compare floats. It is larger where numbers
    were rounded, as those of a float32 module."""

    def __init__(self, W: object, b: object, V: object, c: object, *, tolerance: float = TOLERANCE) -> None:
        arrays = {name: numbers(given, name) for name, given in (("W", W), ("b", b), ("V", V), ("c", c))}
        shapes = {name: array.shape for name, array in arrays.items()}
        n, k = shapes["b"][:1], shapes["c"][:1]  # as tuples, which are empty where b or c is a number
        fits = shapes["V"] == k + n and shapes["W"][:1] == n and len(shapes["W"]) == 2 and n and k
        if not fits or len(shapes["b"]) != 1 or len(shapes["c"]) != 1:
            given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ValueError(f"Expected W (n, m), b (n,), V (k, n) and c (k,), was given {given}.")
        # one float among the four makes all of them floats, for exactness of a part alone means nothing
        exact = is_exact(*arrays.values())
        # set around the class, which is frozen so that no network changes under what was computed from it
        for name, array in arrays.items():
            object.__setattr__(self, name, array if exact else array.astype(np.float64, copy=False))
        object.__setattr__(self, "tolerance", tolerance)

    @property
    def rounding(self) -> float:
        """The share of its terms' sizes up to which a sum is 0.

        It is that of float64, unless the numbers themselves are known less well.
        """
        return self.tolerance if self.tolerance > TOLERANCE else ROUNDING

    @property
    def m(self) -> int:
        """Inputs."""
        return self.W.shape[1]

    @property
    def n(self) -> int:
        """Neurons."""
        return self.W.shape[0]

    @property
    def k(self) -> int:
        """Outputs."""
        return self.V.shape[0]

    @property
    def exact(self) -> bool:
        """Whether the numbers are integers and fractions."""
        return is_exact(self.W)

    @property
    def rows(self) -> Shaped[np.ndarray, "n m1"]:
        """The rows $(w_i, b_i)$, n×(m+1)."""
        return np.column_stack([self.W, self.b])

    def __call__(
        self, x: object, activation: str | Callable[[Tensor], Tensor] | Activation | None = None
    ) -> Numbers:
        """The outputs, (..., k), for inputs (..., m); exact if network and inputs are.

        Another σ, as `intertwine.groups.as_activation` takes it, is for networks of float64.
        """
        x = numbers(x, "inputs")
        if x.shape[-1:] != self.W.shape[1:]:
            raise ValueError(f"Expected inputs (..., {self.W.shape[1]}), was given {x.shape}.")
        # float inputs make an exact network one of floats, and the other way round
        p = self if is_exact(x) else self.float()
        x = x if p.exact else x.astype(np.float64, copy=False)
        u = x @ p.W.T + p.b
        if activation is None:
            u = np.maximum(u, 0)
        else:
            u = as_activation(activation)(torch.from_numpy(np.ascontiguousarray(u))).numpy(force=True)
        return u @ p.V.T + p.c

    def float(self) -> "ShallowReLU":
        """The same numbers rounded to float64."""
        arrays = (array.astype(np.float64, copy=False) for array in (self.W, self.b, self.V, self.c))
        return ShallowReLU(*arrays, tolerance=self.tolerance)

    def with_neurons(self, chosen: Iterable[Any]) -> "ShallowReLU":
        """The network of some of the neurons, in the given order, with the same c."""
        index = np.asarray(list(chosen), dtype=np.int64)
        return ShallowReLU(self.W[index], self.b[index], self.V[:, index], self.c)

    def extended(
        self, rows: Shaped[np.ndarray, "r m1"], V: Shaped[np.ndarray, "k r"], c: Numbers | None = None
    ) -> "ShallowReLU":
        """The network with further neurons: their rows (w, b), their output weights, and a new c if given."""
        return from_rows(np.vstack([self.rows, rows]), np.hstack([self.V, V]), self.c if c is None else c)

    @staticmethod
    def from_module(module: nn.Module) -> "ShallowReLU":
        """From `nn.Sequential(Linear, ReLU, Linear)` without hooks, in float64; a leading Flatten is allowed.

        These are the layers of torch themselves: a class of one's own may compute something else.

        The `tolerance` of the network is eight rounding units of a module that was not in float64. Forms with
        fewer neurons keep it, as they are the same function up to it; the results of `act` and the like are
        in float64 and have the tolerance of float64.

        Example:
            >>> ShallowReLU.from_module(
            ...     nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
            ... ).n
            8
        """
        if any(map(hooked, module.modules())):
            one = any("forward" in vars(each) for each in module.modules())
            raise ValueError(
                "Expected layers that compute what their weights say, was given "
                f"{'a forward set on one instance' if one else 'a hook'}, which may change that: remove it, "
                "as torch.nn.utils.remove_weight_norm does."
            )
        layers = _chain(module)
        flatten = layers[0] if layers and type(layers[0]) is nn.Flatten else None
        if flatten is not None and (flatten.start_dim, flatten.end_dim) == (1, -1):
            layers = layers[1:]  # which makes a row of each input, as the theorems take them
        # exactly these layers: a norm or a dropout in between would be another function
        if [*map(type, layers)] != [nn.Linear, nn.ReLU, nn.Linear]:
            # a class of the user's may have the same name
            names = [type(layer).__name__ for layer in layers]
            plain = [type(x) is getattr(nn, name, type(x)) for x, name in zip(layers, names, strict=True)]
            kinds = [n if own else kind(x) for x, n, own in zip(layers, names, plain, strict=True)]
            other = len(layers) == 3 and [*map(type, layers[::2])] == [nn.Linear, nn.Linear]
            advice = "of a module of your own, give nn.Sequential(own.first, nn.ReLU(), own.second)"
            if other:
                advice = "the theorems behind this are about ReLU; same_network compares other networks"
            raise ValueError(
                f"Expected nn.Sequential of the layers Linear, ReLU, Linear, was given {', '.join(kinds)}: "
                f"{advice}."
            )
        W, V = (numbers(layer.weight) for layer in layers[::2])
        b, c = (
            np.zeros(layer.out_features) if layer.bias is None else numbers(layer.bias)
            for layer in layers[::2]
        )
        unit = max(torch.finfo(each.dtype).eps for each in module.parameters())
        # weights of float32 are known to a few units in their last place, whatever is computed with them
        return ShallowReLU(W, b, V, c, tolerance=max(TOLERANCE, 8 * unit))

    def to_module(self) -> nn.Sequential:
        """The network as `nn.Sequential(Linear, ReLU, Linear)`, in float64 and evaluation mode."""
        module = nn.Sequential(nn.Linear(self.m, self.n), nn.ReLU(), nn.Linear(self.n, self.k)).double()
        p, parameters = self.float(), list(module.parameters())  # in the order W, b, V, c
        with torch.no_grad():
            for parameter, array in zip(parameters, (p.W, p.b, p.V, p.c), strict=True):
                parameter.copy_(torch.from_numpy(array))
        return module.eval()


def from_rows(
    rows: Shaped[np.ndarray, "n m1"],
    V: Shaped[np.ndarray, "k n"],
    c: Numbers,
    tolerance: float = TOLERANCE,
) -> ShallowReLU:
    """The network with rows (w_i, b_i)."""
    return ShallowReLU(rows[:, :-1], rows[:, -1], V, c, tolerance=tolerance)


def random_network(n: int, m: int, k: int, size: int = 3, *, generator: torch.Generator) -> ShallowReLU:
    """An exact network of integers in [−size, size], with w_i ≠ 0 and λ_i ≠ 0.

    Example:
        >>> random_network(
        ...     n=4, m=2, k=1, generator=torch.Generator().manual_seed(0)
        ... ).rows.shape
        (4, 3)

    Coincidences are likely: parallel neurons, opposite pairs, hidden flips.

    Args:
        n, m, k: neurons, inputs and outputs.
        size: the largest absolute value of an entry.
        generator: of the integers.
    """
    shapes = ((n, m), (n,), (n, k), (k,))
    W, b, V, c = (random_integers(-size, size, shape, generator) for shape in shapes)
    for matrix in (W, V):  # rows of zeros get a 1
        matrix[~(matrix != 0).any(1), 0] = 1
    return ShallowReLU(W, b, V.T, c)


def random_integers(
    low: int, high: int, shape: tuple[int, ...], generator: torch.Generator
) -> Shaped[np.ndarray, "..."]:
    """Exact integers from low to high, both included."""
    return torch.randint(low, high + 1, shape, generator=generator).numpy().astype(object)


def as_shallow(network: ShallowReLU | nn.Module) -> ShallowReLU:
    """The network itself, or that of a module; TypeError for anything else."""
    if isinstance(network, ShallowReLU):
        return network
    if not isinstance(network, nn.Module):
        raise TypeError(
            "Expected a ShallowReLU or nn.Sequential(Linear, ReLU, Linear), was given "
            f"{type(network).__name__}: build one with ShallowReLU(W, b, V, c)."
        )
    return ShallowReLU.from_module(network)


def _chain(module: nn.Module) -> list[nn.Module]:
    """The layers of nested chains in order; a module that is no chain is one layer."""
    if not is_chain(module):
        return [module]
    return [layer for child in module for layer in _chain(child)]
