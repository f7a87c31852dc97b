"""What a data set is: raw pixels as a source reads them, and the normalised tensors made of them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from intertwine import files


class Pixels(NamedTuple):
    """A split as its source stores it. `mean` and `std` are per channel, of intensities pixel / white."""

    images: UInt8[Tensor, "n c h w"]
    labels: Int[Tensor, " n"]
    classes: tuple[str, ...]
    white: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images, normalised per channel: `images * std + mean` are intensities between 0 and 1.

    Example:
        >>> from intertwine import data
        >>> digits = data.load("digits", "test")
        >>> intensities = digits.images * digits.std + digits.mean
        >>> round(intensities.min().item(), 5), round(intensities.max().item(), 5)
        (0.0, 1.0)
    """

    name: str
    split: str
    images: Float[Tensor, "n c h w"] = field(repr=False)
    labels: Int[Tensor, " n"] = field(repr=False)
    classes: tuple[str, ...]
    mean: Float[Tensor, "c 1 1"] = field(repr=False)
    std: Float[Tensor, "c 1 1"] = field(repr=False)
    checksum: str
    """SHA-256 of the raw pixels and labels, whatever files they came from."""


def normalised(name: str, split: str, pixels: Pixels, device: torch.device) -> Dataset:
    """The `Dataset` of raw `pixels`, in float32 on `device`."""
    mean = torch.tensor(pixels.mean, device=device).view(-1, 1, 1)
    std = torch.tensor(pixels.std, device=device).view(-1, 1, 1)
    # bytes travel to the device, not floats; one conversion and two passes in place are the fastest way
    images = pixels.images.to(device).float().sub_(mean * pixels.white).div_(std * pixels.white)
    checksum = files.digest(pixels.images.numpy(), pixels.labels.numpy())
    return Dataset(name, split, images, pixels.labels.to(device), pixels.classes, mean, std, checksum)
