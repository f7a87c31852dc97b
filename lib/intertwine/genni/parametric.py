"""A network as a function of its parameters, all in one vector θ, and the rank of its Jacobian."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from intertwine.chains import hooked, is_chain
from intertwine.checks import check_evaluation_mode, check_model, check_tensor

_NAMES = """CELU ELU GELU Hardsigmoid Hardswish Hardtanh Identity LeakyReLU Mish ReLU SELU SiLU Sigmoid
Softplus Softsign Tanh"""
ELEMENTWISE = tuple(getattr(nn, name) for name in _NAMES.split())
"""Elementwise activations without parameters."""


def parameter_vector(model: nn.Module) -> Float[Tensor, " p"]:
    """All parameters of the network, one after another, in the order of `parameters()`.

    Args:
        model: any module; the vector is a copy.
    """
    check_model(model)
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def outputs(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Shaped[Tensor, "n ..."]
) -> Float[Tensor, "k n ..."]:
    """The network's outputs with each of k parameter vectors; differentiable.

    Example:
        >>> model = nn.Sequential(
        ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        ... ).eval()
        >>> x, points = (
        ...     torch.tensor([[-1.0], [2.0]]),
        ...     torch.tensor([[1.0, -1.0, 3.0, 5.0]]),
        ... )
        >>> outputs(model, points, x).flatten().tolist()  # 3·ReLU(x) + 5·ReLU(−x)
        [5.0, 6.0]

    The network's own parameters are not used. Give points on the device of the inputs, and in their dtype
    unless these are tokens. Chains of linear layers and elementwise activations are evaluated at all points
    together.

    Args:
        model: in evaluation mode.
        points: k parameter vectors, in the order of `parameter_vector`.
        inputs: a batch of n inputs, the same for each vector.

    Raises:
        ValueError: a network in training mode, or one that is random in evaluation mode, too.
    """
    check_points(model, points, inputs)
    return evaluated(model, points, inputs)


def evaluated(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Shaped[Tensor, "n ..."]
) -> Float[Tensor, "k n ..."]:
    """`outputs`, for a network, points and inputs that `check_points` has seen."""
    if is_perceptron(model, inputs):
        return perceptron(model, points, inputs).movedim(-1, 1)
    return torch.stack([call(model, theta, inputs) for theta in points])


def like_inputs(points: Tensor, inputs: Tensor) -> Tensor:
    """Parameters on the device of the inputs, and of their dtype; beside tokens of their own."""
    return points.to(inputs if inputs.is_floating_point() else inputs.device)


def by_name(model: nn.Module, theta: Float[Tensor, " p"]) -> dict[str, Tensor]:
    """The parameters of the network as views of θ, under every name that a module gives them."""
    # a tied weight is one part of θ with several names, so parts are found by the parameter itself
    parameters = list(model.parameters())
    parts = theta.split([parameter.numel() for parameter in parameters])
    views = {id(each): part.view(each.shape) for each, part in zip(parameters, parts, strict=True)}
    return {
        name: views[id(parameter)]
        # a shared module is listed once, shared weights under the name of every module
        for prefix, module in model.named_modules()
        for name, parameter in module.named_parameters(prefix, recurse=False, remove_duplicate=False)
    }


def call(model: nn.Module, theta: Float[Tensor, " p"], x: Tensor) -> Tensor:
    """The network's outputs with other parameters than its own, in their dtype and on their device."""
    # copies of buffers, so that a module that writes into them changes neither the model nor the next call
    kinds = {name: theta.dtype if each.is_floating_point() else None for name, each in model.named_buffers()}
    state = {name: each.to(theta.device, kinds[name], copy=True) for name, each in model.named_buffers()}
    # with tie_weights, torch would restore a shared module's own weights in the wrong order
    # a copy of the inputs, too, which a first step in place would change
    return functional_call(model, state | by_name(model, theta), (x.clone(),), tie_weights=False)


