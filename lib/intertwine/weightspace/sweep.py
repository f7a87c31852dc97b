"""Space by space over a network, each as soon as it has weights to go by."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.groups.stabilizer_of_ones import mean_basis
from intertwine.weightspace.act import Action, State
from intertwine.weightspace.axes import Unit
from intertwine.weightspace.hidden import MATRICES, HiddenSpace
from intertwine.weightspace.move import Move
from intertwine.weightspace.rows import Place, Rows, places, rows
from intertwine.weightspace.space import WeightSpace

Look = Callable[[HiddenSpace], list[Rows]]
Step = Callable[[HiddenSpace, Look], Move]
Signed = tuple[frozenset[int], Bool[Tensor, "b n"]]


def sweep(
    space: WeightSpace, states: Sequence[State], step: Step, *, blocks_first: bool = False
) -> dict[int, Move]:
    """The moves of the last of these models by `step`, space by space, as soon as other axes are done.

    First come spaces that their weights determine, then those with any weights, then those with weights whose
    other units have no scalars, which are summed. Blocks come after the units within them, or before.
    """
    solution, total = space.solution, dict[int, Move]()
    where = {hidden.index: [*places(solution, hidden, states[0])] for hidden in space.spaces}
    loose = {h.index for h in space.spaces if h.kind == "monomial" and not h.logs + h.signs}

    def known(hidden: HiddenSpace, level: int) -> list[Place]:
        free = loose if level == 2 else set()
        return [each for each in where[hidden.index] if each.others - free <= total.keys()]

    def ready(level: int, hidden: HiddenSpace) -> bool:
        center = solution.centers.get(hidden.index)
        if hidden.index in total or (center is not None and center not in total):
            return False
        within = [h for h in space.spaces if h.base == hidden.index and h.index not in total]
        if blocks_first and within:
            return any(known(each, level) for each in within)
        late = hidden.base is not None and hidden.base not in total if blocks_first else bool(within)
        found = known(hidden, level)
        return not late and (determined(hidden, found) if level == 0 else bool(found))

    candidates = [*itertools.product(range(3), space.spaces)]
    while (found := next((each for each in candidates if ready(*each)), None)) is not None:
        level, hidden = found
        still, moved = (Action(solution, moves, states[-1]) for moves in ({}, total))
        models = [*zip(states, [still, moved][-len(states) :], strict=True)]
        move = step(hidden, lambda h: rows(known(h, level), models, {*total}))  # noqa: B023
        for h in space.spaces:
            if h.base == hidden.index and h.index in total:
                total[h.index] = total[h.index].reordered(move.order[0])
        total[hidden.index] = move
    return total


def determined(hidden: HiddenSpace, found: list[Place]) -> bool:
    """Whether these weights decide on one element."""
    if hidden.kind in MATRICES:
        widths = Counter[tuple[float, ...]]()
        for each in found:
            widths[hidden.vector(each.factor)] += each.width
        return max(widths.values(), default=0) >= hidden.size - (hidden.kind == "mean")
    vectors = [hidden.vector(each.factor) for each in found]
    signs = pivots((hidden.parities(each.factor), torch.zeros(1, 1).bool()) for each in found)
    logs = torch.linalg.matrix_rank(torch.tensor(vectors)) if hidden.logs and vectors else 0
    return any(each.width > 1 for each in found) and logs == hidden.logs and len(signs) == hidden.signs


def solved(
    hidden: HiddenSpace, lengths: Iterable[tuple[Unit, Float[Tensor, "b n"]]], signs: Iterable[Signed]
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"]]:
    """The logarithms and signs with which the first of these conditions hold, as many as determine them.

    `lengths` are the required scalars of each factor, as logarithms; `signs` tell where a product of signs
    has to be −1.
    """
    log, sign = hidden.identity().log, hidden.identity().sign
    vectors: list[tuple[float, ...]] = []
    values: list[Tensor] = []
    for factor, value in lengths:
        wanted = [*vectors, hidden.vector(factor)]
        if len(vectors) < hidden.logs and torch.linalg.matrix_rank(torch.tensor(wanted)) > len(vectors):
            vectors = wanted
            values.append(value)
    if vectors:
        inverse = torch.linalg.pinv(torch.tensor(vectors, dtype=torch.float64))
        log = torch.einsum("kj,jbn->kbn", inverse, torch.stack(values))
    for k, (_, negative) in pivots(signs).items():
        sign[k] = negative
    return log, sign


def pivots(conditions: Iterable[Signed]) -> dict[int, Signed]:
    """Elimination over the field of two elements: of each independent condition one sign, the others free."""
    found: dict[int, Signed] = {}
    for parity, negative in conditions:
        for k, (other, value) in found.items():
            if k in parity:
                parity, negative = parity ^ other, negative ^ value
        if parity:
            new = min(parity)
            for k, (other, value) in found.items():
                if new in other:
                    found[k] = other ^ parity, value ^ negative
            found[new] = parity, negative
    return found


def wider(hidden: HiddenSpace, found: list[Rows]) -> tuple[tuple[float, ...], list[Float[Tensor, "b n k"]]]:
    """The weights on which a matrix acts, or those on which its dual acts, whichever are more."""
    sides: dict[tuple[float, ...], list[Rows]] = {}
    for each in found:
        sides.setdefault(hidden.vector(each.factor), []).append(each)
    joined = {
        vector: [torch.cat(models, 2) for models in zip(*(each.entries for each in side), strict=True)]
        for vector, side in sides.items()
    }
    return max(joined.items(), key=lambda item: item[1][0].shape[2])


def across_mean(
    kind: str, solve: Callable[..., Float[Tensor, "m m"]], *Ws: Float[Tensor, "n k"]
) -> Float[Tensor, "n n"]:
    """An orthogonal matrix by `solve`; where it has to fix the line of 1, on it and on its complement."""
    if kind != "mean":
        return solve(*Ws)
    basis = mean_basis(len(Ws[0]))
    first, others = (solve(*((basis.T @ W)[part] for W in Ws)) for part in (slice(1), slice(1, None)))
    return basis @ torch.block_diag(first, others) @ basis.T
