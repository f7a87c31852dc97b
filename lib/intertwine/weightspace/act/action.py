"""How an element of the group of a whole network acts on tensors, by their labels."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.weightspace.rules.axes import Edge, Factor, Label, Unit, length, plain
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution
from intertwine.weightspace.solve.move import Move, dual

State = Mapping[int, Tensor]


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


class Action:
    """One element at one point of weight space, whose gains determine the matrices that follow the centres.

    Of batch norms, the gain over the running deviation counts (`fold_batch_norms`).
    """

    def __init__(self, solution: Solution, element: Mapping[int, Move], state: State) -> None:
        self.solution, self.element = solution, dict(element)
        self.follows: dict[tuple[int, int], Tensor] = {}
        self.scalars_only: set[int | None] = set()
        self._cache: dict[object, tuple[Tensor | None, Tensor | None, Tensor | None]] = {}
        for edge, center, other in solution.ends:
            hidden, follower = solution.hidden(center), solution.hidden(other)
            if hidden.index in element:
                # x = g^{-1}Ag·x' in front of a gain, y = gAg^{-1}·y' behind it
                g = state[edge.gain].detach().double().cpu().flatten().chunk(edge.parts)[edge.part]
                g = g if edge.center == "after" else 1 / g
                A = self._matrix(hidden, center)
                B = torch.linalg.inv(A).mT
                sign = int(follower.vector(other)[0])
                self.follows[follower.index, sign] = A * g / g[:, None]
                self.follows[follower.index, -sign] = B * g[:, None] / g
                self.element.setdefault(follower.index, follower.identity())
                self.scalars_only |= {edge.gain, edge.variance}

    def _matrix(self, hidden: HiddenSpace, factor: Unit) -> Tensor:
        matrix = self.element[hidden.index].mixed
        assert matrix is not None
        return dual(matrix, hidden.vector(factor))

    def state(self, state: State) -> dict[int, Tensor]:
        """All parameters and buffers, moved; the gain of a batch norm corrects for ε in the deviation."""
        moved, labels = self.tensors(state), self.solution.labels
        for gain, edge in {edge.gain: edge for edge in self.solution.norms}.items():
            v = edge.variance
            if v is not None and moved[v] is not state[v]:
                # behind a scalar d, √(d²v + ε) instead of |d|√(v + ε)
                new = moved[v].double()
                square = self.move(torch.ones_like(new), labels[v], v)
                ratio = (square * (new + edge.eps) / (new + square * edge.eps)).sqrt()
                moved[gain] = (ratio * moved[gain]).to(state[gain].dtype)
        return moved

    def tensors(self, state: State) -> dict[int, Tensor]:
        """The same without this correction, as effective gains move."""
        active = {k for k in state if not self.element.keys().isdisjoint(self.solution.touched(k))}
        return {k: self.move(x, self.solution.labels[k], k) if k in active else x for k, x in state.items()}

    def move(self, x: Tensor, label: Label, index: int = -1) -> Tensor:
        """The tensor with every axis moved as its label says, in its own dtype."""
        found, old = [*pieces(self.solution, label, x.shape)], x.detach()
        if len(found) == 1:
            return self.piece(old, found[0], index).reshape(x.shape).to(x.dtype)
        new = torch.empty_like(old)
        for each in found:
            new[each.where] = self.piece(old, each, index).reshape(new[each.where].shape).to(x.dtype)
        return new

    def piece(self, x: Tensor, piece: Piece, index: int) -> Tensor:
        """A part of a tensor, moved, with an axis for each factor; matrices act in float64."""
        y = piece.split(x)
        moving = [k for k, each in enumerate(piece.spaces) if each and each.index in self.element]
        moving.sort(key=lambda k: len(piece.dims(k)))  # blocks first
        apart = index in self.scalars_only
        moves = [(piece.dims(k), *self._parts(piece, k, apart, x.device)) for k in moving]
        for dims, order, _, _ in moves:
            if order is not None:
                y = _reordered(y, dims, order)
        for dims, _, matrix, scale in moves:
            if matrix is not None:
                y = _multiplied(y.double(), dims, matrix)
            if scale is not None:
                wide = scale.to(torch.promote_types(y.dtype, torch.float32))
                wide = wide.view(*scale.shape, *[1] * (y.ndim - len(dims)))
                wide = wide.movedim([*range(len(dims))], dims)
                ours = y.dtype == wide.dtype and not _same_memory(x, y)  # no second copy
                y = y.mul_(wide) if ours else y * wide
        return y

    def _parts(
        self, piece: Piece, k: int, scalars_only: bool, device: torch.device
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The order, the matrix and the scalars of a factor, computed and copied to its device once."""
        hidden, factor = piece.spaces[k], piece.factors[k]
        assert hidden is not None and isinstance(factor, Unit)
        key = hidden.index, hidden.vector(factor), hidden.parities(factor), scalars_only, device
        if key not in self._cache:
            move, order, matrix, scale = self.element[hidden.index], None, None, None
            if move.mixed is not None:
                matrix = self._matrix(hidden, factor)
            else:
                if (hidden.index, 1) in self.follows and not scalars_only:
                    matrix = self.follows[hidden.index, int(hidden.vector(factor)[0])]
                if hidden.permuted:
                    first = hidden.size * torch.arange(hidden.blocks)
                    order = (move.order + first[:, None]).flatten()
                if hidden.logs or hidden.signs:
                    scale = hidden.scalars(move, factor)
                    scale = scale[0] if hidden.base is None else scale
            order, matrix, scale = (None if x is None else x.to(device) for x in (order, matrix, scale))
            self._cache[key] = order, matrix, scale
        return self._cache[key]


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


def _same_memory(x: Tensor, y: Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def fold_batch_norms(norms: Sequence[Edge], state: State) -> dict[int, Tensor]:
    """The same tensors, with the gains of batch norms over the running deviation."""
    return dict(state) | {
        edge.gain: state[edge.gain].detach().double() / (state[edge.variance].double() + edge.eps).sqrt()
        for edge in norms
        if edge.variance is not None
    }
