"""Matrices on the outputs of layers alone, whose readers stay: another function."""

from collections.abc import Collection, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.rules.axes import Unit, single
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution
from intertwine.weightspace.solve.move import Move


def transform_outputs(
    solution: Solution,
    names: Mapping[int, str],
    read: Collection[tuple[int, int]],
    state: Mapping[int, Tensor],
    given: Sequence[tuple[HiddenSpace, Unit, Move | Float[Tensor, "n n"]]],
) -> dict[int, Tensor]:
    """The weights and biases that write spaces, W and b, as AW and Ab.

    Args:
        solution: the hidden spaces, and the labels of parameters in them.
        names: of the parameters, by their number in the run.
        read: the axes of weights that are contracted with a value: the readers, which stay.
        state: the parameters, by their number.
        given: spaces, each with the factor that a matrix acts on, and this matrix.
    """
    moved = dict(state)
    for hidden, seen, matrix in given:
        A = matrix.matrix() if isinstance(matrix, Move) else matrix
        if A.shape != (hidden.size, hidden.size):
            raise ValueError(
                f"Expected a matrix ({hidden.size}, {hidden.size}) for the space {hidden.name}, was given "
                f"one of shape {tuple(A.shape)}."
            )
        wanted = hidden.vector(seen), hidden.parities(seen)
        for index, name in names.items():
            for k, axis in enumerate(solution.labels.get(index, ())):
                if (index, k) in read or hidden not in solution.on(axis):
                    continue
                factor = single(axis)
                if factor is None or (hidden.vector(factor), hidden.parities(factor)) != wanted:
                    raise ValueError(
                        f"Expected a space that linear layers write, {hidden.name} is also written by "
                        f"{name}, on which a matrix cannot act: fold batch norm into the layer before."
                    )
                x = moved[index].detach()
                y = torch.tensordot(A.to(x.device, torch.float64), x.double(), ([1], [k]))
                moved[index] = y.movedim(0, k).to(x.dtype)
    return moved
