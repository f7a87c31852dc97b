"""What hidden spaces are called, and which parameters write and read them."""

from intertwine.weightspace.rules.axes import moves, single
from intertwine.weightspace.rules.infer import Inference
from intertwine.weightspace.solve.hidden import Solution


def name_spaces(state: Inference, solution: Solution) -> None:
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
