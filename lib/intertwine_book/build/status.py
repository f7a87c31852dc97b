"""What is there: runs of the notebooks with date, duration and device, kept networks, and measures."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from intertwine_book.build import execute, freshness
from intertwine_book.build.layout import Book
from intertwine_book.markdown_table import markdown_table


class ChapterState(NamedTuple):
    """A chapter or a record at one profile; words for people."""

    chapter: str
    state: str
    """fresh, stale, failed or never run."""
    finished: str = ""
    time: str = ""
    memory: str = ""
    device: str = ""
    versions: str = ""


def states(book: Book, profile: str) -> list[ChapterState]:
    """Every notebook, in the order in which they are executed."""
    return [_state(book, profile, chapter, own) for chapter, own in book.overrides(profile).items()]


def _state(book: Book, profile: str, chapter: str, overrides: dict) -> ChapterState:
    executed = book.executed(profile, chapter)
    if (record := freshness.record_of(executed)) is None:
        return ChapterState(chapter, "failed" if book.failed(profile, chapter).is_file() else "never run")
    _, settings = execute.prepare(book.notebooks[chapter], overrides)
    stale = freshness.stale(executed, freshness.stamp(book, profile, chapter, settings))
    environment = record["environment"]
    return ChapterState(
        chapter,
        "stale" if stale else "fresh",
        record["finished"][:16].replace("T", " "),
        f"{record['wall_s']:.0f} s",
        f"{environment['peak_memory_bytes'] / 1e9:.1f} GB",
        environment["device"],
        f"Python {environment['python']}, torch {environment['torch']}",
    )


def times(book: Book, names: Iterable[str]) -> list[str]:
    """How long the recorded rows of each of these records took, a line for each."""
    found = []
    for name in names:
        paths = sorted(book.recorded(name).glob("[!.]*.csv")) if name in book.records else []
        if paths:
            seconds = pd.concat([pd.read_csv(path, usecols=["seconds"])["seconds"] for path in paths])
            found.append(f"{name}: {seconds.sum() / 60:.0f} min for {len(seconds)} rows, of all scales")
    return found


def networks() -> str:
    """The networks that come with the book, as a table in markdown."""
    # torch is slow to import
    from intertwine_book.zoo import kept

    return _markdown(kept.table())


def measures() -> str:
    """The measures of similarity by name, and when to use each, as a table in markdown."""
    from intertwine.similarity import which

    table = which()[["kind", "range", "use"]].rename_axis("name").reset_index()
    return _markdown(table.assign(name=[f"`{name!r}`" for name in table["name"]]))


def _markdown(table: pd.DataFrame) -> str:
    return markdown_table([[*map(str, table.columns)], *table.astype(str).values.tolist()])
