"""Fashion-MNIST: 28×28 grey images of clothing in ten classes (Xiao, Rasul and Vollgraf 2017)."""

from pathlib import Path

import torch

from intertwine_book.data import archive
from intertwine_book.data.pixels import Pixels

ARCHIVE = archive.Archive(
    title="Fashion-MNIST",
    torchvision_class="FashionMNIST",
    folder="FashionMNIST/raw",
    files={
        "train-images-idx3-ubyte": (47040016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        "train-labels-idx1-ubyte": (60008, "9018921c3c673c538a1fc5bad174d6f9"),
        "t10k-images-idx3-ubyte": (7840016, "8181f5470baa50b63fa0f6fddb340f0a"),
        "t10k-labels-idx1-ubyte": (10008, "15d484375f8d13e6eb1aabb0c3f46965"),
    },
)
CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def read(split: str, root: str | Path | None = None) -> Pixels:
    """60,000 training or 10,000 test images in the official order."""
    folder = archive.fetch(ARCHIVE, root)
    prefix = "train" if split == "train" else "t10k"

    def load(name: str, header: int) -> torch.Tensor:
        content = archive.read(ARCHIVE, folder, f"{prefix}-{name}-ubyte")
        return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=header)

    return Pixels(
        load("images-idx3", header=16).view(-1, 1, 28, 28),
        load("labels-idx1", header=8).long(),
        CLASSES,
        white=255,
        mean=(0.2860,),  # of the training set, to four decimals
        std=(0.3530,),
    )
