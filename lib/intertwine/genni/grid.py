"""The loss at every point of a grid on a plane of parameters, as fast as the network allows.

Chains of linear layers are evaluated at many points together, in pieces that fit into a processor's cache.

Other networks are evaluated point by point, for convolutions whose weights differ from point to point would
not be faster together. But the first layer is affine in the grid's coordinates. So its outputs at θ_0 and
along the m basis vectors are computed once, and from point to point a multiple of one of them is added.
"""

import copy
import itertools
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.chains import hooked, is_chain, subchain
from intertwine.checks import kind, whole
from intertwine.genni.parametric import call, check_points, is_perceptron, like_inputs, perceptron
from intertwine.genni.plane import Plane
from intertwine.genni.problem import Problem, check_problem

Bounds = tuple[float | int, float | int]
# bytes that intermediate results may take, for points together and in turn: a CPU's caches of both sizes
TOGETHER, IN_TURN, ON_GPU = 2**19, 2**22, 2**30


class Grid(NamedTuple):
    """The loss at the points of a grid on a plane."""

    axis: Float[Tensor, " n"]
    """Coordinates along every direction."""
    loss: Float[Tensor, "*n"]
    """J, with one axis for every direction of the plane."""
    energy: float
    """E[y²] of the target on the same inputs: the loss of the zero function."""

    @property
    def relative(self) -> Float[Tensor, "*n"]:
        """J/E[y²], which is 1 for the zero function."""
        return self.loss / self.energy

    def coordinates(self) -> Float[Tensor, "points m"]:
        """Of all points, in the order of `loss.flatten()`."""
        return torch.cartesian_prod(*[self.axis] * self.loss.ndim).view(-1, self.loss.ndim)


def grid_loss(problem: Problem, plane: Plane, bounds: Bounds, n: int) -> Grid:
    """The loss J(θ), the mean over inputs of |φ(x, θ) − target(x)|², at n^m points of a plane.

    Example:
        >>> from intertwine.genni import plane
        >>> # slope 1, any intercept
        >>> flat = plane(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        >>> net, x = nn.Linear(1, 1).eval(), torch.tensor([[1.0], [2.0]])
        >>> line = Problem(net, lambda x: x, x)
        >>> grid_loss(line, flat, (0, 2), 3).loss.tolist()
        [0.0, 1.0, 4.0]

    Args:
        problem: network, target and inputs.
        plane: of parameters; see `plane` and `random_plane`.
        bounds: of the coordinates, the same in every direction, both included. Of solutions that the plane
            goes through only those within are seen: `plane.coordinates` says where they lie.
        n: points in every direction, at least 2; n^m in all.

    Returns:
        The coordinates along a side, and the losses as a tensor of m axes.

    See Also:
        `epsilon_set` and `betti` count what lies below a threshold; `loss_at` takes single points.

    Raises:
        ValueError: a zero or constant target, outputs of another shape, an empty grid, or a plane of another
            network.
    """
    check_problem(problem)
    if not isinstance(plane, Plane):
        raise ValueError(f"Expected a plane, was given {kind(plane)}: make one by plane(solutions.points).")
    if isinstance(bounds, float | int):
        raise ValueError(f"Expected both bounds, was given {bounds}: write ({-abs(bounds)}, {abs(bounds)}).")
    n, (low, high) = whole("n", n, 2), bounds
    if not low < high:
        raise ValueError(f"Expected bounds from low to high, was given {bounds}.")
    network, inputs = problem.network, problem.inputs
    check_points(network, plane.centre[None], inputs)
    energy, m = problem.energy, len(plane.basis)
    # in float64, so that coordinates are the same on every device
    axis = torch.linspace(low, high, n, dtype=torch.float64, device=inputs.device)
    if is_perceptron(network, inputs):
        coordinates = torch.cartesian_prod(*[axis] * m).view(-1, m)
        # not all points at once: 100³ of them with 1,000 parameters each would be 8 GB
        points = (like_inputs(plane.at(some), inputs) for some in coordinates.split(2**14))
        loss = torch.cat([loss_at(problem, some) for some in points])
    else:
        loss = _affine_first(problem, plane, axis)
    return Grid(axis, loss.view([n] * m), energy)


