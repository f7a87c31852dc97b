"""A network as a function of its parameters: one vector θ of them, in the order of `parameters()`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from intertwine.features import check_tensor

ELEMENTWISE = (
    nn.CELU,
    nn.ELU,
    nn.GELU,
    nn.Hardsigmoid,
    nn.Hardswish,
    nn.Hardtanh,
    nn.Identity,
    nn.LeakyReLU,
    nn.Mish,
    nn.ReLU,
    nn.SELU,
    nn.SiLU,
    nn.Sigmoid,
    nn.Softplus,
    nn.Softsign,
    nn.Tanh,
)
"""Elementwise activations without parameters."""


def parameter_vector(model: nn.Module) -> Float[Tensor, " p"]:
    """All parameters of the network, one after another.

    Example:
        >>> from intertwine import models
        >>> parameter_vector(models.fcn((1, 2, 1))).shape
        torch.Size([4])
    """
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def outputs(
    model: nn.Module, points: Float[Tensor, "k p"], inputs: Float[Tensor, "n ..."]
) -> Float[Tensor, "k n ..."]:
    """The network's outputs with each of k parameter vectors; differentiable.

    Example:
        >>> from intertwine import models
        >>> x, points = torch.tensor([[-1.0], [2.0]]), torch.tensor([[1.0, -1.0, 3.0, 5.0]])
        >>> outputs(models.fcn((1, 2, 1)), points, x).flatten().tolist()  # 3·ReLU(x) + 5·ReLU(−x)
        [5.0, 6.0]

    Chains of linear layers and elementwise activations are evaluated at all points together.

    Args:
        model: any network whose outputs depend on parameters and inputs only; its own parameters are not
            used.
        points: in the dtype and on the device of `inputs`.
        inputs: as the network takes them.

    Raises:
        ValueError: dropout or batch norm in training mode; points of another length.
    """
    check(model, points, inputs)
    if is_perceptron(model, inputs):
        return perceptron(model, points, inputs).movedim(-1, 1)
    return torch.stack([call(model, theta, inputs) for theta in points])


def random_starts(model: nn.Module, number: int, *, seed: int, gain: float = 1.0) -> Float[Tensor, "k p"]:
    """Parameter vectors as every module of the network draws its own when it is built.

    Example:
        >>> random_starts(nn.Linear(4, 1), 3, seed=0).abs().max() <= 0.5  # torch's uniform in ±1/√fan_in
        tensor(True)

    Args:
        model: it is not changed.
        number: k, how many.
        seed: of all of them; torch's global generator is left as it was.
        gain: a factor of all of them.

    Raises:
        ValueError: a module with parameters and no `reset_parameters`.
    """
    fresh = copy.deepcopy(model).cpu()
    for module in fresh.modules():
        if next(module.parameters(recurse=False), None) is not None and not hasattr(
            module, "reset_parameters"
        ):
            raise ValueError(
                f"Expected modules with reset_parameters, was given {type(module).__name__} without: pass "
                f"the starts of the search yourself."
            )
    starts = []
    with torch.random.fork_rng(devices=[]):  # reset_parameters takes no generator
        torch.manual_seed(seed)
        for _ in range(number):
            for module in fresh.modules():
                getattr(module, "reset_parameters", lambda: None)()
            starts.append(parameter_vector(fresh))
    return gain * torch.stack(starts)


def stream(
    build: Callable[..., nn.Module], shape: Sequence[int], samples: int, number: int, *, seed: int
) -> tuple[Float[Tensor, " p"], Float[Tensor, "n ..."], Float[Tensor, "k p"]]:
    """Target, inputs and starts from one stream of random numbers, as lengyel2020's code draws them.

    Example:
        >>> from intertwine import models
        >>> target, inputs, starts = stream(models.fcn, (1,), 100, 2, seed=10)
        >>> (target * 1e4).round().tolist(), inputs.shape, starts.shape
        ([-838.0, -343.0, -2652.0, 1627.0], torch.Size([100, 1]), torch.Size([2, 4]))

    Args:
        build: makes an untrained network; its keyword `seed` takes a generator.
        shape: of an input.
        samples: inputs, standard normal; the starts depend on how many there are.
        number: of starts.
        seed: 10 for the paper's small network, with 16,384 inputs; 0 for its LeNet, with 8,192.
    """
    generator = torch.Generator().manual_seed(seed)
    target = parameter_vector(build(seed=generator))
    inputs = torch.randn(samples, *shape, generator=generator)
    return target, inputs, torch.stack([parameter_vector(build(seed=generator)) for _ in range(number)])


def named(model: nn.Module, theta: Float[Tensor, " p"]) -> dict[str, Tensor]:
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
    state = {name: each.to(theta) for name, each in model.named_buffers() if each.is_floating_point()}
    # with tie_weights, torch would restore a shared module's own weights in the wrong order
    return functional_call(model, state | named(model, theta), (x,), tie_weights=False)


def check(model: nn.Module, points: Float[Tensor, "k p"], inputs: Float[Tensor, "n ..."]) -> None:
    """Raise a ValueError for networks that are no function of their parameters, and for other points."""
    for given in (points, inputs):
        check_tensor(given)
    random = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
    for name, module in model.named_modules():
        if module.training and isinstance(module, random):
            raise ValueError(
                f"Expected a function of the parameters and the input alone, was given {name or 'a network'} "
                f"({type(module).__name__}) in training mode: call eval() first."
            )
    p = sum(parameter.numel() for parameter in model.parameters())
    if points.shape[1] != p:
        raise ValueError(f"Expected vectors of the network's {p} parameters, was given {points.shape[1]}.")


def check_target(model: nn.Module, y: Float[Tensor, "n ..."], inputs: Float[Tensor, "n ..."]) -> None:
    """Raise a ValueError for a target's outputs of another shape than the network's: they would broadcast."""
    with torch.no_grad():
        own = call(model, parameter_vector(model).to(inputs), inputs[:2]).shape[1:]
    if y.shape != (len(inputs), *own):
        raise ValueError(
            f"Expected a target with outputs {(len(inputs), *own)}, as the network has them, was given "
            f"{tuple(y.shape)}: reshape them, or take another network."
        )


def is_perceptron(model: nn.Module, inputs: Tensor) -> bool:
    """Whether `perceptron` evaluates it: a chain of linear layers and elementwise activations."""
    layers = list(model) if isinstance(model, nn.Sequential) else [model]
    linear = all(type(layer) is nn.Linear or type(layer) in ELEMENTWISE for layer in layers)
    once = len(set(map(id, layers))) == len(layers)
    return linear and once and inputs.ndim == 2 and any(type(layer) is nn.Linear for layer in layers)


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
                h = (
                    h + points[:, place : place + rows, None]
                    if grad
                    else h.add_(points[:, place : place + rows, None])
                )
                place += rows
        elif isinstance(layer, nn.ReLU) and h.ndim == 3 and not grad:
            h.relu_()
        else:
            h = layer(h)
    return h
