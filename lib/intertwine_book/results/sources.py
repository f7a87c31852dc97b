"""The statements of a notebook that a function rests on, so that an edit elsewhere keeps what is computed."""

import ast
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def source(compute: Callable[..., Any]) -> list[str]:
    """The code of a function of a notebook, and of what it uses there; nothing of a function of a module.

    Modules are in the hash of the library.
    """
    function = inspect.unwrap(getattr(compute, "func", compute))  # of a partial
    cells = getattr(function, "__globals__", {}).get("In", [])  # what IPython has executed so far
    return relevant(function.__name__, cells) if cells else []


def relevant(name: str, cells: Iterable[str]) -> list[str]:
    """The statements that decide on a name, and on the names in them, without comments and decorators.

    Example:
        >>> cells = ["width: int = 8", "width = 64  # by papermill", "rate = 0.1", "other = 1"]
        >>> cells += ["def half(x):  # of it", "    return rate * x / 2 / width"]
        >>> relevant("half", cells)
        ['def half(x):\\n    return rate * x / 2 / width', 'rate = 0.1']

    Annotated names are left out, whatever papermill sets them to: they are a chapter's parameters, and a
    table says which of these it uses.
    """
    statements = ast.parse("\n".join(cells)).body
    annotated = [each.target for each in statements if isinstance(each, ast.AnnAssign)]
    parameters = {target.id for target in annotated if isinstance(target, ast.Name)}
    found, waiting, seen = [], [name], {name, *parameters}
    while waiting:
        name = waiting.pop()
        for node in statements:
            if name in _bound(node):
                found.append(ast.unparse(node))
                new = _used(node) - seen
                seen |= new
                waiting += sorted(new)
    return list(dict.fromkeys(found))


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement defines, or changes a part of."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        node.decorator_list = []  # of `run.table`, which says how many cases there are
        return {node.name}
    stored = [each for each in ast.walk(node) if isinstance(getattr(each, "ctx", None), ast.Store)]
    return {name.id for each in stored for name in ast.walk(each) if isinstance(name, ast.Name)}


def _used(node: ast.stmt) -> set[str]:
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    local = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return {each.id for each in names if isinstance(each.ctx, ast.Load)} - local
