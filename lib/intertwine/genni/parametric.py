"""A network as a function of its parameters: one vector θ of them, in the order of `parameters()`."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call

from intertwine.chains import is_chain
from intertwine.checks import check_evaluation_mode, check_tensor

_NAMES = """CELU ELU GELU Hardsigmoid Hardswish Hardtanh Identity LeakyReLU Mish ReLU SELU SiLU Sigmoid
Softplus Softsign Tanh"""
ELEMENTWISE = tuple(getattr(nn, name) for name in _NAMES.split())
"""Elementwise activations without parameters."""


def parameter_vector(model: nn.Module) -> Float[Tensor, " p"]:
    """All parameters of the network, one after another."""
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

    The network's own parameters are not used; points have the dtype and the device of the inputs. Chains of
    linear layers and elementwise activations are evaluated at all points together. ValueError in training
    mode, and for a network that is random in evaluation mode, too.
    """
    check_points(model, points, inputs)
    return evaluated(model, points, inputs)


def evaluated(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Shaped[Tensor, "n ..."]
) -> Float[Tensor, "k n ..."]:
    """`outputs` of what was checked."""
    if is_perceptron(model, inputs):
        return perceptron(model, points, inputs).movedim(-1, 1)
    return torch.stack([call(model, theta, inputs) for theta in points])


def by_name(model: nn.Module, theta: Float[Tensor, " p"]) -> dict[str, Tensor]:
    """The parameters of the network that θ holds, as views of it, by every name that a module has."""
    parameters = list(model.parameters())
    parts = theta.split([parameter.numel() for parameter in parameters])
    views = {id(each): part.view(each.shape) for each, part in zip(parameters, parts, strict=True)}
    return {
        name: views[id(parameter)]
        for prefix, module in model.named_modules()  # a shared module once, shared weights for every module
        for name, parameter in module.named_parameters(prefix, recurse=False, remove_duplicate=False)
    }


def call(model: nn.Module, theta: Float[Tensor, " p"], x: Tensor) -> Tensor:
    """The network's outputs with other parameters than its own, in their dtype and on their device."""
    # copies, so that a module that writes into its buffers neither changes the model nor the next call
    kinds = {name: theta.dtype if each.is_floating_point() else None for name, each in model.named_buffers()}
    state = {name: each.to(theta.device, kinds[name], copy=True) for name, each in model.named_buffers()}
    # with tie_weights, torch would restore a shared module's own weights in the wrong order
    return functional_call(model, state | by_name(model, theta), (x,), tie_weights=False)


def check_points(model: nn.Module, points: Float[Tensor, "k p"], inputs: Shaped[Tensor, "n ..."]) -> None:
    """Raise a ValueError in training mode, for networks that are random, and for points of another length.

    Some inputs are evaluated twice, once beside others: outputs are to depend on θ and their own input alone.
    """
    for given in (points, inputs):
        check_tensor(given)
    check_evaluation_mode(model)
    p = sum(parameter.numel() for parameter in model.parameters())
    if points.shape[1] != p:
        raise ValueError(f"Expected vectors of the network's {p} parameters, was given {points.shape[1]}.")
    if is_perceptron(model, inputs) or not len(points) or not len(inputs):
        return
    theta, some = points[0].detach().to(inputs.device), inputs[:64]
    theta = theta.to(inputs.dtype) if inputs.is_floating_point() else theta
    with torch.no_grad():
        whole, part = (call(model, theta, x).double() for x in (some, some[: (len(some) + 1) // 2]))
    gap, size = (whole[: len(part)] - part).abs().amax(), whole.abs().amax()
    if gap > torch.finfo(theta.dtype).eps ** 0.5 * size:  # rounding may depend on the size of a batch
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
    hooked = any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    own = [p for layer in affine for p in (layer.weight, layer.bias) if p is not None]
    plain = [*map(id, own)] == [*map(id, model.parameters())]  # neither pruned, normalised nor shared
    return known and plain and not hooked and inputs.ndim == 2 and bool(affine)


def perceptron(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Float[Tensor, "n d"]
) -> Float[Tensor, "k outputs n"]:
    """The outputs at all points together; the inputs come last, so that matrices are wide."""
    grad, place = torch.is_grad_enabled(), 0
    h = inputs.T  # (d, n) until the first layer, (k, width, n) behind it
    for layer in model if isinstance(model, nn.Sequential) else [model]:
        if isinstance(layer, nn.Linear):
            rows, columns = layer.weight.shape
            W = points[:, place : place + rows * columns].unflatten(1, (rows, columns))
            place += rows * columns
            h = (W.flatten(0, 1) @ h).unflatten(0, (len(points), rows)) if h.ndim == 2 else W @ h
            if layer.bias is not None:
                b = points[:, place : place + rows, None]
                h = h + b if grad else h.add_(b)
                place += rows
        elif isinstance(layer, nn.ReLU) and h.ndim == 3 and not grad:
            h.relu_()
        else:
            h = layer(h)
    return h
