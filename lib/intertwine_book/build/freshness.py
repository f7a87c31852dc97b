"""Fresh and stale chapters, decided by content and never by dates."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intertwine import files
from intertwine_book import results
from intertwine_book.build.imports import imported
from intertwine_book.build.layout import Book, captions
from intertwine_book.results import origin


def code(source: Path, library: Path | None = None) -> str:
    """The hash of the modules of ours that a source imports, and of their scripts; places do not count."""
    modules = imported(source, library or results.LIBRARY)
    scripts = [path.parent / f"_static/{path.stem}.js" for path in modules.values()]
    found = [path for path in scripts if path.is_file()]
    return files.digest(*(part for module in modules.items() for part in module), *found)


def stamp(book: Book, profile: str, chapter: str, settings: Mapping[str, Any]) -> str:
    """The hash of what an executed chapter depends on.

    These are texts, modules, parameters, precision, lock and recorded tables.
    """
    source = book.chapters[chapter]
    read = [name for name in results.RECORDED if name != profile]  # a recorded run writes its own
    tables = [path for name in read for path in sorted((book.tables(name) / chapter).glob("[!.]*.csv"))]
    texts = [path for path in [captions(source)] if path.is_file()]
    lock = book.root / "requirements.lock"
    return files.digest(source, *texts, code(source), settings, origin.precision(), lock, *tables)


def record_of(executed: Path) -> dict[str, Any] | None:
    """The record of an executed notebook's run; None where there is none."""
    if not executed.is_file():
        return None
    return json.loads(executed.read_text())["metadata"]["intertwine"]


def is_fresh(executed: Path, expected: str) -> bool:
    return (record_of(executed) or {}).get("stamp") == expected


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


def pages_stamp(book: Book, notebooks: Mapping[str, Path]) -> str:
    """The hash of all that the rendered pages depend on."""
    texts = sorted(path for path in (book.root / "book").rglob("*") if path.is_file())
    made = {book.root / "book/chapters", book.root / "book/generated"}  # drawings come of what is hashed
    sources = [path for path in texts if path.parent not in made or path.suffix == ".md"]
    named = [part for path in sources for part in (path.name, path)]
    known = [book.root / name for name in ("_config.yml", "requirements.lock")]
    known += sorted((book.root / "data/results").rglob("[!.]*.csv"))
    return files.digest(*named, *notebooks.values(), *known, results.library_digest())
