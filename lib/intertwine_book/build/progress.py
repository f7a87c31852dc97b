"""How far a build is: a bar for each chapter and the pages; lines, where no bar can be drawn."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from intertwine_book.build.layout import Book

MINUTE = 60.0  # between the lines of a task that runs
Report = Callable[[str, str, int, int], None]  # of a chapter: state, cell, number of cells
ReportPages = Callable[[str, int], None]  # phase, percent


@contextmanager
def shown(console: Console, book: Book, planned: Iterable[str]) -> Iterator[tuple[Report, ReportPages]]:
    """What reports the chapters that are planned, and what reports the pages, which come after them.

    The reason of a failure stands on a line of its own at once, with bars as without.
    """
    with bars(console) as progress:
        waiting: dict[str, Any] = {"start": False, "state": "waiting"}
        tasks = {chapter: progress.add_task(chapter, total=1, **waiting) for chapter in planned}
        pages = progress.add_task("pages", total=200, **waiting)

        def tell(line: str, always: bool = False) -> None:
            if always or not console.is_terminal:
                console.print(line, markup=False)

        def report(chapter: str, state: str, cell: int, of: int) -> None:
            task = tasks[chapter]
            if state == "running":
                if not progress.tasks[task].started:
                    progress.start_task(task)
                    tell(f"{chapter}: begins, its log is {book.build / 'logs' / chapter}.log")
                doing = f"cell {cell} of {of}" if cell else "starting"
                progress.update(task, total=of, completed=cell - 1, state=doing)
            else:
                word, _, reason = state.partition(":")
                progress.update(task, total=1, completed=1, state=word)
                progress.stop_task(task)
                tell(f"{chapter}: {state}", always=bool(reason))

        def report_pages(phase: str, percent: int) -> None:
            if not progress.tasks[pages].started:
                progress.start_task(pages)
                tell("pages: begins")
            done = percent + 100 * (phase == "writing output")
            progress.update(pages, completed=done, state=f"{phase} {percent} %")

        yield report, report_pages
        progress.update(pages, completed=200, state="done")
        tell("pages: done")


@contextmanager
def bars(console: Console) -> Iterator[Progress]:
    """Bars of tasks, which have a field `state`; where none is drawn, as in a file, a line a minute."""
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TextColumn("{task.fields[state]:<22}"))
    ended = threading.Event()

    def lines() -> None:
        while not ended.wait(MINUTE):
            for task in progress.tasks:
                if task.started and not task.finished:
                    console.print(f"{task.description}: {task.fields['state']}", markup=False)

    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        if not console.is_terminal:
            threading.Thread(target=lines, daemon=True).start()
        try:
            yield progress
        finally:
            ended.set()
