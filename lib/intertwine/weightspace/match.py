"""The element that brings one network closest to another: tied spaces together, scalars and all."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.alignment import assignment
from intertwine.weightspace.act import Action, Element
from intertwine.weightspace.canonical import sweep
from intertwine.weightspace.find import WeightSpace, find_symmetries
from intertwine.weightspace.hidden import MATRICES, HiddenSpace, Move, mean_basis
from intertwine.weightspace.likeness import Likeness, by_activations, by_weights, paired
from intertwine.weightspace.rows import Rows, rows
from intertwine.weightspace.trace import trace

State = dict[int, Tensor]
By = Literal["weights", "activations"]


def match(
    model1: nn.Module,
    model2: nn.Module,
    example_inputs: Any,
    *,
    by: By = "weights",
    space: WeightSpace | None = None,
    sweeps: int = 20,
) -> Element:
    """The element g for which `space.act(model2, g)` is closest to model1.

    Example:
        >>> from intertwine.models import myrtle
        >>> model, x = myrtle(4, in_channels=1).double().eval(), torch.zeros(1, 1, 8, 8).double()
        >>> space = find_symmetries(model, x)
        >>> planted = space.sample(torch.Generator().manual_seed(0))
        >>> found = match(model, space.act(model, space.inverse(planted)), x)
        >>> [bool((found[k].order == planted[k].order).all()) for k in planted]
        [True, True, True, True]

    Spaces are taken in the order of the run, each by the weights whose other side is matched already: by
    linear assignment of rows of unit length (or of activations), blocks by what their units have in common,
    matrices by least squares or Procrustes. Then each assignment is repeated on all weights of the space, the
    others given, until none changes (the coordinate descent of Ainsworth et al. 2023). In one orbit the first
    round is exact.

    Args:
        model1: the one that stays.
        model2: of the same shapes.
        example_inputs: for `find_symmetries`; by activations, the inputs to compare on, as many as possible.
        by: what the units are assigned by.
        space: of these models, if it is known.
        sweeps: the most repetitions over all spaces.

    Raises:
        ValueError: models of other shapes, weights that are not finite, or another way to compare.
    """
    if by not in get_args(By):
        raise ValueError(f"Expected by to be one of {', '.join(get_args(By))}, was given {by!r}.")
    space = find_symmetries(model1, example_inputs) if space is None else space
    target, state = space.state(model1), space.state(model2)
    for which, tensors in (("first", target), ("second", state)):
        for k, x in tensors.items():
            if space.solution.touched(k) and not x.isfinite().all():
                raise ValueError(
                    f"Expected models with finite weights, was given NaN or infinity in "
                    f"{space.inference.run.names[k]} of the {which}."
                )
    runs = [trace(model, example_inputs).values for model in (model1, model2) if by == "activations"]
    given = by_activations(space, *runs) if runs else {}
    done: set[int] = set()
    current = [state]

    def step(hidden: HiddenSpace, found: list[Rows]) -> Move:
        again = hidden.index in done  # what batch norm's ε left of the scalars
        wanted = rows(space.solution, target, hidden, done)
        within = [
            (rows(space.solution, target, each, done), rows(space.solution, current[0], each, done), each)
            for each in space.spaces
            if each.base == hidden.index
        ]
        done.add(hidden.index)
        if again:
            keep = hidden.kind in MATRICES or within
            move = (
                hidden.identity() if keep else _scaled(hidden, wanted, found, hidden.identity().order, None)
            )
        elif within:
            move = hidden.identity()._replace(order=_blocks(within))
        else:
            move = _closest(hidden, wanted, found, given.get(hidden.index))
        action = Action(space.solution, {hidden.index: move}, current[0], space.inference.norms)
        current[0] = action.state(current[0])
        return move

    state, total = sweep(space, state, step, passes=2, blocks_first=True)
    everything = {hidden.index for hidden in space.spaces}
    for _ in range(sweeps if by == "weights" else 0):
        changed = False
        for hidden in space.spaces:
            if hidden.kind != "monomial" or hidden.base is not None:
                continue
            wanted, found = (rows(space.solution, s, hidden, everything) for s in (target, state))
            move = _assigned(hidden, wanted, found, None)
            if move.sign.any() or not torch.equal(move.order, hidden.identity().order):
                changed = True
                action = Action(space.solution, {hidden.index: move}, state, space.inference.norms)
                state = action.state(state)
                total = space.compose({**space.identity(), hidden.index: move}, total)
        if not changed:
            break
    return total


def _closest(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows], given: Likeness | None) -> Move:
    if hidden.kind in MATRICES:
        return hidden.identity()._replace(matrix=_matrices(hidden, wanted, found))
    if hidden.kind == "diagonal":
        return _scaled(hidden, wanted, found, hidden.identity().order, by_weights(hidden, wanted, found))
    return _assigned(hidden, wanted, found, given)


def _assigned(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows], given: Likeness | None) -> Move:
    """Order by linear assignment of units without regard to their scalars, then the scalars."""
    weights = by_weights(hidden, wanted, found)
    likeness = given or weights
    total = sum(alike.abs() if signs else alike for signs, alike in likeness.items())
    assert isinstance(total, Tensor)
    return _scaled(
        hidden, wanted, found, torch.stack([_best(block) for block in total]), {**weights, **likeness}
    )


def _best(likeness: Float[Tensor, "n n"]) -> Int[Tensor, " n"]:
    """For each unit of model 1 the one of model 2."""
    return assignment(likeness, maximize=True)[1].cpu()


def _blocks(pairs: list[tuple[list[Rows], list[Rows], HiddenSpace]]) -> Int[Tensor, "1 b"]:
    """Which block is which, by what their units have in common however they are moved within it."""
    likeness: Tensor | float = 0.0
    for wanted, found, within in pairs:
        for one, other in paired(wanted, found):
            x, y = one.entries, other.entries
            if within.kind in MATRICES:
                if x.shape[2] < x.shape[1]:
                    continue  # they span everything
                x, y = (torch.linalg.qr(z.mT).Q.mT for z in (x, y))
                alike = torch.einsum("aik,bjk->abij", x, y).square().sum((2, 3))
            else:
                x, y = (torch.nn.functional.normalize(z, dim=2) for z in (x, y))
                inner = torch.einsum("aik,bjk->abij", x, y)
                inner = inner.abs() if within.signs else inner
                alike = torch.stack(
                    [torch.stack([m[torch.arange(len(m)), _best(m)].sum() for m in row]) for row in inner]
                )
            likeness = likeness + alike
    if not isinstance(likeness, Tensor):
        return torch.arange(pairs[0][2].blocks)[None]
    return _best(likeness)[None]


def _scaled(
    hidden: HiddenSpace,
    wanted: list[Rows],
    found: list[Rows],
    order: Int[Tensor, "b n"],
    likeness: Likeness | None,
) -> Move:
    """The scalars that make units of model 2, in this order, as long as those of model 1, and most alike.

    Without `likeness`, signs stay.
    """
    move = hidden.identity()
    pairs = [
        (one, other.entries.gather(1, order[:, :, None].expand(other.entries.shape)))
        for one, other in paired(wanted, found)
    ]
    log, sign = move.log.clone(), move.sign.clone()
    vectors: list[list[float]] = []
    ratios: list[Tensor] = []
    for one, y in pairs:
        powers = hidden.powers(one.factor)
        vector = [float(powers.get(k, 0)) for k in range(hidden.logs)]
        if any(vector) and torch.linalg.matrix_rank(torch.tensor([*vectors, vector])) > len(vectors):
            sizes = one.entries.norm(dim=2), y.norm(dim=2)
            positive = (sizes[0] > 0) & (sizes[1] > 0)
            vectors.append(vector)
            ratios.append(torch.where(positive, sizes[0] / sizes[1], 1).log())
    if vectors and len(vectors) == hidden.logs:
        inverse = torch.linalg.inv(torch.tensor(vectors, dtype=torch.float64))
        log = torch.einsum("kj,jbn->kbn", inverse, torch.stack(ratios))
    known: set[int] = set()
    for parity, alike in sorted((likeness or {}).items(), key=lambda item: len(item[0])):
        if unknown := sorted(parity - known):
            negative = alike.gather(2, order[:, :, None])[:, :, 0] < 0
            for k in parity & known:
                negative = negative ^ sign[k]
            sign[unknown[0]] = negative
            known |= set(unknown)
    return Move(order, log, sign)


def _matrices(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows]) -> Float[Tensor, "b n n"]:
    """A with A·W2 nearest to W1; where more than a sign is open, the identity."""
    general = hidden.kind == "general"
    power = hidden.powers(wanted[0].factor)[0] if general else 1
    pairs = [
        pair for pair in paired(wanted, found) if not general or hidden.powers(pair[0].factor)[0] == power
    ]
    W1, W2 = (torch.cat([pair[k].entries for pair in pairs], 2) for k in (0, 1))
    n, result = hidden.size, hidden.identity().matrix
    assert result is not None
    for b in range(hidden.blocks):
        if not general:
            basis = mean_basis(n) if hidden.kind == "mean" else torch.eye(n, dtype=torch.float64)
            result[b] = basis @ procrustes(basis.T @ W1[b], basis.T @ W2[b], hidden.kind) @ basis.T
        elif _rank(W1[b], W2[b]) == n:
            A = torch.linalg.lstsq(W2[b].T, W1[b].T).solution.T
            result[b] = A if power == 1 else torch.linalg.inv(A).T
    return result


def _rank(W1: Float[Tensor, "n k"], W2: Float[Tensor, "n k"]) -> int:
    return int(min(torch.linalg.matrix_rank(W) for W in (W1, W2)))


def procrustes(W1: Float[Tensor, "n k"], W2: Float[Tensor, "n k"], kind: str) -> Float[Tensor, "n n"]:
    """Of the sign of one direction that W1 and W2 do not know, the one nearer to the identity."""
    n = len(W1)
    if kind == "mean" and n > 1:
        first = torch.where(W1[0] @ W2[0] < 0, -1.0, 1.0).to(W1)
        return torch.block_diag(first, procrustes(W1[1:], W2[1:], "orthogonal"))
    known = _rank(W1, W2)
    if known < n - 1:
        return torch.eye(n).to(W1)
    U, _, Vh = torch.linalg.svd(W1 @ W2.T)
    if known < n and U[:, -1] @ Vh[-1] < 0:
        Vh[-1] *= -1
    return U @ Vh
