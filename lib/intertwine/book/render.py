"""The pages: executed notebooks and the texts of `book/` become html, by jupyter-book."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

from intertwine import files
from intertwine.book import execute, freshness
from intertwine.book.layout import Book, BookError

_PERCENT = re.compile(r"(reading sources|writing output)\.*\s*\[\s*(\d+)%\]")


def render(book: Book, profile: str, report: Callable[[str, int], None] = lambda what, percent: None) -> Path:
    """Render the book from the chapters executed at one profile; does nothing when nothing changed.

    Args:
        report: called with (phase, percent done).

    Returns:
        The page to open.

    Raises:
        BookError: with the warnings, each of which is an error here, and the log to read.
    """
    page, stamp_file, unfinished = book.html / "index.html", book.build / "pages", book.build / "rendering"
    with files.lock(book.build / "locks" / "render"):
        notebooks = _collect(book, profile)
        stamp = freshness.pages_stamp(book, notebooks)
        if page.is_file() and stamp_file.is_file() and stamp_file.read_text() == stamp:
            return page
        if unfinished.exists() or not stamp_file.exists():  # half-written pages look up to date to Sphinx
            shutil.rmtree(book.html, ignore_errors=True)
            shutil.rmtree(book.build / ".doctrees", ignore_errors=True)
        unfinished.touch()
        stamp_file.unlink(missing_ok=True)
        _jupyter_book(book, report)
        with files.write_whole(stamp_file) as path:
            path.write_text(stamp)
        unfinished.unlink()
    return page


def _collect(book: Book, profile: str) -> dict[str, Path]:
    """Put every chapter's notebook beside the texts; one that never ran stands there without outputs."""
    folder = book.root / "book/chapters"
    folder.mkdir(exist_ok=True)
    notebooks = {}
    for chapter, source in book.chapters.items():
        notebooks[chapter] = folder / f"{chapter}.ipynb"
        executed = book.executed(profile, chapter)
        if executed.is_file():
            content = executed.read_text()
        else:
            node, _ = execute.prepare(source, {})
            for index, cell in enumerate(node.cells):
                cell.id = f"cell-{index}"  # random otherwise, and then never fresh
                if cell.cell_type == "markdown":
                    cell.source = cell.source.replace(execute.THIS_RUN, execute.this_run(None))
            content = nbformat.writes(node)
        if not notebooks[chapter].is_file() or notebooks[chapter].read_text() != content:
            with files.write_whole(notebooks[chapter]) as path:
                path.write_text(content)
    for stray in set(folder.glob("*.ipynb")) - set(notebooks.values()):
        stray.unlink()
    return notebooks


def _jupyter_book(book: Book, report: Callable[[str, int], None]) -> None:
    root = book.root
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    command += [str(root / "book"), "--path-output", str(root)]
    command += ["--config", str(root / "_config.yml"), "--toc", str(root / "book/_toc.yml")]
    command += ["--warningiserror", "--nitpick", "--keep-going"]
    log, tail = book.build / "render.log", b""
    with (
        log.open("wb") as kept,
        subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        assert process.stdout is not None
        try:
            while chunk := process.stdout.read1():
                kept.write(chunk)
                tail = tail[-200:] + chunk
                if found := _PERCENT.findall(tail.decode(errors="replace")):
                    report(found[-1][0], int(found[-1][1]))
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace")).splitlines()
        troubles = [line for line in lines if re.search(r"WARNING|ERROR|[Ee]xception", line)] or lines[-15:]
        raise BookError("\n".join(["The pages did not render:", *troubles, f"The whole log: {log}"]))
