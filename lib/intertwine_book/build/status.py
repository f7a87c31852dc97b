"""Parts of pages that are computed: runs of the notebooks, rows on record, kept networks, measures, speed."""

import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

import pandas as pd

from intertwine_book.build import execute, freshness, plans
from intertwine_book.build.layout import RECORDED, Book
from intertwine_book.wording import markdown_table

STATES = ("fresh", "stale", "failed", "never run")


class ChapterState(NamedTuple):
    """A chapter or a record at one profile; words for people."""

    chapter: str
    state: str
    """One of `STATES`."""
    finished: str = ""
    time: str = ""
    memory: str = ""
    """in GiB"""
    device: str = ""
    versions: str = ""
    why: str = ""
    """what changed since it ran"""


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
        record["finished"][5:16].replace("T", " "),  # without the year, as 80 columns are few
        f"{record['wall_s']:.0f} s",
        f"{environment['peak_memory_bytes'] / 2**30:.1f}",
        re.sub(" threads?$", "", environment["device"]),
        f"Python {environment['python']}, torch {environment['torch']}",
        stale,
    )


def words(book: Book, profile: str, found: Sequence[ChapterState]) -> list[str]:
    """What there is, why a notebook runs again, what is missing on record, and where it is computed."""
    of = {state: [each.chapter for each in found if each.state == state] for state in STATES}
    counted = ", ".join(f"{len(names)} {state}" for state, names in of.items() if names)
    lines = [f"At {profile}, of {len(found)} notebooks: {counted}."]
    lines += [f"{each.chapter} {each.why}." for each in found if each.why]
    if failed := of["failed"]:
        lines.append(f"As far as {failed[0]} came: {book.failed(profile, failed[0])}")
    if profile in RECORDED:
        settings = book.overrides(profile)
        missing = [each for name in book.records if (each := plans.left(book, name, settings[name]))]
        lines += [f"{each}." for each in missing] or ["All cases of the records are on record."]
        lines.append(where())
    if len(of["fresh"]) < len(found):
        lines.append(f"`intertwine build --profile {profile}` brings all up to date.")
    return lines


def gib(size: int) -> str:
    """Bytes in the one unit of memory here, which is also torch's.

    Example:
        >>> gib(2**30)
        '1.0 GiB'
    """
    return f"{size / 2**30:.1f} GiB"


def where() -> str:
    """Where notebooks compute at desk and paper, in a sentence."""
    import torch  # slow to import

    gpus = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
    if not gpus:
        return "No GPU is here: all is computed on the CPU."
    names = ", ".join(f"{gpu.name} ({gib(gpu.total_memory)})" for gpu in gpus)
    return f"It is computed on {names}, one notebook at a time on each GPU."


def page(book: Book, profile: str) -> str:
    """The page *How this book was made*: the text of `book/made.md`, with numbers of the rows on record."""
    known = {each.versions for each in states(book, profile) if each.finished}
    numbers = {"profile": profile, "versions": " or ".join(sorted(known)) or "nothing yet"}
    text = book.root / "book/made.md"
    return Template(text.read_text() if text.is_file() else "$table\n").substitute(numbers | told(rows(book)))


def rows(book: Book) -> pd.DataFrame:
    """Every row on record: its record and table, and when, where and for how many seconds it was computed."""
    columns = ["day", "machine", "seconds"]
    parts = [
        pd.read_csv(path, usecols=columns).assign(record=record, table=path.stem)
        for record in book.records
        for path in sorted(book.recorded(record).glob("[!.]*.csv"))
    ]
    return pd.concat(parts) if parts else pd.DataFrame(columns=["record", "table", *columns])


def told(found: pd.DataFrame) -> dict[str, str]:
    """How much is on record, how long it took, when and on what, in words, and a table by record.

    Example:
        >>> at = {"record": "records/03_stitching", "machine": "1 CPU thread", "day": "2026-11-21"}
        >>> one = told(pd.DataFrame([{**at, "table": "lines", "seconds": 5400.0}]))
        >>> one["hours"], one["machines"]
        ('1.5', '1 CPU thread')
    """
    body = []
    for record, of in found.groupby("record", sort=False):
        place, names = f"../tables/{record}", of["table"].unique()
        links = [f'<a href="{place}/{name}.csv">{name.replace("_", " ")}</a>' for name in names]
        hours = f"{of['seconds'].sum() / 3600:.1f}"
        body.append([f"{{doc}}`../chapters/{record}`", f"{len(of):,}", hours, ", ".join(links)])
    return {
        "tables": str(found.groupby(["record", "table"]).ngroups),
        "rows": f"{len(found):,}",
        "hours": f"{found['seconds'].sum() / 3600:.1f}",
        "machines": " or ".join(sorted(found["machine"].dropna().unique())),
        "first": str(found["day"].min()),
        "last": str(found["day"].max()),
        "table": markdown_table([["record", "rows", "hours", "tables"], *body]),
    }


def networks() -> str:
    """The networks that come with the book, as a table in markdown."""
    # torch is slow to import
    from intertwine_book.zoo import kept

    return _markdown(kept.table())


def measures() -> str:
    """The measures of similarity by name, and when to use each, as a table in markdown."""
    from intertwine.similarity import which

    table = which()[["kind", "range", "spatial", "use"]].rename_axis("name").reset_index()
    table = table.rename(columns={"spatial": "positions"})
    return _markdown(table.assign(name=[f"`{name!r}`" for name in table["name"]]))


def _markdown(table: pd.DataFrame) -> str:
    return markdown_table([[*map(str, table.columns)], *table.astype(str).values.tolist()])


def parts(folder: Path) -> dict[str, str]:
    """The table of the page *Beside other libraries*, by its name, from what `make bench` wrote."""
    peers = folder / "peers.csv"
    return {"peers": methods(pd.read_csv(peers, dtype={"Size": str}))} if peers.is_file() else {}


def methods(peers: pd.DataFrame) -> str:
    """One row a method: how many times faster than its peer ours is, from the worst case to the best.

    Example:
        >>> times = {"Ours, ms": [1.0, 20.0], "Peer, ms": [0.5, 50.0], "Peer ÷ ours": [0.5, 2.5]}
        >>> sizes = {"Method": "lasso", "Peer": "scikit-learn", "Size": ["200 × 16", "2000 × 64"]}
        >>> table = pd.DataFrame({**times, **sizes, "Precision": "float64"})
        >>> print(methods(table).splitlines()[-1])
        | lasso | scikit-learn | 0.5 to 2.5 | 2000 × 64, float64: 20 against 50 ms |
    """
    rows = []
    for (method, peer), cases in peers.groupby(["Method", "Peer"], sort=False):
        ratios, slowest = cases["Peer ÷ ours"], cases.loc[cases["Ours, ms"].idxmax()]
        ours, theirs = (_short(float(slowest[f"{whose}, ms"])) for whose in ("Ours", "Peer"))
        times = f"{slowest['Size']}, {slowest['Precision']}: {ours} against {theirs} ms"
        rows.append([method, peer, f"{ratios.min():.2g} to {ratios.max():.2g}", times])
    head = ["method", "peer", "ours is faster by a factor of", "our slowest case: ours against peer"]
    return markdown_table([head, *rows])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
