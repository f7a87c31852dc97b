"""What decides on the rows of a table, written down: the cases, and all that their function holds."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from intertwine import files
from intertwine.data import Dataset
from intertwine.data.dataset import tensor_digest
from intertwine_book import origin
from intertwine_book.results.sources import definition, names

Scalar = str | int | float | np.generic | None  # numbers and words


class Key(NamedTuple):
    """Tables with the same key, parameters, seed and data have the same rows."""

    cases: list[Any]
    held: list[Any]
    """What the function holds: a partial's arguments, a closure, and what it reads in a notebook."""
    code: list[str]
    """Functions as a notebook defines them; those of a module are in the hash of the library."""


@dataclass
class Seen:
    """What is written already, by the ids of objects, which are kept here so that no other takes an id."""

    values: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    code: set[str] = field(default_factory=set)


def key(cases: Sequence[Mapping[str, Any]], compute: Callable[..., Any]) -> Key:
    """The key of a table whose rows are those of `compute(**case)`.

    Example:
        >>> found = key([{"number": 2.5}], partial(round, ndigits=3))
        >>> found.cases, found.held
        ([{'number': 2.5}], [[], {'ndigits': 3}])

    Numbers, words, lists and mappings stand for themselves; a data class for its name and fields; a network
    for its modules and state; a data set, and whatever has one, for its checksum; tensors, arrays and tables
    for their content; a function for its name, what it holds, and the `VERSION` of its module, 1 where there
    is none. On which device something lies does not decide. What `compute` itself is called does not, either.

    Raises:
        ValueError: there is something else, such as a generator or a lambda.
    """
    seen, held, function = Seen(), [], _cached(compute)
    while isinstance(function, partial):
        held += [as_json(each, "a partial", seen) for each in (function.args, function.keywords)]
        function = _cached(function.func)
    if isinstance(function, FunctionType):
        held.append(_held(function, function.__name__, seen))
    elif _version(function, seen) is None:
        raise ValueError(f"Expected a function that gives the rows of a case, was given {function!r:.80}.")
    return Key([as_json(dict(case), "a case", seen) for case in cases], held, sorted(seen.code))


