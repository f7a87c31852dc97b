"""A representative of an orbit: two models in one orbit become equal."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.groups import ComplexDiagonal
from intertwine.weightspace.hidden import MATRICES, HiddenSpace
from intertwine.weightspace.move import Move, dual
from intertwine.weightspace.space import Moved, WeightSpace
from intertwine.weightspace.sweep import Rows, across_mean, solved, sweep, wider


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

    Space by space, as soon as weights without another axis that still moves determine it: scalings make their
    rows unit vectors (of a batch norm's gain, over the running deviation), signs make weighted sums of rows
    positive, and these sums order the units; O(n) makes products with a fixed matrix triangular, GL(n) makes
    rows orthonormal first. Spaces without weights to go by, and matrices wider than the rows that are known
    (as of an embedding with fewer words than units), stay as they are; units with equal rows tie.

    Returns:
        The representative as `model`, and the `element` that leads there.
    """
    element = space.element(sweep(space, [space.effective(model)], normal))
    return Moved(space.act(model, element), element)


def normal(hidden: HiddenSpace, look: Callable[[HiddenSpace], list[Rows]]) -> Move:
    """The move that brings these weights to their normal form."""
    move, found = hidden.identity(), look(hidden)
    if hidden.kind in MATRICES:
        vector, (W,) = wider(hidden, found)
        A = torch.stack([across_mean(hidden.kind, partial(_triangular, hidden.kind), block) for block in W])
        return move._replace(mixed=dual(A, vector))
    sums = [(r.factor, (r.entries[0] @ generic(r.entries[0].shape[2], 1))[:, :, 0]) for r in found]
    lengths = [(r.factor, -torch.where(r.sizes[0] > 0, r.sizes[0], 1).log()) for r in found]
    log, sign = solved(hidden, lengths, [(hidden.parities(factor), x < 0) for factor, x in sums])
    move = move._replace(log=log, sign=sign)
    if hidden.kind == "diagonal":
        return move
    key = sum(hidden.scalars(move, factor) * x for factor, x in sums)
    assert isinstance(key, Tensor)
    order = key.argsort(1)
    log, sign = (x.gather(2, order.expand(x.shape)) for x in (log, sign))
    return move._replace(order=order, log=log, sign=sign)


def generic(k: int, n: int) -> Float[Tensor, "k n"]:
    """Fixed numbers in general position."""
    return torch.randn(k, n, generator=torch.Generator().manual_seed(k), dtype=torch.float64)


def _triangular(kind: str, W: Float[Tensor, "n k"]) -> Float[Tensor, "n n"]:
    """A for which AW, times fixed numbers, is triangular; the identity where the rows of W are dependent."""
    n, k = W.shape
    if isinstance(group := MATRICES[kind](n), ComplexDiagonal):
        Z = group.pairs(W)
        return group.matrix((Z @ generic(k, 1).to(Z))[:, 0].sgn().conj() / Z.norm(dim=1))
    white = torch.eye(n, dtype=torch.float64)
    if kind == "general" and k >= n:
        Q, R = torch.linalg.qr(W.T)
        W, white = Q.T, torch.linalg.inv(R).T
    Q, R = torch.linalg.qr(W @ generic(k, n))
    sizes = R.diagonal().abs()
    if k < n or sizes.min() <= 1e-9 * sizes.max():
        return torch.eye(n, dtype=torch.float64)
    return (Q * R.diagonal().sign()).T @ white
