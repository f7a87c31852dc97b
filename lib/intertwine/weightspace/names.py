"""Readable names of hidden spaces: the activations that see them, and the layers that write them."""

from __future__ import annotations

from intertwine.weightspace.axes import Unit, units
from intertwine.weightspace.infer import Inference, Label
from intertwine.weightspace.solve import Solution


def name(state: Inference, solution: Solution) -> None:
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
        factor = single(solution.labels.get(index, ()))
        if factor is not None:
            solution.hidden(factor).names[module] = factor
    for index, parameter in run.names.items():
        for k, axis in enumerate(solution.labels.get(index, ())):
            for factor in units(axis):
                hidden = solution.hidden(factor)
                names = hidden.readers if (index, k) in state.read else hidden.writers
                if parameter not in names:
                    names.append(parameter)


def single(label: Label) -> Unit | None:
    """The only factor of a value that moves, if it is a whole axis; labels of a solution are resolved."""
    moving = [axis for axis in label if any(isinstance(factor, Unit) for part in axis for factor in part)]
    if len(moving) == 1 and len(moving[0]) == 1 and len(moving[0][0]) == 1:
        factor = moving[0][0][0]
        return factor if isinstance(factor, Unit) else None
    return None
