"""The element that brings one network closest to another: shared spaces together, scalars and all."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.alignment import assignment
from intertwine.devices import rounding_unit
from intertwine.weightspace.act.action import ROOM, Action
from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.rules.axes import single
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move, dual
from intertwine.weightspace.trace.trace import trace
from intertwine.weightspace.uses.matrices import fitted, for_both_sides
from intertwine.weightspace.uses.messages import check_space
from intertwine.weightspace.uses.rows import Rows, joined, places, rows, sides, split, wider
from intertwine.weightspace.uses.sweep import normal_scalars, solved, sweep


def match(
    space: WeightSpace, model1: nn.Module, model2: nn.Module, *, inputs: Any = None, sweeps: int = 20
) -> Moved:
    """Model 2 moved close to model 1 by an element of the group, and that element.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> first, second = [nn.Linear(3, 4), nn.ReLU()], [nn.Linear(4, 5), nn.ReLU()]
        >>> model = nn.Sequential(*first, *second, nn.Linear(5, 1)).double().eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3).double())
        >>> element = space.sample(torch.Generator().manual_seed(0))
        >>> moved = space.act(model, space.inverse(element))
        >>> found = match(space, model, moved).element
        >>> [torch.equal(found[name].order, element[name].order) for name in element]
        [True, True]

    Spaces are taken in the order of the run, each by the weights whose other side is matched already: by
    linear assignment of rows of unit length, blocks by the weights their units share, matrices by least
    squares or Procrustes. In one orbit this is exact. Else a matrix that least squares fits to what it writes
    may harm what reads it: the orthogonal one that is best for both is taken where it brings these nearer.
    And each assignment is repeated on all weights of the space, the others given, until none changes (the
    coordinate descent of Ainsworth et al. 2023).

    Scalars make units of model 2 as long as those of model 1, so that of a unit that is almost dead in one of
    them is a power of ten far from 1; permutations alone have none.

    Args:
        space: the symmetries of both models; as found with group="permutation", the element permutes units
            and does nothing else, as in git re-basin.
        model1, model2: of the same shapes; they are not changed.
        inputs: where given, units are assigned by their activations on these, which should be many; by their
            weights where the places of activations move, too, as channels do in a layer that mixes tokens.
        sweeps: the most repetitions over all spaces, by weights.

    Returns:
        Model 2 as `model`, moved by the `element`, and the names of those spaces that are `undetermined`. For
        these the element is one of several, and models in one orbit may stay apart.

    See Also:
        `same_network` says whether anything is left between them, `canonicalise` needs no second network.

    Raises:
        ValueError: models of other shapes, weights that are not finite, or a model where the space belongs.
    """
    check_space(space)
    solution, target = space.solution, space.folded_state(model1, "first")
    state = space.folded_state(model2, "second")
    runs = [trace(model, inputs).values for model in (model1, model2) if inputs is not None]
    given = by_activations(space, *runs) if runs else {}

    def step(hidden: HiddenSpace, look: Callable[[HiddenSpace], list[Rows]]) -> Move:
        within = [(each, look(each)) for each in space.spaces if each.base == hidden.index]
        if within:
            return hidden.identity()._replace(order=_blocks(within))
        if hidden.matrices is not None:
            vector, side = wider(hidden, look(hidden))
            return hidden.identity()._replace(mixed=dual(fitted(hidden.matrices, side), vector))
        return _assigned(hidden, look(hidden), given.get(hidden.index))

    # an order needs no more precision than the weights have, a length is a mean; matrices are fitted in more
    moves, undetermined = sweep(space, [target, state], step, blocks_first=True, exact=False, sums=False)
    moves = for_both_sides(space, moves, undetermined, target, state)
    total = space.element(moves)
    if runs:
        return Moved(space.act(model2, total), total, space.called(undetermined))
    state = Action(solution, moves, state).tensors(state)
    apart = any(_differ(state[k], target[k]) for k in state if solution.touched(k))
    everything, unmoved = {*range(len(space.spaces))}, Action(solution, {}, state)
    for _ in range(sweeps if apart else 0):
        before = total
        for hidden in space.spaces:
            if hidden.permuted and hidden.base is None:
                models, found = [(target, unmoved), (state, unmoved)], [*places(solution, hidden, state)]
                if hidden.index not in undetermined:  # what an open element moves would only mislead
                    found = [each for each in found if each.others.isdisjoint(undetermined)] or found
                move = _assigned(hidden, rows(found, models, everything, exact=False), None)
                if move.sign.any() or not torch.equal(move.order, hidden.identity().order):
                    state = Action(solution, {hidden.index: move}, state).tensors(state)
                    total = space.compose({hidden.name: move}, total)
        if total is before:
            break
    return Moved(space.act(model2, total), total, space.called(undetermined))


def _differ(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors differ by more than rounding."""
    apart = length = 0.0
    for a, b in zip(x.flatten().split(ROOM), y.flatten().split(ROOM), strict=True):
        apart += float((a.double() - b.double()).square().sum())
        length += float(b.double().square().sum())
    return apart > max(1e-10, rounding_unit([x, y]) ** 2) * length


