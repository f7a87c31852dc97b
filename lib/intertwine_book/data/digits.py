"""Handwritten digits, 8×8 and grey, as they come with scikit-learn (the test part of UCI's "optdigits")."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from intertwine_book.data.pixels import Pixels

TRAIN = 1297


def read(split: str, root: str | Path | None = None) -> Pixels:
    """1,297 training or 500 test images; `root` is not used, for the digits come with scikit-learn."""
    images, labels = _table()
    # RandomState's stream is frozen for ever, torch's and scikit-learn's are not
    order = torch.from_numpy(np.random.RandomState(0).permutation(len(images)))
    rows = order[:TRAIN] if split == "train" else order[TRAIN:]
    intensities = images[order[:TRAIN]].double() / 16
    return Pixels(
        images[rows],
        labels[rows],
        tuple(map(str, range(10))),
        white=16,
        mean=(intensities.mean().item(),),
        std=(intensities.std(correction=0).item(),),
    )


@cache
def _table() -> tuple[Tensor, Tensor]:
    """Intensities of 0 to 16 and labels, from the file of `sklearn.datasets.load_digits`.

    To import scikit-learn takes longer than all else that a chapter does before it begins.
    """
    package = find_spec("sklearn")
    assert package is not None and package.origin is not None  # a dependency
    file = Path(package.origin).with_name("datasets") / "data/digits.csv.gz"
    rows = torch.from_numpy(np.loadtxt(file, delimiter=",", dtype=np.uint8))
    return rows[:, :-1].reshape(-1, 1, 8, 8), rows[:, -1].long()
