"""From constraints to groups: gains that join their two sides, and the free scalars of each space."""

import itertools
from collections import Counter

from intertwine.groups import GeneralLinear
from intertwine.weightspace.rules.axes import (
    Axis,
    Edge,
    Label,
    Space,
    Unit,
    aligned,
    combine,
    moves,
    plain,
    resolve,
    single,
    unit,
    units,
    zero,
)
from intertwine.weightspace.rules.entries import scaled
from intertwine.weightspace.rules.infer import Inference
from intertwine.weightspace.solve.equations import independent
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution

BOUNDARY = ("the model's output", "rows of a table", "kernel of", "read by")
"""Reasons that get no row among the frozen: inputs and outputs of a network are not hidden."""


def solve(state: Inference) -> Solution:
    """Decide every gain, then every group."""
    edges = list(state.edges)
    while True:  # a joined gain may close the way to matrices for other gains, and so do frozen spaces
        state.settle_blocks()
        while bad := _untenable(state, edges):
            for edge in bad:
                _join(state, edge)
            edges = [edge for edge in edges if edge not in bad]
        state.settle_blocks()  # some by these joins
        for edge in edges:  # the gain absorbs the scalars of the side that follows
            (factor,) = units(edge.sides[1])
            c = 1 if edge.center == "before" else -1
            _label_gain(state, edge, ((unit(factor.space, combine((c, factor))),),))
        labels = {index: tuple(resolve(axis) for axis in label) for index, label in state.labels.items()}
        _check_bases(labels)
        # the side that follows has scalars of its own alone, and so have a gain and a variance
        follows = {id(next(units(edge.sides[1])).space): edge.why for edge in edges}
        apart = {edge.gain for edge in edges} | {edge.variance for edge in edges}
        spaces = _spaces(labels, follows, apart)
        found = {id(each.space): each for each in spaces}
        bad = [edge for edge in edges if not _follows(edge, found)]
        # groups such as the complex numbers, to which no order of the units belongs, are theirs or nothing
        turned = [each.space for each in spaces if not each.space.within.permutes and not each.matrices]
        for space in turned:
            state.freeze_space(space, f"{space.bound} of units with an order of their own")
        if not bad and not turned and not state.unpin():
            break
        for edge in edges:
            state.labels.pop(edge.gain, None)
        for edge in bad:
            _join(state, edge)
        edges = [edge for edge in edges if edge not in bad]
    norms = [edge for edge in state.edges if edge.variance is not None]
    return Solution(spaces, labels, edges, _frozen(state), _stays(state), norms)


def _follows(edge: Edge, found: dict[int, HiddenSpace]) -> bool:
    """Whether a matrix acts on the centre, and it or its dual on all of the other side."""
    center, other = (found[id(next(units(axis)).space)] for axis in edge.sides)
    return center.matrices is not None and other.matrices is None and not other.permuted


def _spaces(labels: dict[int, Label], follows: dict[int, str], apart: set[int | None]) -> list[HiddenSpace]:
    """The group of every space that occurs; `follows`: why some only have scalars of their own.

    `apart` are the values on which only scalars act.
    """
    used: dict[int, list[Unit]] = {}
    mixed: dict[int, list[Unit]] = {}
    for index, label in labels.items():
        for factor in units(*label):
            used.setdefault(id(factor.space), []).append(factor)
            if index not in apart:
                mixed.setdefault(id(factor.space), []).append(factor)
    spaces: list[HiddenSpace] = []
    for key, factors in used.items():
        space = factors[0].space
        hidden = HiddenSpace(len(spaces), space.size, None, 1, space, list(space.mixing))
        if not space.killed:
            variables = {v for factor in factors for v, _ in factor.powers}
            numbers, hidden.logs = independent(space.equations, variables, 0)
            signs, hidden.signs = independent(space.equations, variables, 1)
            hidden.basis = numbers | signs
        # units that nothing keeps apart, each with one scalar: where its power is 1 or −1 on every axis, this
        # axis carries the space itself or its dual, and any matrix may take the place of the scalars
        linear = not space.mixing and hidden.logs == 1
        linear = linear and all(abs(hidden.vector(factor)[0]) == 1 for factor in mixed.get(key, []))
        if space.pinned:
            hidden.permuted = False
        elif key in follows and linear:
            hidden.permuted, hidden.why = False, [f"gain of {follows[key]}"]
        elif linear or (space.within.self_dual and not space.mixing):
            hidden.permuted, hidden.matrices, hidden.why = False, space.within(space.size), [space.bound]
        elif not space.within.permutes:
            hidden.why.append(space.bound)
        spaces.append(hidden)
    found = {id(each.space): each for each in spaces}
    for each in spaces:
        base = each.space.blocks()
        if base is not None and id(base) in found:
            each.base, each.blocks = found[id(base)].index, base.size
    return spaces


