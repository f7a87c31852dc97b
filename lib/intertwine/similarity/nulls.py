"""Nulls: the values of a measure for unrelated features."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator
from intertwine.features import channel_axis, rows
from intertwine.similarity.inputs import Spatial, check_choice
from intertwine.similarity.registry import Measure, as_measure


class Null(NamedTuple):
    """A value with its null: the same measure of unrelated features, of which `low` and `high` are quantiles.

    Example:
        >>> found = Null(0.9, torch.tensor([0.1, 0.2, 0.3]), 0.1, 0.3)
        >>> found.stands_out, round(found.calibrated, 3), found.p_value
        (True, 0.875, 0.25)
    """

    observed: float
    values: Float[Tensor, " repeats"]
    low: float
    """2.5 % quantile of the values."""
    high: float
    """97.5 % quantile."""
    best: float = 1.0
    """The measure of features with themselves."""

    @property
    def stands_out(self) -> bool:
        """Whether the observed value lies outside the interval."""
        return not self.low <= self.observed <= self.high

    @property
    def calibrated(self) -> float:
        """Where the value lies between the mean of the null (0) and equal features (1), of similarities and
        distances alike. Gröger et al. (2026) begin at a quantile of the null instead."""
        mean = self.values.mean().item()
        return (self.observed - mean) / (self.best - mean) if mean != self.best else math.nan

    @property
    def p_value(self) -> float:
        """The chance that unrelated features are at least as near to `best`: 1 / (1 + repeats) or more."""
        nearer = (self.values - self.best).abs() <= abs(self.observed - self.best)
        # the observed value is one more draw, so that p is never 0 (Phipson and Smyth 2010)
        return (1 + nearer.sum().item()) / (1 + len(self.values))


def null(
    measure: str | Callable[[Tensor, Tensor], Tensor],
    X: Tensor,
    Y: Tensor,
    kind: Literal["shuffle", "gaussian"] | Callable[[torch.Generator], tuple[Tensor, Tensor]] = "shuffle",
    repeats: int = 20,
    *,
    spatial: Spatial | None = None,
    generator: torch.Generator,
) -> Null:
    """The measure of X and Y, and of unrelated features like them.

    Example:
        >>> from intertwine.similarity import cka
        >>> generator = torch.Generator().manual_seed(0)
        >>> X = torch.randn(50, 4, generator=generator)
        >>> null(cka, X, X + 0.1, "shuffle", generator=generator).stands_out
        True

    Args:
        measure: a name out of `MEASURES`, or a function of two sets of features, which gets them as they are
            (`compare` hands over matrices in float64); bind its options with `functools.partial`.
        X, Y: features (n, c), tokens (n, t, c) or feature maps (n, c, h, w) of the same inputs. Maps
            (n, c, length) of an `nn.Conv1d` would be taken for tokens: give X.mT and Y.mT, as `compare` does.
        kind: "shuffle" permutes the inputs of Y, whole images where there are maps, and leaves each set of
            features as it is. "gaussian" draws both anew, every channel with its mean and deviation. A
            function draws a pair in place of X and Y, such as features of untrained networks.
        repeats: how many draws, at least 2.
        spatial: what positions are to a named measure, as in `compare`; its own when not given.
        generator: of the draws, on the CPU.

    Returns:
        The value that is `observed`, the `values` of the unrelated features, whether it `stands_out`, its
        `p_value`, and the value `calibrated`: 0 as of unrelated features, 1 as of equal ones.

    See Also:
        `compare` takes all layers of two networks.
    """
    if not (isinstance(measure, str) or callable(measure)):
        raise TypeError(
            f"Expected a measure first, its name or a function, was given a {type(measure).__name__}: write "
            f"null('cka', X, Y, generator=generator), say."
        )
    measure = as_measure(measure) if isinstance(measure, str) else measure
    if spatial is not None and not isinstance(measure, Measure):
        raise ValueError(
            f"Expected the name of a measure with spatial={spatial!r}, was given {measure!r}: bind options "
            f"of a function by functools.partial."
        )
    value = partial(measure, spatial=spatial) if isinstance(measure, Measure) else measure
    if not callable(kind):
        check_choice("kind", kind, ("shuffle", "gaussian"))
    check_generator(generator)
    if repeats < 2:
        raise ValueError(f"Expected at least 2 repeats, was given {repeats}: an interval needs some.")

    def draw() -> tuple[Tensor, Tensor]:
        if callable(kind):
            return kind(generator)
        if kind == "shuffle":
            # the pairing alone is lost: channels, correlations and positions of each set stay
            return X, Y[torch.randperm(len(Y), generator=generator).to(Y.device)]
        return _gaussian(X, generator), _gaussian(Y, generator)

    observed = float(value(X, Y))
    values = torch.tensor([float(value(*draw())) for _ in range(repeats)], dtype=torch.float64)
    low, high = torch.quantile(values, torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    # a similarity of equal features is 1, a distance 0; a function of the caller's is asked
    best = float(measure.similarity) if isinstance(measure, Measure) else float(value(X, X))
    return Null(observed, values, low, high, best)


def _gaussian(X: Tensor, generator: torch.Generator) -> Tensor:
    # drawn on the CPU, so that each device gets the same numbers
    noise = torch.randn(X.shape, generator=generator, dtype=torch.float32).to(X)
    channels = rows(X).double()
    mean, deviation = channels.mean(0).to(X), channels.std(0).to(X)
    return (mean + deviation * noise.movedim(channel_axis(X), -1)).movedim(-1, channel_axis(X))