Likeness = dict[frozenset[int], Float[Tensor, "b n n"]]
"""Similarity of all pairs of units, in each block; apart for tensors with other signs."""


def by_weights(hidden: HiddenSpace, found: list[Rows]) -> Likeness:
    """Inner products of all weights of one unit with those of another, by the signs that act on them.

    Tensors with equal scalars are divided by their common length.
    """
    likeness: Likeness = {}
    for powers, group in sides(hidden, found).items():
        lengths = [torch.stack([each.sizes[k] for each in group]).norm(dim=0) for k in (0, 1)]
        size = float(lengths[0].norm()) or 1.0
        units = [n if any(powers) else n.new_full((1, 1), size) for n in lengths]
        for each in group:
            inner: Tensor | float = 0.0
            for parts in zip(*(split(each.entries(model), 2) for model in (0, 1)), strict=True):
                # rows of length 1 are told apart if they differ by √ε, ε of the weights' own precision
                kind = torch.promote_types(*(z.dtype for z in parts))
                x, y = (_divided(z, n).to(kind) for z, n in zip(parts, units, strict=True))
                inner = inner + x @ y.mT
            assert isinstance(inner, Tensor)
            inner = inner.double().mul_(size if any(powers) else size**2)
            signs = hidden.parities(each.factor)
            likeness[signs] = inner.add_(likeness.get(signs, 0))
    return likeness


def _divided(x: Float[Tensor, "b n k"], sizes: Float[Tensor, "#b #n"]) -> Float[Tensor, "b n k"]:
    """Each row divided by a number, zeros by zeros, too, in the precision of x."""
    return x * (1 / sizes.clamp(min=torch.finfo(x.dtype).tiny)).to(x.dtype)[:, :, None]


def by_activations(space: WeightSpace, first: list[Tensor], second: list[Tensor]) -> dict[int, Likeness]:
    """For each space of permutations, how alike the activations of units are, over inputs and positions."""
    result: dict[int, Likeness] = {}
    seen = {*range(len(first))} & space.inference.given - space.inference.stacks.keys()  # no part of a layer
    for k, label in space.solution.labels.items():
        if k not in seen or not space.solution.fits(k, first[k].shape):
            continue
        for at, axis in enumerate(label):
            factor, others = single(axis), (*label[:at], *label[at + 1 :])
            if factor is None or space.solution.on(*others):  # units are compared place by place
                continue
            hidden = space.solution.hidden(factor)
            if hidden.permuted and hidden.base is None:
                x, y = (v[k].double().movedim(at, 0).flatten(1) for v in (first, second))
                x, y = (torch.nn.functional.normalize(z - z.mean(1, keepdim=True), dim=1) for z in (x, y))
                signs, likeness = hidden.parities(factor), result.setdefault(hidden.index, {})
                likeness[signs] = likeness.get(signs, 0) + (x @ y.T).cpu()[None]
    return result


