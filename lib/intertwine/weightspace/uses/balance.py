"""The norm of the weights along an orbit: how it changes with the scalings, and where it is smallest."""

import itertools
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.weightspace.act.action import pieces
from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.trace.given import eager, named_tensors
from intertwine.weightspace.uses.messages import check_space

Logs = Mapping[str, Float[Tensor, "k b n"]]


@torch.inference_mode(False)  # which enables gradients, too
def imbalance(space: WeightSpace, model: nn.Module) -> dict[str, Float[Tensor, "k b n"]]:
    """The derivative of half the squared norm of all parameters along every scaling.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> found = imbalance(find_symmetries(model, torch.zeros(1, 3)), model)["1"]
        >>> enter = (
        ...     torch.cat([model[0].weight, model[0].bias[:, None]], 1).square().sum(1)
        ... )
        >>> leave = model[2].weight.square().sum(0)
        >>> torch.allclose(found[0, 0].float(), enter - leave)
        True

    Gradient flow with weight decay λ on every parameter multiplies each of these numbers by exp(-2λt), as the
    loss is the same along every scaling (Du et al. 2018; Kunin et al. 2021).

    Args:
        space: the symmetries of the network.
        model: the network; it is not changed.

    Returns:
        By the name of each space, the derivatives along the k scalings of its b blocks of n units.
    """
    check_space(space)
    logs = _no_scaling(space)
    half = _half_squared_norm(space, model, logs)
    return dict(zip(logs, torch.autograd.grad(half, list(logs.values())), strict=True)) if logs else {}


@torch.inference_mode(False)
def balance(space: WeightSpace, model: nn.Module) -> Moved:
    """The point of a model's orbit where the parameters have the smallest norm, reached by scalings.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(
        ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        ... ).eval()
        >>> _ = [
        ...     nn.init.constant_(p, w) for p, w in zip(model.parameters(), (8.0, 2.0))
        ... ]
        >>> space = find_symmetries(model, torch.zeros(1, 1))
        >>> [p.flatten().tolist() for p in balance(space, model).model.parameters()]
        [[4.0, 4.0], [4.0, 4.0]]

    The squared norm is a sum of exponentials of the logarithms of scalings, hence convex: where the imbalance
    is 0 it is smallest. Orders, signs and orthogonal matrices do not change it; GL(n) is left alone. With
    gains 1 + w, where w is the parameter, it is no such sum, and the point may be a local minimum. Where the
    weights on one side of a unit are 0, as layers may begin, those on the other only become very small.

    Args:
        space: the symmetries of a network without batch norm.
        model: the network; it is not changed.

    Returns:
        The point as `model`, the `element` that leads there, and as `undetermined` the names of the spaces of
        GL(n) and other groups of matrices that are not orthogonal: along them the norm may be smaller still.

    Raises:
        ValueError: with batch norm, weight norm, or another function that ignores the size of weights, whose
            norm has no minimum then.
    """
    check_space(space)
    if space.solution.norms:
        raise ValueError(
            "Expected a model without batch norm, was given one with it: in front of batch norm weights can "
            "be arbitrarily small, so no point of the orbit has the smallest norm."
        )
    logs, element = _no_scaling(space), space.identity()
    if logs and (small := _vanishing(space, model, logs)):
        raise ValueError(
            f"Expected parameters with a smallest norm, was given {small[0]}, which can be arbitrarily "
            f"small, as nothing depends on its size: remove what divides by its size, such as weight norm."
        )
    linear = tuple(each.name for each in space.spaces if each.matrices and not each.matrices.self_dual)
    if not logs:
        return Moved(space.act(model, element), element, linear)
    size = _half_squared_norm(space, model, logs).item() or 1.0
    # smooth and convex in one number for each unit: with a line search, L-BFGS needs no step size
    optimiser = torch.optim.LBFGS(
        list(logs.values()),
        max_iter=500,
        # of a loss of order 1 (it is divided by `size`): below what float32 weights can hold
        tolerance_grad=1e-10,
        tolerance_change=1e-15,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = _half_squared_norm(space, model, logs) / size
        value.backward()
        return value

    optimiser.step(closure)
    element |= {k: element[k]._replace(log=log.detach()) for k, log in logs.items()}
    return Moved(space.act(model, element), element, linear)


def _no_scaling(space: WeightSpace) -> dict[str, Tensor]:
    """Logarithms of scalings, all 0, with gradients; a scalar multiple of a matrix is not one of them."""
    return {
        name: move.log.requires_grad_()
        for name, move in space.identity().items()
        if move.mixed is None and move.log.numel()
    }


def _vanishing(space: WeightSpace, model: nn.Module, logs: Logs) -> list[str]:
    """The parameters that scalings make arbitrarily small while none becomes larger."""
    from scipy.optimize import linprog  # slow to import

    run, trained = space.inference.run, _trained(model)
    start = dict(zip(logs, itertools.accumulate(map(len, logs.values()), initial=0), strict=False))
    names: dict[tuple[float, ...], str] = {}  # by the powers of all scalars in a part of a parameter
    for k in run.names:
        name, label = run.stored(k)[0], space.solution.labels.get(k, ())
        for piece in pieces(space.solution, label, run.shapes[k]) if label and name in trained else ():
            powers = [0.0] * sum(map(len, logs.values()))
            for factor, hidden in zip(piece.factors, piece.spaces, strict=True):
                if isinstance(factor, Unit) and hidden is not None and hidden.name in logs:
                    for i, c in enumerate(hidden.vector(factor), start[hidden.name]):
                        powers[i] += c
            # of a gain 1 + w the parameter w may grow, but becomes no smaller for ever
            own = "" if k in run.parts and run.parts[k].shift else name
            names[tuple(powers)] = names.get(tuple(powers)) or own
    rows = torch.tensor([*names], dtype=torch.float64)
    total = rows[[bool(name) for name in names.values()]].sum(0)
    # a direction in which all powers are at least 0, and as many as possible are larger
    direction = torch.from_numpy(
        linprog((-total).numpy(), (-rows).numpy(), [0.0] * len(rows), bounds=(-1, 1)).x
    )
    return [name for name, c in zip(names.values(), rows @ direction, strict=True) if name and c > 1e-6]


def _half_squared_norm(space: WeightSpace, model: nn.Module, logs: Logs) -> Tensor:
    """Of all parameters, moved by these scalings; each counts once, however many names it has."""
    old, run, trained = space.state(model), space.inference.run, _trained(model)
    # detached, so that gradients of the scalings do not reach the model's own
    state = {k: _precise(x.detach()) for k, x in old.items()}
    moves = {space[name].index: space[name].identity()._replace(log=log) for name, log in logs.items()}
    moved = space.action(moves, state).state(state)
    # of a gain 1 + w the parameter w counts, not the gain
    moved |= {k: part.undone(moved[k]) for k, part in run.parts.items() if k in moved}
    squares = [moved[k].abs().square().sum() / 2 for k in old if run.stored(k)[0] in trained]
    return torch.stack(squares).sum() if squares else torch.zeros((), dtype=torch.float64)


def _trained(model: nn.Module) -> set[str]:
    """The names of all parameters."""
    return {name for name, x in named_tensors(eager(model)) if isinstance(x, nn.Parameter)}


def _precise(x: Tensor) -> Tensor:
    """In float64 where it is real, and a copy where it could have no gradients."""
    return x.to(torch.float64 if x.is_floating_point() else x.dtype, copy=x.is_inference())
