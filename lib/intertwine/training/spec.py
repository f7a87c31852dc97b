"""What to train: an architecture, data and a recipe."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any

from torch import nn

from intertwine import files, models
from intertwine.data import Dataset
from intertwine.training.recipes import VERSION, Recipe

ARCHITECTURES: dict[str, Callable[..., nn.Module]] = {
    build.__name__: build
    for build in (
        models.convnext,
        models.fcn,
        models.lenet,
        models.myrtle,
        models.residual,
        models.resnet18,
        models.resnet20,
        models.tiny10,
    )
}


@dataclass(frozen=True, eq=False)
class Spec:
    """All that decides on a trained network but its seeds.

    Example:
        >>> from intertwine import data
        >>> from intertwine.training import RECIPES, Spec
        >>> digits = data.load("digits", "train")
        >>> spec = Spec("myrtle", digits, RECIPES["digits"], {"width": 8, "in_channels": 1})
        >>> spec.build(seed=0)(spec.data.images[:2]).shape
        torch.Size([2, 10])

    Raises:
        ValueError: an unknown architecture.
    """

    architecture: str | Callable[..., nn.Module]
    """A function of `intertwine.models` by name, or your own; `seed` is a keyword of either."""
    data: Dataset
    """The training set."""
    recipe: Recipe
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of the architecture, as JSON can express them."""

    def __post_init__(self) -> None:
        if isinstance(self.architecture, str) and self.architecture not in ARCHITECTURES:
            near = get_close_matches(self.architecture, ARCHITECTURES, n=1)
            hint = f" did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Expected an architecture out of {', '.join(ARCHITECTURES)}, or a function, was given "
                f"{self.architecture!r}{';' if hint else '.'}{hint}"
            )

    @property
    def name(self) -> str:
        """Of the architecture."""
        return self.architecture if isinstance(self.architecture, str) else self.architecture.__name__

    def build(self, seed: int) -> nn.Module:
        """The network with its initial weights.

        Raises:
            TypeError: the architecture does not take `arguments` and `seed` as keywords.
        """
        build = ARCHITECTURES[self.architecture] if isinstance(self.architecture, str) else self.architecture
        try:
            return build(**self.arguments, seed=seed)
        except TypeError as error:
            keywords = ", ".join([*self.arguments, "seed"])
            raise TypeError(
                f"Expected {self.name} to take the keywords {keywords}: {str(error).splitlines()[0]}; write "
                f"a function that does."
            ) from error

    def digest(self) -> str:
        """A hash of the content: architecture (the source of your own), arguments, recipe, data, `VERSION`.

        Raises:
            ValueError: your own function is a lambda, a closure or decorated, whose source does not tell what
                it builds.
            TypeError: arguments that JSON cannot express.
            OSError: the source of your own function cannot be found.
        """
        source = None
        if not isinstance(self.architecture, str):
            if self.name == "<lambda>" or getattr(self.architecture, "__closure__", None):
                decorated = hasattr(self.architecture, "__wrapped__")
                kind = "which is decorated" if decorated else "a lambda or a closure"
                raise ValueError(
                    f"Expected a function whose source tells all that it builds, was given {self.name}, "
                    f"{kind}: build the network in a plain def at the top level; what varies is an argument."
                )
            source = inspect.getsource(self.architecture)
        return files.digest(
            VERSION, self.name, source, dict(self.arguments), asdict(self.recipe), self.data.checksum
        )