def _assigned(hidden: HiddenSpace, found: list[Rows], given: Likeness | None) -> Move:
    """Order by linear assignment of units without regard to their scalars, then the scalars.

    These make units of model 2, in this order, as long as those of model 1, and most alike.
    """
    move, weights = hidden.identity(), by_weights(hidden, found)
    order = move.order
    if hidden.permuted:
        total = sum(alike.abs() if signs else alike for signs, alike in (given or weights).items())
        assert isinstance(total, Tensor)
        if not given and _numbers(hidden, found):  # of length 1 these are all alike, but not their products
            x, y = (normal_scalars(hidden, found, model)[2] for model in (0, 1))
            total = -(x[:, :, None] - y[:, None, :]).square()
        order = torch.stack([*map(_best, total)])
    measured = found if hidden.logs else []
    lengths = [(each.factor, _ratio(each.sizes[0], each.sizes[1], order)) for each in measured]
    likeness = [*(weights | (given or {})).items()] if hidden.signs else []
    # weights of zeros, as biases begin with, say nothing of signs
    likeness.sort(key=lambda item: (not item[1].any(), len(item[0])))
    signs = [(parity, alike.gather(2, order[:, :, None])[:, :, 0] < 0) for parity, alike in likeness]
    log, sign = solved(hidden, lengths, signs)
    return move._replace(order=order, log=log, sign=sign)


def _ratio(
    one: Float[Tensor, "b n"], other: Float[Tensor, "b n"], order: Int[Tensor, "b n"]
) -> Float[Tensor, "b n"]:
    """The logarithm of the length of a unit of model 1 over that of model 2; 0 where one of them is 0."""
    other = other.gather(1, order)
    return torch.where((one > 0) & (other > 0), one / other, 1).log()


def _numbers(hidden: HiddenSpace, found: list[Rows]) -> bool:
    """Whether scalars multiply all weights of a unit, each of them other weights, and each a single one."""
    powers = [hidden.vector(each.factor) for each in found]
    return len({*powers}) == len(powers) and all(map(any, powers)) and all(r.width == 1 for r in found)


def _best(likeness: Float[Tensor, "n n"]) -> Int[Tensor, " n"]:
    """For each unit of model 1 the one of model 2."""
    return assignment(likeness, maximize=True)[1].cpu()


def _blocks(within: list[tuple[HiddenSpace, list[Rows]]]) -> Int[Tensor, "1 b"]:
    """The assignment of blocks, by similarities that do not depend on moves of the units within them."""
    likeness = torch.zeros(within[0][0].blocks, within[0][0].blocks, dtype=torch.float64)
    for hidden, found in within:
        for x, y in ([each.entries(model) for model in (0, 1)] for each in found):
            if hidden.matrices is None:
                x, y = (torch.nn.functional.normalize(z, dim=2) for z in (x, y))
                inner = torch.einsum("aik,bjk->abij", x, y)
                inner = inner.abs() if hidden.signs else inner
                alike = [m.gather(1, _best(m)[:, None]).sum() for row in inner for m in row]
                likeness += torch.stack(alike).view(likeness.shape)
            elif x.shape[2] > x.shape[1]:  # else they span everything
                x, y = (torch.linalg.qr(z.mT).Q.mT for z in (x, y))
                likeness += torch.einsum("aik,bjk->abij", x, y).square().sum((2, 3))
        if hidden.matrices is not None and len(both := [*sides(hidden, found).values()]) == 2:
            # the inner products of x₁ᵀx₂, of two sides of model 1, with y₁ᵀy₂: A and its dual cancel
            pairs = [[joined(side, model) for model in (0, 1)] for side in both]
            one, other = (torch.einsum("aik,bjk->abij", x, y) for x, y in pairs)
            sizes = [
                ((x1 @ x1.mT) * (x2 @ x2.mT)).double().sum((1, 2)) for x1, x2 in zip(*pairs, strict=True)
            ]
            inner = (one * other).double().sum((2, 3))
            likeness += hidden.size * inner / (sizes[0][:, None] * sizes[1]).sqrt().clamp(min=1e-300)
    return _best(likeness)[None]