@torch.no_grad()
def loss_at(problem: Problem, points: Float[Tensor, "k p"]) -> Float[Tensor, " k"]:
    """J at given parameter vectors, such as those of a known orbit.

    Example:
        >>> net, x = nn.Linear(1, 1).eval(), torch.tensor([[1.0], [3.0]])
        >>> line = Problem(net, lambda x: 2 * x, x)
        >>> loss_at(line, torch.tensor([[2.0, 0.0], [2.0, 0.5]])).tolist()
        [0.0, 0.25]

    Args:
        problem: network, target and inputs; a zero target is allowed here.
        points: k parameter vectors, in the order of `parameter_vector`.
    """
    check_problem(problem)
    network, inputs, y = problem.network, problem.inputs, problem.y
    check_points(network, points, inputs)
    points = like_inputs(points, inputs)
    losses = []
    if is_perceptron(network, inputs):
        # the largest intermediate result of one point: the widest layer, for all inputs
        width = max(len(parameter) for parameter in network.parameters())
        size = width * len(inputs) * inputs.element_size()
        wanted = y.flatten(1).T  # `perceptron` has inputs last
        for some in points.split(max(1, _memory(inputs, TOGETHER) // size)):
            gap = perceptron(network, some, inputs).sub_(wanted).flatten(1)
            # a product of vectors, which makes no copy of squares
            losses.append(torch.linalg.vecdot(gap, gap) / len(inputs))
    else:
        network = with_fast_pooling(network, inputs)
        for theta in points:
            gap = call(network, theta, inputs) - y
            losses.append((gap.square().sum() / len(inputs))[None])
    return torch.cat(losses)


@torch.no_grad()
def _affine_first(problem: Problem, plane: Plane, axis: Float[Tensor, " n"]) -> Float[Tensor, " points"]:
    """The losses at all points of the grid, for any network: block by block of inputs, point by point."""
    inputs, y = problem.inputs, problem.y
    corners, steps = like_inputs(torch.cat([plane.centre[None], plane.basis]), inputs), axis.tolist()
    loss = corners.new_zeros(len(steps) ** len(plane.basis))
    first, rest = _split(with_fast_pooling(problem.network, inputs))
    # the first layer is affine in θ: its outputs on the whole grid are sums of those at the corners
    heads, tails = corners.split([_length(first), _length(rest)], dim=1)
    # as many inputs as keep the first layer's outputs in the cache, but not so few that layers run half empty
    block = max(32, _memory(inputs, IN_TURN) // call(first, heads[0], inputs[:1]).nbytes)
    for x, wanted in zip(inputs.split(block), y.split(block), strict=True):
        # outputs of the first layer at θ_0 and along each basis vector
        corner_fronts = [call(first, head, x) for head in heads]
        fronts = _sweep(corner_fronts, steps) if _length(first) else itertools.repeat(x)
        # both sweeps meet the points in the same order, which is that of `loss`
        for place, (tail, front) in enumerate(zip(_sweep([*tails], steps), fronts, strict=False)):
            loss[place] += (call(rest, tail, front) - wanted).square().sum()
    return loss / len(inputs)


def _sweep(corners: list[Tensor], steps: list[float]) -> Iterator[Tensor]:
    """corners[0] + Σ c_k corners[k] for all c on the grid, most of them one addition away from the last."""
    if len(corners) == 1:
        yield corners[0]
    else:
        origin, direction, *others = corners
        # the last coordinate runs fastest, as in `torch.cartesian_prod`
        for c in steps:
            yield from _sweep([torch.add(origin, direction, alpha=c), *others], steps)


def _split(network: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The first layer, if the network is a chain that begins with an affine one, and the rest."""
    affine = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
    # a hook of the layer may bend its outputs
    if is_chain(network) and len(network) > 1 and type(network[0]) in affine and not hooked(network[0]):
        first, rest = network[0], subchain(network, 1)
        if _length(first) + _length(rest) == _length(network):  # no weights are shared
            return first, rest
    return nn.Identity(), network


def _length(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _memory(inputs: Tensor, on_cpu: int) -> int:
    return on_cpu if inputs.device.type == "cpu" else ON_GPU


def with_fast_pooling(model: nn.Module, inputs: Tensor) -> nn.Module:
    """The network itself, or on a CPU a copy whose plain max-pooling layers are `Maxima`.

    They give the same numbers. torch's own kernel takes five to nine times as long on small maps.
    """
    if inputs.device.type != "cpu":
        return model
    model = copy.deepcopy(model)
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.MaxPool2d and _plain(child) and not hooked(child):
                setattr(parent, name, Maxima(_pair(child.kernel_size)))
    return model


class Maxima(nn.Module):
    """Maxima over windows that tile a feature map; incomplete windows at the edges are dropped."""

    def __init__(self, window: tuple[int, int]) -> None:
        super().__init__()
        self.window = window

    def forward(self, x: Float[Tensor, "*n h w"]) -> Float[Tensor, "*n h2 w2"]:
        # first the maxima of each column of a window, then of these: whole rows at a time, which vectorises
        (a, b), (height, width) = self.window, x.shape[-2:]
        height, width = height - height % a, width - width % b
        rows = reduce(torch.maximum, [x[..., k:height:a, :width] for k in range(a)])
        return reduce(torch.maximum, [rows[..., k::b] for k in range(b)])


def _plain(pool: nn.MaxPool2d) -> bool:
    """Whether windows lie side by side, without padding or gaps."""
    tiles = _pair(pool.stride) == _pair(pool.kernel_size)
    rest = _pair(pool.padding) == (0, 0) and _pair(pool.dilation) == (1, 1)
    return tiles and rest and not pool.ceil_mode and not pool.return_indices


def _pair(size: int | tuple[int, ...]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])
