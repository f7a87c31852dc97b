"""Where weights meet the values of a run, and so whether they are added to them, and which of them write."""

from collections.abc import Iterator

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.infer import LAYERS, OF_SHAPE, RULES
from intertwine.weightspace.trace.run import Call, needed

NORMS = {"batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm"}


def entering(space: WeightSpace) -> Iterator[tuple[Call, set[int]]]:
    """Layers, and calls where what is made of weights alone meets other values, with these weights."""
    state = space.inference
    made = {k: {k} for k in state.trainable}
    for call in needed(state.run):
        taken, results = () if call.name in OF_SHAPE else call.refs, [x.index for x in call.results]
        weights = set[int]().union(*(made.get(x.index, ()) for x in taken))
        if call.name in LAYERS or not state.given.isdisjoint(results):
            yield call, weights
        else:
            made |= dict.fromkeys(results, weights)


def added(space: WeightSpace) -> set[int]:
    """The parameters that are added wherever they enter, as biases are; slopes and bounds are not.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.PReLU(4), nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> [space.inference.run.names[k] for k in sorted(added(space))]
        ['0.weight', '0.bias', '2.weight', '2.bias']

    Weights and gains count, too, as layers and norms take them beside their biases.
    """
    adds = LAYERS | NORMS | {name for name, known in RULES.items() if known in (RULES["add"], RULES["addmm"])}
    others = (weights for call, weights in entering(space) if call.name not in adds)
    return space.inference.trainable.difference(*others)


def writers(space: WeightSpace, number: int) -> set[int]:
    """The parameters that bring a hidden space, by its number, to values that have none of its units.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> [space.inference.run.names[k] for k in sorted(writers(space, 0))]
        ['0.weight', '0.bias']
    """
    found, touched = set[int](), space.solution.touched
    for call, weights in entering(space):
        before = {s for x in call.refs if x.index in space.inference.given for s in touched(x.index)}
        if number not in before and any(number in touched(x.index) for x in call.results):
            found |= {k for k in weights if number in touched(k)}
    return found
