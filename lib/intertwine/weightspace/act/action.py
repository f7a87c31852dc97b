"""How an element of the group of a whole network acts on tensors, by their labels."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.weightspace.rules.axes import Edge, Factor, Label, Unit, length, plain
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution
from intertwine.weightspace.solve.move import Move, dual

State = dict[int, Tensor]
"""Parameters and buffers, by their number in the run."""


class Piece(NamedTuple):
    """A part of a tensor: where it is, the factors of its axes, and the space of each that moves."""

    where: tuple[slice, ...]
    factors: list[Factor]
    spaces: list[HiddenSpace | None]

    def dims(self, k: int) -> list[int]:
        """The position of the blocks of the k-th factor, if it has an element for each, and k."""
        hidden = self.spaces[k]
        assert hidden is not None
        return [j for j, each in enumerate(self.spaces) if each and each.index == hidden.base] + [k]

    def split(self, x: Tensor) -> Tensor:
        """This part of a tensor, with an axis for each factor."""
        return x[self.where].reshape([factor.size for factor in self.factors])


def pieces(solution: Solution, label: Label, shape: Sequence[int]) -> Iterator[Piece]:
    """One for each choice of a segment on every axis."""
    cuts = []
    for axis, n in zip(label, shape, strict=True):
        axis = axis if any(isinstance(f, Unit) for segment in axis for f in segment) else plain(n)
        ends = itertools.accumulate(map(length, axis))
        cuts.append([(slice(end - length(s), end), s) for end, s in zip(ends, axis, strict=True)])
    for choice in itertools.product(*cuts):
        factors = [factor for _, segment in choice for factor in segment]
        spaces = [solution.hidden(factor) if isinstance(factor, Unit) else None for factor in factors]
        yield Piece(tuple(where for where, _ in choice), factors, spaces)


ROOM = 2**20
"""How many numbers are moved at a time: 8 MB in float64."""


class Action:
    """One element at one point of weight space, whose gains determine the matrices that follow the centres.

    Of batch norms, the gain over the running deviation counts (`fold_batch_norms`). `previous` is an action
    at the same point, and lends what this one has in common with it.
    """

    def __init__(
        self, solution: Solution, element: Mapping[int, Move], state: State, previous: "Action | None" = None
    ) -> None:
        self.solution, self.element, self.gains = solution, dict(element), state
        # x and y = g·x on the two sides of a gain: where A moves x, the matrix g·A·g⁻¹ has to move y. It is
        # in no element, as it depends on the gain of this model, so it is made where it is needed
        self.follows: dict[int, tuple[Edge, Unit, Unit]] = {}
        # and to the gain itself neither of the two matrices is applied: it is the same before and after
        self.scalars_only: set[int | None] = set()
        for edge, center, other in solution.ends:
            follower = solution.hidden(other)
            if solution.hidden(center).index in element:
                self.follows[follower.index] = edge, center, other
                self.element.setdefault(follower.index, follower.identity())
                self.scalars_only |= {edge.gain, edge.variance}
        # `sweep` makes an action for each space that it moves, which differs from the last in one move
        # compared by identity: a move that was reordered since is another object
        same = {k for k, move in element.items() if previous and previous.element.get(k) is move}
        self._cache: dict[Any, tuple[Tensor | None, Tensor | None]] = {}
        self._duals: dict[int, Tensor] = {}
        if previous:
            self._cache |= {key: x for key, x in previous._cache.items() if key[0] in same}
            self._duals |= {key: x for key, x in previous._duals.items() if key in same}

    def state(self, state: State) -> State:
        """All parameters and buffers, moved; the gain of a batch norm corrects for ε in the deviation."""
        moved, labels = self.tensors(state), self.solution.labels
        for gain, edge in {edge.gain: edge for edge in self.solution.norms}.items():
            v = edge.variance
            if v is not None and moved[v] is not state[v]:
                # the label moves gain/√(v + ε): the gain itself gets √(d²v + ε)/√(v + ε), too; `new` is d²v
                new = moved[v].double()
                square = self.move(torch.ones_like(new), labels[v], v)
                ratio = (square * (new + edge.eps) / (new + square * edge.eps)).sqrt()
                moved[gain] = (ratio * moved[gain]).to(state[gain].dtype)
        return moved

    def tensors(self, state: State) -> State:
        """The same without this correction, as effective gains move."""
        active = {k for k in state if not self.element.keys().isdisjoint(self.solution.touched(k))}
        return {k: self.move(x, self.solution.labels[k], k) if k in active else x for k, x in state.items()}

    def move(self, x: Tensor, label: Label, index: int = -1) -> Tensor:
        """The tensor with every axis moved as its label says, in its own dtype and memory format."""
        found, old = [*pieces(self.solution, label, x.shape)], x.detach()
        if len(found) == 1:
            moved = self.piece(old, found[0], index, x.dtype).reshape(x.shape)
            # what flattens or saves weights takes no transposed views, and a copy of a model no weights of it
            own = moved.stride() == old.stride() and moved.data_ptr() != old.data_ptr()
            return moved if own else torch.empty_like(old).copy_(moved)
        new = torch.empty_like(old)
        for each in found:
            new[each.where] = self.piece(old, each, index, x.dtype).reshape(new[each.where].shape)
        return new

    def piece(
        self, x: Tensor, piece: Piece, index: int, dtype: torch.dtype | None = None, *, exact: bool = True
    ) -> Tensor:
        """A part of a tensor, moved, with an axis for each factor; in this dtype, or that of its moves.

        Matrices act in float64, or if that need not be `exact`, in the precision of the weights. Beside the
        weights in another order and the result, this takes some copies of `ROOM` numbers.
        """
        y = piece.split(x)
        moving = [k for k, each in enumerate(piece.spaces) if each and each.index in self.element]
        # blocks first: an element for each block is listed by the place of the block after it was moved
        moving.sort(key=lambda k: len(piece.dims(k)))
        apart = index in self.scalars_only
        moves = [(piece.dims(k), *self._parts(piece, k, apart, x.device)) for k in moving]
        for dims, order, _, _ in moves:
            if order is not None:
                y = _reordered(y, dims, order)
        steps = [(dims, A, d) for dims, _, A, d in moves if A is not None or d is not None]
        precise = torch.promote_types(y.dtype, torch.float32)
        # sums of products lose digits in float32, orders and scalars hardly do
        if exact and any(matrix is not None for _, matrix, _ in steps):
            precise = torch.promote_types(precise, torch.float64)
        whole = not steps or y.numel() <= ROOM
        # along the longest axis that no matrix mixes
        mixed = {dims[-1] for dims, matrix, _ in steps if matrix is not None}
        at = None if whole else max({*range(y.ndim)} - mixed, key=lambda k: y.shape[k], default=None)
        if at is None:
            return _stepped(y, steps, precise).to(dtype or precise)
        new = torch.empty(y.shape, dtype=dtype or precise, device=y.device)
        size = max(1, ROOM * y.shape[at] // y.numel())
        for start in range(0, y.shape[at], size):
            part = slice(start, start + size)
            where = (*[slice(None)] * at, part)
            new[where] = _stepped(y[where], [_part(step, at, part) for step in steps], precise)
        return new

    def _parts(
        self, piece: Piece, k: int, scalars_only: bool, device: torch.device
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The order, the matrix and the scalars of a factor, computed and copied to its device once."""
        hidden, factor = piece.spaces[k], piece.factors[k]
        assert hidden is not None and isinstance(factor, Unit)
        move, follows = self.element[hidden.index], hidden.index in self.follows and not scalars_only
        # a matrix is its own order and scalars; on axes that read a value, its inverse transpose acts
        if move.mixed is not None:
            return None, self._matrix(hidden, hidden.vector(factor) == (-1,)).to(device), None
        # hundreds of weights share a residual stream
        key = hidden.index, hidden.vector(factor), hidden.parities(factor), device
        if key not in self._cache:
            order, scale = None, None
            if hidden.permuted:
                first = hidden.size * torch.arange(hidden.blocks)
                order = (move.order + first[:, None]).flatten().to(device)
            if hidden.logs or hidden.signs:
                scale = hidden.scalars(move, factor)
                scale = (scale[0] if hidden.base is None else scale).to(device)
            self._cache[key] = order, scale
        order, scale = self._cache[key]
        return order, self._following(hidden, factor).to(device) if follows else None, scale

    def _matrix(self, hidden: HiddenSpace, inverse: bool) -> Tensor:
        """The matrix of a space, or its inverse transpose, which is computed once."""
        matrix = self.element[hidden.index].mixed
        assert matrix is not None
        if inverse and hidden.index not in self._duals:
            self._duals[hidden.index] = dual(matrix, (-1.0,))
        return self._duals[hidden.index] if inverse else matrix

    def _following(self, hidden: HiddenSpace, factor: Unit) -> Tensor:
        """The matrix of a space that follows its centre; not kept, as there is one for each gain."""
        edge, center, other = self.follows[hidden.index]
        # before a gain g, x = g⁻¹Ag·x' follows y; after it, y = gAg⁻¹·y' follows x
        g = self.gains[edge.gain].detach().double().cpu().flatten().chunk(edge.parts)[edge.part]
        g = g if edge.center == "after" else 1 / g  # so that the follower always moves by g⁻¹Ag
        middle = self.solution.hidden(center)
        inverse = middle.vector(center) == (-1,)
        if int(hidden.vector(factor)[0]) == int(hidden.vector(other)[0]):
            return self._matrix(middle, inverse) * g / g[:, None]
        return self._matrix(middle, not inverse) * g[:, None] / g


