"""Spaces of units that move together, and what is known of each while a run is followed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from intertwine.groups import GeneralLinear, MatrixGroup

Variable = tuple[int, ...]
"""Scalars, one for each unit: (0, v) for positive numbers, (1, v) for signs; of the k-th part (…, k)."""
Powers = dict[Variable, Fraction]


class Space:
    """n units that move together. `base`: one element for each unit of that space (a wreath product)."""

    def __init__(self, size: int, base: Space | None = None) -> None:
        self.size = size
        self.base = base
        self.parent: Space | None = None
        self.parts: list[Space] = []  # the concatenation that this turned out to be
        self.factors: tuple[Space, Space] | None = None  # the product, outer units first
        self.frozen: dict[str, bool] = {}  # reasons, and whether it is frozen by itself, not by a joined one
        self.mixing: dict[str, None] = {}  # in order, why units may not be mixed linearly
        self.within: type[MatrixGroup] = GeneralLinear  # the matrices that may mix its units, if any may,
        self.bound = "only linear maps"  # and what says so
        self.equations: list[Powers] = []  # products of scalars that are 1
        self.inner = False  # units within blocks, of which a part cannot move alone
        self.fibred = False  # blocks, each of which has units that move within it
        self.pinned = False  # blocks that stay where they are, while the units within them may move
        self.killed = False  # no scalars, as the units within each block have them

    @property
    def reasons(self) -> list[str]:
        """Why it is frozen by itself."""
        return [reason for reason, itself in self.frozen.items() if itself]

    def root(self) -> Space:
        space = self
        while space.parent is not None:
            space = space.parent
        return space

    def blocks(self) -> Space | None:
        """The space over which this one is fibred; of a product of blocks, the outer ones."""
        return next(self.chain(), None)

    def chain(self) -> Iterator[Space]:
        """The blocks that it lies in, from the inner ones outwards."""
        base = self.root().base
        while base is not None:
            base = base.root()
            if base.factors is not None:
                base = base.factors[0].root()
                continue
            if not base.parts and not base.frozen:
                yield base
            base = base.base

    def leaves(self) -> list[Space]:
        """The spaces that it consists of by now."""
        space = self.root()
        if space.leaf():
            return [space]
        return [leaf for child in (*space.parts, *(space.factors or ())) for leaf in child.leaves()]

    def leaf(self) -> bool:
        return not self.parts and self.factors is None

    def unchanged(self) -> bool:
        """Whether it still is one space that moves."""
        return self.parent is None and self.leaf() and not self.frozen
