"""The matrices that bring the weights of one network closest to those of another."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups import GeneralLinear, MatrixGroup, Orthogonal
from intertwine.weightspace.act.action import Action, State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.rows import Place, Rows, joined, places, rows, split

ONE_ORBIT = 1e-8  # of squared lengths: what is nearer than that has no need of another matrix


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
    solution = space.solution
    # both sides of a gain have one matrix, which moves two spaces
    behind_gains = {*solution.centers, *solution.centers.values()}
    for hidden in space.spaces:
        if (
            hidden.matrices is None
            or hidden.matrices.self_dual
            or hidden.index in behind_gains | undetermined
        ):
            continue
        # what an open element moves is apart, whatever this one is
        found = [each for each in places(solution, hidden, state) if each.others.isdisjoint(undetermined)]
        fit, still = moves[hidden.index], hidden.identity()
        assert fit.mixed is not None and still.mixed is not None
        fits, sizes = (torch.zeros(hidden.blocks, dtype=torch.float64) for _ in "12")
        for x, y in _weights(space, found, target, state, moves):
            fits += (x - y).square().sum((1, 2)).cpu()
            sizes += x.square().sum((1, 2)).cpu()
        if (fits <= ONE_ORBIT * sizes).all():
            continue
        both = _weights(space, found, target, state, moves | {hidden.index: still})
        turn = still.mixed
        if isinstance(hidden.matrices, GeneralLinear):
            product = torch.stack([(x @ y.mT).cpu() for x, y in both]).sum(0)
            one, orthogonal = torch.eye(hidden.size, dtype=torch.float64), Orthogonal(hidden.size)
            turn = torch.stack([orthogonal.best(XY, one) for XY in product])
        turned = torch.stack([(x - turn.to(y) @ y).square().sum((1, 2)).cpu() for x, y in both]).sum(0)
        better = (turned < fits)[:, None, None].to(fit.mixed.device)
        moves = moves | {hidden.index: fit._replace(mixed=torch.where(better, turn.to(fit.mixed), fit.mixed))}
    return moves


def _weights(
    space: WeightSpace, found: list[Place], target: State, state: State, moves: dict[int, Move]
) -> list[tuple[Tensor, Tensor]]:
    """The entries of each unit at these places, of the target and of the other model as these move it."""
    solution, known = space.solution, {*range(len(space.spaces))}
    models = (target, Action(solution, {}, target)), (state, Action(solution, moves, state))
    pairs = ([each.entries(k, exact=True).double() for k in (0, 1)] for each in rows(found, models, known))
    return [(x, y) for x, y in pairs]
