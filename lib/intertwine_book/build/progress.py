"""How far a build is: a bar for each chapter and the pages; lines, where no bar can be drawn."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from intertwine_book.build.layout import Book

MINUTE = 60.0  # between the lines of a chapter that runs
Report = Callable[[str, str, int, int], None]  # of a chapter: state, cell, number of cells
ReportPages = Callable[[str, int], None]  # phase, percent


@contextmanager
def shown(console: Console, book: Book, planned: Iterable[str]) -> Iterator[tuple[Report, ReportPages]]:
    """What reports the chapters that are planned, and what reports the pages, which come after them."""
    with bars(console) as progress:
        waiting: dict[str, Any] = {"start": False, "state": "waiting"}
        tasks = {chapter: progress.add_task(chapter, total=1, **waiting) for chapter in planned}
        pages = progress.add_task("pages", total=200, **waiting)
        tell = lines(console, book)

        def report(chapter: str, state: str, cell: int, of: int) -> None:
            task = tasks[chapter]
            if state == "running":
                progress.start_task(task)
                doing = f"cell {cell} of {of}" if cell else "starting"
                progress.update(task, total=of, completed=cell - 1, state=doing)
            else:
                progress.update(task, total=1, completed=1, state=state)
                progress.stop_task(task)
            if not console.is_terminal:
                tell(chapter, state, cell, of)

        def report_pages(phase: str, percent: int) -> None:
            if not progress.tasks[pages].started:
                progress.start_task(pages)
            if not console.is_terminal:
                tell("pages", "running", percent, 100)
            done = percent + 100 * (phase == "writing output")
            progress.update(pages, completed=done, state=f"{phase} {percent} %")

        yield report, report_pages
        progress.update(pages, completed=200, state="done")
        if not console.is_terminal:
            tell("pages", "done", 0, 0)


def bars(console: Console) -> Progress:
    """Bars of tasks, which have a field `state`."""
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TextColumn("{task.fields[state]:<22}"))
    return Progress(*columns, TimeElapsedColumn(), console=console)


def lines(console: Console, book: Book) -> Report:
    """Where no bar is drawn, as in a file: a line when a chapter begins, one a minute, and one at its end."""
    told: dict[str, float] = {}

    def tell(chapter: str, state: str, cell: int, of: int) -> None:
        if state != "running":
            text = state
        elif chapter not in told:
            log = f", its log is {book.build / 'logs' / chapter}.log" if chapter in book.chapters else ""
            text = f"begins{log}"
        elif time.monotonic() >= told[chapter] + MINUTE:
            text = f"cell {cell} of {of}" if chapter in book.chapters else f"{cell} %"
        else:
            return
        told[chapter] = time.monotonic()
        console.print(f"{chapter}: {text}")

    return tell
