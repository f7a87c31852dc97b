"""Constraints between the axes of all values of a run, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from intertwine.weightspace.rules.axes import Edge, Label, plain, resolve
from intertwine.weightspace.rules.entries import solid, still
from intertwine.weightspace.rules.ties import Ties
from intertwine.weightspace.trace.run import Call, Ref, Run, needed

OTHER = "other"
RULES: dict[str, Callable[[Inference, Call], Any]] = {}
KEEPS: set[Any] = set()


def rule(names: str, *, keeps: bool = False) -> Callable[[Any], Any]:
    """Register the constraints of the operations of these names, with spaces between them.

    `keeps`: zeros and equal entries of its labels are exact; after other operations neither is assumed.
    """

    def register(function: Any) -> Any:
        RULES.update(dict.fromkeys(names.split(), function))
        KEEPS.update([function] if keeps else [])
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
    read: set[tuple[int, int]] = field(default_factory=set)
    """axes of weights that are contracted with a value."""
    views: dict[int, tuple[int, list[int | None]]] = field(default_factory=dict)
    """parts and transposes of a value: which it is, and which of its axes theirs are."""
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

    def reads(self, x: Ref, axis: int | None) -> None:
        """This axis of a weight, or of the one that it is a part of, is contracted with a value."""
        index = x.index
        while index in self.views and axis is not None:
            index, axes = self.views[index]
            axis = axes[axis]
        if axis is not None:
            self.read.add((index, axis))

    def is_weight(self, x: Ref) -> bool:
        """Whether it is a parameter, or a part of one."""
        index = x.index
        while index in self.views:
            index = self.views[index][0]
        return index in self.trainable


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
    for call in needed(run):  # what no output needs would restrict the group for nothing
        refs = call.refs
        if not call.in_place and [x.index for x in refs] == [x.index for x in call.results]:
            continue  # a cast that had nothing to do, so that a weight is still that weight
        _unseen(state, [x.index for x in refs], f"{call.name} takes a tensor of unknown origin")
        apply(state, call, refs)
    for index in run.outputs:
        state.freeze(state.of(Ref(index)), "the model's output")
    for index in run.shared:
        state.freeze(state.of(Ref(index)), "its memory is changed in place through another view")
    _unseen(state, run.outputs, "the output is a tensor of unknown origin")
    return state


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
