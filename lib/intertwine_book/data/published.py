"""CIFAR-10 and Fashion-MNIST: downloaded and read by torchvision, known by a checksum of their content."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import torch

from intertwine import files
from intertwine_book.data.pixels import Pixels
from intertwine_book.data.root import data_root


class Source(NamedTuple):
    """A data set of torchvision."""

    title: str
    name: str
    """Of torchvision's class."""
    folder: str
    """Which torchvision leaves below a root."""
    mean: tuple[float, ...]
    """Of the training set, to the four decimals that everyone uses."""
    std: tuple[float, ...]
    checksums: dict[str, str]
    """SHA-256 of the pixels and labels of each split."""


SOURCES = {
    "cifar10": Source(
        title="CIFAR-10",
        name="CIFAR10",
        folder="cifar-10-batches-py",
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2470, 0.2435, 0.2616),
        checksums={
            "train": "6563a250b5a3c83afca2d2d4688c46f9a443be6a11e0af4f99547f19cabba561",
            "test": "32deb3cb3b84bbcc4fdfedd5d752426ef8bc8df82f1c5109dbe667dc0e2aab99",
        },
    ),
    "fashion_mnist": Source(
        title="Fashion-MNIST",
        name="FashionMNIST",
        folder="FashionMNIST/raw",
        mean=(0.2860,),
        std=(0.3530,),
        checksums={
            "train": "752fb2e084fbddb7cab4747c50ba86ed9b618e08c50dd6cfac00030d51e81ef5",
            "test": "f8e38cb78d4de64b0c7bc8c359ad6642b8775402003848e45bb4ae20c56632d2",
        },
    ),
}


def read(name: str, split: str, root: str | Path | None = None) -> Pixels:
    """A split in the official order, downloaded first, with a progress bar, where there is none."""
    source, top = SOURCES[name], data_root(root)
    folder = top / source.folder
    if not _is_present(folder):
        _download(source, top)
    try:
        from torchvision import datasets

        # torchvision compares the MD5 of CIFAR-10's pickles with the official ones before it opens any
        found = getattr(datasets, source.name)(top, train=split == "train")
        images, labels = torch.as_tensor(found.data), torch.as_tensor(found.targets)
    except ModuleNotFoundError:
        raise _no_torchvision(source) from None
    except Exception as error:  # files that are not whole fail in many ways
        raise _damaged(source, folder) from error
    images = images.permute(0, 3, 1, 2).contiguous() if images.ndim == 4 else images[:, None]
    if files.digest(images.numpy(), labels.numpy()) != source.checksums[split]:
        raise _damaged(source, folder)
    return Pixels(images, labels, tuple(found.classes), white=255, mean=source.mean, std=source.std)


def _is_present(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _download(source: Source, root: Path) -> None:
    """Download beside the folder, and only then name it so: a killed run leaves no half of it."""
    from http.client import HTTPException  # slow to import, and seldom needed

    try:
        from torchvision import datasets
    except ModuleNotFoundError:
        raise _no_torchvision(source) from None
    folder = root / source.folder
    staging = folder.with_name(f".{folder.name}.part")
    try:
        with files.lock(folder):
            if _is_present(folder):
                return  # another process fetched it meanwhile
            try:
                shutil.rmtree(staging, ignore_errors=True)  # of a killed run
                getattr(datasets, source.name)(staging, download=True)
                os.replace(staging / source.folder, folder)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except (OSError, HTTPException, RuntimeError) as error:
        reason = " ".join(str(error).split())  # torchvision's runs over several lines
        raise OSError(
            f"{source.title} is not in {folder} and could not be downloaded ({reason}): "
            "check the network and the disk and try again, copy that folder from another machine, or name "
            "with INTERTWINE_DATA the folder in which it lies."
        ) from error


def _damaged(source: Source, folder: Path) -> OSError:
    return OSError(
        f"Expected the published {source.title} in {folder}, found files that are missing or damaged: delete "
        f"the folder {folder} and load {source.title} again: it is then downloaded anew."
    )


def _no_torchvision(source: Source) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"{source.title} is downloaded and read by torchvision, which is missing: pip install torchvision."
    )
