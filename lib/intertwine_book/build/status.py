"""What is there: runs of the chapters with date, duration and device, kept networks, and measures."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from intertwine_book.build import execute, freshness
from intertwine_book.build.layout import Book
from intertwine_book.markdown_table import markdown_table
from intertwine_book.results import RECORDED


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


def elsewhere(book: Book, profile: str) -> list[str]:
    """Other profiles at which chapters ran."""
    return [
        p
        for p in book.profiles
        if p != profile and any(book.executed(p, c).is_file() for c in book.notebooks)
    ]


def _state(book: Book, profile: str, chapter: str, overrides: dict) -> ChapterState:
    executed = book.executed(profile, chapter)
    known = ", ".join(name for name in RECORDED if _tables(book, name, chapter)) or "-"
    if chapter in book.records:
        known = f"{len(_rows(book, chapter))} rows"
    record = freshness.record_of(executed)
    if record is None:
        state = "failed" if book.failed(profile, chapter).is_file() else "never run"
        return ChapterState(chapter, state, "", "", "", "", "", known)
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
        known,
    )


def times(book: Book, profile: str, chapters: Iterable[str]) -> str:
    """How long the recorded tables of these chapters took, and on which device, a line for each chapter."""
    lines = [f"How long this took when it was recorded at {profile}, beside the training of networks:"]
    for chapter in chapters:
        if chapter in book.records:
            seconds = _rows(book, chapter)
            lines.append(f"{chapter}: {seconds.sum() / 60:.0f} min for {len(seconds)} rows, of all scales")
            continue
        paths = _tables(book, profile, chapter)
        known = [json.loads(path.with_suffix(".json").read_text()) for path in paths]
        timed = [each for each in known if each.get("wall_s")]  # the others follow from these
        minutes, on = sum(each["wall_s"] for each in timed) / 60, {each["device"] for each in timed}
        took = f"{minutes:.0f} min for {len(timed)} tables, {' or '.join(sorted(on))}"
        untimed = f"not known, {'no time is' if known else 'it has no table'} on record"
        lines.append(f"{chapter}: {took if timed else untimed}")
    return "\n".join([*lines, "A finished table with the same key is found, not computed."])


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


def _rows(book: Book, record: str) -> pd.Series:
    """The seconds that each row of a record took; 0 where they were not taken down."""
    paths = sorted((book.root / "data/results" / record.rpartition("/")[2]).glob("[!.]*.csv"))
    seconds = [pd.read_csv(path, usecols=["seconds"])["seconds"] for path in paths]
    return pd.concat(seconds).fillna(0.0) if seconds else pd.Series(dtype=float)


def _tables(book: Book, profile: str, chapter: str) -> list[Path]:
    return sorted((book.tables(profile) / chapter).glob("[!.]*.csv"))
