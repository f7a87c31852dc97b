"""Fresh and stale notebooks, decided by their code and never by words or dates."""

import ast
import json
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from intertwine import files
from intertwine_book import origin
from intertwine_book.build.layout import RECORDED, Book
from intertwine_book.code_hash import syntax


def code(source: Path, library: Path | None = None) -> str:
    """The hash of the modules of ours that a source imports, and of their scripts.

    Comments, docstrings and places do not count.
    """
    modules = imported(source, library or origin.LIBRARY)
    scripts = [path.parent / f"_static/{path.stem}.js" for path in modules.values()]
    if "intertwine_book.live.instrument" in modules:  # what all instruments share
        live = modules["intertwine_book.live.instrument"].parent
        shared = (path for path in live.glob("_static/*.*") if not (live / f"{path.stem}.py").is_file())
        scripts += sorted(shared)
    found = [path for path in scripts if path.is_file()]
    texts = (_syntax(path.read_text()) for path in modules.values())
    return files.digest(*modules, *texts, *found)


def read(source: Path) -> nbformat.NotebookNode:
    """A source as a notebook that may be changed; jupytext takes 0.1 s, so it reads each text once."""
    return deepcopy(_read(source.read_text()))


@cache
def _read(text: str) -> nbformat.NotebookNode:
    return jupytext.reads(text, ".py")


def cells(node: nbformat.NotebookNode) -> list[str]:
    """The code of a notebook's cells, but for comments and for the values of its parameters."""
    coded = [cell for cell in node.cells if cell.cell_type == "code"]
    told = ["parameters" if "parameters" in cell.metadata.get("tags", []) else "" for cell in coded]
    return [tag or _syntax(cell.source) for tag, cell in zip(told, coded, strict=True)]


@cache
def _syntax(text: str) -> str:
    try:
        return syntax(text, decorators=True)
    except SyntaxError:  # of a cell that IPython alone understands
        return text


def stamp(book: Book, profile: str, name: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """A hash of each thing that decides on the outputs of an executed notebook.

    Prose, captions, comments and docstrings are none of them.
    """
    source = book.notebooks[name]
    writes = name in book.records and profile in RECORDED  # then its own tables are no input
    tables = [] if writes else sorted(book.recorded(name).glob("[!.]*.csv"))
    lock = book.root / "requirements.lock"
    return {
        "its cells": files.digest(cells(read(source))),
        "the modules that it imports": code(source),
        "its parameters": files.digest(settings),
        "the precision": origin.precision(),
        "the lock file": files.digest(lock),
        "recorded tables": files.digest(*tables),
    }


def record_of(executed: Path) -> dict[str, Any] | None:
    """The record of an executed notebook's run; None where there is none."""
    if not executed.is_file():
        return None
    return json.loads(executed.read_text())["metadata"]["intertwine"]


def stale(executed: Path, expected: Mapping[str, str]) -> str:
    """Why a notebook has to run, in words: what changed since it ran. Empty where nothing did."""
    if (record := record_of(executed)) is None:
        return "it never ran"
    known = record.get("stamp", {})
    changed = [what for what, digest in expected.items() if known.get(what) != digest]
    return "changed: " + ", ".join(changed) if changed else ""


def pages_stamp(book: Book, notebooks: Mapping[str, Path]) -> list[str]:
    """Two hashes, of what all pages share and of everything that pages are made of.

    Where the first is as it was, Sphinx renders only pages that changed.
    """
    library = origin.LIBRARY
    code = [path for package in origin.PACKAGES for path in sorted((library / package).rglob("*.py"))]
    folders = [book.root / name for name in ("data/results", "book/_static")]
    shared = [book.root / name for name in ("_config.yml", "requirements.lock", "book/_toc.yml")]
    shared += [*_below(*folders), *sorted(library.rglob("*.js"))]
    frame = files.digest(*(_syntax(path.read_text()) for path in code), *filter(Path.exists, shared))
    drawn = book.root / "book/generated"  # from what is hashed
    texts = [path for path in _below(book.root / "book") if path.parent != drawn or path.suffix == ".md"]
    named = [part for path in texts for part in (path.name, path)]
    return [frame, files.digest(frame, *named, *notebooks.values(), origin.library_digest())]


def read_by_build(book: Book, *asked: object) -> str:
    """A hash of what was asked of a build and of every byte that it reads, but of what it writes itself."""
    roots = [book.root / name for name in ("benchmarks", "book", "chapters", "data/networks", "data/results")]
    paths = _below(*roots, *(origin.LIBRARY / package for package in origin.PACKAGES))
    paths += sorted(path for path in book.root.iterdir() if path.is_file())
    made = {book.root / "book/chapters", book.root / "book/generated"}
    paths = [path for path in paths if not made & {*path.parents}]
    settings = {name: value for name, value in os.environ.items() if name.startswith("INTERTWINE_")}
    return files.digest(repr(asked), settings, *map(str, paths), *paths)


def unchanged(book: Book, read: str) -> bool:
    """Whether the last build read what this one would, and all that it wrote is still there, to the byte."""
    kept = book.build / "unchanged"
    return kept.is_file() and kept.read_text() == read + _written(book)


def keep(book: Book, read: str) -> None:
    """Note what a build had read when it began: what changed since then is another hash."""
    with files.write_whole(book.build / "unchanged") as path:
        path.write_text(read + _written(book))


def _written(book: Book) -> str:
    paths = _below(book.root / "book/chapters", book.root / "book/generated", book.build / "executed")
    return files.digest((book.html / "index.html").is_file(), *map(str, paths), *paths)


def _below(*folders: Path) -> list[Path]:
    paths = (path for folder in folders for path in sorted(folder.rglob("*")))
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]


def imported(source: Path, library: Path = origin.LIBRARY) -> dict[str, Path]:
    """Every module of the library that a source imports, directly or by way of others.

    Statements inside functions count, and so do the `__init__` files on the way to a module.

    Example:
        >>> sorted(imported(origin.LIBRARY / "intertwine/devices.py"))
        []
        >>> "intertwine.files" in imported(origin.LIBRARY / "intertwine_book/record.py")
        True

    The library is the folder that holds both packages; modules are name → file, by name.
    """
    found: dict[str, Path | None] = {}  # None: a member of a module
    waiting = [source]
    while waiting:
        for parts in (name.split(".") for name in names(waiting.pop().read_text())):
            for module in (".".join(parts[:length]) for length in range(1, len(parts) + 1)):
                if module not in found and parts[0] in origin.PACKAGES:
                    found[module] = path = _file(library, module)
                    waiting += [path] if path else []
    return {module: path for module, path in sorted(found.items()) if path}


def _file(library: Path, name: str) -> Path | None:
    place = library.joinpath(*name.split("."))
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


@cache
def names(text: str) -> frozenset[str]:
    """The dotted names that a source imports, of modules or of their members."""
    return frozenset(name for node in ast.walk(ast.parse(text)) for name in _dotted(node))


def _dotted(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
