"""Constraints between axes: unification by union and refinement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from intertwine.groups import GeneralLinear, MatrixGroup
from intertwine.groups.base import smaller
from intertwine.weightspace.rules.axes import (
    Axis,
    Fixed,
    Label,
    Powers,
    Segment,
    Space,
    Unit,
    aligned,
    combine,
    length,
    moves,
    size,
    units,
    zero,
)


@dataclass(eq=False)
class Ties:
    """The spaces of a run and their constraints, so far."""

    spaces: list[Space] = field(default_factory=list, init=False)

    def space(self, size: int, base: Space | None = None) -> Space:
        self.spaces.append(Space(size, base))
        return self.spaces[-1]

    def fresh(self, size: int) -> Axis:
        """An axis that may move in every way, by a number and a sign for each unit."""
        k = len(self.spaces)
        return ((Unit(self.space(size), (((0, k), Fraction(1)), ((1, k), Fraction(1)))),),)

    def freeze(self, axes: Label, why: str) -> None:
        for each in [*units(*axes)]:
            self.freeze_space(each.space, why)

    def freeze_space(self, space: Space, reason: str, *, derived: bool = False) -> None:
        """Freeze a space; `derived`: only because it is joined with a frozen one."""
        space = space.root()
        # a reason of its own outweighs a derived one, as tables name only what an operation did
        space.frozen[reason] = space.frozen.get(reason, False) or not derived
        for child in [*space.parts, *(space.factors or ())]:
            self.freeze_space(child, reason, derived=derived)

    def pin(self, space: Space, reason: str, *, derived: bool = False) -> None:
        """Freeze a space that meets entries that do not move; units within its blocks still move in each."""
        space = space.root()
        # heads that meet entries in a fixed order may no longer be exchanged, but their units may be mixed
        if space.fibred and space.unchanged():
            space.pinned = space.killed = True
            space.mixing[reason] = None
        else:
            self.freeze_space(space, reason, derived=derived)

    def unpin(self) -> bool:
        """Freeze pinned blocks within which nothing moves any more; whether there were any."""
        # blocks that stay and have nothing moving within them are no space, only entries
        used = {id(block) for space in self.spaces if space.unchanged() for block in space.chain()}
        idle = [s for s in self.spaces if s.pinned and s.unchanged() and id(s) not in used]
        for space in idle:
            self.freeze_space(space, next(reversed(space.mixing)), derived=True)
        return bool(idle)

    def within(self, space: Space, group: type[MatrixGroup], why: str) -> None:
        """Only matrices of this class of groups may mix the units; earlier restrictions stay."""
        space = space.root()
        met = smaller(space.within, group)
        if met is None:  # in both of two others there may be many, which no algorithm here finds
            self.freeze_space(space, f"{why} and {space.bound}")
        elif met is not space.within:
            space.within, space.bound = met, why

    def mix(self, axes: Label, reason: str) -> None:
        """Allow no linear mixing of the units."""
        for each in units(*axes):
            each.space.mixing[reason] = None

    def trivial(self, axes: Label, *, log: bool = True, sign: bool = True) -> None:
        """No scalars (of numbers, of signs) on these axes."""
        for each in units(*axes):
            self.equation(each.space, {v: c for v, c in each.powers if (sign if v[0] else log)})

    def permute_only(self, axes: Label, why: str, *, log: bool = True, sign: bool = True) -> None:
        """No mixing, and no scalars (of numbers, of signs): only the order of the units is free."""
        self.trivial(axes, log=log, sign=sign)
        self.mix(axes, why)

    def equation(self, space: Space, powers: Powers) -> None:
        """This product of scalars is 1."""
        space.root().equations.append(powers)

    def alike(self, axes: Label, blocks: Label) -> None:
        """The units of these axes move in all of these blocks alike, as entries of different ones meet."""
        # Σ over heads h of x[h, i]: one element for each head would mix what is added, one for all does not
        spaces = {id(factor.space.root()) for factor in units(*blocks)}
        for factor in units(*axes):
            if any(id(block) in spaces for block in factor.space.chain()):
                factor.space.root().base = None

    def mixed(self, label: Label, *dims: int) -> None:
        """Entries along these axes are combined."""
        chosen = {d % len(label) for d in dims}
        rest = tuple(axis for k, axis in enumerate(label) if k not in chosen)
        self.alike(rest, tuple(label[k] for k in chosen))

    def unify(self, first: Axis, second: Axis, power: int | None, why: str) -> None:
        """The units of both axes move together; `why` freezes them where only one of them can move.

        What multiplies a unit of the second is this power of what multiplies that of the first: 1 of values
        that are added, −1 of a value and the weight that reads it. None: their scalars are independent.
        """
        # 8 channels that meet 3 + 5 become two spaces, heads × 4 that meet 8 become blocks, until both
        # axes are cut alike; each cut may split other spaces, so the axes are read anew
        a, b = aligned(first, second)
        while self._refine(a, b, why):
            a, b = aligned(first, second)
        # what meets zeros, as of padding, meets nothing
        met = [(s, t) for s, t in zip(a, b, strict=False) if not zero(s) and not zero(t)]
        # units are told apart factor by factor: 6 blocks of 2 and 4 of 3 are both 12 units, but others
        cuts = [[[factor.size for factor in segment] for segment in pair] for pair in met]
        if len(a) != len(b) or size(a) != size(b) or any(one != other for one, other in cuts):
            keep = self.freeze_space if moves(first) and moves(second) else self.pin
            for each in [*units(first, second)]:
                keep(each.space, why)
            return
        for f, g in (pair for s, t in met for pair in zip(s, t, strict=True)):
            if isinstance(f, Fixed) and isinstance(g, Fixed):
                continue
            if isinstance(f, Fixed) or isinstance(g, Fixed):
                fixed, moving = (f, g) if isinstance(f, Fixed) else (g, f)
                assert isinstance(fixed, Fixed) and isinstance(moving, Unit)
                if fixed.copies:  # of one entry, to which an order of the units does nothing
                    self.permute_only((((moving,),),), "meets copies")
                elif not fixed.zero:
                    self.pin(moving.space, why, derived=True)
                continue
            assert isinstance(f, Unit) and isinstance(g, Unit)
            self._union(f.space, g.space)
            # units move together in any case; what multiplies them is tied by an equation, solved at the end
            if power is not None:
                self.equation(f.space, combine((power, f), (-1, g)))

    def _refine(self, a: Axis, b: Axis, why: str) -> bool:
        """Refine the first pair of segments or factors that differ in size; False if there is none."""
        for s, t in zip(a, b, strict=False):
            if length(s) != length(t):
                short, long = sorted((s, t), key=length)
                return self.cut(long, length(short), why)
            if zero(s) or zero(t):
                continue
            for f, g in zip(s, t, strict=False):
                if f.size != g.size:
                    small, large = sorted((f, g), key=lambda each: each.size)
                    if isinstance(large, Fixed):
                        return False  # which `unify` then freezes
                    if large.size % small.size:  # no whole blocks
                        self.freeze_space(large.space, why)
                    else:
                        self.factor(large.space, small.size)
                    return True
        return False

    def cut(self, segment: Segment, at: int, why: str) -> bool:
        """Split the units of a segment after so many entries, or freeze them; False if it has none."""
        # of heads × units only a number of whole heads can be cut off
        head, rest, moving = segment[0], length(segment[1:]), moves((segment,))
        if isinstance(head, Unit) and at % rest == 0:
            self.split(head.space, [at // rest, head.size - at // rest])
        else:
            self.freeze(((segment,),), why)
        return moving

    def split(self, space: Space, sizes: Sequence[int]) -> None:
        """The space is a concatenation of spaces of these sizes."""
        space = space.root()
        if space.inner or space.frozen or not space.within.permutes:
            self.freeze_space(space, "a part of the units of each head or group is used alone")
            return
        space.parts = [self.space(n) for n in sizes]
        for k, part in enumerate(space.parts):
            self._inherit(space, part)
            # scalars of the whole become scalars of each part, named by one more number
            part.equations = [{(*v, k): c for v, c in row.items()} for row in part.equations]

    def factor(self, space: Space, outer: int) -> None:
        """The space is a product: `outer` blocks of units, that move as blocks and within themselves."""
        space = space.root()
        if not space.within.permutes:
            self.freeze_space(space, "rotary positions of several blocks")
        if space.frozen:
            return
        # n = outer × inner: Σ_outer reorders blocks, and a group for each block acts within it
        blocks = self.space(outer, space.base)
        blocks.fibred = True
        blocks.inner = space.inner  # of blocks within blocks no part can move alone, either
        inner = self.space(space.size // outer, blocks)
        space.factors = (blocks, inner)
        inner.inner = True
        self._inherit(space, blocks)
        self._inherit(space, inner)

    def settle_blocks(self) -> None:
        """Where units move within their blocks, the scalars are theirs, and blocks are only reordered."""
        for space in self.spaces:
            block = space.blocks()
            if block is not None and block.blocks() is not None:
                space.root().base = block.blocks()
        for space in list(self.spaces):
            if space.factors is not None and moves(((Unit(space.factors[1]),),)):
                for each in units(((Unit(space.factors[0]),),)):
                    each.space.mixing["blocks"] = None
                    each.space.killed = True

    def _inherit(self, old: Space, new: Space) -> None:
        # a part of units that a norm has divided by one length cannot be mixed without the rest
        new.mixing = old.mixing | (
            {"normalised with others": None} if old.within is not GeneralLinear else {}
        )
        new.equations = list(old.equations)
        new.pinned = old.pinned

    def _union(self, s: Space, t: Space) -> None:
        s, t = s.root(), t.root()
        if s is t:
            return
        # an element for each block stays one only in the blocks that both spaces lie in
        others = list(t.chain())
        s.base = next((block for block in s.chain() if block in others), None)  # None: one for all
        t.parent = s
        s.mixing |= t.mixing
        s.killed, s.inner = s.killed or t.killed, s.inner or t.inner
        s.pinned, s.fibred = s.pinned or t.pinned, s.fibred or t.fibred
        self.within(s, t.within, t.bound)
        s.equations += t.equations
        for reason, itself in t.frozen.items():
            self.freeze_space(s, reason, derived=not itself)
