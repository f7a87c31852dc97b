"""The matrices that bring the weights of one network closest to those of another."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups import GeneralLinear, MatrixGroup, Orthogonal
from intertwine.weightspace.act.action import Action, State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.rows import Rows, joined, places, rows, split


def fitted(group: MatrixGroup, side: list[Rows]) -> Float[Tensor, "b n n"]:
    """The elements that bring these weights of model 2 closest to those of model 1, in each block."""
    rounding = max(each.rounding for each in side)
    if not group.self_dual:
        X, Y = (joined(side, model, exact=True).double() for model in (0, 1))
        return torch.stack([group.best(x, y, rounding=rounding) for x, y in zip(X, Y, strict=True)])
    # ‖X − AY‖² depends on an orthogonal A by ⟨XYᵀ, A⟩ alone, as does ‖XYᵀ − A‖²
    product = sum(
        x.double() @ y.double().mT
        for each in side
        for x, y in zip(*(split(each.entries(model, exact=True), 2) for model in (0, 1)), strict=True)
    )
    assert isinstance(product, Tensor)
    one = torch.eye(group.n, dtype=torch.float64)
    return torch.stack([group.best(XY, one, rounding=rounding) for XY in product])


def for_both_sides(
    space: WeightSpace, moves: dict[int, Move], undetermined: set[int], target: State, state: State
) -> dict[int, Move]:
    """These moves, with orthogonal matrices where a fit to one side leaves both sides farther apart.

    In one orbit a fit to one side fits the other, too. Else its inverse may be large.
    """
    solution, everything = space.solution, {*range(len(space.spaces))}
    # both sides of a gain have one matrix, which moves two spaces
    behind_gains = {*solution.centers, *solution.centers.values()}
    for hidden in space.spaces:
        if (
            hidden.matrices is None
            or hidden.matrices.self_dual
            or hidden.index in behind_gains | undetermined
        ):
            continue
        fit, still = moves[hidden.index], hidden.identity()
        # what an open element moves is apart, whatever this one is
        found = [each for each in places(solution, hidden, state) if each.others.isdisjoint(undetermined)]
        first = target, Action(solution, {}, target)
        seconds = ((state, Action(solution, moves | {hidden.index: m}, state)) for m in (still, fit))
        before, after = (rows(found, [first, second], everything) for second in seconds)
        both = [[each.entries(k, exact=True).double() for k in (0, 1)] for each in before]
        turn = still.mixed
        assert turn is not None and fit.mixed is not None
        if isinstance(hidden.matrices, GeneralLinear):
            product = torch.stack([x @ y.mT for x, y in both]).sum(0)
            one, orthogonal = torch.eye(hidden.size, dtype=torch.float64), Orthogonal(hidden.size)
            turn = torch.stack([orthogonal.best(XY, one) for XY in product.cpu()])
        turned = torch.stack([(x - turn.to(y) @ y).square().sum((1, 2)) for x, y in both]).sum(0)
        fits = torch.stack([_apart(each) for each in after]).sum(0)
        better = (turned < fits)[:, None, None].to(fit.mixed.device)
        moves = moves | {hidden.index: fit._replace(mixed=torch.where(better, turn.to(fit.mixed), fit.mixed))}
    return moves


def _apart(each: Rows) -> Float[Tensor, " b"]:
    """The squared distance of two models at one place, in each block."""
    return (each.entries(0, exact=True).double() - each.entries(1, exact=True)).square().sum((1, 2))
