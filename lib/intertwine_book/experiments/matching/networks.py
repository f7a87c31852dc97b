"""Where csiszarik2021 cuts networks, and pairs of residual ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from torch import nn

from intertwine_book import data, zoo
from intertwine_book.experiments.published import resnet20_groups
from intertwine_book.experiments.stitches import Pairs
from intertwine_book.models import Network
from intertwine_book.results import Run
from intertwine_book.zoo import Spec


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


def residual_networks(
    run: Run, own: Spec, sets: Mapping[str, Any]
) -> Mapping[str, tuple[Pairs, Mapping[str, Any]]]:
    """Pairs of ResNet-20 and their images, by the ending of a table's name: published, or one trained."""
    if run.parameters["networks"] != "published":
        narrow = replace(own, architecture="resnet20", arguments={**own.arguments, "width": 4})
        return {"": (zoo.pairs(narrow, 1, seed=run.seed, device=run.device), sets)}
    cifar10 = [data.load("cifar10", split, device=run.device) for split in ("train", "test")]
    return resnet20_groups(cifar10, {part: run.parameters[f"{part}_images"] for part in sets})
