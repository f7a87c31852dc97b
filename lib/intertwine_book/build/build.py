"""The whole book: chapters that are not fresh run in parallel processes, then the pages are rendered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from intertwine import files
from intertwine_book.build import execute, freshness
from intertwine_book.build.layout import Book, BookError
from intertwine_book.results import RECORDED


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plan(
    book: Book, profile: str, only: Iterable[str] = (), *, force: bool = False
) -> dict[str, tuple[dict[str, Any], str]]:
    """The chapters to bring up to date, each with its settings and its stamp, all of them checked.

    Raises:
        BookError: before anything runs, when a profile, chapter, parameter, data set or device is missing.
    """
    overrides = book.overrides(profile)
    chosen = [book.chapter(name) for name in only] or list(book.chapters)
    planned = {}
    for chapter in chosen:
        _, settings = execute.prepare(book.chapters[chapter], overrides[chapter])
        stamp = freshness.stamp(book, chapter, settings)
        if force or not freshness.is_fresh(book.executed(profile, chapter), stamp):
            execute.check_world(settings)
        planned[chapter] = (settings, stamp)
    return planned


def chapters(
    book: Book,
    profile: str,
    planned: dict[str, tuple[dict[str, Any], str]],
    *,
    jobs: int | None = None,
    force: bool = False,
    report: Callable[[str, str, int, int], None] = lambda chapter, state, cell, of: None,
) -> None:
    """Execute the planned chapters that are not fresh, several at once.

    Args:
        jobs: how many at once; one per core when not given.
        report: called with (chapter, state, cell, number of cells); state is running, fresh, done or failed.

    Raises:
        BookError: at the end, with one paragraph for each chapter that failed.
    """
    jobs = min(jobs or cores(), len(planned)) or 1
    running: set[subprocess.Popen] = set()

    def one(chapter: str) -> None:
        settings, stamp = planned[chapter]
        executed = book.executed(profile, chapter)
        with files.lock(
            book.build / "locks" / f"{profile}-{chapter}"
        ):  # a second build waits and finds it done
            if not force and freshness.is_fresh(executed, stamp):
                report(chapter, "fresh", 0, 0)
                return
            tables = book.tables(profile) / chapter
            if profile not in RECORDED:  # a recorded run continues where it stopped
                shutil.rmtree(tables, ignore_errors=True)
            task = {
                "root": str(book.root),
                "chapter": chapter,
                "values": settings,
                "output": str(executed),
                "tables": str(tables),
                "failed": str(book.failed(profile, chapter)),
                "record": {"stamp": stamp, "profile": profile},
            }
            report(chapter, "running", 0, 1)
            _in_process(
                task, max(1, cores() // jobs), running, lambda cell, of: report(chapter, "running", cell, of)
            )

    failures = []
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(one, chapter): chapter for chapter in planned}
        try:
            for future in as_completed(futures):
                try:
                    future.result()
                    report(futures[future], "done", 1, 1)
                except BookError as error:
                    failures.append(str(error))
                    report(futures[future], "failed", 1, 1)
        except BaseException:  # Ctrl-C: every file is written whole, so the processes may simply go
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                process.terminate()
            raise
    if failures:
        raise BookError("\n".join(failures))


def _in_process(
    task: dict[str, Any], threads: int, running: set[subprocess.Popen], report: Callable[[int, int], None]
) -> None:
    """Execute one chapter in a process of its own, which says on its standard output where it is."""
    command = [sys.executable, "-m", "intertwine_book.build.build"]
    log = Path(task["root"]) / "_build/logs" / f"{task['chapter']}.log"
    environment = os.environ | {
        "OMP_NUM_THREADS": str(threads),
        "PYTHONUNBUFFERED": "1",
        "INTERTWINE_LOG": str(log),  # long steps say there how far they are
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        running.add(process)
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(task))
        process.stdin.close()
        failure = None
        for line in process.stdout:
            message = json.loads(line)
            if "failure" in message:
                failure = message["failure"]
            else:
                report(message["cell"], message["of"])
    running.discard(process)
    if failure or process.returncode:
        raise BookError(
            failure or f"{task['chapter']}: its process ended with {process.returncode}; see {log}"
        )


def _work() -> None:
    """The other end of `_in_process`."""
    task = json.load(sys.stdin)
    try:
        execute.execute(
            Book(Path(task["root"])),
            task["chapter"],
            task["values"],
            Path(task["output"]),
            tables=Path(task["tables"]),
            failed=Path(task["failed"]),
            record=task["record"],
            report=lambda cell, of: print(json.dumps({"cell": cell, "of": of})),
        )
    except BookError as error:
        print(json.dumps({"failure": str(error)}))
        raise SystemExit(1) from None


if __name__ == "__main__":
    _work()
