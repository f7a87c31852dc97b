"""A hidden space, its group, and one element of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.groups import GeneralLinear, Orthogonal
from intertwine.groups.scalar import gaussian
from intertwine.weightspace.axes import Space, Unit, Variable

MATRICES = ("general", "orthogonal", "mean")


class Move(NamedTuple):
    """An element of the group of one hidden space, for each of its b blocks.

    Unit i of block a becomes the unit order[a, i] of the moved blocks, times its scalars; or all units are
    mixed by `matrix`.
    """

    order: Int[Tensor, "b n"]
    log: Float[Tensor, "k b n"]
    sign: Bool[Tensor, "l b n"]
    matrix: Float[Tensor, "b n n"] | None = None


@dataclass(eq=False)
class HiddenSpace:
    """n units that move together, for each of the units of `base`, and the group that moves them.

    Attributes:
        index: its number.
        size: n.
        kind: "monomial" (permutations and scalars), "general" (GL(n)), "orthogonal" (O(n)), "mean" (the
            orthogonal matrices with Q·1 = ±1) or "diagonal" (scalars only; the rest follows another space).
        base: the number of the space of blocks, if there is one element for each block; else None.
        blocks: how many.
        writers, readers: the parameters that it leaves and enters.
        why: the operations that decide the group.
    """

    index: int
    size: int
    kind: str
    base: int | None
    blocks: int
    space: Space
    why: list[str]
    log_basis: dict[Variable, dict[int, Fraction]] = field(default_factory=dict)
    sign_basis: dict[Variable, frozenset[int]] = field(default_factory=dict)
    logs: int = 0
    signs: int = 0
    writers: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        """Dimension of its group as a manifold."""
        n = self.size
        mixing = {"general": n * n, "orthogonal": n * (n - 1) // 2, "mean": (n - 1) * (n - 2) // 2}
        return self.blocks * (mixing[self.kind] if self.kind in mixing else n * self.logs)

    @property
    def components(self) -> int:
        """Number of connected components of its group, exactly."""
        n = self.size
        if self.kind in MATRICES:
            one = 2 if self.kind != "mean" or n == 1 else 4
        else:
            one = 2 ** (n * self.signs) * (math.factorial(n) if self.kind == "monomial" else 1)
        return one**self.blocks

    @property
    def group(self) -> str:
        """The group in symbols.

        Σ_n are the permutations; behind ⋉ is the group of the scalars of a unit, up to isomorphism.
        """
        n = self.size
        if self.kind in MATRICES:
            name = {"general": f"GL({n})", "orthogonal": f"O({n})", "mean": f"O({n}), Q1 = ±1"}[self.kind]
        else:
            both = min(self.logs, self.signs)
            powers = [("R^*", both), ("R_{>0}", self.logs - both), ("{±1}", self.signs - both)]
            scalars = " × ".join((name if k == 1 else f"({name})^{k}") for name, k in powers if k)
            name = f"Σ_{n}" if self.kind == "monomial" else ""
            if scalars:
                name += (" ⋉ " if name else "") + (scalars if n == 1 else f"({scalars})^{n}")
        return f"{name} for each of {self.blocks}" if self.blocks > 1 else name

    def scalars(self, move: Move, unit: Unit) -> Float[Tensor, "b n"]:
        """What a factor is multiplied by, unit by unit."""
        b, n = move.order.shape
        exponent = torch.zeros(b, n, dtype=torch.float64)
        negative = torch.zeros(b, n, dtype=torch.bool)
        for k, power in self.powers(unit).items():
            exponent += float(power) * move.log[k]
        for k in self.parities(unit):
            negative ^= move.sign[k]
        return torch.where(negative, -exponent.exp(), exponent.exp())

    def powers(self, unit: Unit) -> dict[int, Fraction]:
        """The powers of the independent scalars in a factor."""
        total: dict[int, Fraction] = {}
        for v, power in unit.log:
            for k, c in self.log_basis.get(v, {}).items():
                total[k] = total.get(k, Fraction(0)) + power * c
        return {k: c for k, c in total.items() if c}

    def parities(self, unit: Unit) -> frozenset[int]:
        """The independent signs in a factor."""
        total: frozenset[int] = frozenset()
        for v in unit.sign:
            total ^= self.sign_basis.get(v, frozenset())
        return total

    def identity(self) -> Move:
        shape = self.blocks, self.size
        order = torch.arange(self.size).expand(shape).clone()
        matrix = None
        if self.kind in MATRICES:
            matrix = torch.eye(self.size, dtype=torch.float64).expand(self.blocks, -1, -1).clone()
        log = torch.zeros(self.logs, *shape, dtype=torch.float64)
        return Move(order, log, torch.zeros(self.signs, *shape, dtype=torch.bool), matrix)

    def sample(self, generator: torch.Generator, scale: float) -> Move:
        """A uniform order, lognormal scalars with fair signs; matrices as `intertwine.groups` draws them."""
        move = self.identity()
        if self.kind == "monomial":
            rows = [torch.randperm(self.size, generator=generator) for _ in range(self.blocks)]
            move = move._replace(order=torch.stack(rows))
        log = scale * gaussian(generator, *move.log.shape)
        sign = gaussian(generator, *move.sign.shape) < 0
        if move.matrix is not None:
            matrices = [self._matrix(generator, scale) for _ in range(self.blocks)]
            return move._replace(matrix=torch.stack(matrices))
        return move._replace(log=log, sign=sign)

    def _matrix(self, generator: torch.Generator, scale: float) -> Float[Tensor, "n n"]:
        n = self.size
        if self.kind == "general":
            return GeneralLinear(n).sample(generator, scale=scale)
        if self.kind == "orthogonal":
            return Orthogonal(n).sample(generator)
        basis = mean_basis(n)
        inner = torch.eye(n, dtype=torch.float64)
        inner[0, 0] = gaussian(generator, 1).sign().item()
        if n > 1:
            inner[1:, 1:] = Orthogonal(n - 1).sample(generator)
        return basis @ inner @ basis.T

    def compose(self, g: Move, h: Move, blocks: Int[Tensor, " b"]) -> Move:
        """First h, then g, whose blocks are reordered by `blocks`."""
        mixed = None if h.matrix is None else h.matrix[blocks]
        h = Move(h.order[blocks], h.log[:, blocks], h.sign[:, blocks], mixed)
        order = h.order.gather(1, g.order)
        log = g.log + h.log.gather(2, g.order.expand(h.log.shape))
        sign = g.sign ^ h.sign.gather(2, g.order.expand(h.sign.shape))
        matrix = None if g.matrix is None or h.matrix is None else g.matrix @ h.matrix
        return Move(order, log, sign, matrix)

    def inverse(self, g: Move, blocks: Int[Tensor, " b"]) -> Move:
        """The inverse, where `blocks` is the order of the blocks in g."""
        order = g.order.argsort(1)
        log = -g.log.gather(2, order.expand(g.log.shape))
        sign = g.sign.gather(2, order.expand(g.sign.shape))
        back = blocks.argsort()
        matrix = None if g.matrix is None else torch.linalg.inv(g.matrix)[back]
        return Move(order[back], log[:, back], sign[:, back], matrix)


def mean_basis(n: int) -> Float[Tensor, "n n"]:
    """An orthonormal basis whose first vector is 1/√n, in columns."""
    basis = torch.eye(n, dtype=torch.float64)
    basis[:, 0] = 1
    basis = torch.linalg.qr(basis).Q
    return basis * basis[0, 0].sign()
