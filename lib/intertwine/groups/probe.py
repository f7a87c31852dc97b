"""How well σ(ax) = bσ(x) holds, on fixed points that cover many scales."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.groups.activations import Activation


def points(count: int) -> Float[Tensor, " points"]:
    """Where σ is evaluated: 0, and pairs ±x of many sizes, sorted by |x|.

    `count` pairs are spread evenly over log|x| for |x| from 2^-20 to 2^20, and half as many over [-32, 32].
    """
    # fractional parts of multiples of irrational numbers, and no grid, whose step could hide a period of σ
    k = torch.arange(1, count + 1, dtype=torch.float64)
    geometric = 2 ** (40 * (k * (math.sqrt(5) - 1) / 2 % 1) - 20)
    uniform = 32 * (k[::2] * math.sqrt(2) % 1)
    # rounded to 24 bits, so that small integer multiples of them are exact in float64
    positive = torch.cat([geometric, uniform]).to(torch.float32).to(torch.float64).sort().values
    return torch.cat([torch.zeros(1, dtype=torch.float64), torch.stack([positive, -positive], 1).flatten()])


def proportionality(
    x: Float[Tensor, " points"],
    values: Float[Tensor, " points"],
    image: Float[Tensor, "k points"],
    reach: float = 1.0,
) -> tuple[Float[Tensor, " k"], Float[Tensor, "k points"]]:
    """The b for which image = b·values can hold, and how far it fails at each point.

    The factor b is read off at one point: where |values| is largest over |x| ≤ reach, or anywhere if all of
    them vanish there. The failure |image − b·values| is relative. It is 0 where a value overflows, and 1
    where b is 0 or overflows.

    Args:
        x: sorted by |x|.
        values, image: σ(x), and for each of k cases what may be a multiple of it.
        reach: the size of x below which values count as one scale.
    """
    at = _anchor(x, values, reach)
    b = (image[:, at] / values[at])[:, None]
    # by the largest values so far, not by those at x itself, where they may nearly cancel and leave rounding
    scale = torch.maximum(_envelope(x, image, reach), b.abs() * _envelope(x, values, reach))
    failure = _ratio((image - b * values).abs(), scale).where(image.isfinite() & values.isfinite(), 0)
    return b[:, 0], failure.where(b.isfinite() & (b != 0), 1)


@dataclass(frozen=True)
class Probe:
    """An activation and its values on `points`."""

    activation: Activation
    x: Float[Tensor, " points"]
    values: Float[Tensor, " points"]

    @staticmethod
    def of(activation: Activation, count: int = 4096) -> "Probe":
        x = points(count)
        return Probe(activation, x, activation(x))

    @property
    def floor(self) -> float:
        """max |σ| over [-1, 1]."""
        return self.values[self.x.abs() <= 1].abs().max().item()

    def multiplier(self, a: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        """The only b for which σ(ax) = bσ(x) can hold for all x, unless σ = 0."""
        at = _anchor(self.x, self.values, 1.0)  # where rounding of the quotient is least
        return self.activation(a * self.x[at]) / self.values[at]

    def residual(self, a: Float[Tensor, " k"]) -> Float[Tensor, "k points"]:
        """How far σ(ax) = bσ(x) fails at each point."""
        return proportionality(self.x, self.values, self.activation(a[:, None] * self.x))[1]

    def affine_residual(self, slope: float, offset: float) -> float:
        """max |σ(x) − slope·x − offset| relative to the largest |σ(y)| over |y| ≤ max(|x|, 1)."""
        failure = (self.values - slope * self.x - offset).abs()
        relative = _ratio(failure, _envelope(self.x, self.values, 1.0))
        return relative.where(self.values.isfinite(), 0).max().item()


def _anchor(x: Float[Tensor, " points"], values: Float[Tensor, " points"], reach: float) -> Int[Tensor, ""]:
    """The place of the largest finite |value| among |x| ≤ reach; among all x if values vanish there."""
    size = values.abs().where(values.isfinite(), 0)
    near = size.where(x.abs() <= reach, 0)
    return (near if near.any() else size).argmax()


def _envelope(
    x: Float[Tensor, " points"], values: Float[Tensor, "*k points"], reach: float
) -> Float[Tensor, "*k points"]:
    """The largest finite |value| over |y| ≤ max(|x|, reach), for each x."""
    # x is sorted by |x|: the largest so far is that over all |y| ≤ |x|
    largest = values.abs().where(values.isfinite(), 0).cummax(-1).values
    last = int((x.abs() <= reach).sum()) - 1
    return largest.clamp(min=largest[..., last : last + 1])


def _ratio(numerator: Float[Tensor, "..."], denominator: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Elementwise quotient of non-negative numbers, 0/0 = 0."""
    return torch.where(numerator == 0, 0, numerator / denominator)
