"""Runs of the chapters with date, duration and device, for the command line and a page of the book."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from intertwine_book.build import execute, freshness
from intertwine_book.build.layout import Book
from intertwine_book.results import RECORDED, provenance


class ChapterState(NamedTuple):
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


def states(book: Book, profile: str) -> list[ChapterState]:
    """Every chapter, in reading order."""
    return [_state(book, profile, chapter, own) for chapter, own in book.overrides(profile).items()]


def _state(book: Book, profile: str, chapter: str, overrides: dict) -> ChapterState:
    executed = book.executed(profile, chapter)
    known = ", ".join(name for name in RECORDED if _tables(book, name, chapter)) or "-"
    record = freshness.record_of(executed)
    if record is None:
        state = "failed" if book.failed(profile, chapter).is_file() else "never run"
        return ChapterState(chapter, state, "", "", "", "", "", known)
    _, settings = execute.prepare(book.chapters[chapter], overrides)
    fresh = freshness.is_fresh(executed, freshness.stamp(book, profile, chapter, settings))
    environment = record["environment"]
    return ChapterState(
        chapter,
        "fresh" if fresh else "stale",
        record["finished"][:16].replace("T", " "),
        f"{record['wall_s']:.0f} s",
        f"{environment['peak_memory_bytes'] / 1e9:.1f} GB",
        environment["device"],
        f"Python {environment['python']}, torch {environment['torch']}",
        known,
    )


def times(book: Book, profile: str, chapters: Iterable[str]) -> str:
    """How long the recorded tables of these chapters took, and on which device, a line for each chapter."""
    lines = [f"On record at {profile}, without the networks that were trained before:"]
    for chapter in chapters:
        known = [
            json.loads(path.with_suffix(".json").read_text()) for path in _tables(book, profile, chapter)
        ]
        timed = [each for each in known if each.get("wall_s")]  # the others follow from these
        minutes, on = sum(each["wall_s"] for each in timed) / 60, {each["device"] for each in timed}
        took = f"{minutes:.0f} min for {len(timed)} tables, {' or '.join(sorted(on))}"
        lines.append(f"{chapter}: {took if timed else 'nothing timed'}")
    return "\n".join([*lines, "A finished table with the same key is found, not computed."])


def page(book: Book, profile: str) -> str:
    """The page *How this book was made*, in MyST markdown: a section for each chapter, its tables folded."""
    known = {each.chapter: each for each in states(book, profile) if each.finished}
    versions = " or ".join(sorted({each.versions for each in known.values()})) or "nothing yet"
    parts = [
        "# How this book was made",
        "",
        f"The chapters of these pages were executed at the profile *{profile}*, several side by side, with "
        f"{versions}. Tables of longer runs are recorded with the book: texts and verdicts rest on them.",
        "",
    ]
    for chapter in book.chapters:
        number = chapter.split("_")[0].lstrip("0")
        parts += [f"(run-{number})=", f"## Chapter {number}", "", f"{{doc}}`../chapters/{chapter}`", ""]
        if run := known.get(chapter):
            parts += [f"{run.time}, {run.memory} of memory, {run.device}, finished {run.finished} UTC.", ""]
            facts = _facts(book.tables(profile) / chapter)
            parts += _folded("Parameters, data and code of this run", ["fact", "value"], facts)
        tables = [_recorded(path, name) for name in RECORDED for path in _tables(book, name, chapter)]
        head = ["table", "profile", "rows", "time", "device", "date"]
        parts += _folded(f"{len(tables)} recorded tables", head, tables)
    return "\n".join(parts)


def networks() -> str:
    """The networks that come with the book, as a table in markdown."""
    # torch is slow to import
    from intertwine_book.zoo import kept

    table = kept.table()
    rows = [[*map(str, table.columns)], ["---"] * len(table.columns), *table.astype(str).values.tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _facts(folder: Path) -> list[list[str]]:
    try:
        return [[str(fact).replace("_", " "), value] for fact, value in provenance(folder)["value"].items()]
    except FileNotFoundError:  # a chapter without tables
        return []


def _tables(book: Book, profile: str, chapter: str) -> list[Path]:
    return sorted((book.tables(profile) / chapter).glob("[!.]*.csv"))


def _recorded(path: Path, profile: str) -> list[str]:
    known = json.loads(path.with_suffix(".json").read_text())
    time = f"{known['wall_s'] / 60:.0f} min" if known.get("wall_s") else "-"
    name = path.stem.replace("_", " ")
    return [name, profile, f"{known['rows']:,}", time, known["device"], known["date"]]


def _folded(title: str, head: list[str], rows: list[list[str]]) -> list[str]:
    """A folded table in markdown; nothing where there are no rows."""
    if not rows:
        return []
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return [f":::{{dropdown}} {title}", *lines, ":::", ""]
