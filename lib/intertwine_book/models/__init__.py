"""The papers' networks: one function each, which returns a chain of named layers with weights from a seed.

Example:
    >>> network = tiny10(seed=0)
    >>> sum(p.numel() for p in network.parameters())
    86778
    >>> [layer.name for layer in network.hidden_layers()][:3]
    ['relu1', 'relu2', 'relu3']

All have in common, as far as they have the argument:

    - `width`: channels of the first layer; the paper's by default,
    - `activation`: one of `ACTIVATIONS`, or a function that builds a module,
    - `in_channels` and `classes`: channels of the images, and outputs,
    - `seed`: of the weights, a number or a `torch.Generator`; global generators stay as they are.

They raise a ValueError for a size below 1 and for an unknown activation.
"""

from intertwine_book.models.building import ACTIVATIONS
from intertwine_book.models.chains import fcn, lenet, myrtle, tiny10
from intertwine_book.models.convnext import convnext
from intertwine_book.models.efficientnet_lite import LITE_MEAN, LITE_STD, efficientnet_lite
from intertwine_book.models.network import HiddenLayer, Network, cuts
from intertwine_book.models.published import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Published,
    load_published,
    published_files,
    published_pairs,
)
from intertwine_book.models.residual import residual
from intertwine_book.models.resnet import resnet20

__all__ = [
    "ACTIVATIONS",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "LITE_MEAN",
    "LITE_STD",
    "HiddenLayer",
    "Network",
    "Published",
    "convnext",
    "cuts",
    "efficientnet_lite",
    "fcn",
    "lenet",
    "load_published",
    "myrtle",
    "published_files",
    "published_pairs",
    "residual",
    "resnet20",
    "tiny10",
]
