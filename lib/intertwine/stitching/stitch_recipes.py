"""How a stitch is trained, as data: the protocols of two papers, and fast ones."""

from dataclasses import dataclass, replace
from typing import ClassVar

from intertwine.training import MultiStep, Recipe, Triangle


@dataclass(frozen=True)
class StitchRecipe(Recipe):
    """A `training.Recipe` with further fields for stitches.

    Example:
        >>> from dataclasses import replace
        >>> short = replace(STITCH_RECIPES["csiszarik2021"], epochs=4, targets="soft")
        >>> short.batch_norm, short.targets
        ('frozen', 'soft')
    """

    momentum: float = 0.0
    batch_norm: str = "frozen"
    """frozen: both networks in evaluation mode. reestimated: model 2 normalises by the statistics of each
    batch, and is then evaluated with those of the stitched network on the training data."""
    targets: str = "hard"
    """hard: the labels. soft: the probabilities that model 2 gives to the same image."""

    choices: ClassVar = Recipe.choices | {
        "batch_norm": ("frozen", "reestimated"),
        "targets": ("hard", "soft"),
    }


STILL = StitchRecipe(epochs=0, batch_size=1, lr=1.0)  # trains nothing

GODFREY2022 = StitchRecipe(
    epochs=20, batch_size=32, lr=1e-3, weight_decay=1e-4, flip=True, shift=2, batch_norm="reestimated"
)

STITCH_RECIPES: dict[str, StitchRecipe] = {
    "csiszarik2021": StitchRecipe(
        epochs=30,
        batch_size=128,
        lr=1e-3,
        optimizer="adam",
        schedule=MultiStep(at=(1 / 3, 2 / 3), factor=0.1),
        drop_last=True,
        flip=True,
        shift=4,
        fill="black",
    ),
    "godfrey2022": GODFREY2022,
    "godfrey2022 birkhoff": replace(GODFREY2022, lr=1e-2),
    "fast": StitchRecipe(
        epochs=4, batch_size=128, lr=1e-2, optimizer="adam", schedule=Triangle(peak=0.25), drop_last=True
    ),
    "digits": StitchRecipe(epochs=10, batch_size=64, lr=1e-2, optimizer="adam", schedule=Triangle(peak=0.25)),
}
"""The papers' protocols for stitches and two fast ones, which do not augment, so that model 1 runs once.

- ``csiszarik2021``: Adam, batch norm frozen.
- ``godfrey2022``: plain SGD, batch norm re-estimated; ``godfrey2022 birkhoff`` has the learning rate that
  Birkhoff stitches effectively had. The authors put all of the stitched network into training mode, and keep
  a moving average of its statistics. Here model 1, whose inputs are unchanged, keeps its own, and model
  2's are averaged over up to 10,000 training images behind the stitch as it is evaluated, which the authors
  do for Birkhoff stitches alone.
- ``fast`` is for images of 28×28 pixels and more, ``digits`` for 8×8.
"""
