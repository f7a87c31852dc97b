"""The page *How this book was made*: the text of `book/made.md`, with numbers of the rows on record."""

from string import Template

import pandas as pd

from intertwine_book.build.layout import Book
from intertwine_book.build.status import states
from intertwine_book.markdown_table import markdown_table


def page(book: Book, profile: str) -> str:
    """The page in MyST markdown, for notebooks that ran at one profile."""
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
        for path in sorted((book.root / "data/results" / record.split("/")[1]).glob("[!.]*.csv"))
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
