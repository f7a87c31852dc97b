"""A training protocol as data."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from intertwine.checks import whole

VERSION = 1  # of this folder: raise it when the same recipe and seeds give other weights


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
        # once for each fraction that is passed
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
        >>> recipe = Recipe(
        ...     epochs=20,
        ...     batch_size=64,
        ...     lr=1e-2,
        ...     optimizer="adam",
        ...     schedule=Triangle(peak=0.25),
        ... )
        >>> replace(recipe, epochs=5).epochs
        5
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
    """Pairs (done, share), in order: until this fraction of the training images have this share of their
    side. Half the side is a quarter of the work."""
    label_smoothing: float = 0.0
    dtype: str = "auto"
    """float32, bfloat16 (by autocast; weights stay float32), or auto: the faster one, by a rule."""

    # no field: a recipe's digest, by which trained networks are found, is that of its fields
    choices: ClassVar = {
        "optimizer": ("sgd", "adam"),
        "fill": ("mean", "black"),
        "dtype": ("auto", "float32", "bfloat16"),
    }

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("batch_size", 1), ("shift", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        if not isinstance(self.lr, int | float) or not 0 < self.lr < inf:
            raise ValueError(f"Expected a learning rate lr above 0, was given {self.lr!r}.")
        if not isinstance(self.weight_decay, int | float) or not 0 <= self.weight_decay < inf:
            raise ValueError(f"Expected a weight_decay of 0 or more, was given {self.weight_decay!r}.")
        for name, known in self.choices.items():
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"Expected {name} to be one of {', '.join(known)}, was given {value!r}.")
        if not all(0 < share <= 1 for _, share in self.sides):
            raise ValueError(f"Expected shares of a side above 0 and at most 1, was given {self.sides!r}.")
        if [*self.sides] != sorted(self.sides, key=lambda pair: pair[0]):
            raise ValueError(
                f"Expected sides in the order of the training, was given {self.sides!r}: sort it."
            )

    def side(self, done: float) -> float:
        """The share of their side that images have when this fraction of the training is done.

        Example:
            >>> growing = Recipe(
            ...     epochs=10, batch_size=4, lr=0.1, sides=((0.4, 0.5), (0.7, 0.75))
            ... )
            >>> [growing.side(done) for done in (0.0, 0.4, 0.9)]
            [0.5, 0.75, 1.0]
        """
        return next((share for until, share in self.sides if done < until), 1.0)
