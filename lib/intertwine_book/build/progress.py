"""How far a build is, and what is left: a bar for each task; a line a minute, where no bar can be drawn."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

SECOND, MINUTE = 1.0, 60.0  # between two looks at a task that runs: where bars are drawn, and where lines are
Report = Callable[[str, str, int, int], None]  # of a task: state, step, number of steps
ENDS = ("fresh", "done", "failed")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PERCENT = re.compile(r"(reading sources|writing output)\.*\s*\[\s*(\d+)%\]")


@contextmanager
def shown(console: Console, names: Iterable[str], logs: Path) -> Iterator[Report]:
    """What reports the state of tasks; the reason of a failure stands on a line of its own at once.

    A task that runs is shown with the step that its log names, in `logs`, also while a cell takes hours.
    """
    columns = (TextColumn("{task.description:<28}"), BarColumn(20), TextColumn("{task.fields[state]:<22}"))
    states: dict[str, str] = {}  # of what began and has not ended
    began: dict[str, float] = {}
    hidden, over = not console.is_terminal, threading.Event()
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=hidden) as progress:
        tasks = {name: progress.add_task(name, total=1, start=False, state="waiting") for name in names}

        def report(name: str, state: str, step: int, of: int) -> None:
            word, _, reason = state.partition(": ")
            ends, first = word in ENDS, name not in began
            if first:
                progress.start_task(tasks[name])
                began[name] = time.monotonic()
            states[name] = word
            if ends:
                progress.stop_task(tasks[name])
                del states[name]
            progress.update(tasks[name], total=of, completed=of if ends else step - 1, state=word)
            left = len(tasks) - len(began) + len(states)
            if reason or (hidden and (first or ends)):
                console.print(f"{name}: {state}" + f"; {left} left" * (ends and left > 0), markup=False)

        def look() -> None:
            while not over.wait(MINUTE if hidden else SECOND):
                for name, state in [*states.items()]:
                    told = ", ".join(filter(None, [state, last_step(logs / f"{name}.log")]))
                    progress.update(tasks[name], state=told)
                    if hidden:
                        minutes = (time.monotonic() - began[name]) / 60
                        console.print(f"{name}: {told}, {minutes:.0f} min so far", markup=False)

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield report
        finally:
            over.set()
            looking.join()


def last_step(log: Path) -> str:
    """What a step that runs wrote last, such as `stitches: 3 of 20 cases, 04:15 left`; "" where none runs.

    A step goes back to the beginning of its line, and ends it when it is over.

    Example:
        >>> import tempfile
        >>> log = Path(tempfile.mkdtemp()) / "03_stitching.log"
        >>> _ = log.write_bytes(b"a warning\\nstitches: 2 of 20 cases\\rstitches: 3 of 20 cases")
        >>> last_step(log)
        'stitches: 3 of 20 cases'
    """
    if not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 1000))
        return file.read().decode(errors="replace").split("\n")[-1].split("\r")[-1].strip()


def of_sphinx(told: str) -> tuple[str, int] | None:
    """What Sphinx does and how many percent of it are done, from its last words; None where they do not say.

    Example:
        >>> of_sphinx("\x1b[01mreading sources... \x1b[39;49;00m[ 40%] \x1b[35mapi/data\x1b[39;49;00m")
        ('reading sources 40 %', 40)
    """
    found = _PERCENT.findall(plain(told))
    return (f"{found[-1][0]} {found[-1][1]} %", int(found[-1][1])) if found else None


def plain(told: str) -> str:
    """Words of a terminal without their colours, in the midst of which a pattern would not find its own."""
    return _COLOUR.sub("", told)
