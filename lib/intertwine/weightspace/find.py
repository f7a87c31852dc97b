"""Find the symmetries of any network from one run."""

from typing import Any

from torch import nn

from intertwine.weightspace import rules
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import moves, single
from intertwine.weightspace.rules.infer import Inference, infer, needed
from intertwine.weightspace.solve.solve import Solution, solve
from intertwine.weightspace.trace.interleaved import separate
from intertwine.weightspace.trace.recognise import recognise
from intertwine.weightspace.trace.run import Ref, Run
from intertwine.weightspace.trace.trace import Outputs, trace
from intertwine.weightspace.uses.check import wrong

REGISTERED = rules.__all__  # by their import


def find_symmetries(
    model: nn.Module, example_inputs: Any, *, outputs: Outputs = None, check: bool = True
) -> WeightSpace:
    """Run a model once, and find its hidden spaces, the axes that each of them joins, and its group.

    Example:
        >>> import torch
        >>> from intertwine.models import myrtle
        >>> space = find_symmetries(myrtle(4, in_channels=1).eval(), torch.zeros(1, 1, 8, 8))
        >>> space.spaces[:2]
        [<hidden space relu1: Σ_4 ⋉ (R^* × R_{>0})^4>, <hidden space relu2: Σ_8 ⋉ (R^* × R_{>0})^8>]

    Units that are added move together (godfrey2022 Remark 3.6), and so do those combined channel by channel.
    Activations are classified by `intertwine.groups`. Decisions of Python from shapes, and from integer or
    boolean inputs, are fixed as in this run: the group holds for masks like this one. An operation without a
    rule freezes the axes that it touches. An axis of one unit does not move.

    Args:
        model: in evaluation mode; it is not changed.
        example_inputs: one tensor, a tuple of arguments, or a mapping of keyword arguments, as a tokenizer's.
        outputs: names or positions of the outputs that have to stay the same, as "logits"; all by default,
            but for a cache.
        check: to act with one random element on the example, in float64 where the model allows; spaces
            whose elements change the outputs are frozen, and the table says so.

    Returns:
        The group of all moves that were understood; others may exist.

    Raises:
        ValueError: in training mode; the inputs do not fit; or steps depend on values of weights or of real
            inputs.
    """
    run = trace(model, example_inputs, outputs, values=False)
    recognise(run)
    separate(run)
    failed: list[tuple[int, int]] = []
    while True:
        space = _solved(run, model, failed)
        bad = wrong(space, model, example_inputs) if check and len(space.spaces) else []
        if not bad:
            break
        failed += [
            (index, k)
            for index in run.names
            for k, axis in enumerate(space.solution.labels.get(index, ()))
            if not set(bad).isdisjoint(space.solution.on(axis))
        ]
    run.values.clear()  # the labels are enough from now on
    return space


def _solved(run: Run, model: nn.Module, failed: list[tuple[int, int]]) -> WeightSpace:
    """The group, where these axes of parameters do not move."""
    floating = {k for k, x in model.named_parameters(remove_duplicate=False) if x.is_floating_point()}
    for name, module in model.named_modules():  # a frozen batch norm keeps its weights as buffers
        if module._buffers.keys() >= {"weight", "bias", "running_mean", "running_var"}:
            floating |= {f"{name}.{each}".lstrip(".") for each in module._buffers}
    inference = infer(run, {k for k in run.names if run.stored(k)[0] in floating})
    for index, k in failed:
        inference.freeze((inference.of(Ref(index))[k],), "an element of it changed the outputs when checked")
    solution = solve(inference)
    used = {ref.index for call in needed(run) for ref in call.refs}
    if unused := [x for k, x in run.names.items() if run.stored(k)[0] in floating and k not in used]:
        solution.frozen.append((0, "not seen to reach an output", unused))
    _name(inference, solution)
    return WeightSpace(inference, solution)


def _name(state: Inference, solution: Solution) -> None:
    """Give every hidden space its names, its writers and its readers.

    A module without weights whose output has the shape of its input, as an activation, names the space of its
    input; a layer with weights names the space of its output. A module that is called twice names none.
    """
    run = state.run
    layers = {parameter.rpartition(".")[0] for parameter in run.names.values()}
    weighted = {".".join(each.split(".")[:k]) for each in layers for k in range(1, each.count(".") + 2)}
    once = {module: calls[0] for module, calls in run.modules.items() if len(calls) == 1}
    seen = [
        (before, len(module), module)
        for module, (before, after) in once.items()
        if module not in weighted and run.shapes[before] == run.shapes[after]
    ]
    named = [(module, before) for before, _, module in sorted(seen)]
    named += [(module, after) for module, (_, after) in once.items() if module in layers]
    for module, index in named:
        moving = [axis for axis in solution.labels.get(index, ()) if moves(axis)]
        if len(moving) == 1 and (factor := single(moving[0])) is not None:
            solution.hidden(factor).names[module] = factor
    for index, parameter in run.names.items():
        for k, axis in enumerate(solution.labels.get(index, ())):
            for hidden in solution.on(axis):
                names = hidden.readers if (index, k) in state.read else hidden.writers
                names += [parameter] if parameter not in names else []
