"""Gains of norms become 1: what they multiply by goes into the weights that read them."""

from collections.abc import Collection
from typing import Any

import torch

from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.rules.axes import single
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.sweep import solved


def fold(space: WeightSpace, model: Any, norms: Collection[str] | None = None) -> Moved:
    """Fold the gains of norms into the weights behind them: gains become 1, and the function stays.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(
        ...     nn.Linear(3, 4), nn.RMSNorm(4), nn.Linear(4, 2)
        ... ).eval()
        >>> _ = nn.init.uniform_(model[1].weight)
        >>> found = fold(find_symmetries(model, torch.zeros(1, 3)), model).model
        >>> torch.allclose(found[1].weight, torch.ones(4))
        True

    A shift is divided by its gain. Where a ReLU follows, only the sizes of gains are folded, and their signs
    stay. A gain of 0, as of a unit that is switched off, stays. Batch norms stay: torch folds them into the
    layer before, by `torch.nn.utils.fusion.fuse_conv_bn_eval`.

    Args:
        space: the symmetries of the network.
        model: the network, or its state dict.
        norms: the names of modules; by default all modules whose gain can be folded.

    Raises:
        ValueError: a module without a gain that can be folded.
    """
    state = space.state(model)
    element, folded = dict[str, Move](), set[str]()
    for hidden in space.spaces:
        lengths, signs = [], []
        for k, name in _gains(space, hidden):
            if k in state and (norms is None or name in norms):
                factor = single(space.solution.labels[k][0])
                assert factor is not None
                gain = state[k].detach().double().cpu().expand(hidden.blocks, -1)
                lengths.append((factor, -torch.where(gain == 0, 1, gain.abs()).log()))
                signs.append((hidden.parities(factor), gain < 0))
                folded.add(name)
        if lengths:
            log, sign = solved(hidden, lengths, signs)
            element[hidden.name] = hidden.identity()._replace(log=log, sign=sign)
    if missing := [name for name in norms or () if name not in folded]:
        raise ValueError(
            f"Expected modules whose gains can be folded, was given {missing[0]!r}: choose among "
            f"{sorted(name for each in space.spaces for _, name in _gains(space, each))}, or print the space "
            f"to see why others stay."
        )
    return Moved(space.act(model, element), space.element(element))


def _gains(space: WeightSpace, hidden: HiddenSpace) -> list[tuple[int, str]]:
    """The weights of one axis that scalars of this space multiply, by their number, and their modules."""
    found, batch = [], {edge.gain for edge in space.solution.norms}
    for k, name in space.inference.run.names.items():
        label = space.solution.labels.get(k, ())
        factor = single(label[0]) if len(label) == 1 and name.rpartition(".")[2] == "weight" else None
        if (
            factor is not None
            and k not in batch
            and space.solution.hidden(factor) is hidden
            and any(hidden.vector(factor))
        ):
            found.append((k, name.rpartition(".")[0]))
    return found
