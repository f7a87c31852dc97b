"""The element that brings one network closest to another: shared spaces together, scalars and all."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.alignment import assignment
from intertwine.groups.stabilizer_of_ones import mean_basis
from intertwine.weightspace.hidden import MATRICES, HiddenSpace
from intertwine.weightspace.move import Move
from intertwine.weightspace.rows import Likeness, Rows, by_activations, by_weights, paired, rows
from intertwine.weightspace.space import Moved, WeightSpace
from intertwine.weightspace.sweep import solved, sweep
from intertwine.weightspace.trace import trace


def match(
    space: WeightSpace, model1: nn.Module, model2: nn.Module, *, inputs: Any = None, sweeps: int = 20
) -> Moved:
    """Model 2 moved as close to model 1 as an element of the group brings it, and that element.

    Example:
        >>> from intertwine.models import myrtle
        >>> from intertwine.weightspace import find_symmetries
        >>> model, x = myrtle(4, in_channels=1).double().eval(), torch.zeros(1, 1, 8, 8).double()
        >>> space = find_symmetries(model, x)
        >>> element = space.sample(torch.Generator().manual_seed(0))
        >>> found = match(space, model, space.act(model, space.inverse(element))).element
        >>> [bool((found[name].order == element[name].order).all()) for name in element]
        [True, True, True, True]

    Spaces are taken in the order of the run, each by the weights whose other side is matched already: by
    linear assignment of rows of unit length (or of activations), blocks by the weights their units share,
    matrices by least squares or Procrustes. Then each assignment is repeated on all weights of the space, the
    others given, until none changes (the coordinate descent of Ainsworth et al. 2023). In one orbit the first
    round is exact.

    Args:
        space, model1, model2: models of the same shapes, which are not changed, and their symmetries.
        inputs: to assign units by their activations on these, as many as possible; by default, units are
            assigned by their weights.
        sweeps: the most repetitions over all spaces, by weights.

    Raises:
        ValueError: models of other shapes, or weights that are not finite.
    """
    target, state = space.state(model1), space.state(model2)
    for which, tensors in (("first", target), ("second", state)):
        for k, x in tensors.items():
            if space.solution.touched(k) and not x.isfinite().all():
                raise ValueError(
                    f"Expected models with finite weights, was given NaN or infinity in "
                    f"{space.inference.run.names[k]} of the {which}."
                )
    runs = [trace(model, inputs).values for model in (model1, model2) if inputs is not None]
    given = by_activations(space, *runs) if runs else {}
    done: set[int] = set()
    current = state

    def step(hidden: HiddenSpace, found: list[Rows]) -> Move:
        nonlocal current
        again, move = hidden.index in done, hidden.identity()
        wanted = rows(space.solution, target, hidden, done)
        within = [
            (rows(space.solution, target, each, done), rows(space.solution, current, each, done), each)
            for each in space.spaces
            if each.base == hidden.index
        ]
        done.add(hidden.index)
        if within:
            move = move if again else move._replace(order=_blocks(within))
        elif hidden.kind in MATRICES:
            move = move if again else move._replace(mixed=_matrices(hidden, wanted, found))
        elif again or hidden.kind == "diagonal":  # again: the rest of the scalars, due to batch norm's ε
            signs = {} if again else by_weights(hidden, wanted, found)
            move = _scaled(hidden, wanted, found, move.order, signs)
        else:
            move = _assigned(hidden, wanted, found, given.get(hidden.index))
        current = space.action({hidden.index: move}, current).state(current)
        return move

    state, total = sweep(space, state, step, blocks_first=True)
    everything = {hidden.index for hidden in space.spaces}
    for _ in range(0 if runs else sweeps):
        changed = False
        for hidden in space.spaces:
            if hidden.kind != "monomial" or hidden.base is not None:
                continue
            wanted, found = (rows(space.solution, s, hidden, everything) for s in (target, state))
            move = _assigned(hidden, wanted, found, None)
            if move.sign.any() or not torch.equal(move.order, hidden.identity().order):
                changed = True
                state = space.action({hidden.index: move}, state).state(state)
                total = space.compose({hidden.name: move}, total)
        if not changed:
            break
    return Moved(space.with_state(model2, state), total)


def _assigned(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows], given: Likeness | None) -> Move:
    """Order by linear assignment of units without regard to their scalars, then the scalars."""
    weights = by_weights(hidden, wanted, found)
    likeness = given or weights
    total = sum(alike.abs() if signs else alike for signs, alike in likeness.items())
    assert isinstance(total, Tensor)
    return _scaled(hidden, wanted, found, torch.stack([*map(_best, total)]), weights | likeness)


def _best(likeness: Float[Tensor, "n n"]) -> Int[Tensor, " n"]:
    """For each unit of model 1 the one of model 2."""
    return assignment(likeness, maximize=True)[1].cpu()


def _blocks(pairs: list[tuple[list[Rows], list[Rows], HiddenSpace]]) -> Int[Tensor, "1 b"]:
    """The assignment of blocks, by similarities that do not depend on moves within them."""
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
                alike = torch.stack([m.gather(1, _best(m)[:, None]).sum() for row in inner for m in row])
            likeness = likeness + alike.view(len(x), len(y))
    if not isinstance(likeness, Tensor):
        return torch.arange(pairs[0][2].blocks)[None]
    return _best(likeness)[None]


def _scaled(
    hidden: HiddenSpace, wanted: list[Rows], found: list[Rows], order: Int[Tensor, "b n"], likeness: Likeness
) -> Move:
    """The scalars that make units of model 2, in this order, as long as those of model 1, and most alike."""

    def ratio(one: Rows, other: Rows) -> Float[Tensor, "b n"]:
        y = other.entries.gather(1, order[:, :, None].expand(other.entries.shape))
        sizes = one.entries.norm(dim=2), y.norm(dim=2)
        return torch.where((sizes[0] > 0) & (sizes[1] > 0), sizes[0] / sizes[1], 1).log()

    log, sign = solved(
        hidden,
        ((one.factor, ratio(one, other)) for one, other in paired(wanted, found)),
        (
            (parity, alike.gather(2, order[:, :, None])[:, :, 0] < 0)
            for parity, alike in sorted(likeness.items(), key=lambda item: len(item[0]))
        ),
    )
    return hidden.identity()._replace(order=order, log=log, sign=sign)


def _matrices(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows]) -> Float[Tensor, "b n n"]:
    """The A for which A·W2 is nearest to W1; the identity where more than a sign is open."""
    vector = hidden.vector(wanted[0].factor)
    pairs = [pair for pair in paired(wanted, found) if hidden.vector(pair[0].factor) == vector]
    W1, W2 = (torch.cat([pair[k].entries for pair in pairs], 2) for k in (0, 1))
    n, result = hidden.size, hidden.identity().mixed
    assert result is not None
    for b in range(hidden.blocks):
        if hidden.kind != "general":
            basis = mean_basis(n) if hidden.kind == "mean" else torch.eye(n, dtype=torch.float64)
            result[b] = basis @ procrustes(basis.T @ W1[b], basis.T @ W2[b], hidden.kind) @ basis.T
        elif _rank(W1[b], W2[b]) == n:
            A = torch.linalg.lstsq(W2[b].T, W1[b].T).solution.T
            result[b] = torch.linalg.inv(A).T if vector == (-1,) else A
    return result


def _rank(*Ws: Float[Tensor, "n k"]) -> int:
    return int(min(map(torch.linalg.matrix_rank, Ws)))


def procrustes(W1: Float[Tensor, "n k"], W2: Float[Tensor, "n k"], kind: str) -> Float[Tensor, "n n"]:
    """The orthogonal Q with QW2 nearest to W1.

    Where W1 and W2 leave the sign of one direction open, Q has the sign that is nearer to the identity.
    """
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
