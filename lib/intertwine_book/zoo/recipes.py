"""The papers' training protocols, and fast ones."""

from dataclasses import replace

import pandas as pd

from intertwine.training import MultiStep, Recipe, Triangle

FAST = Recipe(
    epochs=20,
    batch_size=128,
    lr=0.1,
    schedule=Triangle(peak=0.25),
    weight_decay=5e-4,
    drop_last=True,
    flip=True,
    shift=2,
)
RECIPES: dict[str, Recipe] = {
    "godfrey2022": Recipe(
        epochs=50,
        batch_size=32,
        lr=1e-3,
        optimizer="adam",
        schedule=MultiStep(at=(0.25, 0.5, 0.75), factor=0.5),
        weight_decay=1e-4,
        flip=True,
        shift=2,
    ),
    "csiszarik2021": Recipe(
        epochs=300,
        batch_size=128,
        lr=0.1,
        schedule=MultiStep(at=(1 / 3, 2 / 3), factor=0.1),
        weight_decay=1e-4,
        decay_biases=True,
        drop_last=True,
        flip=True,
        shift=4,
        fill="black",
    ),
    "fast": FAST,
    "growing": replace(FAST, epochs=24, sides=((0.4, 0.5), (0.7, 0.75))),
    "digits": Recipe(
        epochs=20,
        batch_size=64,
        lr=1e-2,
        optimizer="adam",
        schedule=Triangle(peak=0.25),
        weight_decay=1e-4,
        label_smoothing=0.1,
    ),
}
"""The papers' protocols and three fast ones.

- ``godfrey2022`` and ``csiszarik2021`` follow the authors' code, but: the network of the last epoch
  is kept, not of the epoch that is best on the test set, nor of iteration 110,000 out of 117,000; images are
  normalised as `intertwine_book.data.load` says, not with standard deviations near .2; 16-bit arithmetic is
  bfloat16. A random crop of an image padded by 4 is a shift by up to 4.
- ``fast`` is for images of 28×28 pixels and more.
- ``growing`` is ``fast`` for networks that take smaller images, too: images begin at half their side, so that
  24 epochs take the work of 14. At equal work this gains accuracy: a Myrtle CNN of width 32 has 88.4 % on
  CIFAR-10 after 16 such epochs, 87.6 % after ten epochs on whole images, which are more work (one run each).
- ``digits`` is for 8×8 pixels. No flips, for mirrored digits are none; no shifts, which cost accuracy; Adam,
  because it trains networks without batch norm too, whatever their activation (but the sigmoid).
"""
THEIRS = "the authors'"


def with_training(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of Myrtle CNNs with the column `training`, which says whose recipe it was.

    Example:
        >>> with_training(pd.DataFrame({"epochs": [24, 50]}))["training"].tolist()
        ["this book's", "the authors'"]

    The 50 epochs of godfrey2022 are trained by its recipe alone, and no other recipe here has so many.
    """
    return rows.assign(training=rows["epochs"].eq(50).map({True: THEIRS, False: "this book's"}))
