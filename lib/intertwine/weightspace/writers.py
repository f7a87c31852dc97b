"""Multiply only the weights in front of an activation, by any matrix, without compensation behind it."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.axes import Unit, resolve, units
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.infer import Inference
from intertwine.weightspace.move import Move
from intertwine.weightspace.solve import Solution


def written(
    inference: Inference,
    solution: Solution,
    state: dict[int, Tensor],
    given: Sequence[tuple[HiddenSpace, Unit, Move | Float[Tensor, "n n"]]],
) -> dict[int, Tensor]:
    """The weights and biases that write spaces, W and b, as AW and Ab; each with its factor and matrix.

    Raises:
        ValueError: a matrix of another width; or not all writers move as the activation's input does, as in
            front of batch norm, or behind grouped convolutions and heads.
    """
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
                if resolve(axis) != ((factors[0],),) or not _alike(hidden, factors[0], seen):
                    raise ValueError(
                        f"Expected a space that linear layers write, {hidden.name} is also written by "
                        f"{name}, on which a matrix cannot act: fold batch norm into the layer before."
                    )
                x = moved[index].detach().double().movedim(k, 0)
                y = (A.to(x) @ x.reshape(len(x), -1)).view(x.shape).movedim(0, k)
                moved[index] = y.to(moved[index].dtype)
    return moved


def _alike(hidden: HiddenSpace, factor: Unit, seen: Unit) -> bool:
    return hidden.powers(factor) == hidden.powers(seen) and hidden.parities(factor) == hidden.parities(seen)
