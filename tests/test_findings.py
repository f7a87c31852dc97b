"""The findings that *What we learned* states in plain words hold in the recorded tables."""

import re
from pathlib import Path

from intertwine_book import results

DESK = Path(__file__).parents[1] / "data/results/desk"


def table(chapter, name):
    return results.read(name, folder=DESK / chapter)[0]


def test_the_numbers_of_the_essay():
    norms = table("03_stitching", "norms").assign(last=lambda rows: rows["layer1"] == "relu4")
    maps = norms[~norms["last"]].groupby("stitch")["penalty"].mean()
    last = norms[norms["last"]].groupby("stitch")["penalty"].mean()
    assert abs(last["least squares, frozen"] - last["least squares, re-estimated"]) < 0.1
    ways = [round(maps[f"least squares, {way}"], 1) for way in ("frozen", "re-estimated")]
    assert ways == [12.4, 3.7]
    walls = (
        table("03_stitching", "barriers")
        .query("batch_norm == 're-estimated'")
        .groupby("way")["barrier"]
        .mean()
    )
    assert (round(walls["as trained"]), round(walls["matched by activations"])) == (58, 7)


def test_the_essay_has_a_figure_for_each_name_and_none_without():
    from intertwine_book import claims
    from intertwine_book.figures.headlines import headlines

    root = DESK.parents[2]
    ledger = claims.load(root / "book/claims.yml")
    figures = headlines(ledger)
    text = "".join((root / f"book/{page}.md").read_text() for page in ("learned", "intro"))
    assert set(re.findall(r"generated/learned-(\w+)\.svg", text)) == set(figures)
    (axis,) = figures["stitches"].axes
    printed = {
        round(float(y), 3) for line in axis.lines for y in line.get_ydata() if line.get_mfc() == "none"
    }
    assert printed == {
        c.printed
        for c in ledger
        if c.table == "figure_1"
        and c.kind == "number"
        and c.columns[0] in ("full", "g_relu", "rank_1", "rank_4")
    }


def test_the_map_on_the_home_page_has_every_chapter_behind_those_that_it_needs():
    from intertwine_book.build.layout import Book
    from intertwine_book.build.render import needs
    from intertwine_book.figures.chapter_map import arrows, chapter_map

    book = Book(DESK.parents[2])
    found = needs(book)
    assert [f"{name:0>2}" if name.isdigit() else f"0{name}" for name in found] == [
        name.split("_")[0] for name in book.chapters
    ]
    assert found["4b"] == ("Similarity and function", ["4", "3", "3b"])
    assert all(
        list(found).index(other) < list(found).index(name) for name in found for other in found[name][1]
    )
    assert len(chapter_map(found).axes[0].patches) == len(found)
    after = {name: [n for n, before in arrows(found).items() if name in before] for name in found}
    said = "; ".join(f"{name} → {', '.join(names)}" for name, names in after.items() if names)
    assert f'"Arrows: {said}."' in (book.root / "book/intro.md").read_text()
