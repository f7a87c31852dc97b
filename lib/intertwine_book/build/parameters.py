"""A chapter's parameters: read from their cell, checked before anything runs, written back."""

import ast
import math
import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from intertwine_book.build.layout import BookError
from intertwine_book.wording import unknown


@dataclass(frozen=True)
class Parameter:
    """One annotated assignment of the parameters cell, `name: annotation = default  # help`."""

    annotation: str
    default: Any
    hint: Any
    line: int  # of the value in the cell, counted from 0
    columns: tuple[int, int]  # of the value in that line
    help: str

    @property
    def words(self) -> list[str]:
        """The words that may stand in a list of words whose help quotes more: # and "tanh", "GELU"."""
        more = re.findall('"([^"]+)"', self.help)
        return [*self.default, *more] if more and self.hint == list[str] else []

    @property
    def bounds(self) -> tuple[int, float]:
        """The least and the largest integer, as the help says it: "at least 2", "from 1 to 4".

        Where it says nothing, integers count something: they are at least 1, or 0 where the default has a 0.
        """
        if said := re.search(r"at least (\d+)|from (\d+) to (\d+)", self.help):
            low, *both = said.groups()
            return (int(low), math.inf) if low else (int(both[0]), float(both[1]))
        return min(1, min(_integers(self.default), default=0)), math.inf


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
    lines = [line.encode() for line in source.splitlines()]  # ast counts bytes
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value):
            raise BookError(
                f"A parameters cell holds lines `name: type = value` only, found `{ast.unparse(node)}`."
            )
        value = node.value
        if value.end_lineno != value.lineno:
            raise BookError(
                f"Expected the value of '{node.target.id}' in one line, found {ast.unparse(value)}."
            )
        found[node.target.id] = Parameter(
            annotation=ast.unparse(node.annotation),
            default=ast.literal_eval(value),
            hint=_hint(node.annotation),
            line=value.lineno - 1,
            columns=(value.col_offset, value.end_col_offset or len(source)),
            help=lines[value.lineno - 1][value.end_col_offset :].decode().strip(" #"),
        )
    return found


def lines(source: str) -> list[str]:
    """The lines of a cell that declare parameters.

    Example:
        >>> lines("import torch\\n\\nseed: int = 0  # of everything")
        ['seed: int = 0  # of everything']
    """
    return [source.splitlines()[parameter.line] for parameter in declared(source).values()]


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
    """Raise a BookError for a name that is not declared, and a value that its line in the cell rules out.

    Example:
        >>> check(declared("epochs: int = 3"), {"epochs": "many"})
        Traceback (most recent call last):
        ...
        intertwine_book.build.layout.BookError: Parameter 'epochs' expects int (3 by default), was given ...
    """
    for name, value in values.items():
        if name not in parameters:
            raise BookError(unknown("parameter", name, parameters))
        parameter = parameters[name]
        if expected := _expected(name, parameter, value):
            default = f"({parameter.default!r} by default)"
            raise BookError(f"Parameter '{name}' expects {expected} {default}, was given {value!r}.")
        if parameter.words and (others := set(value) - set(parameter.words)):
            raise BookError(unknown(f"value for '{name}'", min(others), parameter.words))


def _expected(name: str, parameter: Parameter, value: Any) -> str:
    """What a parameter takes, in words, where a value is none of it."""
    try:
        TypeAdapter(parameter.hint).validate_python(value, strict=True)
    except ValidationError:
        if typing.get_origin(parameter.hint) is typing.Literal:
            return "one of " + ", ".join(map(repr, typing.get_args(parameter.hint)))
        return parameter.annotation
    if value == [] != parameter.default:
        return "some values"
    low, high = parameter.bounds if name != "seed" else (0, math.inf)
    inside = all(low <= number <= high for number in _integers(value))
    return "" if inside else f"numbers from {low}" + (f" to {high:.0f}" if high < math.inf else "")


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
        >>> parse("1e-3"), parse("1,2"), parse("cifar10")
        (0.001, [1, 2], 'cifar10')
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return [*value] if isinstance(value, tuple) else value  # a shell takes 1,2 without quotes
