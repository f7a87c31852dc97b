"""Steps that build a network: activations by name, layers without weights, weights from a seed, checks."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from intertwine_book.models.network import Network
from intertwine_book.wording import unknown

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "abs": partial(nn.LeakyReLU, -1.0),
    "gelu": nn.GELU,
    "identity": nn.Identity,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
}

TORCH_DEFAULT = partial(nn.init.kaiming_uniform_, a=math.sqrt(5))  # uniform in ±1/√fan_in
HE_FAN_IN = nn.init.kaiming_normal_
HE_FAN_OUT = partial(nn.init.kaiming_normal_, mode="fan_out")


def activation_factory(activation: str | Callable[[], nn.Module]) -> tuple[str, Callable[[], nn.Module]]:
    """The name of an activation's layers, and a function that builds one."""
    if isinstance(activation, nn.Module):
        raise ValueError(
            f"Expected the name of an activation or a function that builds one, was given the module "
            f"{activation}: every layer needs its own, so pass the class or a function instead."
        )
    if not isinstance(activation, str):
        return "activation", activation
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"{unknown('activation', activation, ACTIVATIONS)} Or give a function that builds one."
        )
    return activation, ACTIVATIONS[activation]


def check_sizes(**sizes: int) -> None:
    """Raise a ValueError unless every size is a whole number above 0."""
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"Expected {name} to be a whole number of at least 1, was given {size!r}.")


def conv(
    inputs: int, channels: int, kernel: int, *, stride: int = 1, padding: int = 0, bias: bool = False
) -> nn.Conv2d:
    """A convolution whose weights are undefined until `initialise` draws them."""
    options = {"stride": stride, "padding": padding, "bias": bias, "device": torch.get_default_device()}
    return skip_init(nn.Conv2d, inputs, channels, kernel, **options)


def linear(inputs: int, features: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer whose weights are undefined until `initialise` draws them."""
    return skip_init(nn.Linear, inputs, features, bias=bias, device=torch.get_default_device())


def classifier(channels: int, classes: int) -> dict[str, nn.Module]:
    """The last layers of most networks: the average over positions, then a linear layer."""
    return {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "fc": linear(channels, classes)}


@torch.no_grad()
def initialise(
    network: Network,
    seed: int | torch.Generator,
    *,
    convolutions: Callable[..., Tensor] = TORCH_DEFAULT,
    linears: Callable[..., Tensor] = TORCH_DEFAULT,
) -> Network:
    """Draw all weights, layer by layer, from `seed` alone; torch's global generators stay as they are.

    Numbers are drawn in float32 on the generator's device, so a seed gives the same weights on every device.

    Weights are drawn by functions like those of `torch.nn.init`. Biases are uniform in ±1/√fan_in, torch's
    default. The network is changed in place, and returned.
    """
    generator = seed if isinstance(seed, torch.Generator) else torch.Generator("cpu").manual_seed(seed)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            _draw(layer.weight, convolutions if isinstance(layer, nn.Conv2d) else linears, generator)
            if layer.bias is not None:
                bound = 1 / math.sqrt(layer.weight[0].numel())
                _draw(layer.bias, partial(nn.init.uniform_, a=-bound, b=bound), generator)
    return network


def _draw(parameter: Tensor, distribution: Callable[..., Tensor], generator: torch.Generator) -> None:
    values = torch.empty(parameter.shape, dtype=torch.float32, device=generator.device)
    parameter.copy_(distribution(values, generator=generator))
