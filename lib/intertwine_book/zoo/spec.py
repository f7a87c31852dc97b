"""A specification of a training: an architecture, data and a recipe."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from intertwine.data import Dataset
from intertwine.data.dataset import check_dataset
from intertwine.training.recipes import Recipe
from intertwine_book import models
from intertwine_book.wording import unknown

ARCHITECTURES = ("convnext", "fcn", "lenet", "myrtle", "residual", "resnet20", "tiny10")


@dataclass(frozen=True, eq=False)
class Spec:
    """All that decides on a trained network but its seeds.

    Example:
        >>> from intertwine_book import data
        >>> from intertwine_book.zoo import RECIPES, Spec
        >>> digits = data.load("digits", "train", device="cpu")
        >>> spec = Spec("myrtle", digits, RECIPES["digits"], {"width": 8, "in_channels": 1})
        >>> spec.build(seed=0)(digits.images[:2]).shape
        torch.Size([2, 10])
    """

    architecture: str | Callable[..., nn.Module]
    """A function of `intertwine_book.models` by name, or any function that returns a module."""
    data: Dataset
    recipe: Recipe
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of the architecture."""

    def __post_init__(self) -> None:
        check_dataset(self.data)
        if isinstance(self.architecture, nn.Module):
            raise TypeError(
                f"Expected a function that builds a network, was given a {type(self.architecture).__name__} "
                f"that is built already: write a function that returns a new one, whose weights torch draws."
            )
        if isinstance(self.architecture, str) and self.architecture not in ARCHITECTURES:
            known = unknown("architecture", self.architecture, ARCHITECTURES)
            raise ValueError(f"{known} Or give a function that builds a network.")

    @property
    def name(self) -> str:
        own = self.architecture
        return own if isinstance(own, str) else getattr(own, "__name__", type(own).__name__).strip("<>")

    def build(self, seed: int) -> nn.Module:
        """The network with its initial weights: drawn from torch's generators, which are restored, or by an
        argument `seed` of the architecture.
        """
        own = self.architecture
        build: Callable[..., nn.Module] = getattr(models, own) if isinstance(own, str) else own
        taken = inspect.signature(build).parameters
        named = "seed" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
        # a function without a seed draws from torch's own generator, which is to stay as it is
        with torch.random.fork_rng([]):
            torch.default_generator.manual_seed(seed)
            return build(**self.arguments, **({"seed": seed} if named else {}))
