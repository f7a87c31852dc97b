"""Data sets as tensors: verified, normalised, in a fixed order."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from intertwine import devices
from intertwine.data import Dataset
from intertwine_book.data import concepts, digits, published
from intertwine_book.data.concepts import scenes
from intertwine_book.data.pixels import Pixels, normalised
from intertwine_book.data.segmented import Segmented, SegmentedFolder, camvid, patches
from intertwine_book.wording import unknown

__all__ = ["Segmented", "SegmentedFolder", "available", "camvid", "load", "patches", "scenes"]

_READERS: dict[str, Callable[[str, str | Path | None], Pixels]] = {
    "digits": digits.read,
    **{name: partial(published.read, name) for name in published.SOURCES},
    "concepts": concepts.read,
}


def available() -> tuple[str, ...]:
    """The names that `load` accepts.

    Example:
        >>> available()
        ('digits', 'cifar10', 'fashion_mnist', 'concepts')
    """
    return tuple(_READERS)


def load(
    name: str, split: str, *, root: str | Path | None = None, device: str | torch.device = "auto"
) -> Dataset:
    """A split of a data set as float32 images (n, c, h, w) and int64 labels (n), always in the same order.

    Example:
        >>> train = load("digits", "train")
        >>> train.images.shape, train.labels.shape
        (torch.Size([1297, 1, 8, 8]), torch.Size([1297]))

    Images are (intensity - mean) / std per channel, with intensities between 0 and 1 and the mean and
    standard deviation of all pixels of the training split:

    - ``digits``, 1×8×8: 1,297 / 500 by a fixed shuffle; mean and std as computed
    - ``cifar10``, 3×32×32: 50,000 / 10,000; means .4914, .4822, .4465; stds .2470, .2435, .2616
    - ``fashion_mnist``, 1×28×28: 60,000 / 10,000; mean .2860; std .3530
    - ``concepts``, 3×32×32: 2,000 / 500 drawn scenes, see `scenes`; means .41, .35, .35; stds .30, .27, .29

    Digits come with scikit-learn, scenes are drawn. The others are read by torchvision, which downloads them
    where they are absent; what it reads has the checksum of the published pixels and labels, or is refused.

    Args:
        name: one of `available()`.
        split: "train" or "test".
        root: the torchvision root; by default the environment variable INTERTWINE_DATA, or else
            ``intertwine`` in the user's cache folder.
        device: of the tensors, as `intertwine.devices.pick` takes it.

    Raises:
        ValueError: unknown name or split, or a device that this machine does not have.
        OSError: the root does not exist, a file is missing or damaged, or the download failed.
        ModuleNotFoundError: torchvision is not installed.
    """
    if name not in _READERS:
        sentence = unknown("data set", name, available())
        raise ValueError(f"{sentence} Make one of your own tensors with Dataset.of.")
    if split not in ("train", "test"):
        raise ValueError(unknown("split", split, ("train", "test")))
    chosen = devices.pick(device)  # before any work
    return normalised(name, split, _READERS[name](split, root), chosen)
