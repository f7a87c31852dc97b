"""Runs of the chapters with date, duration and device, for the command line and a page of the book."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import NamedTuple

from intertwine_book.build import execute, freshness
from intertwine_book.build.layout import Book
from intertwine_book.results import RECORDED


class State(NamedTuple):
    """A chapter at one profile; words for people."""

    chapter: str
    state: str
    """fresh, stale, failed or never run."""
    finished: str
    time: str
    memory: str
    device: str
    versions: str
    recorded: str
    """The profiles whose tables are committed."""


def states(book: Book, profile: str) -> list[State]:
    """Every chapter, in reading order."""
    overrides = book.overrides(profile)
    return [_state(book, profile, chapter, overrides[chapter]) for chapter in book.chapters]


def _state(book: Book, profile: str, chapter: str, overrides: dict) -> State:
    executed = book.executed(profile, chapter)
    known = ", ".join(name for name in RECORDED if _tables(book, name, chapter)) or "-"
    record = freshness.record(executed)
    if record is None:
        state = "failed" if book.failed(profile, chapter).is_file() else "never run"
        return State(chapter, state, "", "", "", "", "", known)
    _, settings = execute.prepare(book.chapters[chapter], overrides)
    fresh = freshness.is_fresh(executed, freshness.stamp(book, chapter, settings))
    environment = record["environment"]
    return State(
        chapter,
        "fresh" if fresh else "stale",
        record["finished"][:16].replace("T", " "),
        f"{record['wall_s']:.0f} s",
        f"{environment['peak_memory_bytes'] / 1e9:.1f} GB",
        environment["device"],
        f"Python {environment['python']}, torch {environment['torch']}",
        known,
    )


def page(book: Book, profile: str) -> str:
    """The page *How this book was made*, in MyST markdown."""
    known = [each for each in states(book, profile) if each.finished]
    runs = [
        [f"{{doc}}`{_number(chapter)} <../chapters/{chapter}>`", time, memory, device, finished]
        for chapter, _, finished, time, memory, device, _, _ in known
    ]
    places = itertools.product(RECORDED, book.chapters)
    tables = [_recorded(path, name) for name, chapter in places for path in _tables(book, name, chapter)]
    parts = [
        "# How this book was made",
        "",
        f"The chapters of these pages were executed at the profile *{profile}*, several side by side, with "
        f"{' or '.join(sorted({each.versions for each in known})) or 'nothing yet'}.",
        "",
        *_table(["chapter", "time", "memory", "device", "finished (UTC)"], runs),
        "## Recorded runs",
        "",
        "Tables of longer runs, kept with the book: pages show them too, verdicts prefer them.",
        "",
        *_table(["table", "profile", "rows", "time", "device", "date"], tables),
    ]
    return "\n".join(parts)


def _tables(book: Book, profile: str, chapter: str) -> list[Path]:
    return sorted((book.tables(profile) / chapter).glob("[!.]*.csv"))


def _recorded(path: Path, profile: str) -> list[str]:
    known = json.loads(path.with_suffix(".json").read_text())
    time = f"{known['wall_s'] / 60:.0f} min" if known.get("wall_s") else "-"
    name = f"{_number(path.parent.name)} {path.stem.replace('_', ' ')}"
    return [name, profile, f"{known['rows']:,}", time, known["device"], known["date"]]


def _number(chapter: str) -> str:
    return chapter.split("_")[0].lstrip("0")


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table in markdown; a sentence where there are no rows."""
    if not rows:
        return ["None yet.", ""]
    return [*(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)), ""]
