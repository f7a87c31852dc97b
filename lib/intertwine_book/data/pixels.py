"""Raw pixels, as a source stores them, and the data set made of them."""

from typing import NamedTuple

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from intertwine import files
from intertwine.data import Dataset


class Pixels(NamedTuple):
    """A split as its source stores it. `mean` and `std` are per channel, of intensities pixel / white."""

    images: UInt8[Tensor, "n c h w"]
    labels: Int[Tensor, " n"]
    classes: tuple[str, ...]
    white: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


def normalised(name: str, split: str, pixels: Pixels, device: torch.device) -> Dataset:
    """The `Dataset` of raw `pixels`, in float32 on `device`."""
    mean = torch.tensor(pixels.mean, device=device).view(-1, 1, 1)
    std = torch.tensor(pixels.std, device=device).view(-1, 1, 1)
    # bytes travel to the device, not floats; one conversion and two passes in place are the fastest way
    images = pixels.images.to(device).float().sub_(mean * pixels.white).div_(std * pixels.white)
    checksum = files.digest(pixels.images.numpy(), pixels.labels.numpy())
    return Dataset(name, split, images, pixels.labels.to(device), pixels.classes, mean, std, checksum)
