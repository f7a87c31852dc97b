"""How an element of the group of a whole network acts on tensors, by their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.axes import Axis, Unit, length, moves, plain, resolve, units
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.infer import Edge, Inference, Label
from intertwine.weightspace.move import Move
from intertwine.weightspace.solve import Solution, sides

Moves = Mapping[int, Move]
State = Mapping[int, Tensor]


class Action:
    """One element at one point of weight space, whose gains determine the scalars that follow the centres."""

    def __init__(self, solution: Solution, element: Moves, state: State, norms: list[Edge]) -> None:
        self.solution, self.element, self.norms = solution, element, norms
        self.follows: dict[int, dict[int, Tensor]] = {}
        self.duals: dict[int, Tensor] = {}
        self.scalars_only: set[int] = set()
        self.active = set(element)
        for edge in solution.edges:
            (center,), (other,) = map(units, sides(edge))
            if solution.hidden(center).index in element:
                self._follow(edge, center, other, state)

    def _follow(self, edge: Edge, center: Unit, other: Unit, state: State) -> None:
        """x = g^{-1}Ag·x' in front of a gain, y = gAg^{-1}·y' behind it."""
        g = effective_gain(edge, state)
        hidden, follower = self.solution.hidden(center), self.solution.hidden(other)
        A = self._matrix(hidden, center)[0].to(g.device)
        B = torch.linalg.inv(A).mT if hidden.kind == "general" else A
        g = g if edge.center == "after" else 1 / g
        T, dual = A * g / g[:, None], B * g[:, None] / g
        forward = follower.powers(other)[0] == 1
        self.follows[follower.index] = {1: T, -1: dual} if forward else {1: dual, -1: T}
        self.active.add(follower.index)
        self.scalars_only |= {edge.gain} | ({edge.variance} if edge.variance is not None else set())

    def _matrix(self, hidden: HiddenSpace, factor: Unit) -> Tensor:
        matrix = self.element[hidden.index].mixed
        assert matrix is not None
        if hidden.kind == "general" and hidden.vector(factor) == (-1,):
            if hidden.index not in self.duals:
                self.duals[hidden.index] = torch.linalg.inv(matrix).mT
            return self.duals[hidden.index]
        return matrix

    def state(self, state: State) -> dict[int, Tensor]:
        """All parameters and buffers, moved."""
        labels = self.solution.labels
        moved = dict(state)
        for k, x in state.items():
            if self.solution.touched(k) & self.active:
                moved[k] = self.move(x, labels[k], k)
        for edge in {edge.gain: edge for edge in self.norms}.values():
            if edge.variance is None or moved[edge.variance] is state[edge.variance]:
                continue
            # γ corrects for ε in the deviation: √(d²v + ε) instead of |d|√(v + ε)
            exact = state[edge.variance].double() + edge.eps
            exact = self.move(exact, labels[edge.variance], edge.variance)
            ratio = (moved[edge.variance].double() + edge.eps) / exact
            moved[edge.gain] = (moved[edge.gain].double() * ratio.sqrt()).to(moved[edge.gain])
        return moved

    def move(self, x: Tensor, label: Label, index: int = -1) -> Tensor:
        """The tensor with every axis moved as its label says, in its own dtype."""
        if not any(map(moves, label)):
            return x
        axes = [resolve(axis) if moves(axis) else plain(n) for axis, n in zip(label, x.shape, strict=True)]
        return self._blocks(x.detach().double(), axes, index not in self.scalars_only).to(x.dtype)

    def _blocks(self, x: Tensor, axes: list[Axis], mix: bool) -> Tensor:
        for k, axis in enumerate(axes):
            if len(axis) > 1:
                parts = x.split([length(segment) for segment in axis], k)
                moved = [
                    self._blocks(part, [*axes[:k], (segment,), *axes[k + 1 :]], mix)
                    for part, segment in zip(parts, axis, strict=True)
                ]
                return torch.cat(moved, k)
        factors = [factor for axis in axes for factor in axis[0]]
        y = x.reshape([factor.size for factor in factors])
        moving = {k: factor for k, factor in enumerate(factors) if isinstance(factor, Unit)}
        spaces = {k: self.solution.hidden(factor) for k, factor in moving.items()}
        for k in sorted(moving, key=lambda k: spaces[k].base is not None):  # blocks first
            if spaces[k].index in self.active:
                y = self._factor(y, k, moving[k], spaces, mix)
        return y.reshape(x.shape)

    def _factor(self, x: Tensor, k: int, factor: Unit, spaces: dict[int, HiddenSpace], mix: bool) -> Tensor:
        hidden = spaces[k]
        move = self.element.get(hidden.index) or hidden.identity()
        if hidden.base is None:
            if move.mixed is not None or hidden.kind == "diagonal":
                return self._mixed(x, k, move, hidden, factor, mix)
            x = x.index_select(k, move.order[0].to(x.device))
            if hidden.logs or hidden.signs:
                scalars = hidden.scalars(move, factor)[0].to(x.device)
                x *= scalars.view([-1 if j == k else 1 for j in range(x.ndim)])
            return x
        at = next(j for j, each in spaces.items() if each.index == hidden.base)
        y = x.movedim((at, k), (0, 1))
        shape = y.shape
        y = y.reshape(*shape[:2], -1)
        if move.mixed is not None:
            y = self._matrix(hidden, factor).to(y.device) @ y
        else:
            y = y.gather(1, move.order.to(y.device)[:, :, None].expand(y.shape))
            y = y * hidden.scalars(move, factor).to(y.device)[:, :, None]
        return y.reshape(shape).movedim((0, 1), (at, k))

    def _mixed(self, x: Tensor, k: int, move: Move, hidden: HiddenSpace, factor: Unit, mix: bool) -> Tensor:
        """By a matrix of its own, or by that which follows another space's."""
        y = x.movedim(k, 0).flatten(1) if x.ndim > 1 else x[:, None]
        if move.mixed is not None:
            y = self._matrix(hidden, factor)[0].to(y.device) @ y
        else:
            if mix and hidden.index in self.follows:
                y = self.follows[hidden.index][int(hidden.powers(factor)[0])].to(y.device) @ y
            y = y * hidden.scalars(move, factor)[0].to(y.device)[:, None]
        return y.reshape(x.movedim(k, 0).shape).movedim(0, k)


