"""A network of named layers that lists its hidden ones."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from operator import ge
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.fx import Proxy


class HiddenLayer(NamedTuple):
    """A hidden layer: the output of an activation."""

    name: str
    """of the activation's module."""
    number: str
    """as the paper calls the layer; with a star inside a residual block."""
    channels: int
    in_block: bool = False
    """whether a shortcut passes it."""


class Network(nn.Sequential):
    """Named layers, one after another, with a list of the hidden ones and the shape of an input.

    Example:
        >>> import torch
        >>> layers = {"fc1": nn.Linear(3, 4), "relu1": nn.ReLU()}
        >>> network = Network(layers, [HiddenLayer("relu1", "1", 4)], (3,))
        >>> network(torch.zeros(5, 3)).shape
        torch.Size([5, 4])

    A slice, `network[:2]`, is a plain `torch.nn.Sequential` of the same modules.

    Args:
        layers: the modules by name, in order.
        hidden: the hidden layers, in order.
        input_shape: (channels, height, width) of an image, or (features,).
        resizable: whether images larger than `input_shape` fit, too.
    """

    is_chain = True  # its `forward` is that of a Sequential, but for a check

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
        """The hidden layers, in order."""
        return list(self._hidden)

    def forward(self, x: Float[Tensor, "n ..."] | Proxy) -> Float[Tensor, "n ..."] | Proxy:
        """The output of the last layer; ValueError for inputs of another shape than the network takes."""
        if isinstance(x, Tensor) and not self._takes(*x.shape[1:]):  # torch.fx passes a proxy
            expected = ", ".join(map(str, ("n", *self.input_shape)))
            raise ValueError(
                f"Expected inputs of shape ({expected}){' or larger' * self.resizable}, was given "
                f"{tuple(x.shape)}: reshape them, or build the network for them."
            )
        return super().forward(x)

    def __getitem__(self, index):  # the parent's would call __init__ with layers alone
        return nn.Sequential(OrderedDict(self._modules))[index]

    def _takes(self, *shape: int) -> bool:
        if not self.resizable or len(shape) != 3:
            return shape == self.input_shape
        return shape[0] == self.input_shape[0] and all(map(ge, shape, self.input_shape))