Moving = tuple[list[int], Tensor | None, Tensor | None]
"""The axes of a factor, as blocks and the units in them, its matrix and its scalars."""


def _stepped(x: Tensor, steps: list[Moving], dtype: torch.dtype) -> Tensor:
    """A matrix or scalars on each of these axes."""
    y = x.to(dtype) if steps else x
    for dims, matrix, scale in steps:
        if matrix is not None:
            y = _multiplied(y, dims, matrix.to(dtype))
        if scale is not None:
            wide = scale.to(dtype).view(*scale.shape, *[1] * (y.ndim - len(dims)))
            y = y * wide.movedim([*range(len(dims))], dims)
    return y


def _part(step: Moving, at: int, part: slice) -> Moving:
    """What acts on a part of an axis."""
    dims, matrix, scale = step
    where = (*[slice(None)] * dims.index(at), part) if at in dims else ()
    return dims, matrix if matrix is None else matrix[where], scale if scale is None else scale[where]


def _reordered(x: Tensor, dims: list[int], order: Int[Tensor, " n"]) -> Tensor:
    if len(dims) == 1:
        return x.index_select(dims[0], order)
    return _along(x, dims, lambda rows: rows.index_select(0, order))


def _multiplied(x: Tensor, dims: list[int], matrix: Float[Tensor, "*b n n"]) -> Tensor:
    return _along(x, dims, lambda rows: matrix @ rows.unflatten(0, matrix.shape[:2]))


def _along(x: Tensor, dims: list[int], function: Callable[[Tensor], Tensor]) -> Tensor:
    """The function of these axes as one, followed by the others as one."""
    first = [*range(len(dims))]
    y = x.movedim(dims, first)
    rows = y.reshape(y.shape[: len(dims)].numel(), -1)
    return function(rows).reshape(y.shape).movedim(first, dims)


def fold_batch_norms(norms: Sequence[Edge], state: State) -> State:
    """The same tensors, with the gains of batch norms over the running deviation."""
    return dict(state) | {
        edge.gain: state[edge.gain].detach().double() / (state[edge.variance].double() + edge.eps).sqrt()
        for edge in norms
        if edge.variance is not None
    }
