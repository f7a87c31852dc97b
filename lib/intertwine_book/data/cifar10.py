"""CIFAR-10: 32×32 colour images in ten classes (Krizhevsky 2009)."""

import pickle
from pathlib import Path

import numpy as np
import torch

from intertwine_book.data import archive
from intertwine_book.data.pixels import Pixels

ARCHIVE = archive.Archive(
    title="CIFAR-10",
    torchvision_class="CIFAR10",
    folder="cifar-10-batches-py",
    files={
        "data_batch_1": (31035704, "c99cafc152244af753f735de768cd75f"),
        "data_batch_2": (31035320, "d4bba439e000b95fd0a9bffe97cbabec"),
        "data_batch_3": (31035999, "54ebc095f3ab1f0389bbae665268c751"),
        "data_batch_4": (31035696, "634d18415352ddfa80567beed471001a"),
        "data_batch_5": (31035623, "482c414d41f54cd18b22e5b47cb7c3cb"),
        "test_batch": (31035526, "40351d587109b95175f43aff81a1287e"),
        "batches.meta": (158, "5ff9c542aee3614f3951f8cda6e48888"),
    },
)


def read(split: str, root: str | Path | None = None) -> Pixels:
    """50,000 training or 10,000 test images in the official order."""
    folder = archive.fetch(ARCHIVE, root)

    def load(name: str) -> dict:
        # safe: `archive.read` returns the official bytes or raises. As bytes: the pixels need no decoding
        return pickle.loads(archive.read(ARCHIVE, folder, name), encoding="bytes")

    names = [f"data_batch_{i}" for i in range(1, 6)] if split == "train" else ["test_batch"]
    batches = [load(name) for name in names]
    return Pixels(
        torch.from_numpy(np.concatenate([batch[b"data"] for batch in batches])).view(-1, 3, 32, 32),
        torch.tensor([label for batch in batches for label in batch[b"labels"]]),
        tuple(label.decode() for label in load("batches.meta")[b"label_names"]),
        white=255,
        mean=(0.4914, 0.4822, 0.4465),  # of the training set, to the four decimals that everyone uses
        std=(0.2470, 0.2435, 0.2616),
    )
