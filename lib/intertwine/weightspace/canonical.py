"""A representative of an orbit: two models in one orbit become equal."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act import Action, Element
from intertwine.weightspace.hidden import MATRICES, HiddenSpace, Move, mean_basis
from intertwine.weightspace.rows import Rows, rows

if TYPE_CHECKING:
    from intertwine.weightspace.find import WeightSpace

State = dict[int, Tensor]
Step = Callable[[HiddenSpace, list[Rows]], Move]


def canonical(space: WeightSpace, state: State) -> tuple[State, Element]:
    """The normal form of these parameters, and the element that takes them there.

    Space by space, as soon as some weights of it have no other axis that still moves: scalars make the rows
    of those weights (or the gains) unit vectors whose sum with fixed weights is positive; units are ordered
    by the first entry of their row, then the next; matrices make the rows orthonormal or triangular.
    """
    return sweep(space, state, normal, passes=2)


def sweep(
    space: WeightSpace, state: State, step: Step, *, passes: int = 1, blocks_first: bool = False
) -> tuple[State, Element]:
    """Take the spaces one by one, as soon as their other axes are done, and move each as `step` says."""
    solution, total = space.solution, space.identity()
    done: set[int] = set()
    waiting = list(space.spaces)
    while waiting:
        ready = next(
            (each for each in waiting if _ready(space, each, waiting, state, done, blocks_first)), None
        )
        if ready is None:
            break
        for _ in range(passes):  # the second takes up what batch norm's ε moved
            move = step(ready, rows(solution, state, ready, done))
            state = Action(solution, {ready.index: move}, state, space.inference.norms).state(state)
            total = space.compose({**space.identity(), ready.index: move}, total)
        waiting.remove(ready)
        done.add(ready.index)
    return state, total


def _ready(
    space: WeightSpace,
    hidden: HiddenSpace,
    waiting: list[HiddenSpace],
    state: State,
    done: set[int],
    blocks_first: bool,
) -> bool:
    """Whether the space has weights to go by; blocks come after the units within them, or before."""
    within = [other for other in waiting if other.base == hidden.index]
    center = space.solution.centers.get(hidden.index)
    if any(other.index == center for other in waiting):
        return False
    if not blocks_first:
        return not within and bool(rows(space.solution, state, hidden, done))
    if any(other.index == hidden.base for other in waiting):
        return False
    return any(rows(space.solution, state, each, done) for each in [hidden, *within])


def normal(hidden: HiddenSpace, found: list[Rows]) -> Move:
    """The move that brings these weights to their normal form."""
    move = hidden.identity()
    if hidden.kind in MATRICES:
        return move._replace(matrix=_matrices(hidden, found))
    log = scales(hidden, found)
    sign = signs(hidden, found)
    move = move._replace(log=log, sign=sign)
    if hidden.kind == "diagonal":
        return move
    best = found[0]
    entries = best.entries * hidden.scalars(move, best.factor)[:, :, None]
    order = torch.stack([_lexicographic(block) for block in entries])
    return move._replace(order=order, log=_reorder(log, order), sign=_reorder(sign, order))


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    return x.gather(2, order.expand(x.shape))


def _lexicographic(entries: Float[Tensor, "n k"]) -> Tensor:
    order = torch.arange(len(entries))
    for column in reversed(range(min(8, entries.shape[1]))):
        order = order[entries[order, column].argsort(stable=True)]
    return order


def scales(hidden: HiddenSpace, found: list[Rows]) -> Float[Tensor, "l b n"]:
    """Logarithms of the scalars that make rows unit vectors, in as many weights as there are scalars."""
    chosen: list[tuple[list[Fraction], Tensor]] = []
    for each in found:
        powers = hidden.powers(each.factor)
        vector = [powers.get(k, Fraction(0)) for k in range(hidden.logs)]
        matrix = torch.tensor([[float(c) for c in v] for v, _ in chosen] + [[float(c) for c in vector]])
        if hidden.logs and torch.linalg.matrix_rank(matrix) > len(chosen):
            size = each.entries.norm(dim=2)
            chosen.append((vector, torch.where(size > 0, size, 1).log()))
    log = hidden.identity().log
    if len(chosen) == hidden.logs and hidden.logs:
        matrix = torch.tensor([[float(c) for c in v] for v, _ in chosen], dtype=torch.float64)
        sizes = torch.stack([size for _, size in chosen])
        log = -torch.einsum("kj,jbn->kbn", torch.linalg.inv(matrix), sizes)
    return log


def signs(hidden: HiddenSpace, found: list[Rows]) -> Tensor:
    """The signs that make fixed sums of the rows positive, in as many weights as there are signs."""
    result = hidden.identity().sign
    known: set[int] = set()
    for each in found:
        parity = hidden.parities(each.factor)
        unknown = sorted(parity - known)
        if not unknown:
            continue
        weights = (1 + torch.arange(each.entries.shape[2], dtype=torch.float64)).cos()
        negative = each.entries @ weights < 0
        for k in parity & known:
            negative = negative ^ result[k]
        result[unknown[0]] = negative
        known |= set(unknown)
    return result


def _matrices(hidden: HiddenSpace, found: list[Rows]) -> Float[Tensor, "b n n"]:
    power = hidden.powers(found[0].factor).get(0, Fraction(1)) if hidden.kind == "general" else Fraction(1)
    same = [r for r in found if hidden.kind != "general" or hidden.powers(r.factor)[0] == power]
    W = torch.cat([each.entries for each in same], 2)
    A = torch.stack([_matrix(hidden.kind, block) for block in W])
    return A if power == 1 else torch.linalg.inv(A).mT


def _matrix(kind: str, W: Float[Tensor, "n k"]) -> Float[Tensor, "n n"]:
    """A with AW in normal form; the identity where the rows of W are dependent."""
    n = len(W)
    if kind == "mean":
        basis = mean_basis(n)
        W = basis.T @ W
        inner = torch.eye(n, dtype=torch.float64)
        weights = (1 + torch.arange(W.shape[1], dtype=torch.float64)).cos()
        inner[0, 0] = 1.0 if W[0] @ weights >= 0 else -1.0
        if n > 1:
            inner[1:, 1:] = _matrix("orthogonal", W[1:])
        return basis @ inner @ basis.T
    if W.shape[1] < n:
        return torch.eye(n, dtype=torch.float64)
    if kind == "orthogonal":
        Q, R = torch.linalg.qr(W)
        return (Q * R.diagonal().sign()).T
    # the projection on the row space does not depend on A: an orthonormal basis made of its first rows
    Q, R = torch.linalg.qr(W.T)
    L = torch.linalg.cholesky(Q[:n] @ Q[:n].T)
    return torch.linalg.solve_triangular(L, Q[:n], upper=False) @ torch.linalg.inv(R).T