def columns(case: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and words of a case: they are columns of its table, and all else is not.

    Example:
        >>> columns({"layer": "relu1", "stitch": "rank 4", "options": {"kind": "low rank", "rank": 4}})
        {'layer': 'relu1', 'stitch': 'rank 4'}
    """
    return {name: value for name, value in case.items() if isinstance(value, Scalar)}


def as_json(value: Any, where: str, seen: Seen, name: str = "") -> Any:
    """A value as JSON; for the error, where it is. A name is that of a variable."""
    value = _cached(value)
    if isinstance(value, Scalar):
        return value.item() if isinstance(value, np.generic) else value
    if id(value) not in seen.values:
        seen.values[id(value)] = value, name  # for a function that calls itself
        seen.values[id(value)] = value, _as_json(value, where, seen, name)
    return seen.values[id(value)][1]


def _as_json(value: Any, where: str, seen: Seen, name: str) -> Any:
    match value:
        case Mapping() if not all(isinstance(key, str) for key in value):
            return as_json([*value.items()], where, seen)
        case Mapping():
            return {key: as_json(each, f"{where}, {key}", seen) for key, each in value.items()}
        case list() | tuple() | range():
            return [as_json(each, where, seen) for each in value]
        case torch.device():
            return "device"
        case torch.dtype():
            return str(value)
        case ModuleType():
            return value.__name__
        case torch.Tensor():
            return ["tensor", tensor_digest(value)]
        case np.ndarray():
            return ["array", files.digest(value)]
        case pd.DataFrame() | pd.Series():
            return ["table", files.digest(value.to_csv())]
        case nn.Module():
            parts = [
                (at, as_json(type(each), where, seen), _plain(each)) for at, each in value.named_modules()
            ]
            state = {
                **dict(value.named_parameters()),
                **dict(value.named_buffers()),
            }  # also what is not saved
            return ["network", files.digest(str(value), parts, [*state], tensor_digest(*state.values()))]
        case Dataset():  # of raw pixels, which networks see normalised
            return ["data", value.checksum, tensor_digest(value.mean, value.std)]
        case partial():
            return [as_json(each, where, seen) for each in (value.func, value.args, value.keywords)]
    if (version := _version(value, seen)) is not None:
        return [f"{value.__module__}.{value.__name__}", version]
    if isinstance(value, FunctionType | type) and (known := _name(value, name)) != "<lambda>":
        return [value.__qualname__, _held(value, known, seen)]
    if isinstance(checksum := getattr(value, "checksum", None), str):
        return ["checksum", checksum]
    if is_dataclass(value):
        own = {each.name: getattr(value, each.name) for each in fields(value)}
        return [type(value).__qualname__, as_json(own, where, seen)]
    raise ValueError(
        f"Expected in {where} what can be written down (numbers, words, lists, mappings, data classes, "
        f"networks, data sets, tensors, functions with a name), was given {value!r:.80}: hand over what it "
        f"is made of."
    )


def _plain(part: nn.Module) -> dict[str, Any]:
    """Settings of a module that its text may leave out."""
    own = {name: each for name, each in vars(part).items() if name[0] != "_" and name != "training"}
    return {name: as_json(each, "a network", Seen()) for name, each in own.items() if _is_plain(each)}


def _is_plain(value: Any) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, list | tuple) and all(map(_is_plain, value)))


def _cached(value: Any) -> Any:
    """The function behind a cache."""
    while (
        callable(value) and not isinstance(value, FunctionType | MethodType) and hasattr(value, "__wrapped__")
    ):
        value = value.__wrapped__
    return value


def _name(value: FunctionType | type, variable: str) -> str:
    """By which a definition is found: for a lambda of a notebook that of its variable."""
    of_notebook = value.__name__ == "<lambda>" and "In" in getattr(value, "__globals__", {})
    return (of_notebook and variable) or value.__name__


def _version(value: Any, seen: Seen) -> int | None:
    """The `VERSION` of a module, or of that where a function or a class can be imported from; else none."""
    home: Any = (
        value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
    )
    found = value if home is value else getattr(home, str(getattr(value, "__name__", "")), None)
    if found is None or not (value is found or value is inspect.unwrap(found)) or _in_notebook(vars(home)):
        return None
    file = Path(getattr(home, "__file__", None) or sys.prefix)
    if not any(file.is_relative_to(each) for each in (origin.LIBRARY, sys.prefix, sys.base_prefix)):
        seen.code.add(files.digest(file))  # a module of one's own, which is in no hash of the library
    return _raised(vars(home))


def _raised(home: Mapping[str, Any]) -> int:
    version = home.get("VERSION", 1)
    return version if isinstance(version, int) else 1  # other packages have words there


def _in_notebook(home: Mapping[str, Any]) -> bool:
    return "In" in home or home.get("__name__") == "__main__"  # of IPython, or a script


def _cells(home: Mapping[str, Any]) -> list[str]:
    """What IPython has executed so far, or the text of a script."""
    file = home.get("__file__")
    return home.get("In") or ([Path(file).read_text()] if file else [])


def _held(value: FunctionType | type, name: str, seen: Seen) -> dict[str, Any]:
    """What a function or a class holds: closures and defaults, and what is read in a notebook."""
    home = value.__globals__ if isinstance(value, FunctionType) else vars(sys.modules[value.__module__])
    held: dict[str, Any] = {"VERSION": _raised(home)} if _raised(home) != 1 else {}
    if _version(value, seen) is not None:
        return held
    values: dict[str, Any] = {}
    parts = {name: value}
    if isinstance(value, type):
        values |= {base.__name__: base for base in value.__bases__}
        # what is behind a property, a static method or a cached property
        behind = ("fget", "__func__", "func")
        own = {k: v for k, v in vars(value).items() if isinstance(v, FunctionType) or k[:2] != "__"}
        parts = {k: next((getattr(v, b) for b in behind if hasattr(v, b)), v) for k, v in own.items()}
    for part, each in parts.items():
        if not isinstance(each, FunctionType):
            values[part] = each
            continue
        values |= {k: v for k, v in inspect.getclosurevars(each).nonlocals.items() if k != "__class__"}
        values[f"{part} by default"] = [each.__defaults__, each.__kwdefaults__]
        if _in_notebook(home):
            values |= {read: home[read] for read in names(each.__code__) if read in home}
    if _in_notebook(home):
        # a decorator gives its function another name
        defined = value.__code__.co_name if isinstance(value, FunctionType) else name
        seen.code.add(definition(name if defined == "<lambda>" else defined, _cells(home)))
    for at, each in sorted(values.items(), key=itemgetter(0)):  # names have another order in each process
        version = _version(_cached(each), seen)
        if version is None:
            held[at] = as_json(each, f"{at}, which {name} reads,", seen, at)
        elif version != 1:  # of code of a module nothing else counts here
            held[at] = version
    return held
