"""Fresh and stale notebooks, decided by their code and never by words or dates."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from intertwine import files
from intertwine_book import results
from intertwine_book.build.imports import imported
from intertwine_book.build.layout import Book
from intertwine_book.code_hash import syntax
from intertwine_book.results import origin


def code(source: Path, library: Path | None = None) -> str:
    """The hash of the modules of ours that a source imports, and of their scripts.

    Comments, docstrings and places do not count.
    """
    modules = imported(source, library or results.LIBRARY)
    scripts = [path.parent / f"_static/{path.stem}.js" for path in modules.values()]
    if "intertwine_book.live.instrument" in modules:  # what all instruments share
        live = modules["intertwine_book.live.instrument"].parent
        shared = (path for path in live.glob("_static/*.*") if not (live / f"{path.stem}.py").is_file())
        scripts += sorted(shared)
    found = [path for path in scripts if path.is_file()]
    texts = (_syntax(path.read_text()) for path in modules.values())
    return files.digest(*modules, *texts, *found)


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
    read = [other for other in results.RECORDED if other != profile]  # a recorded run writes its own
    folders = [book.tables(other) / name for other in read]
    if name in book.chapters or profile not in results.RECORDED:
        folders.append(book.root / "data/results" / source.stem)  # of the record
    tables = [path for folder in folders for path in sorted(folder.glob("[!.]*.csv"))]
    lock = book.root / "requirements.lock"
    return {
        "its cells": files.digest(cells(jupytext.read(source))),
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


def runs_other_code(book: Book) -> str | None:
    """A sentence if the packages that are installed are a copy, and the checkout's own files differ."""
    own = book.root / "lib"
    if not all((own / package).is_dir() for package in results.PACKAGES) or own.samefile(results.LIBRARY):
        return None
    if results.library_digest(own) == results.library_digest():
        return None
    return (
        f"What runs is the copy in {results.LIBRARY}, and {own} differs from it: "
        "`pip install -e .` makes your changes count."
    )


def sources(book: Book) -> str:
    """The hash of every file that a build reads, at any profile, and of the precision."""
    made = {book.root / "book/chapters", book.root / "book/generated"}
    texts = sorted(path for path in (book.root / "book").rglob("*") if not made & {path, *path.parents})
    named = [part for path in texts if path.is_file() for part in (path.name, path)]
    read = [book.root / name for name in ("chapters", "data/results", "_config.yml", "requirements.lock")]
    found = [path for path in read if path.exists()]
    return files.digest(*named, *found, origin.precision(), results.library_digest())


def whole_stamp(book: Book, profile: str, read: str) -> str:
    """The hash of what a build read (`sources`, before it began) and of what it left beside the pages."""
    written = [book.build / "executed" / profile, book.root / "book/chapters", book.root / "book/generated"]
    return files.digest(profile, read, *(path for path in written if path.exists()))


def nothing_changed(book: Book, profile: str, read: str) -> bool:
    """Whether the last build was one of this profile, ended well, and all files are as it left them."""
    known = book.build / "whole"
    there = known.is_file() and (book.build / "pages").is_file() and (book.html / "index.html").is_file()
    return there and known.read_text() == whole_stamp(book, profile, read)


def frame_stamp(book: Book) -> str:
    """The hash of what all pages depend on; where it is as it was, Sphinx renders the pages that changed."""
    code = [
        path for package in results.PACKAGES for path in sorted((results.LIBRARY / package).rglob("*.py"))
    ]
    scripts = [*sorted((book.root / "book/_static").rglob("*.*")), *sorted(results.LIBRARY.rglob("*.js"))]
    known = [
        book.root / name for name in ("_config.yml", "book/_toc.yml", "requirements.lock", "data/results")
    ]
    found = [path for path in (*known, *scripts) if path.exists()]
    return files.digest(*(_syntax(path.read_text()) for path in code), *found)


def pages_stamp(book: Book, notebooks: Mapping[str, Path]) -> str:
    """The hash of all that the rendered pages depend on."""
    texts = sorted(path for path in (book.root / "book").rglob("*") if path.is_file())
    made = {book.root / "book/chapters", book.root / "book/generated"}  # drawings come of what is hashed
    sources = [path for path in texts if path.parent not in made or path.suffix == ".md"]
    named = [part for path in sources for part in (path.name, path)]
    known = [book.root / name for name in ("_config.yml", "requirements.lock")]
    known += sorted((book.root / "data/results").rglob("[!.]*.csv"))
    return files.digest(*named, *notebooks.values(), *known, results.library_digest())
