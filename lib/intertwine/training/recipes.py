"""Training protocols as data: the papers' own, and fast ones."""

from dataclasses import dataclass
from typing import ClassVar

VERSION = 1  # of this folder and of `models`: raise it when the same recipe and seeds give other weights


@dataclass(frozen=True)
class MultiStep:
    """The learning rate is multiplied by `factor` at each of these fractions of the training.

    Example:
        >>> rate = MultiStep(at=(1 / 3, 2 / 3), factor=0.1)
        >>> [round(rate(done), 2) for done in (0.0, 0.5, 0.9)]
        [1.0, 0.1, 0.01]
    """

    at: tuple[float, ...] = ()
    factor: float = 0.1

    def __call__(self, done: float) -> float:
        return self.factor ** sum(done >= at for at in self.at)


@dataclass(frozen=True)
class Triangle:
    """The learning rate rises linearly from 0 to the fraction `peak` of the training, then falls to 0.

    Example:
        >>> rate = Triangle(peak=0.2)
        >>> [round(rate(done), 2) for done in (0.1, 0.2, 0.6, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
    """

    peak: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.peak < 1:
            raise ValueError(f"Expected the peak of a triangle between 0 and 1, was given {self.peak!r}.")

    def __call__(self, done: float) -> float:
        return min(done / self.peak, (1 - done) / (1 - self.peak))


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; `dataclasses.replace` makes variants.

    Example:
        >>> from dataclasses import replace
        >>> short = replace(RECIPES["godfrey2022"], epochs=5)
        >>> short.optimizer, short.lr, short.epochs
        ('adam', 0.001, 5)
    """

    epochs: int
    batch_size: int
    lr: float
    """The highest learning rate."""
    optimizer: str = "sgd"
    """sgd, with Nesterov's `momentum`, or adam, where weight decay is an L2 penalty."""
    momentum: float = 0.9
    schedule: MultiStep | Triangle = MultiStep()
    """From the fraction of the training that is done to a fraction of `lr`."""
    weight_decay: float = 0.0
    decay_biases: bool = False
    """Whether biases decay too, those of batch norm included, or only parameters called weight."""
    drop_last: bool = False
    """Whether an epoch leaves out its last, smaller batch."""
    flip: bool = False
    """Whether images are mirrored left to right, each with probability 1/2."""
    shift: int = 0
    """Images are moved by up to so many pixels, uniformly, in either direction."""
    fill: str = "mean"
    """Pixels that a shift leaves free: "mean" intensities, or "black"."""
    sides: tuple[tuple[float, float], ...] = ()
    """Pairs (done, share): until this fraction of the training images have this share of their side.
    Half the side is a quarter of the work."""
    label_smoothing: float = 0.0
    dtype: str = "auto"
    """float32, bfloat16 (by autocast; weights stay float32), or auto: the faster one, by a rule."""

    choices: ClassVar = {
        "optimizer": ("sgd", "adam"),
        "fill": ("mean", "black"),
        "dtype": ("auto", "float32", "bfloat16"),
    }

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("batch_size", 1), ("shift", 0)):
            if not isinstance(value := getattr(self, name), int) or value < least:
                raise ValueError(
                    f"Expected {name} to be a whole number of at least {least}, was given {value!r}."
                )
        if not isinstance(self.lr, int | float) or not self.lr > 0:
            raise ValueError(f"Expected a learning rate lr above 0, was given {self.lr!r}.")
        for name, known in self.choices.items():
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"Expected {name} to be one of {', '.join(known)}, was given {value!r}.")
        if not all(0 < share <= 1 for _, share in self.sides):
            raise ValueError(f"Expected shares of a side above 0 and at most 1, was given {self.sides!r}.")

    def side(self, done: float) -> float:
        """The share of their side that images have when this fraction of the training is done.

        Example:
            >>> growing = Recipe(epochs=10, batch_size=4, lr=0.1, sides=((0.4, 0.5), (0.7, 0.75)))
            >>> [growing.side(done) for done in (0.0, 0.4, 0.9)]
            [0.5, 0.75, 1.0]
        """
        return next((share for until, share in self.sides if done < until), 1.0)


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
    "fast": Recipe(
        epochs=20,
        batch_size=128,
        lr=0.1,
        schedule=Triangle(peak=0.25),
        weight_decay=5e-4,
        drop_last=True,
        flip=True,
        shift=2,
    ),
    "growing": Recipe(
        epochs=24,
        batch_size=128,
        lr=0.1,
        schedule=Triangle(peak=0.25),
        weight_decay=5e-4,
        drop_last=True,
        flip=True,
        shift=2,
        sides=((0.4, 0.5), (0.7, 0.75)),
    ),
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
  normalised as `intertwine.data.load` says, not with standard deviations near .2; 16-bit arithmetic is
  bfloat16. A random crop of an image padded by 4 is a shift by up to 4.
- ``fast`` is for images of 28×28 pixels and more.
- ``growing`` is ``fast`` for networks that take smaller images, too: images begin at half their side, so that
  24 epochs take the work of 14. At equal work this gains accuracy: a Myrtle CNN of width 32 has 88.4 % on
  CIFAR-10 after 16 such epochs, 87.6 % after ten epochs on whole images, which are more work (one run each).
- ``digits`` is for 8×8 pixels. No flips, for mirrored digits are none; no shifts, which cost accuracy; Adam,
  because it trains networks without batch norm too, whatever their activation (but the sigmoid).
"""
