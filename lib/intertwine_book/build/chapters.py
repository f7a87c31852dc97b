"""The chapters that are not fresh run side by side, in a pool of processes."""

import json
import multiprocessing
import os
import shutil
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from intertwine import files
from intertwine_book.build import execute, freshness, writing
from intertwine_book.build.layout import Book, BookError
from intertwine_book.wording import unknown

_progress: Any = None  # in a process of the pool: its channel for progress


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus(devices: Iterable[str]) -> list[str]:
    """What each notebook at a time may see of the GPUs, if these devices are computed on; none for CPUs.

    It is in words of CUDA_VISIBLE_DEVICES: one GPU for "auto" and "cuda". A device with a number of its own
    is one among all of them.

    Example:
        >>> gpus(["cpu"])
        []
    """
    if (asked := {*devices}) <= {"cpu"}:
        return []
    import torch  # slow to import

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    each = visible.split(",")[:count]
    return each if asked <= {"cpu", "auto", "cuda"} or not each else [",".join(each)]


@dataclass(frozen=True)
class Task:
    """A chapter to bring up to date."""

    book: Book
    profile: str
    chapter: str
    settings: dict[str, Any]
    stamp: dict[str, str]
    own: Mapping[str, Any]
    """the values that replace the profile's"""
    force: bool = False

    @property
    def stale(self) -> str:
        """Why it has to run, in words; empty where it does not."""
        executed = self.book.executed(self.profile, self.chapter)
        return "by force" if self.force else freshness.stale(executed, self.stamp)


def plan(
    book: Book,
    profile: str,
    only: Iterable[str] = (),
    given: Mapping[str, Any] | None = None,
    *,
    force: bool = False,
) -> dict[str, Task]:
    """The chapters to bring up to date; a BookError before anything runs where one has a wrong setting.

    Given values replace those of the profile in each notebook that has such a parameter.
    """
    overrides, given = book.overrides(profile), given or {}
    tasks = {}
    for chapter in [book.notebook(name) for name in only] or list(book.notebooks):
        try:
            _, settings = execute.prepare(book.notebooks[chapter], overrides[chapter], given)
        except BookError as error:
            raise BookError(f"In {chapter}: {error}") from None
        stamp = freshness.stamp(book, profile, chapter, settings)
        own = {name: value for name, value in given.items() if name in settings}
        tasks[chapter] = Task(book, profile, chapter, settings, stamp, own, force)
    known = sorted({name for task in tasks.values() for name in task.settings})
    if strange := [name for name in given if name not in known]:
        raise BookError(unknown("parameter", strange[0], known))
    for task in tasks.values():
        if task.stale:
            execute.check_world(task.settings)
    return tasks


def told(profile: str, own: Mapping[str, Any]) -> str:
    """A profile, and what replaces its values.

    Example:
        >>> told("quick", {"seed": 7, "rate": 0.1})
        'quick with seed 7, rate 0.1'
    """
    return " with ".join(filter(None, [profile, ", ".join(f"{name} {value}" for name, value in own.items())]))


