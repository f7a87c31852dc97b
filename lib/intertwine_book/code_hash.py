"""The hash of a notebook's function: its syntax, the functions that it reaches, the values that it reads."""

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from intertwine import files

WHEREABOUTS = ("Record", "Told", "device", "Path", "PosixPath")  # where rows lie, and where torch computes


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

    What counts is its syntax, without comments, docstrings and its own decorators; that of the functions and
    classes of the same notebook or module that it reaches, by name, in a container, a `partial`, a default
    value or a decorator; and the values of the other names that these read, such as a recipe. What libraries
    and other modules do does not count: a row tells the commit.

    Raises:
        ValueError: it reads a value that has no written form.
    """
    own = inspect.unwrap(function).__module__
    parts: list[str] = []
    todo: list[tuple[str, Any]] = [("", function)]
    seen: set[int] = set()

    def is_own(value: Any) -> bool:
        value = inspect.unwrap(value) if callable(value) else value
        return isinstance(value, FunctionType | type) and value.__module__ == own

    def written(value: Any, name: str) -> str:
        """A value as text; functions and classes of this notebook wait for their turn."""
        if is_own(value):
            todo.extend([] if id(value) in seen else [(name, value)])
            seen.add(id(value))
            return f"{name} of this notebook"
        if is_own(type(value)):  # an instance of a class of this notebook
            held = _plain(value, name) if hasattr(value, "state_dict") else written(vars(value), name)
            return f"{written(type(value), name)} {held}"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: {written(item, name)}" for key, item in value.items()) + "}"
        if isinstance(value, list | tuple | range):
            return f"{type(value).__name__}({', '.join(written(item, name) for item in value)})"
        if isinstance(value, partial):
            return f"partial{written((value.func, value.args, value.keywords), name)}"
        if is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "checksum"):
            told = {field.name: getattr(value, field.name) for field in fields(value)}
            return f"{type(value).__qualname__} {written(told, name)}"
        return _plain(value, name)

    while todo:
        label, each = todo.pop(0)
        first = each is function  # whose decorator is the table's
        parts.append(f"{label} {_source(each, decorators=not first)}")
        parts += [f"{name} = {written(value, name)}" for name, value in _read(each, decorators=not first)]
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


def _source(each: Any, *, decorators: bool) -> str:
    """The syntax of a function; of a class that of its methods, as a notebook finds no class's own."""
    if not isinstance(each, type):
        return syntax(inspect.getsource(inspect.unwrap(each)), decorators=decorators)
    sources = (syntax(inspect.getsource(method), decorators=True) for _, method in _methods(each))
    return "\n".join([each.__name__, *sources])


def _methods(each: type) -> list[tuple[str, FunctionType]]:
    """All functions in a class that are written there, those of properties and of static methods too."""
    found = []
    for name, value in sorted(vars(each).items()):
        plain = getattr(value, "__func__", value)
        inside = [value.fget, value.fset] if isinstance(value, property) else [plain]
        found += [(name, method) for method in inside if isinstance(method, FunctionType)]
    return [(name, method) for name, method in found if _is_written(method)]


def _is_written(method: FunctionType) -> bool:
    """Not so are those that a dataclass generates."""
    try:
        return bool(inspect.getsource(inspect.unwrap(method)))
    except OSError:
        return False


def _read(each: Any, *, decorators: bool) -> list[tuple[str, Any]]:
    """The names that a function, or a class, reads from its notebook, with their values."""
    if isinstance(each, type):
        methods = _methods(each)
        names = {name for name, _ in methods}
        held = [(n, v) for n, v in sorted(vars(each).items()) if n not in names and not n.startswith("__")]
        bases = [(base.__name__, base) for base in each.__bases__]
        return held + bases + [pair for _, method in methods for pair in _read(method, decorators=True)]
    function = inspect.unwrap(each)
    known, words = function.__globals__, _names(function.__code__)
    if decorators:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body[:1]
        above = [node for line in getattr(tree, "decorator_list", []) for node in ast.walk(line)]
        words |= {node.id for node in above if isinstance(node, ast.Name)}
    found = [(word, known[word]) for word in sorted(words) if word in known]
    found += sorted(inspect.getclosurevars(function).nonlocals.items())
    found += [("default", value) for value in function.__defaults__ or ()]
    return found + sorted((function.__kwdefaults__ or {}).items())


def _names(code: CodeType) -> set[str]:
    """The global names that some code reads, also inside its comprehensions and inner functions."""
    found = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return found.union(*(_names(part) for part in code.co_consts if isinstance(part, CodeType)))


def _plain(value: Any, name: str) -> str:
    """A value that holds no function of the notebook, as text."""
    kind = type(value).__qualname__
    if isinstance(value, ModuleType | type) or (callable(value) and not hasattr(value, "state_dict")):
        return f"{name} of a library"
    if kind in WHEREABOUTS:
        return "a place"
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    if isinstance(value, set | frozenset):
        return f"{kind}({', '.join(sorted(map(repr, value)))})"
    if hasattr(value, "checksum"):  # a data set
        return str(value.checksum)
    if hasattr(value, "to_csv"):  # a table
        return str(value.to_csv())
    if hasattr(value, "state_dict") or hasattr(value, "untyped_storage"):
        from intertwine.data.dataset import tensor_digest  # torch is slow to import

        return str(tensor_digest(*(value.state_dict().values() if hasattr(value, "state_dict") else [value])))
    raise ValueError(
        f"Expected values that can be written down in what a table's function reads, '{name}' is a {kind}: "
        f"make it inside the function, or in another function that it calls."
    )
