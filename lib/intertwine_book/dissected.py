"""What chapter 5 and its record dissect: small networks, trained and untrained, and images for them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from intertwine import devices
from intertwine.data import Dataset
from intertwine.features import activations
from intertwine.training import Recipe
from intertwine_book import data, zoo
from intertwine_book.data import Segmented, camvid
from intertwine_book.zoo import Spec

SMALL_NETWORKS: dict[str, tuple[str, dict[str, str]]] = {
    "ReLU": ("residual", {"output": "relu"}),
    "no ReLU": ("residual", {"output": "identity"}),
    "ConvNeXt": ("convnext", {}),
    "tanh": ("residual", {"output": "tanh"}),
    "GELU": ("residual", {"output": "gelu"}),
}
"""The three of godfrey2022 figure 3, small, and two with other activations on the residual output."""

RESIDUAL_LAYERS = {"output": "block2", "inside": "block2.inner", "convolution": "block2.conv2"}
CONVNEXT_LAYERS = {"output": "block3", "inside": "block3.gelu", "convolution": "block3.shrink"}


def sets(
    name: str, *, train: int, test: int, frames: int, seed: int, device: str | torch.device
) -> tuple[Dataset, Segmented]:
    """What networks are trained on, and the images and masks that they are dissected on.

    Example:
        >>> scenes, masked = sets("concepts", train=20, test=3, frames=0, seed=0, device="cpu")
        >>> len(scenes), len(masked.data)
        (20, 3)

    By name: `concepts` are scenes that we draw; `camvid` has patches of street scenes, and whole frames.
    """
    if name == "concepts":
        drawn = data.scenes(train, seed=2 * seed, device=device).data
        return drawn, data.scenes(test, seed=2 * seed + 1, device=device)
    whole = camvid("train", device=device)
    patches = data.patches(whole, 32, limit=train, seed=seed)
    like = {key: getattr(whole.data, key).flatten().tolist() for key in ("mean", "std")}
    return patches, camvid("test", device=device, limit=frames, **like)


def pair(
    kind: str, data: Dataset, recipe: Recipe, *, width: int, seed: int, device: str | torch.device = "auto"
) -> dict[str, nn.Module]:
    """One of the `SMALL_NETWORKS`, trained (out of the zoo), and the untrained one that it began as.

    The untrained network has its initial weights, and batch norm's statistics of the training images. The
    width is that of the first block; twice as many channels come out of the last.
    """
    architecture, own = SMALL_NETWORKS[kind]
    spec = Spec(architecture, data, recipe, {"width": width, "classes": len(data.classes), **own})
    (trained,) = zoo.get(spec, [seed], device=device)
    chosen = devices.pick(device)
    untrained = spec.build(seed).to(chosen)
    # otherwise batch norm would be the identity there, and a tanh behind it saturated
    update_bn(data.images.split(100), untrained, device=chosen)
    return {"trained": trained.network, "untrained": untrained.eval()}


def maps(
    network: nn.Module, kind: str, layer: str, images: Float[Tensor, "n c h w"]
) -> Float[Tensor, "n units h2 w2"]:
    """The activations of the last block at "output", "inside" (the activation) or "convolution" (after it).

    Example:
        >>> from intertwine_book import models
        >>> maps(models.convnext(4), "ConvNeXt", "output", torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 8, 8, 8])
    """
    name = (CONVNEXT_LAYERS if kind == "ConvNeXt" else RESIDUAL_LAYERS)[layer]
    return activations(network, [name], images)[name]
