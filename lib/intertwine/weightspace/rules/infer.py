"""Constraints between the axes of all values of a run, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from intertwine.weightspace.rules.axes import Axis, Edge, Label, Space, plain, resolve, units
from intertwine.weightspace.rules.entries import solid, still
from intertwine.weightspace.rules.ties import Ties
from intertwine.weightspace.trace.run import Call, Ref, Run, needed
from intertwine.weightspace.trace.views import RESHAPES, VIEWS, views

OTHER = "other"
RULES: dict[str, Callable[[Inference, Call], Any]] = {}
KEEPS: set[Any] = set()
LAYERS: set[str] = set()


def rule(names: str, *, keeps: bool = False, layer: bool = False) -> Callable[[Any], Any]:
    """Register the constraints of the operations of these names, with spaces between them.

    `keeps`: zeros and equal entries of its labels are exact; after other operations neither is assumed.
    `layer`: the weights that it takes write its result, also where all that it takes are weights.
    """

    def register(function: Any) -> Any:
        RULES.update(dict.fromkeys(names.split(), function))
        KEEPS.update([function] if keeps else [])
        LAYERS.update(names.split() if layer else [])
        return function

    return register


class Stack(NamedTuple):
    """The label of a value whose entries along one axis are labelled one by one."""

    dim: int
    parts: list[Label]


@dataclass(eq=False)
class Inference(Ties):
    """Labels of all values of a run, and the constraints between them."""

    run: Run
    trainable: set[int]
    labels: dict[int, Label] = field(default_factory=dict)
    stacks: dict[int, Stack] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    read: dict[tuple[int, int], set[Space | None]] = field(default_factory=dict)
    """of axes of weights that are contracted with a value, the units that are; None stands for all."""
    views: dict[int, list[tuple[int, list[list[int]]]]] = field(default_factory=dict)
    """values made of weights alone: of which, and which of its axes each of theirs shows."""
    given: set[int] = field(default_factory=set)
    """what depends on the inputs."""
    behaviours: dict[str, tuple[str, Fraction, bool] | str] = field(default_factory=dict)

    def shape(self, x: Ref) -> tuple[int, ...]:
        return self.run.shapes[x.index]

    def of(self, x: Ref, *, free: bool = False) -> Label:
        """The axes of a value; those of a parameter (or `free`) may move in every way when first used."""
        if x.index in self.stacks:
            for part in self.stacks.pop(x.index).parts:
                self.freeze(part, "parts of one axis that go different ways are used together")
        if x.index not in self.labels:
            free = free or x.index in self.trainable
            # an axis of one unit is what broadcasting repeats, so that it stands for a number
            axes = (self.fresh(n) if free and n > 1 else plain(n) for n in self.shape(x))
            self.labels[x.index] = tuple(axes)
        return tuple(resolve(axis) for axis in self.labels[x.index])

    def reads(self, x: Ref, axis: int) -> None:
        """This axis of a weight, or of a value made of weights, is contracted with a value."""
        left: list[tuple[int, int, set[Space | None]]] = [
            (x.index, axis, {factor.space for factor in units(self.of(x)[axis])} or {None})
        ]
        while left:
            index, axis, spaces = left.pop()
            here = self.labels.get(index, ())
            own = {f.space.root() for f in units(here[axis])} if here else set()
            # of a reshaped vector some units are read alone; behind a gain, whose space is another, all
            spaces = {s for s in spaces if s is not None and s.root() in own} or {None}
            if not spaces <= self.read.setdefault((index, axis), set()):
                self.read[index, axis] |= spaces
                left += [
                    (source, k, spaces) for source, axes in self.views.get(index, ()) for k in axes[axis]
                ]

    def is_read(self, index: int, axis: int, space: Space) -> bool:
        """Whether what is contracted has these units."""
        read = self.read.get((index, axis), ())
        return any(each is None or space in each.leaves() for each in read)

    def is_weight(self, x: Ref) -> bool:
        """Whether it is a parameter, or made of parameters entry by entry."""
        return x.index in self.trainable or x.index in self.views


def infer(run: Run, trainable: set[int], ordered: Collection[int] = ()) -> Inference:
    """Follow the run, and collect the constraints of its operations.

    Args:
        trainable: values that are parameters, whose axes may move in every way.
        ordered: buffers whose entries change places with those of weights, and are not multiplied.
    """
    state = Inference(run, trainable)
    for index in ordered:
        state.labels[index] = tuple(map(still, state.of(Ref(index), free=True)))
        # a mask in another order is a mask; a sum of masks is none
        state.mix(state.labels[index], "entries of a buffer")
    for index in run.inputs:
        state.labels[index] = tuple(plain(n) for n in run.shapes[index])
    calls = needed(run)
    made = {x.index for call in calls for x in call.results} | trainable
    # a run without tensors as inputs, as of a graph or on a grid, works on constants
    given = state.given = set(run.inputs) or {x.index for call in calls for x in call.refs} - made
    for call in calls:  # what no output needs would restrict the group for nothing
        refs = call.refs
        if not call.in_place and [x.index for x in refs] == [x.index for x in call.results]:
            continue  # a cast that had nothing to do, so that a weight is still that weight
        _unseen(state, [x.index for x in refs], f"{call.name} takes a tensor of unknown origin")
        apply(state, call, refs)
        # matrices that an index takes of a stack, as of experts, are weights; rows of a table are values
        stack = call.name in ("__getitem__", "index_select") and len(state.shape(call.first)) > 2
        if not given.isdisjoint(_taken(call)):
            given |= {x.index for x in call.results}
            if not (stack and state.is_weight(call.first)):
                continue
        if call.name not in LAYERS and any(map(state.is_weight, refs)):
            _follow(state, call)
    _cut_off(state, calls, given)
    for index in run.outputs:
        state.freeze(state.of(Ref(index)), "the model's output")
    for index in run.shared:
        state.freeze(state.of(Ref(index)), "its memory is changed in place through another view")
    _unseen(state, run.outputs, "the output is a tensor of unknown origin")
    return state


OF_SHAPE = {f"{kind}_like" for kind in ("zeros", "ones", "empty", "full")}
OF_SHAPE |= {f"new_{kind}" for kind in ("zeros", "ones", "empty", "full", "tensor")}
OF_FIRST = {"to", "type_as", *VIEWS.split(), *RESHAPES.split()} - {"__getitem__"}


def _taken(call: Call) -> set[int]:
    """The values on whose entries the results depend: of others, as x in w.type_as(x), they have the type."""
    taken = call.refs[:1] if call.name in OF_FIRST else call.refs
    return set() if call.name in OF_SHAPE else {x.index for x in taken}


def _follow(state: Inference, call: Call) -> None:
    """Say which axes of weights the results show, of a call that takes nothing but weights and constants."""
    found = views(state.run, call) if call.name in VIEWS.split() else []
    for number, result in enumerate(call.results):
        shape = state.shape(result)
        for ref in (x for x in call.refs if x.index != result.index):
            n = len(state.shape(ref))
            shown = [[k for k in range(n) if _shows(state, result, a, ref, k)] for a in range(len(shape))]
            # broadcasting aligns the last axes, of which two may have the same units
            axes = [[a - len(shape) + n] if a - len(shape) + n in ks else ks for a, ks in enumerate(shown)]
            if found:
                axes = [[] if k is None else [k] for k in found[number].axes]
            state.views.setdefault(result.index, []).append((ref.index, axes))


def _shows(state: Inference, y: Ref, a: int, x: Ref, k: int) -> bool:
    """Whether this axis of a result has the units of that one of an argument, or those behind a gain."""
    if not {x.index, y.index} <= state.labels.keys():
        return True  # a gain itself has no label yet
    here, there = (_spaces(state.labels[ref.index][at]) for ref, at in ((x, k), (y, a)))
    for edge in state.edges:
        here |= _spaces(edge.after) if here & _spaces(edge.before) else set()
    return not here.isdisjoint(there)


def _spaces(*axes: Axis) -> set[int]:
    return {id(factor.space.root()) for factor in units(*axes)}


def _cut_off(state: Inference, calls: list[Call], given: set[int]) -> None:
    """Freeze units of weights of which only others are taken, as of positions beyond those of the example."""

    def spaces(index: int) -> set[int]:
        stack = state.stacks.get(index)
        labels = stack.parts if stack else [state.labels.get(index, ())]
        return _spaces(*(axis for label in labels for axis in label))

    reached = {index: spaces(index) for index in state.run.outputs}
    for call in reversed(calls):
        results = [x.index for x in call.results]
        for index in _taken(call) - given:
            here = spaces(index)
            if given.isdisjoint(results):  # a value made of weights alone, of which not all need be taken
                after = {s for each in results for s in reached.get(each, ())}
                summed = here - {s for each in results for s in spaces(each)}
                here &= after if call.name in VIEWS.split() else after | summed
            reached.setdefault(index, set()).update(here)
    found = {s for each in reached.values() for s in each}
    for index in state.labels.keys() - given:
        for factor in [*units(*state.labels[index])]:
            if id(factor.space.root()) not in found:
                state.freeze_space(factor.space, "not seen to reach an output")


def _unseen(state: Inference, values: list[int], why: str) -> None:
    """Freeze values that depend on weights through unrecorded calls: any labelled value may be in them."""
    for k in set(values) & set(state.run.unseen):
        for weight in state.run.unseen[k]:
            state.of(Ref(weight))  # gives a weight that no call has used yet a label, to be frozen
        for label in list(state.labels.values()):
            state.freeze(label, why)


def apply(state: Inference, call: Call, refs: list[Ref]) -> None:
    """Label the results of one call."""
    labels, known = None, RULES.get(call.name, RULES[OTHER])
    try:
        labels = known(state, call)
    except Exception as reason:  # also of a rule that was not written for these arguments
        for ref in refs:
            state.freeze(state.of(ref), f"{call.name} is not understood: {reason}")
    if labels is None:
        for result in call.results:
            state.labels.setdefault(result.index, tuple(plain(n) for n in state.shape(result)))
        return
    labels = labels if isinstance(labels, list) else [labels]
    for result, label in zip(call.results, labels, strict=True):
        if isinstance(label, Stack):
            state.stacks[result.index] = label
            continue
        # an axis that a rule forgets would pass its label on to the next one
        shape = state.shape(result)
        assert len(label) == len(shape), (call.name, label, shape)
        # a zero that is none any more would let units move where they may not
        trusted = known in KEEPS and result.index not in state.run.shared
        state.labels[result.index] = label if trusted else tuple(map(solid, label))


class NotUnderstood(Exception):
    """The effect of this call on units that may move is unknown: they are frozen."""


def bind(call: Call, names: str, **defaults: Any) -> dict[str, Any]:
    """The arguments of a call by name."""
    order = names.split()
    if len(call.args) > len(order):
        raise NotUnderstood("more arguments than known")
    return dict.fromkeys(order) | defaults | dict(zip(order, call.args, strict=False)) | call.kwargs
