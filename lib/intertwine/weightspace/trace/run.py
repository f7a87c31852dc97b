"""A run of a model, as it is written down: its values, the calls between them, and its modules."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor


def leaves(x: Any) -> Iterator[Any]:
    """What nested tuples, lists and dictionaries hold."""
    left = [x]
    while left:
        x = left.pop()
        if isinstance(x, tuple | list | dict):
            left += reversed(x.values() if isinstance(x, dict) else x)
        else:
            yield x


def replaced(x: Any, function: Callable[[Any], Any]) -> Any:
    """The same, with the function of each leaf in its place."""
    if isinstance(x, dict):
        return type(x)((key, replaced(each, function)) for key, each in x.items())
    if type(x) in (tuple, list):
        return type(x)(replaced(each, function) for each in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):  # a named tuple
        return type(x)(*(replaced(each, function) for each in x))
    return function(x)


@dataclass(frozen=True, eq=False)
class Ref:
    """The k-th value of a run."""

    index: int


# compared by identity: tensors among the arguments have no truth value
@dataclass(frozen=True, eq=False)
class Call:
    """One call: the name of the function, its arguments with `Ref` for tensors, and its results.

    `title` is what people call it, if that is not its name.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Ref]
    in_place: bool = False
    title: str = ""

    @property
    def first(self) -> Any:
        """The first argument, the value on which it works."""
        return next(iter((*self.args, *self.kwargs.values())), None)

    @cached_property
    def refs(self) -> list[Ref]:
        """All values among the arguments."""
        return [x for x in leaves((self.args, self.kwargs)) if isinstance(x, Ref)]

    def computed(self, value: Callable[[Any], Any]) -> Any:
        """What the function returns, where `value` says the argument that stands for a `Ref`."""
        given = self.args, self.kwargs
        args, kwargs = replaced(given, lambda x: value(x) if isinstance(x, Ref) else x)
        return self.function(*args, **kwargs)


class Part(NamedTuple):
    """Some rows x of each block of the rows of a weight, by its number and name, or scale·x + shift."""

    whole: int
    name: str
    blocks: int
    start: int
    stop: int
    scale: float = 1.0
    shift: float = 0.0

    def of(self, x: Tensor) -> Tensor:
        """A copy of these rows; of sums at least in float32, as 16 bits next to 1 lose most of a small w."""
        return self._shown(self._rows(x)).flatten(0, 1)

    def put(self, x: Tensor, into: Tensor) -> None:
        """Change the weight so that these are its rows."""
        # a view of the weight, so that `copy_` writes into it
        rows, new = self._rows(into), x.unflatten(0, (self.blocks, -1))
        # of a sum by the difference, so that what has not moved stays bit by bit
        rows.copy_(rows + (new - self._shown(rows)) / self.scale if self.shift else new)

    def undone(self, x: Tensor) -> Tensor:
        """The rows of the weight, without the number."""
        return (x - self.shift) / self.scale

    def _rows(self, x: Tensor) -> Tensor:
        """The rows themselves, block by block."""
        return x.unflatten(0, (self.blocks, -1))[:, self.start : self.stop]

    def _shown(self, rows: Tensor) -> Tensor:
        if not self.shift:
            return rows
        return self.scale * rows.to(torch.promote_types(rows.dtype, torch.float32)) + self.shift


Users = dict[int, list[Call]]
"""The calls that take each value."""


@dataclass(eq=False)
class Run:
    """All values of a run, in the order of their first use, and the calls between them.

    Attributes:
        names: of the values that are parameters or buffers, or parts of these.
        tied: a second name of a parameter or buffer, and its first.
        parts: which rows of which parameter they are, or a number more.
        steered: whether integer or boolean inputs decided on the steps.
        chosen: which of the outputs count, if not all.
        unseen: values that depend on weights through unrecorded calls, with these weights.
        dynamic: values that depend on weights or real inputs.
        shared: values used after another view of their memory was changed in place, and that view.
        modules: the first input and the output of every call of a module, by its name.
    """

    values: list[Tensor] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    steered: bool = False
    chosen: Any = None
    unseen: dict[int, list[int]] = field(default_factory=dict)
    dynamic: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    modules: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def stored(self, index: int) -> tuple[str, tuple[int, ...]]:
        """The name and shape of the tensor of the model that has this value, or of which it is a part."""
        part = self.parts.get(index)
        return (
            (self.names[index], self.shapes[index]) if part is None else (part.name, self.shapes[part.whole])
        )

    def users(self) -> Users:
        users: Users = {}
        for call in self.calls:
            for k in dict.fromkeys(ref.index for ref in call.refs):
                users.setdefault(k, []).append(call)
        return users

    def forget(self) -> None:
        """Drop what only rules read: values, and functions, which may be local and then cannot be pickled."""
        self.values.clear()  # a space is kept long after its run, and is pickled
        self.calls = [replace(call, function=_gone, args=(*call.refs,), kwargs={}) for call in self.calls]


def _gone(*_: Any) -> None:
    """In the place of every function of a run that is over."""


def needed(run: Run) -> list[Call]:
    """The calls on which an output depends; what is changed in place may be seen through another value."""
    wanted, calls = set(run.outputs), []
    for call in reversed(run.calls):
        if call.in_place or not wanted.isdisjoint(each.index for each in call.results):
            wanted |= {ref.index for ref in call.refs}
            calls.append(call)
    return calls[::-1]