def check_points(model: nn.Module, points: Float[Tensor, "k p"], inputs: Shaped[Tensor, "n ..."]) -> None:
    """Raise, in one sentence, unless the outputs are a function of θ and of one input each.

    So the network is in evaluation mode, is not random, and mixes no inputs; and points have its length.
    """
    check_model(model)
    for given in (points, inputs):
        check_tensor(given)
    check_evaluation_mode(model)
    p = sum(parameter.numel() for parameter in model.parameters())
    if points.shape[1] != p:
        raise ValueError(f"Expected vectors of the network's {p} parameters, was given {points.shape[1]}.")
    if is_perceptron(model, inputs) or not len(points) or not len(inputs):
        return
    # tried: the same inputs twice, in a batch of 64 and in one of 32, which noise and batch statistics change
    theta, some = like_inputs(points[0].detach(), inputs), inputs[:64]
    with torch.no_grad():
        whole, part = (call(model, theta, x).double() for x in (some, some[: (len(some) + 1) // 2]))
    gap, size = (whole[: len(part)] - part).abs().amax(), whole.abs().amax()
    if gap > torch.finfo(theta.dtype).eps ** 0.5 * size:  # the size of a batch may change the rounding
        raise ValueError(
            f"Expected a function of the parameters and the input alone, was given a network whose outputs "
            f"at one point differ by {gap:.2g} from run to run: leave out what is random (dropout without "
            f"`training=self.training`, noise) and what mixes inputs (statistics of a batch)."
        )


def is_perceptron(model: nn.Module, inputs: Tensor) -> bool:
    """Whether `perceptron` evaluates it: a chain of linear layers and elementwise activations."""
    layers = list(model) if is_chain(model) else [model]
    affine = [layer for layer in layers if type(layer) is nn.Linear]
    known = all(type(layer) is nn.Linear or type(layer) in ELEMENTWISE for layer in layers)
    own = [p for layer in affine for p in (layer.weight, layer.bias) if p is not None]
    # a hook, a norm on weights or a shared weight changes the function that the weights alone would have
    plain = [*map(id, own)] == [*map(id, model.parameters())] and not any(map(hooked, model.modules()))
    return known and plain and inputs.ndim == 2 and bool(affine)


def perceptron(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Float[Tensor, "n d"]
) -> Float[Tensor, "k outputs n"]:
    """The outputs at all points together; the inputs come last, so that matrices are wide."""
    grad, place = torch.is_grad_enabled(), 0
    h = inputs.T  # (d, n) until the first layer, which all points share; then (k, width, n)
    for layer in model if isinstance(model, nn.Sequential) else [model]:
        if isinstance(layer, nn.Linear):
            rows, columns = layer.weight.shape
            W = points[:, place : place + rows * columns].unflatten(1, (rows, columns))
            place += rows * columns
            # at the first layer the k matrices are stacked into one: a single large product
            h = (W.flatten(0, 1) @ h).unflatten(0, (len(points), rows)) if h.ndim == 2 else W @ h
            if layer.bias is not None:
                b = points[:, place : place + rows, None]
                h = h + b if grad else h.add_(b)  # in place, where no gradient needs the old values
                place += rows
        elif isinstance(layer, nn.ReLU) and h.ndim == 3 and not grad:  # else h is the inputs of the caller
            h.relu_()
        else:
            h = layer(h.clone() if h.ndim == 2 else h)  # in place it would change the inputs
    return h


class FunctionalDimension(NamedTuple):
    """In how many directions parameters move the function, and in how many they do not."""

    rank: int
    """Directions in which the function changes; never more than outputs · inputs."""
    fibre: int
    """All others. It is the dimension of the set of parameters near θ with the same function, if
    the rank is constant there."""
    singular_values: Float[Tensor, " k"]


def functional_dimension(
    model: nn.Module, theta: Float[Tensor, " p"], inputs: Shaped[Tensor, "n ..."]
) -> FunctionalDimension:
    """In how many directions a step from θ changes the outputs: the rank of their Jacobian.

    Example:
        >>> model = nn.Sequential(
        ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        ... ).eval()
        >>> x, theta = torch.randn(50, 1), torch.tensor([1.0, -2.0, 3.0, 5.0])
        >>> functional_dimension(model, theta, x)[:2]  # two slopes and two scalings
        (2, 2)

    The Jacobian is that of the outputs on all inputs with respect to the parameters, in float64. Singular
    values below a millionth of the largest count as 0. The rank is at most outputs · inputs, so take many
    inputs.

    Args:
        model: in evaluation mode; its own parameters are not used.
        theta: a parameter vector, in the order of `parameter_vector`.
        inputs: a batch of n inputs; tokens may be integers.

    Returns:
        The rank, the number of directions that change nothing, and the singular values of the Jacobian.
    """
    check_points(model, theta[None], inputs)
    x = inputs.double() if inputs.is_floating_point() else inputs  # tokens remain integers
    # backwards, 256 outputs at a time, so that memory is bounded
    jacobian = jacrev(lambda at: evaluated(model, at[None], x)[0].flatten(), chunk_size=256)(
        theta.to(x.device, torch.float64)
    )
    values = torch.linalg.svdvals(jacobian)
    rank = int((values > 1e-6 * values[0]).sum())
    return FunctionalDimension(rank, len(theta) - rank, values)
