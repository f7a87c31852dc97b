"""The tensors that inputs and outputs of a model hold, however deep in collections and objects they lie."""

import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar

from torch import Tensor, nn

Copied = TypeVar("Copied")


def tensors(x: Any) -> Iterator[Tensor]:
    """The tensors in it, in order: entries of collections, and attributes of objects.

    Example:
        >>> import torch
        >>> normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        >>> [*tensors((normal, torch.arange(3)))]
        [tensor([0., 0.]), tensor([1., 1.]), tensor([0, 1, 2])]

    What a module holds are its weights, and what an object holds whose class is called a cache are keys and
    values of earlier tokens: neither counts.
    """
    # a collection may have its entries as attributes, too, as an output of transformers: they count once
    left, found, opened = [(x, False)], dict[int, Any](), dict[int, Any]()
    while left:
        x, beside = left.pop()
        if isinstance(x, Tensor):
            if not (beside and id(x) in found):
                yield x
            found[id(x)] = x
            continue
        several = isinstance(x, Mapping | tuple | list | deque)
        entries = [*(x.values() if isinstance(x, Mapping) else x)] if several else []
        held = [] if id(x) in opened else _attributes(x)  # objects may refer to each other
        opened[id(x)] = x
        left += reversed([(each, beside) for each in entries] + [(each, beside or several) for each in held])


def _attributes(x: Any) -> list[Any]:
    if isinstance(x, nn.Module | type | ModuleType) or any(
        each.__name__.endswith("Cache") for each in type(x).__mro__
    ):
        return []
    state = object.__getstate__(x)  # the dictionary, and a second one of slots where there are some
    return [
        value for part in (state if isinstance(state, tuple) else (state,)) for value in (part or {}).values()
    ]


def with_tensors(x: Copied, function: Callable[[Tensor], Tensor]) -> Copied:
    """A copy with the function of each tensor in its place.

    Example:
        >>> import torch
        >>> with_tensors({"x": [torch.ones(2)]}, torch.neg)
        {'x': [tensor([-1., -1.])]}
    """
    return copied(x, {id(each): function(each) for each in tensors(x)}, "inputs")


def copied(x: Copied, memo: dict[int, Any], what: str) -> Copied:
    """A deep copy; ValueError, in one sentence, where something in it cannot be copied, as a lock.

    Example:
        >>> copied([1, [2]], {}, "inputs")
        [1, [2]]
    """
    try:
        return copy.deepcopy(x, memo)
    except Exception as error:
        raise ValueError(
            f"Expected {what} that copy.deepcopy can copy, was given something in which it raises "
            f"{str(error)!r}: set that attribute to None, or give it a __deepcopy__."
        ) from error
