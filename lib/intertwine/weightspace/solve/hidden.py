"""A hidden space and its group; and all hidden spaces of a run, with the labels of its values in them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import torch
from jaxtyping import Float, Real
from torch import Tensor

from intertwine.groups import MatrixGroup, Monomial
from intertwine.groups.scalar import NONZERO, POSITIVE, SIGNS, TRIVIAL
from intertwine.weightspace.rules.axes import Axis, Edge, Label, Space, Unit, Variable, moves, size, units
from intertwine.weightspace.solve.move import Move, dual, scalars

RESIDUAL = ": residual"


@dataclass(eq=False, repr=False)
class HiddenSpace:
    """n units that move together, for each of the units of `base`, and the group that moves them.

    Attributes:
        names: the modules that name it, with what a matrix given by that name acts on: an activation names
            the space of its input, a layer that of its output.
        called: its name, and whether it is a residual stream.
        matrices: the group of matrices that mix its units; None where units change places and are
            multiplied by scalars only.
        permuted: whether they change places by themselves. Else they follow another space, or stay where
            they are.
        base: the number of the space of blocks, if there is one element for each block; else None.
        writers, readers: the parameters that it leaves and enters.
        written: the first factor of a writer with scalars, on which a matrix acts where no module names it.
        why: the operations that decide the group.
    """

    index: int
    size: int
    base: int | None
    blocks: int
    space: Space
    why: list[str]
    matrices: MatrixGroup | None = None
    permuted: bool = True
    basis: dict[Variable, dict[int, Fraction]] = field(default_factory=dict)
    logs: int = 0
    signs: int = 0
    names: dict[str, Unit] = field(default_factory=dict)
    called: str = ""
    writers: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    written: Unit | None = None
    _known: dict[Any, tuple[tuple[float, ...], frozenset[int]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<hidden space {self.name}: {self.group}>"

    @property
    def dimension(self) -> int:
        """Dimension of its group as a manifold."""
        # orders and signs are discrete
        one = self.size * self.logs if self.matrices is None else self.matrices.dimension
        return self.blocks * one

    @property
    def components(self) -> int:
        """Number of connected components of its group, exactly."""
        if self.matrices is not None:
            return int(self.matrices.components) ** self.blocks
        orders = math.factorial(self.size) if self.permuted else 1
        return (2 ** (self.size * self.signs) * orders) ** self.blocks

    @property
    def group(self) -> str:
        """The group in symbols.

        Σ_n are the permutations; after ⋉ is the group of the scalars of a unit, up to isomorphism; 1 is the
        group of blocks that stay where they are.
        """
        n = self.size
        if self.matrices is not None:
            name = self.matrices.symbol
        else:
            # R^* = R_{>0} × {±1}: pairs of a number and a sign, then what is left of either
            both = min(self.logs, self.signs)
            powers = [("R^*", both), ("R_{>0}", self.logs - both), ("{±1}", self.signs - both)]
            scalars = " × ".join((name if k == 1 else f"({name})^{k}") for name, k in powers if k)
            name = f"Σ_{n}" if self.permuted else ""
            if scalars:
                name += (" ⋉ " if name else "") + (scalars if n == 1 else f"({scalars})^{n}")
            name = name or "1"
        return f"{name} for each of {self.blocks}" if self.blocks > 1 else name

    @property
    def name(self) -> str:
        """The first activation after it, or the layer before it, or what it is of a module: its key."""
        return self.called.removesuffix(RESIDUAL) or f"P{self.index}"

    @property
    def seen(self) -> Unit:
        """The factor that a matrix acts on: of its name, or the input of the first activation after it."""
        return self.names.get(self.name, next(iter(self.names.values()), self.written or Unit(self.space)))

    def scaled(self, unit: Unit) -> bool:
        """Whether scalars or signs act on a factor."""
        return any(self.vector(unit)) or bool(self.parities(unit))

    def scalars(self, move: Move, unit: Unit) -> Float[Tensor, "b n"]:
        """The scalar of each unit of a factor."""
        return scalars(move, self.vector(unit), self.parities(unit))

    def vector(self, unit: Unit) -> tuple[float, ...]:
        """The powers of the independent scalars in a factor."""
        return self._exponents(unit)[0]

    def parities(self, unit: Unit) -> frozenset[int]:
        """The independent signs in a factor."""
        return self._exponents(unit)[1]

    def _exponents(self, unit: Unit) -> tuple[tuple[float, ...], frozenset[int]]:
        # asked for again for every weight and every step, while there are a few kinds of factors
        if unit.powers not in self._known:
            powers, signs = self.powers(unit, 0), self.powers(unit, 1)
            # a sign is there or not, so that only odd powers of it count
            vector = tuple(float(powers.get(k, 0)) for k in range(self.logs))
            self._known[unit.powers] = vector, frozenset(k for k, c in signs.items() if c % 2)
        return self._known[unit.powers]

    def powers(self, unit: Unit, kind: int) -> dict[int, Fraction]:
        """The powers of the independent numbers (kind 0) or signs (1) in a factor."""
        total: dict[int, Fraction] = {}
        # basis: what elimination made of each unknown scalar, in terms of the free ones
        for v, power in unit.powers:
            for k, c in self.basis.get(v, {}).items() if v[0] == kind else ():
                total[k] = total.get(k, Fraction(0)) + power * c
        return {k: c for k, c in total.items() if c}

    def identity(self) -> Move:
        shape = self.blocks, self.size
        order = torch.arange(self.size).repeat(self.blocks, 1)
        mixed = None
        if self.matrices is not None:
            mixed = torch.eye(self.size, dtype=torch.float64).expand(self.blocks, -1, -1).clone()
        log = torch.zeros(self.logs, *shape, dtype=torch.float64)
        sign = torch.zeros(self.signs, *shape, dtype=torch.bool)
        powers, parities = self._exponents(self.seen)
        return Move(order, log, sign, mixed, powers, tuple(sorted(parities)))

    def matrix_group(self, unit: Unit) -> MatrixGroup:
        """The group of `intertwine.groups` whose elements act on a factor, in each block."""
        if self.matrices is not None:  # the dual of an element is in the group, too
            return self.matrices
        # what acts on this factor alone; other factors of the space may have more scalars, or fewer
        positive, signed = any(self.vector(unit)), bool(self.parities(unit))
        both = {(True, True): NONZERO, (True, False): POSITIVE, (False, True): SIGNS, (False, False): TRIVIAL}
        return Monomial(self.size, both[positive, signed])

    def sample(self, generator: torch.Generator, scale: float) -> Move:
        """A uniform order, scalars and matrices as `intertwine.groups` draws them."""
        move = self.identity()
        if self.matrices is not None:
            drawn = [self.matrices.sample(generator, scale=scale) for _ in range(self.blocks)]
            return move._replace(mixed=torch.stack(drawn))
        if self.permuted:
            rows = [torch.randperm(self.size, generator=generator) for _ in range(self.blocks)]
            move = move._replace(order=torch.stack(rows))
        log = POSITIVE.sample(generator, move.log.numel(), scale).log().view_as(move.log)
        sign = SIGNS.sample(generator, move.sign.numel()).view_as(move.sign) < 0
        return move._replace(log=log, sign=sign)

    def element(self, given: Move | Real[Tensor, "*b n n"], unit: Unit) -> Move:
        """The element that acts on a factor by this matrix, or (b, n, n), and changes no other scalar."""
        move = self.identity()
        if isinstance(given, Move):
            shapes = [[None if x is None else x.shape for x in each[:4]] for each in (given, move)]
            if shapes[0] != shapes[1]:
                raise ValueError(self._refusal("an element of another shape"))
            return given.cpu()
        A = given.detach().to("cpu", torch.float64)
        A = A[None] if A.ndim == 2 else A
        if A.shape != (self.blocks, self.size, self.size):
            wanted = (self.blocks, self.size, self.size)[self.blocks == 1 :]
            raise ValueError(self._refusal(f"a tensor of shape {tuple(given.shape)} in place of {wanted}"))
        group = self.matrix_group(unit)
        # a monomial matrix has one entry in each row, which `contains` checks below
        order = A.abs().argmax(2)
        tol = torch.finfo(given.dtype if given.is_floating_point() else A.dtype).eps ** (2 / 3)
        same = self.permuted or self.matrices is not None or torch.equal(order, move.order)
        if not same or not all(group.contains(block, tol=tol) for block in A):
            raise ValueError(self._refusal("a matrix outside of it", group.symbol))
        powers, parity = self.vector(unit), sorted(self.parities(unit))
        if move.mixed is not None:
            return move._replace(mixed=dual(A, powers))
        # of all scalars with Π sᵏ^pᵏ = |d|, those with the smallest logarithms; of signs the first one
        d = A.gather(2, order[:, :, None])[:, :, 0]
        for k, power in enumerate(powers):
            move.log[k] = power * d.abs().log() / sum(p * p for p in powers) if power else 0.0
        for k in parity[:1]:
            move.sign[k] = d < 0
        return move._replace(order=order)

    def _refusal(self, given: str, of: str = "") -> str:
        return (
            f"Expected an element of {of or self.group} for the space {self.name}, was given {given}: draw "
            f"it with space.sample or intertwine.groups, or act on the writers alone with transform_outputs."
        )


@dataclass(eq=False)
class Solution:
    """The hidden spaces of a run, and the labels of its values in them."""

    spaces: list[HiddenSpace]
    labels: dict[int, Label]
    edges: list[Edge]
    """gains whose two sides are not joined: the other side follows the centre."""
    frozen: list[tuple[int, str, list[str]]]
    """width, reason and parameters of axes that an operation freezes."""
    stays: dict[str, str]
    """the parameters of which no axis moves, and why."""
    norms: list[Edge]
    """batch norms, whose gain corrects for ε."""

    def hidden(self, factor: Unit) -> HiddenSpace:
        return self._of[factor.space.root()]  # spaces that were joined have one root

    def on(self, *axes: Axis) -> list[HiddenSpace]:
        """The spaces on these axes."""
        return list(dict.fromkeys(self.hidden(factor) for factor in units(*axes)))

    def touched(self, index: int) -> set[int]:
        """The spaces on the axes of a value."""
        return self._touched.get(index, set())

    def fits(self, index: int, shape: Sequence[int]) -> bool:
        """Whether each axis that moves is as long as the label says of this value.

        In a run on a batch of another size it is not, where one axis is batch × heads.
        """
        label = self.labels[index]
        pairs = zip(label, shape, strict=False)
        return len(label) == len(shape) and all(size(axis) == n for axis, n in pairs if moves(axis))

    def __post_init__(self) -> None:
        self._of = {each.space: each for each in self.spaces}  # spaces, not their ids, so that a copy holds
        self.ends = [(edge, next(units(a)), next(units(b))) for edge in self.edges for a, b in [edge.sides]]
        # space → the space that it follows
        self.centers = {self.hidden(other).index: self.hidden(center).index for _, center, other in self.ends}
        self._touched = {
            index: {hidden.index for hidden in self.on(*label)} for index, label in self.labels.items()
        }
