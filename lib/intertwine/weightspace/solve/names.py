"""What hidden spaces are called, and which parameters write and read them."""

from itertools import takewhile

from intertwine.weightspace.rules.axes import Unit, moves, single, units
from intertwine.weightspace.rules.infer import Inference
from intertwine.weightspace.solve.hidden import RESIDUAL, HiddenSpace, Solution


def name_spaces(state: Inference, solution: Solution) -> None:
    """Give every hidden space its names, its writers and its readers.

    A module without weights whose output has the shape of its input, as an activation, names the space of its
    input; a layer with weights names the space of its output. A module that is called twice names one where
    all calls agree, as those of an encoder of two images, and not those of an activation in two places.
    """
    run = state.run
    layers = {parameter.rpartition(".")[0] for parameter in run.names.values()}
    # modules that contain weights are no activations, even if shapes agree
    weighted = {".".join(each.split(".")[:k]) for each in layers for k in range(1, each.count(".") + 2)}
    seen = [
        (calls[0][0], len(module), module)
        for module, calls in run.modules.items()
        if module not in weighted and all(run.shapes[before] == run.shapes[after] for before, after in calls)
    ]
    # the first value of the run first; of modules around one value the shortest name, the outermost
    named = [(module, [before for before, _ in run.modules[module]]) for _, _, module in sorted(seen)]
    named += [
        (module, [after for _, after in calls]) for module, calls in run.modules.items() if module in layers
    ]
    for module, values in named:
        factor, *others = (_moving(solution, index) for index in values)
        if factor is not None and all(each == factor for each in others):
            solution.hidden(factor).names[module] = factor
    for index, parameter in run.names.items():
        for k, axis in enumerate(solution.labels.get(index, ())):
            for factor in units(axis):
                hidden = solution.hidden(factor)
                writes = not state.is_read(index, k, hidden.space)
                names = hidden.writers if writes else hidden.readers
                names += [parameter] if parameter not in names else []
                if writes and hidden.written is None and hidden.scaled(factor):
                    hidden.written = factor
    added, taken = _added(state, solution), set[str]()
    for hidden in solution.spaces:
        name = _name(state, solution, hidden, added)
        hidden.called = name if name not in taken else f"{name}, P{hidden.index}"
        taken.add(hidden.called)


def _moving(solution: Solution, index: int) -> Unit | None:
    """The factor on the only axis of a value that moves."""
    moving = [axis for axis in solution.labels.get(index, ()) if moves(axis)]
    return single(moving[0]) if len(moving) == 1 else None


def _name(state: Inference, solution: Solution, hidden: HiddenSpace, added: set[int]) -> str:
    """The first module that names a space; where none does, that of its writers, and what it is of them."""
    run = state.run
    idle = {module for module, [(before, after), *_] in run.modules.items() if before == after}  # a dropout
    layers = {parameter.rpartition(".")[0] for parameter in run.names.values()}
    if named := [module for module in hidden.names if module not in idle] or [*hidden.names]:
        return named[0] + RESIDUAL * (named[0] in layers and hidden.index in added)
    if not (parameters := hidden.writers or hidden.readers):
        return f"P{hidden.index}"
    if hidden.base is None and "blocks" not in hidden.why:
        return parameters[0]
    modules = [parameter.rpartition(".")[0].split(".") for parameter in parameters]
    shared = takewhile(lambda at: len({*at}) == 1, zip(*modules, strict=False))
    module = ".".join(at[0] for at in shared) or parameters[0].rpartition(".")[0]
    blocks = hidden if hidden.base is None else solution.spaces[hidden.base]
    return f"{module}: {_part(hidden, attention='softmax' in [*hidden.why, *blocks.why])}"


def _part(hidden: HiddenSpace, attention: bool) -> str:
    """What a space of blocks, or within blocks, is of a module."""
    if "blocks" in hidden.why:
        outer, inner = ("heads", "heads that share keys") if attention else ("groups", "groups in groups")
        return outer if hidden.base is None else inner
    if not attention:
        return "within groups"
    return "values" if hidden.readers else "queries and keys"  # these meet each other, and no weight


def _added(state: Inference, solution: Solution) -> set[int]:
    """The spaces in which two values are added, as a shortcut and its branch."""
    found: set[int] = set()
    for call in state.run.calls:
        if call.name.strip("_") in ("add", "iadd") and len(call.refs) == 2:
            one, other = (x.index for x in call.refs)
            if not {one, other} & state.run.names.keys():  # a bias is no branch
                found |= solution.touched(one) & solution.touched(other)
    return found
