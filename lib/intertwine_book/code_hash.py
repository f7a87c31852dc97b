"""The hash of a notebook's function: its syntax, the functions that it calls, the values that it reads."""

import ast
import builtins
import dis
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from intertwine import files


def code_of(function: Callable[..., Any]) -> str:
    """Eight hexadecimal digits that change when what a function of a notebook computes may change.

    Example:
        >>> def square(side):
        ...     return side**2
        >>> one = code_of(square)
        >>> def square(side):
        ...     "The area of a square."
        ...     return side**2  # its side times itself
        >>> code_of(square) == one
        True

    What counts is its syntax, without comments, docstrings and decorators, that of the functions and classes
    of the same notebook or module that it names, and the values of the other names that it reads, such as a
    recipe. What libraries do does not count: a row tells the commit.

    Raises:
        ValueError: it reads a value that has no written form.
    """
    parts: list[str] = []
    todo: list[tuple[str, Any]] = [("", function)]
    seen: set[str] = set()
    while todo:
        label, each = todo.pop(0)
        each = inspect.unwrap(each)
        parts.append(f"{label} {_source(each)}")
        for name, value in _read(each):
            if name not in seen:
                seen.add(name)
                if _is_here(value, function):
                    todo.append((name, value))
                elif (written := _written(value, name)) is not None:
                    parts.append(f"{name} = {written}")
    return files.digest(*parts)[:8]


def syntax(source: str, *, decorators: bool = False) -> str:
    """Source code without comments, docstrings and, unless they are asked for, decorators, in one layout.

    Example:
        >>> print(syntax('@cached  # once\\ndef f(x):\\n    "A sum."\\n    return (x+1)'))
        def f(x):
            return x + 1
    """
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.decorator_list = node.decorator_list if decorators else []
        elif not isinstance(node, ast.Module):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _source(each: Any) -> str:
    """The syntax of a function, or of the methods of a class, whose own source a notebook does not find."""
    if not isinstance(each, type):
        return syntax(inspect.getsource(each))
    methods = [(name, value) for name, value in sorted(vars(each).items()) if isinstance(value, FunctionType)]
    return "\n".join([each.__name__, *(syntax(inspect.getsource(method)) for _, method in methods)])


def _is_here(value: Any, function: Callable[..., Any]) -> bool:
    """Whether a value is a function or a class that the function's own notebook or module defines."""
    value = inspect.unwrap(value) if callable(value) else value
    defined = isinstance(value, FunctionType | type)
    return defined and value.__module__ == inspect.unwrap(function).__module__


def _read(each: Any) -> list[tuple[str, Any]]:
    """The names of a notebook that a function, or the methods of a class, read, with their values."""
    if isinstance(each, type):
        methods = [value for value in vars(each).values() if isinstance(value, FunctionType)]
        bases = [(base.__name__, base) for base in each.__bases__]
        return sorted({*bases, *(pair for method in methods for pair in _read(method))}, key=lambda p: p[0])
    closed = inspect.getclosurevars(each).nonlocals
    known = {name: each.__globals__[name] for name in _names(each.__code__) if name in each.__globals__}
    return sorted({**known, **closed}.items())


def _names(code: CodeType) -> set[str]:
    """The global names that some code reads, also inside its comprehensions and inner functions."""
    found = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return found.union(*(_names(part) for part in code.co_consts if isinstance(part, CodeType)))


def _written(value: Any, name: str) -> str | None:
    """A value as text; None for what belongs to libraries or says where, not what, is computed."""
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, ModuleType | BuiltinFunctionType | FunctionType | type) or value is getattr(
        builtins, name, None
    ):
        return None
    kind = type(value).__qualname__
    if kind in (
        "Record",
        "Told",
        "device",
        "Path",
        "PosixPath",
    ):  # places: where rows lie, where torch computes
        return None
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    if isinstance(value, partial):
        parts = (value.func.__qualname__, value.args, value.keywords)
        return f"partial({', '.join(str(_written(part, name)) for part in parts)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_written(item, name)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | range):
        return f"{kind}({', '.join(str(_written(item, name)) for item in value)})"
    if isinstance(value, set | frozenset):
        return f"{kind}({', '.join(sorted(str(_written(item, name)) for item in value))})"
    if hasattr(value, "checksum"):  # a data set
        return str(value.checksum)
    if is_dataclass(value):
        told = (f"{field.name}={_written(getattr(value, field.name), name)}" for field in fields(value))
        return f"{kind}({', '.join(told)})"
    if hasattr(value, "to_csv"):  # a table
        return str(value.to_csv())
    if hasattr(value, "state_dict") or hasattr(value, "untyped_storage"):
        from intertwine.data.dataset import tensor_digest  # torch is slow to import

        return str(tensor_digest(*(value.state_dict().values() if hasattr(value, "state_dict") else [value])))
    raise ValueError(
        f"Expected values that can be written down in what a table's function reads, '{name}' is a {kind}: "
        f"make it inside the function, or in another function that it calls."
    )
