"""The page *How this book was made*: its story, with numbers from the provenance of every table."""

import json
from collections import defaultdict
from string import Template
from typing import Any, NamedTuple

from intertwine_book.build.layout import Book
from intertwine_book.build.status import states
from intertwine_book.markdown_table import markdown_table
from intertwine_book.results import RECORDED

_TEXT = "# How this book was made\n\n$chapters\n\n$every\n"
_NARROW = "_width_16"  # ends the name of a table whose twin has the papers' width


class Table(NamedTuple):
    """A table beside a page, and its provenance."""

    chapter: str
    name: str
    profile: str
    facts: dict[str, Any]

    @property
    def seconds(self) -> float:
        return self.facts.get("wall_s") or 0.0

    def link(self, text: str, suffix: str) -> str:
        path = f"../tables/{self.profile}/{self.chapter}/{self.name}.{suffix}"
        return f'<a href="{path}">{text}</a>'


def page(book: Book, profile: str) -> str:
    """The page in MyST markdown, for chapters that ran at one profile; its text is `book/made.md`."""
    recorded = [table for name in RECORDED for table in tables(book, name)]
    live = [] if profile in RECORDED else tables(book, profile)
    known = {each.versions for each in states(book, profile) if each.finished}
    numbers: dict[str, str] = defaultdict(lambda: "–")  # where nothing is on record
    if recorded:
        numbers |= times(recorded) | _widths(recorded)
    numbers |= {"profile": profile, "versions": " or ".join(sorted(known)) or "nothing yet"}
    numbers["chapters"] = markdown_table(_chapters(book, profile, recorded))
    head = ["chapter", "table", "profile", "rows", "time", "device", "date", ""]
    rows = [_row(table) for table in (*recorded, *live)]
    title = f"{len(recorded)} recorded tables, and {len(live)} of this run"
    numbers["every"] = f":::{{dropdown}} {title}\n{markdown_table([head, *rows])}\n:::"
    text = book.root / "book/made.md"
    return Template(text.read_text() if text.is_file() else _TEXT).substitute(numbers)


def tables(book: Book, profile: str) -> list[Table]:
    """The tables of all chapters at one profile."""
    found = [*book.tables(profile).glob("*/[!.]*.csv")] if book.tables(profile).is_dir() else []
    paths = [(path, path.with_suffix(".json")) for path in found if path.parent.name in book.chapters]
    return [
        Table(path.parent.name, path.stem, profile, json.loads(facts.read_text()))
        for path, facts in sorted(paths)
        if facts.is_file()
    ]


def times(recorded: list[Table]) -> dict[str, str]:
    """How much was recorded, how long it took, on what and when, in words."""
    longest = max(recorded, key=lambda table: table.seconds)
    devices = sorted({table.facts["device"] for table in recorded})
    dates = sorted(table.facts["date"] for table in recorded)
    return {
        "tables": str(len(recorded)),
        "rows": f"{sum(table.facts['rows'] for table in recorded):,}",
        "timed": str(sum(table.seconds > 0 for table in recorded)),
        "hours": f"{sum(table.seconds for table in recorded) / 3600:.1f}",
        "devices": " or ".join(devices),
        "gpu": "No GPU took part." if all("CPU" in device for device in devices) else "",
        "first": dates[0],
        "last": dates[-1],
        "longest": longest.link(longest.name.replace("_", " "), "csv"),
        "of": _number(longest.chapter),
        "longest_hours": f"{longest.seconds / 3600:.1f}",
    }


def _widths(recorded: list[Table]) -> dict[str, str]:
    """The hours of tables that were recorded at both widths, at each."""
    seconds = {(table.chapter, table.name): table.seconds for table in recorded}
    narrow = [key for key in seconds if key[1].endswith(_NARROW)]
    wide = [(chapter, name.removesuffix(_NARROW)) for chapter, name in narrow]
    hours = [sum(seconds.get(key, 0.0) for key in keys) / 3600 for keys in (narrow, wide)]
    return {"again": str(len(narrow)), "narrow": f"{hours[0]:.1f}", "wide": f"{hours[1]:.1f}"}


def _chapters(book: Book, profile: str, recorded: list[Table]) -> list[list[str]]:
    runs = {each.chapter: each for each in states(book, profile) if each.finished}
    rows = [["chapter", "this run", "memory", "finished", "tables on record", "their time", "code"]]
    for chapter in book.chapters:
        own = [table for table in recorded if table.chapter == chapter]
        run = runs.get(chapter)
        notebook = f'<a href="../_sources/chapters/{chapter}.ipynb" download>notebook</a>'
        here = [run.time, run.memory, f"{run.finished} UTC"] if run else ["-", "-", "-"]
        seconds = sum(table.seconds for table in own)
        hours = f"{seconds / 3600:.1f} h" if seconds >= 360 else "minutes" if own else "-"
        rows.append([f"{{doc}}`../chapters/{chapter}`", *here, str(len(own)), hours, notebook])
    return rows


def _row(table: Table) -> list[str]:
    took = f"{table.seconds / 60:.1f} min" if table.seconds else "-"
    facts = [f"{table.facts['rows']:,}", took, table.facts["device"], table.facts["date"]]
    name = table.link(table.name.replace("_", " "), "csv")
    return [_number(table.chapter), name, table.profile, *facts, table.link("provenance", "json")]


def _number(chapter: str) -> str:
    return chapter.split("_")[0].lstrip("0")
