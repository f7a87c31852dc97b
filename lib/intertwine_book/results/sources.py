"""What a function of a notebook is made of: its definition, and the names that it reads."""

import ast
import dis
from collections.abc import Iterable
from types import CodeType


def definition(name: str, cells: Iterable[str]) -> str:
    """The statements that define a function or a class, without comments and without `@run.table`.

    Example:
        >>> cells = ["rate = 2", "@run.table(trial=range(9))", "def half(x):  # of it", "    return x / rate"]
        >>> definition("half", cells)
        'def half(x):\\n    return x / rate'
    """
    found = []
    for node in ast.walk(ast.parse("\n".join(cells))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            # the decorator says how many cases there are, which does not decide on a single one
            node.decorator_list = [each for each in node.decorator_list if not _is_table(each)]
            found.append(ast.unparse(node))
        if isinstance(node, ast.Assign) and name in [getattr(target, "id", "") for target in node.targets]:
            found.append(ast.unparse(node))  # of a lambda
    if not found:
        raise ValueError(f"Expected a function that a cell defines by `def`, was given {name}: define it so.")
    return "\n".join(found)


def _is_table(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") == "table"


def names(code: CodeType) -> set[str]:
    """The names that code reads from outside, also in functions inside it.

    Example:
        >>> def scaled(xs):
        ...     return [len(xs) * rate for rate in sorted(xs)]
        >>> sorted(names(scaled.__code__))
        ['len', 'sorted']
    """
    read = {str(each.argval) for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return read.union(*(names(each) for each in code.co_consts if isinstance(each, CodeType)))
