"""How far a build is: a bar for each task; a line a minute, where no bar can be drawn."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

MINUTE = 60.0  # between the lines of a task that runs
Report = Callable[[str, str, int, int], None]  # of a task: state, step, number of steps
ENDS = ("fresh", "done", "failed")


@contextmanager
def shown(console: Console, names: Iterable[str]) -> Iterator[Report]:
    """What reports the state of tasks; the reason of a failure stands on a line of its own at once."""
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TextColumn("{task.fields[state]:<22}"))
    told: dict[str, float] = {}
    hidden = not console.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=hidden) as progress:
        tasks = {name: progress.add_task(name, total=1, start=False, state="waiting") for name in names}

        def report(name: str, state: str, step: int, of: int) -> None:
            word, _, reason = state.partition(": ")
            if name not in told:
                progress.start_task(tasks[name])
            progress.update(tasks[name], total=of, completed=of if word in ENDS else step - 1, state=word)
            if word in ENDS:
                progress.stop_task(tasks[name])
            due = name not in told or word in ENDS or time.monotonic() - told[name] >= MINUTE
            told.setdefault(name, time.monotonic())
            if reason or (hidden and due):
                told[name] = time.monotonic()
                console.print(f"{name}: {state}", markup=False)

        yield report
