"""Subgroups of R^*: the scalars a for which σ(ax) is a multiple of σ(x)."""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator, check_tensor
from intertwine.devices import rounding_unit
from intertwine.groups.matrices import gaussian

ScalarKind = Literal["trivial", "signs", "positive", "nonzero", "discrete", "linear", "affine", "constant"]


class Certificate(NamedTuple):
    """How far σ(ax) = bσ(x) fails, relative: at most `accepted` for the a found to be in the group, at least
    `refused` for the others that were tried (inf if none was refused)."""

    accepted: float
    refused: float


@dataclass(frozen=True)
class ScalarGroup:
    """A closed subgroup of R^*, as godfrey2022 §3 needs them.

    Example:
        >>> group = ScalarGroup("discrete", generator=-3.0)
        >>> str(group), group.contains(9.0), group.contains(3.0)
        ('discrete', True, False)
        >>> group
        ScalarGroup(discrete, {(-3)^k})

    The kinds are trivial {1}, signs {±1}, positive R_{>0}, nonzero R^*, and discrete {λ^k} with |λ| > 1.
    A discrete group that is `signed` contains {−λ^k}, too.

    Three more kinds stand for activations whose group of matrices is larger than its scalars: linear and
    constant, with the scalars R^*, and affine, with {1}.
    """

    kind: ScalarKind
    generator: float | None = None
    """λ of a discrete group."""
    signed: bool = False
    certificate: Certificate | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if (self.kind == "discrete") != (self.generator is not None and 1 < abs(self.generator) < math.inf):
            raise ValueError(
                "Expected a generator λ with |λ| > 1 for a discrete group of scalars, else none, was "
                f"given the kind {self.kind!r} with the generator {self.generator}."
            )

    def __str__(self) -> str:
        return self.kind

    def __repr__(self) -> str:
        return f"ScalarGroup({self.kind}, {self.elements})"

    @property
    def elements(self) -> str:
        """The group in symbols, such as R_{>0} or {±2^k}."""
        if self.generator is not None:
            base = f"{self.generator:.12g}"
            return f"{{{'±' if self.signed else ''}{base if self.generator > 0 else f'({base})'}^k}}"
        if self.continuous:
            return "R^*" if self.has_minus_one else "R_{>0}"
        return "{±1}" if self.has_minus_one else "{1}"

    @property
    def continuous(self) -> bool:
        """Whether the group contains R_{>0}."""
        return self.kind in ("positive", "nonzero", "linear", "constant")

    @property
    def has_minus_one(self) -> bool:
        return self.kind in ("signs", "nonzero", "linear", "constant") or self.signed

    def nearest(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The element nearest to each entry; 0 where none is nearest, as in R_{>0} to −1.

        Example:
            >>> ScalarGroup("positive").nearest(torch.tensor([2.5, -1.0]))
            tensor([2.5000, 0.0000])
        """
        if self.continuous:
            return a if self.has_minus_one else a.clamp(min=0)
        sign = torch.where(a < 0, -1.0, 1.0).to(a.dtype)
        if self.generator is None:
            return sign if self.has_minus_one else torch.ones_like(a)
        power = (a.abs().log() / math.log(abs(self.generator))).nan_to_num(neginf=0).floor()
        # λ may be negative: then every second power has the other sign, and neighbours lie two powers apart
        candidates = (power + torch.arange(-1, 3, device=a.device).view(-1, *[1] * a.ndim)).to(a.dtype)
        elements = self.generator**candidates * (sign if self.signed else 1)
        # 0 is the limit of λ^k for k → −∞: where it is nearer than all candidates, no element is nearest
        elements = torch.cat([torch.zeros_like(a)[None], elements])
        return elements.gather(0, (elements - a).abs().argmin(0, keepdim=True))[0]

    def contains(self, a: float | int | Float[Tensor, "..."], *, tol: float | None = None) -> bool:
        """Whether a, or every entry of a, is an element up to a relative error of `tol`.

        By default that is 1e-9. For tensors of fewer digits than float64 it is ε^(2/3), ε their rounding
        unit.
        """
        if isinstance(a, Tensor):
            check_tensor(a)
        if tol is None:
            tol = _tolerance(a)
        a = torch.as_tensor(a, dtype=torch.float64)
        near = self.nearest(a)  # 0 where no element is nearest
        return bool(((near != 0) & near.isfinite() & ((near - a).abs() <= tol * a.abs())).all())

    def normal(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """For each entry a the element d for which d·a is the normal form: one number for a's whole orbit.

        Example:
            >>> (
            ...     ScalarGroup("nonzero").normal(torch.tensor([0.5, -2.0])),
            ...     ScalarGroup("signs").normal(torch.tensor([-3.0])),
            ... )
            (tensor([ 2.0000, -0.5000]), tensor([-1.]))
        """
        sign = torch.where(a < 0, -1.0, 1.0).to(a.dtype)
        size = torch.where(a == 0, 1, a.abs())  # 0 is an orbit of its own, and takes d = 1
        if self.continuous:  # the normal form is ±1, or 1 where signs are elements
            return (sign if self.has_minus_one else 1) / size
        if self.generator is None:
            return sign if self.has_minus_one else torch.ones_like(a)
        # the power of λ for which d·a has a size from 1 up to |λ|
        unit = math.log(abs(self.generator))
        power, near = size.double().log() / unit, _tolerance(a) / unit
        whole = power.round()
        # an element itself, whose logarithm may be rounded below a whole number
        power = torch.where((power - whole).abs() < near, whole, power.floor())
        d = (self.generator**-power).to(a.dtype)
        return d * torch.where(d * a < 0, -1.0, 1.0).to(a.dtype) if self.signed else d

    def sample(self, generator: torch.Generator, size: int, scale: float = 1.0) -> Float[Tensor, " size"]:
        """`size` random elements, float64, with fair signs where −a is in the group with a.

        `scale` is the standard deviation of log|a|, or of k before rounding for a discrete group's λ^k.
        """
        check_generator(generator)
        a = torch.ones(size, device=generator.device, dtype=torch.float64)
        # for R_{>0} and R^* lognormal, since a and 1/a are then equally likely
        if self.continuous:
            a = (scale * gaussian(generator, size)).exp()
        elif self.generator is not None:
            a = self.generator ** (scale * gaussian(generator, size)).round()
        return a * gaussian(generator, size).sign() if self.has_minus_one else a


def _tolerance(a: object) -> float:
    """How far, relatively, a number of this precision may be from an element that it stands for."""
    return max(1e-9, rounding_unit([a] if isinstance(a, Tensor) else []) ** (2 / 3))


# the four groups of theory that activations have, apart from the linear ones
TRIVIAL, SIGNS, POSITIVE, NONZERO = (ScalarGroup(kind) for kind in get_args(ScalarKind)[:4])