def run(
    tasks: dict[str, Task],
    *,
    jobs: int | None = None,
    report: Callable[[str, str, int, int], None] = lambda chapter, state, cell, of: None,
    pool: Executor | None = None,
) -> None:
    """Execute the chapters that are not fresh, several at once.

    Jobs are processes unless there is another pool. When their number is not given it is that of the GPUs
    that are computed on, one notebook at a time on each, or else of the cores. `report` is called with
    (chapter, state, cell, number of cells), where the state is a cell, fresh, done, or failed and the first
    line of the reason. At the end there is a BookError with one paragraph for each chapter that failed.
    """
    seen = gpus(str(task.settings.get("device", "cpu")) for task in tasks.values() if task.stale)
    jobs = min(jobs or len(seen) or cores(), len(tasks)) or 1
    context = multiprocessing.get_context("spawn")
    cells, places = context.SimpleQueue(), context.SimpleQueue()
    for k in range(jobs):
        places.put(seen[k % len(seen)] if seen else None)
    pool = pool or ProcessPoolExecutor(jobs, context, _begin, (cells, places))
    failures = []
    try:
        work = partial(in_a_process, threads=max(1, cores() // jobs))
        pending = {}
        with noted() as signals:
            for chapter, task in tasks.items():
                if task.stale:
                    pending[pool.submit(work, task)] = chapter
                else:  # known without a process
                    report(chapter, "fresh", 1, 1)
            while pending:
                finished, _ = wait(pending, timeout=0.1)
                if signals:
                    raise KeyboardInterrupt(signals[0])
                while not cells.empty():
                    report(*cells.get())
                for future in finished:
                    chapter = pending.pop(future)
                    try:
                        report(chapter, future.result(), 1, 1)
                    except Exception as error:  # a BookError, or the end of the process
                        known = isinstance(error, BookError)
                        why = str(error) if known else f"its process ended: {error}\n    {execute.SHORT}"
                        failures.append(f"{chapter} failed: {why}")
                        report(chapter, "failed: " + why.partition("\n")[0], 1, 1)
    except BaseException:  # Ctrl-C, SIGTERM: every file is written whole, so the processes may simply go
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()
    if failures:
        raise BookError("\n".join(failures))


@contextmanager
def noted() -> Iterator[list[int]]:
    """Inside the `with` Ctrl-C and SIGTERM are noted, and raise nothing.

    Raised while `wait` or `submit` holds a lock, they would leave it locked, and the process would never end.
    """
    found: list[int] = []
    note, kinds = (lambda number, frame: found.append(number)), (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, note) for each in kinds}
    try:
        yield found
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)  # None: not from Python


def _begin(cells: Any, places: Any) -> None:
    global _progress
    _progress = cells
    if gpu := places.get():
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    threading.Thread(target=_end_with_the_build, daemon=True).start()


def _end_with_the_build() -> None:
    """A build that is killed takes its processes along; they would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def log_of(book: Book, chapter: str) -> Path:
    """The log of a chapter, made and empty, into which steps that take long write how far they are."""
    log = book.build / "logs" / f"{chapter}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    os.environ["INTERTWINE_LOG"] = str(log)
    return log


def in_a_process(task: Task, threads: int) -> str:
    """`bring_up_to_date` in a process of the pool, which writes its errors into the chapter's log."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        log = log_of(task.book, task.chapter)
        with log.open("a") as errors:
            os.dup2(errors.fileno(), 2)
        return bring_up_to_date(
            task, lambda cell, of: _progress.put((task.chapter, f"cell {cell} of {of}", cell, of))
        )
    except BookError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (said := writing.trouble(error)):
            raise BookError(said) from None
        with suppress(OSError):  # the log's disk may be full
            traceback.print_exc()
        raise BookError(f"{error!r}; see {log}") from None


def begin(tables: Path, task: Task) -> None:
    """Empty the folder of a run's tables, unless what fills it is the same run, which did not end."""
    whose = tables / ".run"
    if task.force or not whose.is_file() or json.loads(whose.read_text()) != task.stamp:
        shutil.rmtree(tables, ignore_errors=True)
        tables.mkdir(parents=True)
        with files.write_whole(whose) as path:
            path.write_text(json.dumps(task.stamp))


def bring_up_to_date(task: Task, report: Callable[[int, int], None] = lambda cell, of: None) -> str:
    """Execute a chapter unless it is fresh; `done` or `fresh`, whichever it was.

    A second build waits for the first one and finds the chapter fresh.
    """
    book, profile, chapter = task.book, task.profile, task.chapter
    with files.lock(book.build / "locks" / f"{profile}-{chapter}"):
        if not task.stale:
            return "fresh"
        output, failed = book.executed(profile, chapter), book.failed(profile, chapter)
        begin(output.with_suffix(""), task)
        record = {"stamp": task.stamp, "profile": told(profile, task.own)}
        execute.execute(book, chapter, task.settings, output, failed=failed, record=record, report=report)
    return "done"
