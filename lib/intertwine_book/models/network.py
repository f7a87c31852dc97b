"""A network of named layers that lists its hidden ones, and where csiszarik2021 cuts it."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from operator import ge
from typing import NamedTuple, cast

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


def cuts(network: nn.Module, layers: Sequence[int] | None = None, *, after: bool = False) -> list[str]:
    """Where csiszarik2021 cuts: between batch norm and ReLU, and in a residual network behind its blocks.

    Example:
        >>> from intertwine_book.models import resnet20, tiny10
        >>> cuts(tiny10(), [1, 8]), cuts(resnet20(), [1, 2])
        (['bn1', 'bn8'], ['bn1', 'block1.relu2'])
        >>> cuts(tiny10(), [1, 8], after=True)
        ['relu1', 'relu8']

    The network has batch norm; the layers are numbers, from 1, of hidden layers that are not inside a block.
    With `after`, it is cut after the ReLU everywhere.
    """
    known = [layer.name for layer in cast(Network, network).hidden_layers() if not layer.in_block]
    layers = range(1, len(known) + 1) if layers is None else layers
    if not set(layers) <= set(range(1, len(known) + 1)):
        raise ValueError(f"Expected layers from 1 to {len(known)}, was given {list(layers)}.")
    if after:
        return [known[k - 1] for k in layers]
    return [known[k - 1] if "." in known[k - 1] else known[k - 1].replace("relu", "bn") for k in layers]
