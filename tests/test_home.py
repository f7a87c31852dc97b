"""Home and findings: facts and pictures are there, lines print what they say, the map has all chapters."""

import re
from pathlib import Path

import jupytext
import yaml

from intertwine_book.build import facts
from intertwine_book.build.layout import Book
from intertwine_book.build.render import needs
from intertwine_book.figures import learned
from intertwine_book.figures.chapter_map import chapter_map, chapter_tree

BOOK = Book(Path(__file__).parents[1])
PAGES = {path.stem: path.read_text() for path in (BOOK.root / "book").glob("*.md")}


def test_every_fact_of_a_page_is_known():
    for page, text in PAGES.items():
        assert "{fact}" not in facts.told(text), page


def test_no_percentage_and_no_points_are_typed():
    for page in ("learned", "intro"):
        typed = re.findall(r"(?<![\d.])[\d.]*\d(?=(?: %| percent\b| points\b))", PAGES[page])
        assert not typed, page


def test_the_pages_have_a_figure_for_each_name_and_none_without():
    shown = re.findall(r"generated/learned-(\w+)\.svg", PAGES["learned"] + PAGES["intro"])
    assert set(shown) == set(learned.figures())


def test_the_home_page_cites_the_version_at_hand():
    cited = yaml.safe_load((BOOK.root / "CITATION.cff").read_text())
    for value in (cited["title"], cited["authors"][0]["name"], cited["version"], cited["license"]):
        assert f"{{{value}}}" in PAGES["intro"]


def test_a_chapter_takes_some_twenty_minutes_to_read_or_less():
    for path in BOOK.chapters.values():
        cells = jupytext.read(path).cells
        words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
        assert words <= 4400, f"{path.name} has {words} words of text"  # 200 a minute


def test_the_map_on_the_home_page_has_every_chapter_behind_those_that_it_needs():
    found = needs(BOOK)
    assert [f"{name:0>2}" if name.isdigit() else f"0{name}" for name in found] == [
        name.split("_")[0] for name in BOOK.chapters
    ]
    assert found["4b"] == ("Similarity and function", ["4", "3", "3b"])
    assert all(
        list(found).index(other) < list(found).index(name) for name in found for other in found[name][1]
    )
    assert len(chapter_map(found).axes[0].patches) == len(chapter_tree(found).axes[0].texts) == len(found)
