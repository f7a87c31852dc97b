"""How many cases the tables of a record plan, and how many are missing, without computing any."""

import ast
import dis
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeGuard

import nbformat

from intertwine_book.build import execute
from intertwine_book.build.layout import RECORDED, Book
from intertwine_book.record import PROVENANCE, Record
from intertwine_book.tidy import Case, plan


class Plan(NamedTuple):
    """A table of a record: the cases that are planned, those that no row on record has, and their cost."""

    table: str
    cases: Sequence[Case]
    missing: Sequence[Case]
    hours: float
    """what the missing ones will take where the rows on record were computed; 0 where there are none."""


def plans(node: nbformat.NotebookNode, kept: Path) -> list[Plan]:
    """The plan of each table of a notebook whose parameters are set, with rows on record in `kept`.

    Of the notebook's statements only those run that a plan needs: nothing is computed.

    Example:
        >>> from nbformat.v4 import new_code_cell, new_notebook
        >>> cells = "sides = [1, 2, 3]", "@record.table(side=sides)\\ndef squares(side): ..."
        >>> [found] = plans(new_notebook(cells=[new_code_cell(cell) for cell in cells]), Path("nowhere"))
        >>> found.table, len(found.cases), found.missing[0]
        ('squares', 3, {'side': 1})
    """
    record = _Counted(kept)
    code = "\n".join(cell.source for cell in node.cells if cell.cell_type == "code")
    exec(compile(_needed(ast.parse(code).body), "plan", "exec"), {"record": record})
    return record.plans


def written(book: Book, name: str, settings: Mapping[str, Any]) -> Path | None:
    """Where a record that just ran wrote its rows; None for a chapter, and for a scale that computes none."""
    if name not in book.records:
        return None
    record = Record.at(book.recorded(name).name, settings["scale"], settings.get("own", ""))
    return record.folder and book.root / "chapters" / record.folder  # a notebook's paths begin there


def left(book: Book, name: str, settings: Mapping[str, Any]) -> str:
    """What a record at desk or paper has to compute, in words; "" for a chapter, and where it is nothing."""
    if name not in book.records or settings["scale"] not in RECORDED:
        return ""
    node, _ = execute.prepare(book.notebooks[name], settings)
    try:
        found = plans(node, book.recorded(name))
    except Exception as error:  # of a notebook of one's own, say, whose plans are made from rows
        return f"{name}: what is missing cannot be counted before it runs ({error})"
    cases, missing = sum(len(each.cases) for each in found), sum(len(each.missing) for each in found)
    hours = sum(each.hours for each in found)
    cost = f", about {hours:.1f} h where the others were computed" if hours else ""
    return f"{name}: {missing:,} of {cases:,} cases are missing{cost}" if missing else ""


class _Counted(Record):
    """A record whose tables are counted."""

    def __init__(self, kept: Path) -> None:
        super().__init__(kept, writes=False)
        self.plans: list[Plan] = []

    def table(self, cases: Sequence[Case] = ({},), **product: Iterable[Any]) -> Callable[..., None]:
        wanted = plan(cases, product, PROVENANCE)

        def decorate(compute: Callable[..., Any]) -> None:
            name = compute.__name__
            self._tables[name] = compute, [*wanted[0]] if wanted else [], ""
            rows, missing = self.read(name), self._missing(name, wanted)
            hours = len(missing) * rows["seconds"].mean() / 3600 if len(rows) else 0.0
            hours = 0.0 if hours != hours else hours  # of rows without their seconds
            self.plans.append(Plan(name, wanted, missing, hours))

        return decorate


def _needed(statements: Sequence[ast.stmt]) -> ast.Module:
    """The tables, without what they compute, and the statements that their plans need.

    Raises:
        ValueError: the plan of a table is made from the rows of another.
    """
    of_rows: set[str] = set()  # names of tables, and of what is made from their rows
    free: list[ast.stmt] = []  # statements that read none of them
    for each in statements:
        if table := _is_table(each):
            each.body, each.args.defaults, each.args.kw_defaults = ast.parse("pass").body, [], []
        if (reads := _read(each) & of_rows) and table:
            raise ValueError(f"Expected plans that need no rows, was given one with {min(reads)}.")
        if table or (reads and not isinstance(each, ast.FunctionDef)):
            of_rows |= _bound(each)
        else:
            of_rows -= _bound(each) if isinstance(each, ast.Assign) else set()
        if table or not reads:
            free.append(each)
    needed: list[ast.stmt] = []
    names: set[str] = set()
    for each in reversed(free):
        if _is_table(each) or (_bound(each) & names and "record" not in _bound(each)):
            names -= _bound(each) if isinstance(each, ast.Assign) else set()
            names |= _read(each)
            needed.insert(0, each)
    return ast.Module(needed, [])


def _is_table(each: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    decorators = each.decorator_list if isinstance(each, ast.FunctionDef) else []
    return any(ast.unparse(decorator).startswith("record.table") for decorator in decorators)


def _bound(each: ast.stmt) -> set[str]:
    """The names that a statement binds, or whose value it changes, but for those of loops."""
    if isinstance(each, ast.FunctionDef | ast.ClassDef):
        return {each.name}
    found: set[str] = set()
    for node in ast.walk(each):
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            places = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {part.id for place in places for part in ast.walk(place) if isinstance(part, ast.Name)}
    return found


def _read(each: ast.stmt) -> set[str]:
    """The names of the notebook that a statement reads, inside its functions too."""

    def names(code: CodeType) -> set[str]:
        steps = (step for step in dis.get_instructions(code) if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"))
        inner = (names(part) for part in code.co_consts if isinstance(part, CodeType))
        return {str(step.argval) for step in steps}.union(*inner)

    found = names(compile(ast.Module([each], []), "a statement", "exec"))
    if not isinstance(each, ast.For):
        return found
    own = {part.id for part in ast.walk(each.target) if isinstance(part, ast.Name)}
    return found - own.union(*(_bound(inner) for inner in each.body if isinstance(inner, ast.Assign)))
