"""How this book was made, and beside other libraries: numbers are those of the rows on record."""

from pathlib import Path

import pandas as pd

from intertwine_book.build import status
from intertwine_book.build.layout import Book

BOOK = Book(Path(__file__).parents[1])


def test_the_page_counts_every_row_of_every_record_once():
    stems = [Path(record).name for record in BOOK.records]
    paths = [path for stem in stems for path in (BOOK.root / "data/results" / stem).glob("*.csv")]
    found = status.told(status.rows(BOOK))
    assert found["tables"] == str(len(paths)) and len(paths) > 50
    assert found["rows"] == f"{sum(len(pd.read_csv(path)) for path in paths):,}"
    assert all(record in found["table"] for record in BOOK.records)


def test_a_book_of_which_nothing_ran_has_its_page(tiny_book):
    assert status.page(tiny_book, "smoke").startswith("| record |")


def test_a_factor_below_one_stands_where_the_page_says_that_ours_is_slower():
    peers = pd.read_csv(BOOK.root / "benchmarks/peers.csv")
    slower = peers[peers["Peer ÷ ours"] < 1].groupby("Method").size()
    page = (BOOK.root / "book/beside.md").read_text().partition("## Where ours is slower")[2].lower()
    assert len(slower) and "procrustes" in page and "soft matching" in page
    assert status.parts(BOOK.root / "benchmarks")["peers"].count("\n") == 1 + peers["Method"].nunique()
