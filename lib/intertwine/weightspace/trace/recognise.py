"""Norms and rotary positions that are written by hand, recognised by what they compute."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.devices import precise
from intertwine.groups import (
    CentredOrthogonal,
    ComplexDiagonal,
    InterleavedComplexDiagonal,
    MatrixGroup,
    Orthogonal,
)
from intertwine.weightspace.trace.run import Call, Ref, Run

QUOTIENTS = {"mul", "div", "__mul__", "__rmul__", "__truediv__", "mul_", "div_", "multiply", "divide"}
SUMS = {"add", "__add__", "__radd__"}
STEPS = 14  # calls that one of these is at most made of
BY_HAND = "by_hand"
RECOGNISED_AS: dict[type[MatrixGroup], str] = {Orthogonal: "rms_norm", CentredOrthogonal: "layer_norm"}
"""What commutes with these matrices; with complex numbers, it is rotary positions."""


def recognise(run: Run) -> None:
    """Put one call where units are divided by their length or deviation, or where pairs of them are turned.

    The calls between x and y are run again on random numbers. If y(Qx) = Q·y(x) for orthogonal Q, this is an
    RMS norm to us; if only for those that keep the mean, a layer norm. A reflection at a random hyperplane is
    tried, as reflections generate O(n). If y(Dx) = D·y(x) for D that multiply pairs of units by complex
    numbers, but not for a reflection, these are rotary positions.
    """
    made = {ref.index: call for call in run.calls for ref in call.results if ref.index not in _indices(call)}
    for at, call in enumerate(run.calls):
        shapes = [run.shapes[k] for k in _indices(call)]
        if call.name not in QUOTIENTS | SUMS or len(shapes) != 2 or len(shapes[0]) != len(shapes[1]):
            continue
        dims = [k for k, (m, n) in enumerate(zip(*shapes, strict=True)) if m != n]
        if call.name in SUMS:
            dims = [] if dims or not shapes[0] or shapes[0][-1] % 2 else [len(shapes[0]) - 1]
        elif len(dims) == 1 and min(shapes[0][dims[0]], shapes[1][dims[0]]) > 1:
            dims = []
        if len(dims) == 1 and (found := _found(run, made, call, dims[0])) is not None:
            start, group, fixed = found
            args = Ref(start), dims[0], group, fixed
            title = RECOGNISED_AS.get(group, "rotary positions")
            together = Call(BY_HAND, call.function, args, {}, call.results, title=title)
            run.calls[at] = made[call.results[0].index] = together


Found = tuple[int, type[MatrixGroup], list[int]]
"""A value on which some calls work, the matrices that commute with them, and axes that they depend on."""


def _found(run: Run, made: dict[int, Call], call: Call, dim: int) -> Found | None:
    """What this call and some before it are."""
    last, calls = call.results[0].index, [call]
    front, found = set(_indices(call)), None
    while len(calls) <= STEPS:
        front &= run.dynamic  # no constants
        if len(front) == 1 and run.shapes[start := max(front)] == run.shapes[last]:
            found = _commuting(run, calls[::-1], start, dim) or found
        if not front or (before := made.get(max(front))) is None or before.in_place or before.name == BY_HAND:
            break
        front = (front - {each.index for each in before.results}) | set(_indices(before))
        calls.append(before)
    return found


def _commuting(run: Run, calls: list[Call], start: int, dim: int) -> Found | None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(run.shapes[start], generator=generator, dtype=torch.float64).movedim(dim, -1)
    # vectors of unlike lengths and means, on which a norm differs from a product with a constant
    x = x * torch.rand(x.shape[:-1], generator=generator, dtype=torch.float64)[..., None] + 0.3
    v = torch.randn(x.shape[-1], generator=generator, dtype=torch.float64)

    def computed(z: Tensor) -> Tensor:
        values: dict[int, Any] = {start: z.movedim(-1, dim).to(x.device)}

        def at(ref: Ref) -> Tensor:
            return values.get(ref.index, run.values[ref.index])

        for call in calls:
            result = call.computed(at)
            several = [result] if isinstance(result, Tensor) else result
            values |= zip((ref.index for ref in call.results), several, strict=False)
        return precise(values[calls[-1].results[0].index]).movedim(dim, -1)

    def commutes(function: Callable[[Tensor], Tensor]) -> bool:
        expected = function(y)
        return bool((computed(function(x)) - expected).abs().max() < 1e-5 * expected.abs().max())

    reflected = partial(_reflected, v=v)
    tests: dict[type[MatrixGroup], Callable[[Tensor], Tensor]]
    if calls[-1].name in QUOTIENTS:
        tests = {Orthogonal: reflected, CentredOrthogonal: partial(_reflected, v=v - v.mean())}
        besides = partial(torch.mul, 2)  # a product with constants is no norm
    else:
        pairs = ComplexDiagonal, InterleavedComplexDiagonal
        tests = {group: partial(torch.matmul, other=group(len(v)).sample(generator)) for group in pairs}
        besides = reflected  # no rotation, if it is the same for all units
    try:
        y = computed(x)
        group = next((group for group, function in tests.items() if commutes(function)), None)
        if group is None or commutes(besides):
            return None
        # −1 is no product of reflections that keep the mean, and changes a gate by the mean
        if group.self_dual and not commutes(torch.neg):
            return None
        fixed = [k for k in range(x.ndim - 1) if not commutes(partial(torch.flip, dims=[k]))]
        return start, group, [k + (k >= dim) for k in fixed]
    except Exception:  # calls that do not take other numbers
        return None


def _reflected(x: Float[Tensor, "... n"], v: Float[Tensor, " n"]) -> Float[Tensor, "... n"]:
    return x - 2 * (x @ v)[..., None] * v / v.square().sum()


def _indices(call: Call) -> list[int]:
    return [ref.index for ref in call.refs]
