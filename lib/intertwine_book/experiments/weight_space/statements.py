"""The statements on weights of godfrey2022 §3.2 and footnote 5 as experiments that return tables."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.groups import GReLU, affine_intertwiners, as_activation, intertwiner_group
from intertwine.groups.scalar import gaussian
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book.experiments.rows import HOLDS, Row, tabled
from intertwine_book.models import fcn


class Pointwise(nn.Module):
    """Any activation as a module, by a name or as a callable."""

    def __init__(self, activation: str | Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = as_activation(activation).function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def perceptron(
    sizes: Sequence[int], generator: torch.Generator, activation: str | Callable[[Tensor], Tensor] = "relu"
) -> nn.Sequential:
    """A random network in float64: fc1, activation1, fc2, …, with biases.

    Example:
        >>> [name for name, _ in perceptron([5, 8, 3], torch.Generator().manual_seed(0)).named_children()]
        ['fc1', 'activation1', 'fc2']
    """
    network = fcn(sizes, bias=True, activation=lambda: Pointwise(activation), seed=generator)
    return network.double().eval()


@tabled
def proposition_3_4(trials: int, generator: torch.Generator, *, scale: float = 1.0) -> Iterator[Row]:
    """Proposition 3.4, its three equations at every hidden layer of a random network.

    Example:
        >>> table = proposition_3_4(2, torch.Generator().manual_seed(0))
        >>> len(table), bool(table["holds"].all()), bool((table["representation_changed"] > 0.1).all())
        (30, True, True)

    Columns activation, trial, m (the hidden layer, from 1), and relative: front_error of
    f_{≤m}(x, W') = φ(A_m) f_{≤m}(x, W), back_error of f_{>m}(φ(A_m) h, W') = f_{>m}(h, W), function_error,
    weights_moved, representation_changed; holds.
    """
    for activation, trial in itertools.product(("ReLU", "tanh", "GELU", "abs", "square"), range(trials)):
        G = dict.fromkeys((1, 2, 3), intertwiner_group(activation, 8))
        net = perceptron([5, 8, 8, 8, 3], generator, activation)
        x = gaussian(generator, 50, 5)
        A = {m: group.sample(generator, scale=scale) for m, group in G.items()}
        other = find_symmetries(net, x).act(net, {f"activation{m}": each for m, each in A.items()})
        for m in A:
            old, new = net[: 2 * m](x), other[: 2 * m](x)
            expected = old @ G[m].phi(A[m]).T
            errors = {"front_error": relative_error(new, expected)}
            errors["back_error"] = relative_error(other[2 * m :](expected), net(x))
            errors["function_error"] = relative_error(other(x), net(x))
            weights = [each.get_parameter(f"fc{m}.weight") for each in (other, net)]
            row = {"activation": activation, "trial": trial, "m": m, **errors}
            row |= {"weights_moved": relative_error(*weights)}
            row |= {"representation_changed": relative_error(new, old)}
            yield row | {"holds": max(errors.values()) < HOLDS}


@tabled
def theorem_4_2(trials: int, generator: torch.Generator) -> Iterator[Row]:
    """Theorem 4.2 prints the last weight as W_k φ(A_k^{-1}), Proposition 3.4 as W_k φ(A_{k−1}^{-1}).

    Example:
        >>> table = theorem_4_2(3, torch.Generator().manual_seed(0))
        >>> (table.groupby("rule")["error"].max() < 1e-12).to_dict()
        {'exact': True, 'printed': False}

    Columns rule ("exact" or "printed"), trial, error of the function (relative). The output is as wide as the
    hidden layer, so that the printed product exists.
    """
    for trial in range(trials):
        W, V, x = (gaussian(generator, *shape) for shape in ((8, 5), (8, 8), (50, 5)))
        A, A_k = GReLU(8).sample(generator), GReLU(8).sample(generator)
        for rule, element in {"exact": A, "printed": A_k}.items():
            moved = torch.relu(x @ (A @ W).T) @ (V @ GReLU(8).inverse(element)).T
            error = relative_error(moved, torch.relu(x @ W.T) @ V.T)
            yield {"rule": rule, "trial": trial, "error": error}


def residual_network(
    network: nn.Sequential, x: Float[Tensor, "samples n_0"], joins: str = "output to pre-activation"
) -> Float[Tensor, "samples n_4"]:
    """Three hidden layers, the first of which is added to the third, in one of three places."""
    fc1, sigma, fc2, _, fc3, _, fc4 = network
    z1 = fc1(x)
    h1, h3 = sigma(z1), fc3(sigma(fc2(sigma(z1))))
    if joins == "output to output":
        return fc4(sigma(h3) + h1)
    return fc4(sigma(h3 + (h1 if joins == "output to pre-activation" else z1)))


@tabled
def remark_3_6(trials: int, generator: torch.Generator) -> Iterator[Row]:
    """Remark 3.6: the condition of a residual connection on the elements on either side of it.

    Example:
        >>> table = remark_3_6(3, torch.Generator().manual_seed(0))
        >>> mixed = table.query("activation == 'abs' and joins == 'output to pre-activation'")
        >>> mixed.groupby("rule")["holds"].all().to_dict()
        {'exact': True, 'printed': False, 'untied': False}

    Columns joins (kinds of summands), rule ("exact" A_3 = φ(A_1), "printed" A_3 = A_1, "untied" A_3
    independent; the exact rule is the printed one where two outputs or two pre-activations are added),
    activation, trial, error of the function (relative), inside_error of f_{≤2}(W') = φ(A_2) f_{≤2}(W) inside
    the block, holds. The layer inside the block moves independently throughout.
    """
    for activation, trial in itertools.product(("ReLU", "tanh", "abs"), range(trials)):
        G = intertwiner_group(activation, 8)
        A1, A2, free = (G.sample(generator) for _ in range(3))
        net = perceptron([5, 8, 8, 8, 3], generator, activation)
        x = gaussian(generator, 50, 5)
        chain = find_symmetries(net, x)  # of the chain without its residual connection
        mixed = {"exact": G.phi(A1), "printed": A1, "untied": free}
        rules = {"output to pre-activation": mixed}
        rules |= {f"{each} to {each}": {"printed": A1} for each in ("output", "pre-activation")}
        for joins, elements in rules.items():
            for rule, A3 in elements.items():
                other = chain.act(net, {"activation1": A1, "activation2": A2, "activation3": A3})
                error = relative_error(residual_network(other, x, joins), residual_network(net, x, joins))
                inside = relative_error(other[:4](x), net[:4](x) @ G.phi(A2).T)
                row = {"joins": joins, "rule": rule, "activation": activation, "trial": trial}
                yield row | {"error": error, "inside_error": inside, "holds": error < HOLDS}


@tabled
def epsilon_nets() -> Iterator[Row]:
    """Footnote 5: how many balls fill G_ReLU and the matrices of rank one, by volume, and where equally many.

    Example:
        >>> epsilon_nets().groupby("n")["n_times_equal_at"].first().round(1).to_dict()
        {16: 8.5, 64: 9.9, 256: 10.5, 512: 10.7}

    Within the unit ball of the Frobenius norm, G_ReLU fills n! orthants of an n-dimensional ball, and the
    matrices s u vᵀ have the volume |S^(n-1)|² / (4n - 2) in 2n - 1 dimensions.

    Columns n, epsilon, equal_at (the radius of equally many balls), n_times_equal_at, rank_1_larger,
    g_relu_larger.
    """

    def ball(d: int) -> float:  # the logarithm of the volume of the unit ball
        return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)

    for n, epsilon in itertools.product((16, 64, 256, 512), (0.3, 0.1, 0.03, 0.01, 0.003)):
        g_relu = math.lgamma(n + 1) - n * math.log(2 * epsilon)
        spheres = 2 * (math.log(n) + ball(n)) - math.log(4 * n - 2)
        rank_1 = spheres - ball(2 * n - 1) - (2 * n - 1) * math.log(epsilon)
        equal_at = epsilon * math.exp((rank_1 - g_relu) / (n - 1))
        row = {"n": n, "epsilon": epsilon, "equal_at": equal_at, "n_times_equal_at": n * equal_at}
        yield row | {"rank_1_larger": rank_1 > g_relu, "g_relu_larger": g_relu > rank_1}


@tabled
def shifts() -> Iterator[Row]:
    """Affine intertwiners σ(ax + t) = bσ(x) + s of five activations, up to one period of sin.

    Example:
        >>> shifts().query("activation == 'ReLU6'")[["a", "t", "b", "s"]].round(6).to_numpy().tolist()
        [[-1.0, 6.0, -1.0, 6.0]]
    """
    for name in ("Sigmoid", "Hardsigmoid", "ReLU6", "exp", "sin"):
        for found in affine_intertwiners(name):
            if abs(found.t) < 6.2:
                yield {"activation": name, **found._asdict()}
