"""A run of a model, as it is written down: its values, the calls between them, and its modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True, eq=False)
class Ref:
    """The k-th value of a run."""

    index: int


@dataclass(eq=False)
class Call:
    """One call: the name of the function, its arguments with `Ref` for tensors, and its results."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Ref]
    in_place: bool = False

    def refs(self) -> list[Ref]:
        """All values among the arguments."""
        return [x for x in tree_leaves((self.args, self.kwargs)) if isinstance(x, Ref)]


@dataclass(eq=False)
class Run:
    """All values of a run, in the order of their first use, and the calls between them."""

    values: list[Tensor] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """of the values that are parameters or buffers."""
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    steered: bool = False
    """whether integer or boolean inputs decided on the steps."""
    chosen: Any = None
    """which of the outputs count, if not all."""
    unseen: dict[int, list[int]] = field(default_factory=dict)
    """values that depend on weights through unrecorded calls, with these weights, found by autograd."""
    shared: set[int] = field(default_factory=set)
    """values changed in place through another view of the same memory."""
    modules: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """the first input and the output of every call of a module, by its name."""
