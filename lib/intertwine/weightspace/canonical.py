"""A representative of an orbit: two models in one orbit become equal."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.groups.stabilizer_of_ones import mean_basis
from intertwine.weightspace.hidden import MATRICES, HiddenSpace
from intertwine.weightspace.move import Move
from intertwine.weightspace.rows import Rows
from intertwine.weightspace.space import Moved, WeightSpace
from intertwine.weightspace.sweep import solved, sweep


def canonicalise(space: WeightSpace, model: nn.Module) -> Moved:
    """The representative of a model's orbit: models in one orbit become equal, up to rounding.

    Example:
        >>> from intertwine.models import fcn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = fcn((3, 4, 1), bias=True).double().eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3).double())
        >>> moved = space.act(model, space.sample(torch.Generator().manual_seed(0)))
        >>> one, other = (canonicalise(space, each).model for each in (model, moved))
        >>> torch.allclose(one.fc1.weight, other.fc1.weight)
        True

    Space by space, as soon as some of its weights have no other axis that still moves: scalings make the rows
    of the first weights (or the gains) unit vectors, signs make a weighted sum of their entries positive,
    units are ordered by the first entry of their row, then the next; O(n) makes them triangular, GL(n)
    orthonormal. Spaces without weights to go by, and matrices wider than the rows that are known by then (as
    of an embedding with fewer words than units), stay as they are.

    Returns:
        The representative as `model`, and the `element` that leads there.
    """
    state, element = sweep(space, space.state(model), normal)
    return Moved(space.with_state(model, state), element)


def normal(hidden: HiddenSpace, found: list[Rows]) -> Move:
    """The move that brings these weights to their normal form."""
    move = hidden.identity()
    if hidden.kind in MATRICES:
        return move._replace(mixed=_matrices(hidden, found))
    sizes = ((each.factor, each.entries.norm(dim=2)) for each in found)
    lengths = ((factor, -torch.where(size > 0, size, 1).log()) for factor, size in sizes)
    signs = ((hidden.parities(r.factor), r.entries @ _weights(r.entries.shape[2]) < 0) for r in found)
    log, sign = solved(hidden, lengths, signs)
    move = move._replace(log=log, sign=sign)
    if hidden.kind == "diagonal":
        return move
    best = found[0]
    entries = best.entries * hidden.scalars(move, best.factor)[:, :, None]
    order = torch.stack([_lexicographic(block) for block in entries])
    log, sign = (x.gather(2, order.expand(x.shape)) for x in (log, sign))
    return move._replace(order=order, log=log, sign=sign)


def _lexicographic(entries: Float[Tensor, "n k"]) -> Tensor:
    order = torch.arange(len(entries))
    for column in reversed(range(min(8, entries.shape[1]))):
        order = order[entries[order, column].argsort(stable=True)]
    return order


def _weights(count: int) -> Float[Tensor, " count"]:
    """Fixed numbers whose products with rows are hardly ever 0."""
    return (1 + torch.arange(count, dtype=torch.float64)).cos()


def _matrices(hidden: HiddenSpace, found: list[Rows]) -> Float[Tensor, "b n n"]:
    vector = hidden.vector(found[0].factor)
    W = torch.cat([each.entries for each in found if hidden.vector(each.factor) == vector], 2)
    A = torch.stack([_matrix(hidden.kind, block) for block in W])
    return torch.linalg.inv(A).mT if vector == (-1,) else A


def _matrix(kind: str, W: Float[Tensor, "n k"]) -> Float[Tensor, "n n"]:
    """A with AW in normal form; the identity where the rows of W are dependent."""
    n = len(W)
    if kind == "mean":
        basis = mean_basis(n)
        W = basis.T @ W
        inner = torch.eye(n, dtype=torch.float64)
        inner[0, 0] = 1.0 if W[0] @ _weights(W.shape[1]) >= 0 else -1.0
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
