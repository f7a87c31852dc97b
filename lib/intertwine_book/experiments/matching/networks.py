"""Networks and data as an experiment needs them: published pairs, parts of data sets."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.data.archive import data_root
from intertwine.models import Network, load_published

Pairs = list[tuple[nn.Module, nn.Module]]


def published_pairs(
    name: str, n: int, train: Dataset, test: Dataset
) -> tuple[Pairs, tuple[Dataset, Dataset]]:
    """n disjoint pairs of networks that the authors published, and the data as these networks expect them.

    The name tiny10 stands for the files tiny10-in0-gn0.pt and so on, below checkpoints in the data root.
    Network 2k is stitched to network 2k + 1.
    """
    folder = data_root(None) / "checkpoints"
    found = [load_published(folder / f"{name}-in{k}-gn{k}.pt") for k in range(2 * n)]
    networks: list[nn.Module] = [each.network for each in found]
    mean, std = found[0].mean, found[0].std
    pairs = list(pairwise(networks))[::2]
    return pairs, (renormalised(train, mean, std), renormalised(test, mean, std))


def cuts(network: Network, layers: Sequence[int] | None = None) -> list[str]:
    """Where csiszarik2021 cuts: between batch norm and ReLU, and in a residual network behind its blocks.

    Example:
        >>> from intertwine.models import resnet20, tiny10
        >>> cuts(tiny10(), [1, 8]), cuts(resnet20(), [1, 2])
        (['bn1', 'bn8'], ['bn1', 'block1.relu2'])

    The network has batch norm; the layers are numbers, from 1, of hidden layers that are not inside a block.
    """
    known = [layer.name for layer in network.hidden_layers() if not layer.in_block]
    layers = range(1, len(known) + 1) if layers is None else layers
    if not set(layers) <= set(range(1, len(known) + 1)):
        raise ValueError(f"Expected layers from 1 to {len(known)}, was given {list(layers)}.")
    return [known[k - 1] if "." in known[k - 1] else known[k - 1].replace("relu", "bn") for k in layers]


def renormalised(dataset: Dataset, mean: Float[Tensor, "c 1 1"], std: Float[Tensor, "c 1 1"]) -> Dataset:
    """The same images, of which (intensity - mean) / std is taken."""
    mean, std = mean.to(dataset.images), std.to(dataset.images)
    images = (dataset.images * dataset.std + dataset.mean - mean) / std
    return replace(dataset, images=images, mean=mean, std=std, hashed=())  # the raw pixels are the same
