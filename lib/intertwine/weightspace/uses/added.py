"""Parameters that a run adds to its values, as biases are; slopes and bounds act on some values only."""

from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.infer import LAYERS, OF_SHAPE, RULES
from intertwine.weightspace.trace.run import needed

NORMS = {"batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm"}


def added(space: WeightSpace) -> set[int]:
    """The parameters that are added wherever they, or what is made of weights alone, meet other values.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.PReLU(4), nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, torch.zeros(1, 3))
        >>> [space.inference.run.names[k] for k in sorted(added(space))]
        ['0.weight', '0.bias', '2.weight', '2.bias']

    Gains and weights count, as layers and norms take them beside their biases.
    """
    state = space.inference
    adds = LAYERS | NORMS | {name for name, known in RULES.items() if known in (RULES["add"], RULES["addmm"])}
    made, others = {k: {k} for k in state.trainable}, set[int]()
    for call in needed(state.run):
        taken = () if call.name in OF_SHAPE else call.refs
        weights = set[int]().union(*(made.get(x.index, ()) for x in taken))
        if state.given.isdisjoint(results := [x.index for x in call.results]):
            made |= dict.fromkeys(results, weights)
        elif call.name not in adds:
            others |= weights
    return state.trainable - others