def effective_gain(edge: Edge, state: State) -> Tensor:
    """The factor of each unit; of a batch norm, its gain over the running deviation."""
    g = state[edge.gain].detach().double().flatten()
    if edge.variance is not None:
        g = g / (state[edge.variance].detach().double() + edge.eps).sqrt()
    return g


def written(
    inference: Inference,
    solution: Solution,
    state: dict[int, Tensor],
    given: Sequence[tuple[HiddenSpace, Unit, Move | Float[Tensor, "n n"]]],
) -> dict[int, Tensor]:
    """The weights and biases that write spaces, W and b, as AW and Ab; each with its factor and matrix."""
    moved = dict(state)
    for hidden, seen, matrix in given:
        A = matrix.matrix() if isinstance(matrix, Move) else matrix
        if A.shape != (hidden.size, hidden.size):
            raise ValueError(
                f"Expected a matrix ({hidden.size}, {hidden.size}) for the space {hidden.name}, was given "
                f"one of shape {tuple(A.shape)}."
            )
        for index, name in inference.run.names.items():
            for k, axis in enumerate(solution.labels.get(index, ())):
                factors = [each for each in units(axis) if solution.hidden(each) is hidden]
                if not factors or (index, k) in inference.read:
                    continue
                acts = [(hidden.powers(factor), hidden.parities(factor)) for factor in (factors[0], seen)]
                if resolve(axis) != ((factors[0],),) or acts[0] != acts[1]:
                    raise ValueError(
                        f"Expected a space that linear layers write, {hidden.name} is also written by "
                        f"{name}, on which a matrix cannot act: fold batch norm into the layer before."
                    )
                x = moved[index].detach().double().movedim(k, 0)
                y = (A.to(x) @ x.reshape(len(x), -1)).view(x.shape).movedim(0, k)
                moved[index] = y.to(moved[index].dtype)
    return moved
