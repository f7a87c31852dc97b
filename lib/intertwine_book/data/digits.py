"""Handwritten digits, 8×8 and grey, as they come with scikit-learn (the test part of UCI's "optdigits")."""

from pathlib import Path

import numpy as np
import torch

from intertwine_book.data.pixels import Pixels

TRAIN = 1297


def read(split: str, root: str | Path | None = None) -> Pixels:
    """1,297 training or 500 test images; `root` is not used, for the digits come with scikit-learn."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = torch.from_numpy(digits.images.astype(np.uint8))[:, None]  # integers 0…16, stored as float64
    # RandomState's stream is frozen for ever, torch's and scikit-learn's are not
    order = torch.from_numpy(np.random.RandomState(0).permutation(len(images)))
    rows = order[:TRAIN] if split == "train" else order[TRAIN:]
    intensities = images[order[:TRAIN]].double() / 16
    return Pixels(
        images[rows],
        torch.from_numpy(digits.target)[rows].long(),
        tuple(str(digit) for digit in digits.target_names),
        white=16,
        mean=(intensities.mean().item(),),
        std=(intensities.std(correction=0).item(),),
    )
