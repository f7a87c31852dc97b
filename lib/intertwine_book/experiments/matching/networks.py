"""Where csiszarik2021 cuts networks."""

from collections.abc import Sequence
from typing import cast

from torch import nn

from intertwine_book.models import Network


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
