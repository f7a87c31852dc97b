"""A chapter's parameters: read from their cell, checked before anything runs, written back."""

import ast
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from intertwine_book.build.layout import BookError, unknown


@dataclass(frozen=True)
class Parameter:
    """One annotated assignment of the parameters cell, `name: annotation = default  # help`."""

    annotation: str
    default: Any
    hint: Any
    line: int  # of the value in the cell, counted from 0
    columns: tuple[int, int]  # of the value in that line


def parameters_cell(notebook) -> Any:
    """The one cell of a notebook that is tagged `parameters`."""
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise BookError(f"Expected exactly one cell tagged 'parameters' in a chapter, found {len(cells)}.")
    return cells[0]


def declared(source: str) -> dict[str, Parameter]:
    """The parameters that a cell declares: assignments `name: type = literal` of one line, beside imports.

    Example:
        >>> declared("seed: int = 0  # of everything")["seed"].default
        0
    """
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value):
            raise BookError(
                f"A parameters cell holds lines `name: type = value` only, found `{ast.unparse(node)}`."
            )
        value = node.value
        found[node.target.id] = Parameter(
            annotation=ast.unparse(node.annotation),
            default=ast.literal_eval(value),
            hint=_hint(node.annotation),
            line=value.lineno - 1,
            columns=(value.col_offset, value.end_col_offset or len(source)),
        )
    return found


def _hint(annotation: ast.expr) -> Any:
    match annotation:
        case ast.Name("bool" | "int" | "float" | "str" as name):
            return {"bool": bool, "int": int, "float": float, "str": str}[name]
        case ast.Subscript(ast.Name("list"), entry):
            return list[_hint(entry)]  # type: ignore[misc]
        case ast.Subscript(ast.Name("Literal"), choices):
            return typing.Literal[ast.literal_eval(choices)]
    raise BookError(
        f"Expected a parameter of type bool, int, float, str, list[…] or Literal[…], "
        f"found `{ast.unparse(annotation)}`."
    )


def check(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise a BookError for a name that is not declared, a value of another type and an integer too small.

    Example:
        >>> check(declared("epochs: int = 3"), {"epochs": "many"})
        Traceback (most recent call last):
        ...
        intertwine_book.build.layout.BookError: Parameter 'epochs' expects int (3 by default), ...
    """
    for name, value in values.items():
        if name not in parameters:
            raise BookError(unknown("parameter", name, parameters))
        parameter = parameters[name]
        try:
            TypeAdapter(parameter.hint).validate_python(value, strict=True)
        except ValidationError:
            expected = parameter.annotation
            if typing.get_origin(parameter.hint) is typing.Literal:
                expected = "one of " + ", ".join(map(repr, typing.get_args(parameter.hint)))
            raise BookError(
                f"Parameter '{name}' expects {expected} ({parameter.default!r} by default), "
                f"was given {value!r} of type {type(value).__name__}."
            ) from None
        # integers count something, but a seed: they are at least 1, or 0 where the default has a 0 or nothing
        least = 0 if name == "seed" else min(1, min(_integers(parameter.default), default=0))
        if any(number < least for number in _integers(value)):
            raise BookError(
                f"Parameter '{name}' expects numbers from {least} ({parameter.default!r} by default), "
                f"was given {value!r}."
            )


def _integers(value: Any) -> list[int]:
    return [each for each in (value if isinstance(value, list) else [value]) if type(each) is int]


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """The cell with new values in place of the old ones, annotations and comments kept.

    Papermill would add a second cell; a page with one cell says the truth once.

    Example:
        >>> with_values("seed: int = 0  # of everything", {"seed": 7})
        'seed: int = 7  # of everything'
    """
    lines = source.splitlines()
    for name, parameter in declared(source).items():
        if name in values:
            start, end = parameter.columns
            line = lines[parameter.line].encode()  # ast counts bytes
            lines[parameter.line] = (line[:start] + repr(values[name]).encode() + line[end:]).decode()
    return "\n".join(lines)


def parse(text: str) -> Any:
    """A value typed on the command line: a Python literal where it is one, a string otherwise.

    Example:
        >>> parse("1e-3"), parse("[1, 2]"), parse("cifar10")
        (0.001, [1, 2], 'cifar10')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