def _untenable(state: Inference, edges: list[Edge]) -> list[Edge]:
    """The gains that join the units of both sides, as one of them may not be mixed on its own."""
    pairs = [tuple(single(axis) for axis in edge.sides) for edge in edges]
    times = Counter(id(factor.space) for pair in pairs for factor in pair if factor is not None)
    gains = Counter((edge.gain, edge.part) for edge in edges)

    def tenable(edge: Edge, center: Unit | None, other: Unit | None) -> bool:
        gain = state.run.values[edge.gain].double().abs()
        return (
            center is not None
            and other is not None
            and center.space is not other.space
            and not any(f.space.mixing or f.space.blocks() is not None for f in (center, other))
            and other.space.within is GeneralLinear  # a matrix that depends on the gain obeys no other rule
            and times[id(other.space)] == 1  # it follows one centre
            and gains[edge.gain, edge.part] == 1
            and edge.gain not in state.labels
            # by g⁻¹Ag with a g next to 0 all digits would be lost
            and (gain.is_meta or bool(gain.min() > 1e-6 * gain.max()))
        )

    return [edge for edge, pair in zip(edges, pairs, strict=True) if not tenable(edge, *pair)]


def _join(state: Inference, edge: Edge) -> None:
    """Join both sides up to scalars, which the gain absorbs."""
    state.unify(edge.before, edge.after, None, f"{edge.why} of entries that do not move")
    state.mix((edge.before, edge.after), edge.why)
    pairs = zip(*aligned(edge.after, edge.before), strict=False)
    if any(len(s) != len(t) for s, t in pairs if not (zero(s) or zero(t))):
        state.freeze((edge.before, edge.after), f"{edge.why} of units that are divided in two ways")
    # of y = g·x, the gain is multiplied by what multiplies y over what multiplies x
    gain = scaled(edge.after, edge.before, -1)  # of batch norm, over the deviation
    if edge.gain in state.labels and edge.parts == 1:
        wide = _wide(state, edge)
        state.unify(state.labels[edge.gain][wide], gain, 1, edge.why)
    else:
        _label_gain(state, edge, gain)


def _wide(state: Inference, edge: Edge) -> int:
    """The axis of the gain that has an entry for each unit."""
    return next((k for k, n in enumerate(state.run.shapes[edge.gain]) if n > 1), 0)


def _label_gain(state: Inference, edge: Edge, axis: Axis) -> None:
    wide, shape = _wide(state, edge), state.run.shapes[edge.gain]
    label = state.labels.get(edge.gain) if edge.parts > 1 else None
    parts = [*label[wide]] if label else [*plain(shape[wide] // edge.parts)] * edge.parts
    parts[edge.part : edge.part + 1] = axis
    state.labels[edge.gain] = tuple(tuple(parts) if k == wide else plain(n) for k, n in enumerate(shape))


def _check_bases(labels: dict[int, Label]) -> None:
    """An element for each block needs the blocks on another axis wherever the space occurs."""
    for label in labels.values():
        if all(factor.space.blocks() is None for factor in units(*label)):
            continue
        for choice in itertools.product(*label):
            here = [factor for segment in choice for factor in segment if isinstance(factor, Unit)]
            times = Counter(id(factor.space) for factor in here)
            for factor in here:
                base = factor.space.blocks()
                if base is not None and times[id(base)] != 1:
                    factor.space.base = None


def _frozen(state: Inference) -> list[tuple[int, str, list[str]]]:
    """Spaces that an operation freezes, and those joined with them if a parameter has no other space."""
    where: dict[int, tuple[Space, list[str]]] = {}
    still: list[str] = []
    for index, name in state.run.names.items():
        label = state.labels.get(index, ())
        if not moves(*label):
            still.append(name)
        for space in _leaves(label):
            where.setdefault(id(space), (space, []))[1].append(name)
    rows = []
    # what an input or an output freezes is not hidden: named where it keeps a parameter from moving at all
    for space, names in where.values():
        reasons, shown = space.reasons, names
        if all(reason.startswith(BOUNDARY) for reason in reasons):
            reasons, shown = [*space.frozen], [name for name in names if name in still]
        reasons = [reason for reason in reasons if not reason.startswith(BOUNDARY)]
        if reasons and shown:
            rows.append((space.size, "; ".join(reasons), list(dict.fromkeys(shown))))
    return rows


def _stays(state: Inference) -> dict[str, str]:
    """Why each parameter without an axis that moves stays."""
    result = {}
    for index in sorted(state.trainable):
        label = state.labels.get(index)
        if label is None or not moves(*label):
            reasons = [reason for leaf in _leaves(label or ()) for reason in leaf.reasons or [*leaf.frozen]]
            most = [reason for reason in reasons if not reason.startswith("kernel of")] or reasons
            alone = "entries that do not move" if max(state.run.shapes[index], default=1) > 1 else "one unit"
            unused = "not seen to reach an output" if label is None else alone
            result[state.run.names[index]] = "; ".join(dict.fromkeys(most)) or unused
    return result


def _leaves(label: Label) -> list[Space]:
    """The spaces that the axes of a label consist of by now, also frozen ones."""
    factors = [f for axis in label for segment in axis for f in segment if isinstance(f, Unit)]
    return [leaf for factor in factors for leaf in factor.space.leaves()]
