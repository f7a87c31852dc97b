"""A representative of an orbit: two models in one orbit become equal."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move, dual
from intertwine.weightspace.uses.messages import check_space
from intertwine.weightspace.uses.rows import Rows, joined, split, wider
from intertwine.weightspace.uses.sweep import normal_scalars, sweep


def canonicalise(space: WeightSpace, model: nn.Module) -> Moved:
    """The representative of a model's orbit: models in one orbit become equal, up to rounding.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> layers = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)
        >>> model = nn.Sequential(*layers).double().eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3).double())
        >>> moved = space.act(model, space.sample(torch.Generator().manual_seed(0)))
        >>> one, other = (canonicalise(space, each).model for each in (model, moved))
        >>> torch.allclose(one[0].weight, other[0].weight)
        True

    Space by space, as soon as weights without another axis that still moves determine it: scalings make their
    rows unit vectors (of a batch norm's gain, over the running deviation), signs make weighted sums of rows
    positive, and these sums order the units; O(n) makes products with a fixed matrix triangular, GL(n) makes
    rows orthonormal first. Spaces without weights to go by, and matrices wider than the rows that are known
    (as of an embedding with fewer words than units), stay as they are.

    Units tie where rounding could exchange their sums: those with equal rows, and by chance others whose gap
    is less than 4ε of the length of a row. In float32 that left a space open in 5 of 120 random networks with
    two of width 512, and in 19 of 20 with one of width 4096: move and normalise wide networks in float64.

    Args:
        space: the symmetries of the network.
        model: one such network, with weights in float32 or float64; it is not changed.

    Returns:
        The representative as `model`, the `element` that leads there, and the names of those spaces that are
        `undetermined`. For these, models in one orbit may differ.

    See Also:
        `same_network` compares two networks, `balance` moves to the smallest norm.

    Raises:
        ValueError: weights of 16 bits, of other shapes, NaN or infinite.
    """
    check_space(space)
    if low := {x.dtype for x in space.state(model).values() if x.is_floating_point() and x.itemsize < 4}:
        raise ValueError(
            f"Expected weights in float32 or float64, was given {low.pop()}: units are ordered by sums of "
            f"weights, which rounding to 16 bits changes, so take the weights before they were rounded."
        )
    moves, undetermined = sweep(space, [space.folded_state(model)], normal)
    element = space.element(moves)
    return Moved(space.act(model, element), element, space.called(undetermined))


def normal(hidden: HiddenSpace, look: Callable[[HiddenSpace], list[Rows]]) -> Move:
    """The move that brings these weights to their normal form."""
    move, found = hidden.identity(), look(hidden)
    if hidden.matrices is not None:
        vector, side = wider(hidden, found)
        # a vocabulary has more columns than a normal form needs: 2n fixed combinations keep the rank n
        wide = sum(each.width for each in side) > 4 * hidden.size
        W = _condensed(side, 2 * hidden.size) if wide else joined(side, 0).double()
        rounding = max(each.rounding for each in side)
        elements = [hidden.matrices.normal(block, rounding=rounding) for block in W]
        return move._replace(mixed=dual(torch.stack(elements), vector))
    log, sign, key = normal_scalars(hidden, found)
    move = move._replace(log=log, sign=sign)
    if not hidden.permuted:
        return move
    # equal sums, as of equal rows, leave the order open: `sweep` then reports the space
    order = key.argsort(1)
    # a move lists scalars by the new places of the units
    log, sign = (x.gather(2, order.expand(x.shape)) for x in (log, sign))
    return move._replace(order=order, log=log, sign=sign)


def _condensed(side: list[Rows], m: int) -> Float[Tensor, "b n m"]:
    """m fixed combinations of the columns, on which a matrix acts as on these."""
    # the same combinations for every model, or two of one orbit would not become equal
    generator = torch.Generator().manual_seed(m)
    parts = (part.double() for each in side for part in split(each.entries(0), 2))
    combined = sum(x @ torch.randn(x.shape[2], m, generator=generator, dtype=x.dtype) for x in parts)
    assert isinstance(combined, Tensor)
    return combined
