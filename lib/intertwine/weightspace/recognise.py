"""Norms that are written by hand, recognised by what they compute."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.run import Call, Ref, Run

LAST = {"mul", "div", "__mul__", "__rmul__", "__truediv__", "mul_", "div_", "multiply", "divide"}
STEPS = 14  # calls that a norm is at most made of
BY_HAND = "norm_by_hand"


def recognise(run: Run) -> None:
    """Put one call where units are divided by a function of their length, or of their deviation.

    The calls between x and the quotient y are run again on random numbers. If y(Qx) = Q·y(x) for orthogonal
    Q, this is an RMS norm to us; if only for those that keep the mean, a layer norm. A reflection at a random
    hyperplane is tried, as reflections generate O(n).
    """
    made = {ref.index: call for call in run.calls for ref in call.results if ref.index not in _indices(call)}
    for call in run.calls:
        shapes = [run.shapes[k] for k in _indices(call)]
        if call.name not in LAST or len(shapes) != 2 or len(shapes[0]) != len(shapes[1]):
            continue
        dims = [k for k, (m, n) in enumerate(zip(*shapes, strict=True)) if m != n]
        if len(dims) == 1 and min(shapes[0][dims[0]], shapes[1][dims[0]]) == 1:
            found = _norm(run, made, call, dims[0])
            if found is not None:
                call.name, call.args, call.kwargs = BY_HAND, (Ref(found[0]), dims[0], found[1]), {}


def _norm(run: Run, made: dict[int, Call], call: Call, dim: int) -> tuple[int, str] | None:
    """The value that is normalised and the kind of its norm, if this call ends one."""
    last, calls = call.results[0].index, [call]
    front, found = set(_indices(call)), None
    while len(calls) <= STEPS:
        front = {k for k in front if k in made or k in run.names or k in run.inputs}  # no constants
        if len(front) == 1 and run.shapes[start := max(front)] == run.shapes[last]:
            kind = _kind(run, calls[::-1], start, last, dim)
            found = (start, kind) if kind else found
        if not front or (before := made.get(max(front))) is None or before.in_place or before.name == BY_HAND:
            break
        front = (front - {each.index for each in before.results}) | set(_indices(before))
        calls.append(before)
    return found


def _kind(run: Run, calls: list[Call], start: int, last: int, dim: int) -> str | None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(run.shapes[start], generator=generator, dtype=torch.float64).movedim(dim, -1)
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
        return values[last].double().movedim(dim, -1)

    try:
        y = computed(x)
        for kind, normal in (("rms", v), ("layer", v - v.mean())):
            if _near(computed(_reflected(x, normal)), _reflected(y, normal)):
                return kind
    except Exception:  # calls that do not take other numbers are no norm
        return None
    return None


def _reflected(x: Float[Tensor, "... n"], v: Float[Tensor, " n"]) -> Float[Tensor, "... n"]:
    return x - 2 * (x @ v)[..., None] * v / v.square().sum()


def _near(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() < 1e-5 * b.abs().max())


def _indices(call: Call) -> list[int]:
    return [ref.index for ref in call.refs()]
