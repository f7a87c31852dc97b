"""Gains of norms become 1: what they multiply by goes into the weights that read them."""

from collections.abc import Collection
from typing import Any

import torch

from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.messages import check_names, check_space, in_words, warn_of, why
from intertwine.weightspace.uses.sweep import solved


def fold(space: WeightSpace, model: Any, norms: Collection[str] | None = None) -> Moved:
    """Fold the gains of norms into the weights after them: gains become 1, and the function stays.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries, rotate, untie
        >>> model = nn.Sequential(
        ...     nn.Linear(3, 4), nn.RMSNorm(4), nn.Linear(4, 2)
        ... ).eval()
        >>> _ = nn.init.uniform_(model[1].weight)
        >>> found = fold(find_symmetries(model, torch.zeros(1, 3)), model).model
        >>> torch.allclose(found[1].weight, torch.ones(4))
        True

    A shift is divided by its gain. Of a gain 1 + w, as Gemma has, w becomes 0. Where a ReLU follows, only the
    sizes of gains are folded, and their signs stay. A gain of 0, as of a unit that is switched off, stays.
    Batch norms stay: torch folds them into the layer before, by
    `torch.nn.utils.fusion.fuse_conv_bn_eval`.

    **Tied embeddings.** One tensor writes the residual stream and reads it after the last norm, so the last
    gain stays and the stream is not rotated. Untie it first; the function is the same:

        >>> parts = nn.Embedding(9, 4), nn.RMSNorm(4), nn.Linear(4, 9, bias=False)
        >>> words, tied = torch.arange(9), nn.Sequential(*parts).eval()
        >>> tied[2].weight = tied[0].weight
        >>> free = untie(tied)
        >>> space = find_symmetries(free, words)
        >>> rotated = rotate(space, fold(space, free).model, seed=0).model
        >>> torch.allclose(rotated(words), tied(words), atol=1e-5)
        True

    Args:
        space: the symmetries of the network.
        model: the network, or its state dict.
        norms: the names of modules, or of gains that are not called weight; by default all that can be
            folded. Where others have a gain that is not 1, a UserWarning names them, and the reason. Of two
            that share their scalars, as norms of queries and of keys, the first is folded, and the warning
            names the other.

    Raises:
        ValueError: a module without a gain that can be folded, or no such module at all.
    """
    check_space(space)
    check_names(norms)
    state = space.state(model)
    element, folded, beside = dict[str, Move](), set[str](), dict[str, str]()
    for hidden in space.spaces:
        asked = []
        for k, name, factor in _gains(space, hidden):
            if k in state and (norms is None or name in norms):
                gain = state[k].detach().double().cpu().view(-1, hidden.size)
                # a gain of queries, say, is one vector for all heads, one of grouped channels has them all
                asked.append((name, factor, gain.expand(hidden.blocks, -1)))
        if asked:
            # the scalar 1/|gain| makes the gain 1; a gain of 0 has none and keeps the scalar 1
            lengths = [(factor, -torch.where(gain == 0, 1, gain.abs()).log()) for _, factor, gain in asked]
            # several norms may share a space, as q and k: the first that determine its scalars decide
            log, sign = solved(hidden, lengths, [(hidden.parities(f), gain < 0) for _, f, gain in asked])
            move = element[hidden.name] = hidden.identity()._replace(log=log, sign=sign)
            sizes = {name: (hidden.scalars(move, f) * gain)[gain != 0].abs() for name, f, gain in asked}
            folded |= {name for name, size in sizes.items() if ((size - 1).abs() < 1e-6).all()}
            others = ", ".join(name for name in sizes if name in folded)
            left = [name for name in sizes if name not in folded]
            beside |= dict.fromkeys(left, f"{hidden.name} has one scalar for it and {others}")
    stay = {
        name: _reason(space, k)
        for k, name in _norms(space).items()
        if k in state
        and name not in folded | beside.keys()
        and (norms is not None or bool((state[k] != 1).any()))
    }
    if missing := [name for name in norms or () if name not in folded | beside.keys()]:
        known = sorted(name for each in space.spaces for _, name, _ in _gains(space, each))
        raise ValueError(
            f"Expected modules whose gains can be folded, was given {missing[0]!r}"
            f"{f' ({stay[missing[0]]})' if missing[0] in stay else ''}: "
            f"{f'choose among {known}' if known else 'this model has none'}."
        )
    if norms is None and not folded:
        raise ValueError(
            f"Expected a model with a gain that can be folded, was given "
            f"{in_words(stay) or 'none, or batch norms alone'}: print the space to see which scalars it has."
        )
    warn_of("folded", beside | (stay if norms is None else {}))
    return Moved(space.act(model, element), space.element(element))


def _norms(space: WeightSpace) -> dict[int, str]:
    """All weights of one axis that could be gains, by their number, with their modules or their own names."""
    run, batch = space.inference.run, {edge.gain for edge in space.solution.norms}
    # of a norm that is written by hand, whatever its name
    after = {edge.gain for edge in space.inference.edges if edge.center == "before"}
    # a slope of PReLU is also a vector called weight, but no gain
    used = {ref.index for call in run.calls if call.name != "prelu" for ref in call.refs}
    return {
        k: name.removesuffix(".weight")
        for k, name in run.names.items()
        # batch norms stay: their statistics move as well, and torch folds them
        if k in used & space.inference.trainable - batch
        and len(run.shapes[k]) == 1 < run.shapes[k][0]
        and (k, 0) not in space.inference.read
        and (name.rpartition(".")[2] == "weight" or k in after)
    }


def _reason(space: WeightSpace, k: int) -> str:
    """Why this gain stays."""
    touched = space.called(space.solution.touched(k))
    return why(space, space[touched[0]]) if touched else "its units do not move"


def _gains(space: WeightSpace, hidden: HiddenSpace) -> list[tuple[int, str, Unit]]:
    """The weights of one axis that scalars of this space multiply: number, name, and which scalars."""
    found = []
    for k, name in _norms(space).items():
        label = space.solution.labels.get(k, ())
        *blocks, factor = label[0][0] if label and len(label[0]) == 1 else (None,)
        if not isinstance(factor, Unit) or space.solution.hidden(factor) is not hidden:
            continue
        # a gain of units that stand there several times has no scalar of its own for each
        within = [space.solution.hidden(each).index for each in blocks if isinstance(each, Unit)]
        if within == [hidden.base] * len(blocks) and any(hidden.vector(factor)):
            found.append((k, name, factor))
    return found
