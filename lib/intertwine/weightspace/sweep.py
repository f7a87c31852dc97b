"""Space by space over a network, each as soon as it has weights to go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.weightspace.axes import Unit
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.move import Move
from intertwine.weightspace.rows import Rows, rows
from intertwine.weightspace.space import Element, WeightSpace

State = dict[int, Tensor]
Step = Callable[[HiddenSpace, list[Rows]], Move]


def sweep(
    space: WeightSpace, state: State, step: Step, *, blocks_first: bool = False
) -> tuple[State, Element]:
    """Move the spaces by `step`, one by one, as soon as their other axes are done.

    Each is moved twice: the second time corrects for batch norm's ε.
    """
    solution, total = space.solution, space.identity()
    done: set[int] = set()
    waiting = {hidden.index: hidden for hidden in space.spaces}

    def ready(hidden: HiddenSpace) -> bool:
        """Whether the space has weights to go by; blocks come after the units within them, or before."""
        within = [other for other in waiting.values() if other.base == hidden.index]
        if solution.centers.get(hidden.index) in waiting:
            return False
        if not blocks_first:
            return not within and bool(rows(solution, state, hidden, done))
        return hidden.base not in waiting and any(
            rows(solution, state, each, done) for each in [hidden, *within]
        )

    while (hidden := next(filter(ready, waiting.values()), None)) is not None:
        for _ in range(2):
            move = step(hidden, rows(solution, state, hidden, done))
            state = space.action({hidden.index: move}, state).state(state)
            total = space.compose({hidden.name: move}, total)
        del waiting[hidden.index]
        done.add(hidden.index)
    return state, total


def solved(
    hidden: HiddenSpace,
    lengths: Iterable[tuple[Unit, Float[Tensor, "b n"]]],
    signs: Iterable[tuple[frozenset[int], Bool[Tensor, "b n"]]],
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"]]:
    """The logarithms and signs with which the first of these conditions hold, as many as determine them.

    `lengths` are the required scalars of each factor, as logarithms; with fewer independent conditions than
    scalars, all scalars are 1. `signs` tell where a product of signs has to be −1.
    """
    log, sign = hidden.identity().log, hidden.identity().sign
    vectors: list[tuple[float, ...]] = []
    values: list[Tensor] = []
    for factor, value in lengths:
        vector = hidden.vector(factor)
        if any(vector) and torch.linalg.matrix_rank(torch.tensor([*vectors, vector])) > len(vectors):
            vectors.append(vector)
            values.append(value)
    if vectors and len(vectors) == hidden.logs:
        inverse = torch.linalg.inv(torch.tensor(vectors, dtype=torch.float64))
        log = torch.einsum("kj,jbn->kbn", inverse, torch.stack(values))
    known: set[int] = set()
    for parity, negative in signs:
        if unknown := sorted(parity - known):
            for k in parity & known:
                negative = negative ^ sign[k]
            sign[unknown[0]] = negative
            known |= set(unknown)
    return log, sign
