"""What the networks share: a chain of named layers, the list of the hidden ones, weights from a seed."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.utils import skip_init

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


class HiddenLayer(NamedTuple):
    """A hidden layer: what comes out of an activation.

    Example:
        >>> HiddenLayer("block1.relu1", "8*", 16, in_block=True).channels
        16
    """

    name: str
    """of the activation's module."""
    number: str
    """as the paper calls the layer; with a star inside a residual block."""
    channels: int
    in_block: bool = False
    """whether a shortcut leads past it."""


class Network(nn.Sequential):
    """Named layers, one after another, that know which of them are hidden and what goes in.

    Example:
        >>> layers = {"fc1": nn.Linear(3, 4), "relu1": nn.ReLU()}
        >>> network = Network(layers, [HiddenLayer("relu1", "1", 4)], (3,))
        >>> network(torch.zeros(5, 3)).shape
        torch.Size([5, 4])

    A slice, `network[:2]`, is a plain `torch.nn.Sequential` of the same modules.

    Args:
        layers: the modules by name, in order.
        hidden: the hidden layers, in order.
        input_shape: (channels, height, width) of an image, or (features,).
        resizable: whether larger images than `input_shape` fit as well.
    """

    def __init__(
        self,
        layers: Mapping[str, nn.Module],
        hidden: Iterable[HiddenLayer],
        input_shape: tuple[int, ...],
        *,
        resizable: bool = False,
    ) -> None:
        super().__init__(OrderedDict(layers))
        self._hidden = tuple(hidden)
        self.input_shape = input_shape
        self.resizable = resizable

    def hidden_layers(self) -> list[HiddenLayer]:
        """The hidden layers, in the order in which an input meets them."""
        return list(self._hidden)

    def forward(self, x: Float[Tensor, "n ..."] | Proxy) -> Float[Tensor, "n ..."] | Proxy:
        """The output of the last layer.

        Raises:
            ValueError: inputs of another shape than the network takes.
        """
        if isinstance(x, Tensor) and not self._takes(x.shape[1:]):  # torch.fx passes a proxy
            expected = ", ".join(map(str, ("n", *self.input_shape)))
            raise ValueError(
                f"Expected inputs of shape ({expected}){' or larger' * self.resizable}, was given "
                f"{tuple(x.shape)}: reshape them, or build the network for them."
            )
        return super().forward(x)

    def __getitem__(self, index):  # the parent's would call __init__ with layers alone
        return nn.Sequential(OrderedDict(self._modules))[index]

    def _takes(self, shape: torch.Size) -> bool:
        if not self.resizable or len(shape) != 3:
            return shape == self.input_shape
        channels, *smallest = self.input_shape
        return shape[0] == channels and shape[1] >= smallest[0] and shape[2] >= smallest[1]


def conv(
    inputs: int, channels: int, kernel: int, *, stride: int = 1, padding: int = 0, bias: bool
) -> nn.Conv2d:
    """A convolution that holds garbage until `initialise` draws its weights.

    Example:
        >>> conv(3, 8, 3, padding=1, bias=False)
        Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
    """
    options = {"stride": stride, "padding": padding, "bias": bias, "device": torch.get_default_device()}
    return skip_init(nn.Conv2d, inputs, channels, kernel, **options)


def linear(inputs: int, features: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer that holds garbage until `initialise` draws its weights.

    Example:
        >>> linear(3, 8)
        Linear(in_features=3, out_features=8, bias=True)
    """
    return skip_init(nn.Linear, inputs, features, bias=bias, device=torch.get_default_device())


@torch.no_grad()
def initialise(
    network: Network,
    seed: int | torch.Generator,
    *,
    convolutions: Callable[..., Tensor] = TORCH_DEFAULT,
    linears: Callable[..., Tensor] = TORCH_DEFAULT,
) -> Network:
    """Draw all weights, layer by layer, from `seed` alone; torch's global generators stay as they are.

    Example:
        >>> network = initialise(Network({"fc": linear(1, 1)}, [], (1,)), seed=0)
        >>> -1 <= network.fc.weight.item() <= 1
        True

    Numbers are drawn in float32 where the generator lives, so a seed means the same weights on every device.

    Args:
        network: changed in place, and returned.
        seed: a seed, or a generator, which moves on.
        convolutions: draws the weights of a convolution, as the functions of `torch.nn.init` do.
        linears: the same for a linear layer. Biases are uniform in ±1/√fan_in, torch's default.
    """
    generator = seed if isinstance(seed, torch.Generator) else torch.Generator("cpu").manual_seed(seed)

    def draw(parameter: Tensor, distribution: Callable[..., Tensor]) -> None:
        values = torch.empty(parameter.shape, dtype=torch.float32, device=generator.device)
        parameter.copy_(distribution(values, generator=generator))

    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            draw(layer.weight, convolutions if isinstance(layer, nn.Conv2d) else linears)
            if layer.bias is not None:
                bound = 1 / math.sqrt(layer.weight[0].numel())
                draw(layer.bias, partial(nn.init.uniform_, a=-bound, b=bound))
    return network


def activation_factory(activation: str | Callable[[], nn.Module]) -> tuple[str, Callable[[], nn.Module]]:
    """What the layers of an activation are called, and what makes one.

    Example:
        >>> activation_factory("tanh")
        ('tanh', <class 'torch.nn.modules.activation.Tanh'>)
    """
    if isinstance(activation, nn.Module):
        raise ValueError(
            f"Expected the name of an activation or a function that builds one, was given the module "
            f"{activation}: every layer needs its own, so pass the class or a function instead."
        )
    if not isinstance(activation, str):
        return "activation", activation
    if activation not in ACTIVATIONS:
        near = get_close_matches(activation, ACTIVATIONS, n=1, cutoff=0.4)
        raise ValueError(
            f"Expected an activation out of {', '.join(map(repr, ACTIVATIONS))}, or a function that builds "
            f"one, was given {activation!r}{f'; did you mean {near[0]!r}?' if near else '.'}"
        )
    return activation, ACTIVATIONS[activation]


def check_sizes(**sizes: int) -> None:
    """Raise ValueError unless every size is a whole number above 0.

    Example:
        >>> check_sizes(width=64, classes=10)
    """
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"Expected {name} to be a whole number of at least 1, was given {size!r}.")
