"""Pages that are no chapters: facts come from stories, figures are there, the map shows the chapters."""

import re
from pathlib import Path

import jupytext
import yaml

from intertwine.stitching import barriers
from intertwine_book.build import facts
from intertwine_book.build.layout import Book
from intertwine_book.build.render import needs
from intertwine_book.figures.chapter_map import arrows, chapter_map, chapter_tree
from intertwine_book.record import on_record
from intertwine_book.stories import (
    learned,
    widths,
)
from intertwine_book.tidy import of

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


def test_the_home_page_shows_what_its_lines_print(capsys):
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGES["intro"], re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_the_home_page_cites_the_version_at_hand():
    cited = yaml.safe_load((BOOK.root / "CITATION.cff").read_text())
    for value in (cited["title"], cited["authors"][0]["name"], cited["version"], cited["license"]):
        assert f"{{{value}}}" in PAGES["intro"]


def test_a_chapter_takes_ten_to_twenty_minutes_to_read():
    for path in BOOK.chapters.values():
        cells = jupytext.read(path).cells
        words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
        assert 8 < words / 200 < 22, path.name  # 200 words a minute


def test_the_wider_the_less_permutations_full_maps_and_barriers_lose_and_training_adds_and_rank_four_more():
    means = widths.by_width().pivot_table(index="quantity", columns="width", values="value")
    assert [*means] == [16, 32, 64]
    steps = means.diff(axis=1)[[32, 64]]
    assert (steps.loc[["assignment", "least-squares", "barrier", "gain"]] < -1).all(axis=None)
    assert (steps.loc["rank-4"] > 1).all()
    times = means.loc["assignment"] / means.loc["least-squares"]
    assert times.max() / times.min() < 1.2


def test_without_reestimated_batch_norm_barriers_of_widths_32_and_64_overlap():
    lines = of(on_record("03_stitching", "lines"), batch_norm="interpolated")
    left = barriers(lines, ["width", "pair", "way"])
    for way in ("matched by activations", "matched by weights"):
        half, wide = (of(left, way=way, width=width)["barrier"] for width in (32, 64))
        assert half.min() < wide.max() and half.max() > wide.min()


def test_batch_norm_decides_what_least_squares_loses_at_two_of_three_layers_and_changes_little_elsewhere():
    rows = of(on_record("03_stitching", "closed_forms"), width=64, family=["full", "G_ReLU"])
    lost = rows.pivot_table("penalty", ["pair", "layer", "family"], "batch_norm")
    saved = (lost["frozen"] - lost["re-estimated"]).unstack("pair")
    assert saved.shape[1] == 3 and (saved.xs("full", level="family").loc[[6, 10]] > 5).all(axis=None)
    mean = saved.mean(axis=1)
    assert abs(mean[3, "full"]) < 0.2 and 0 < mean[10, "G_ReLU"] < 1.5 < mean[6, "G_ReLU"]


def test_networks_of_the_first_card_have_no_batch_norm():
    record = (BOOK.root / "chapters/records/02_sanity_rotations.py").read_text()
    assert 'shape = {"width": width, "norm": False' in record


def test_the_second_surface_is_there_only_above_the_loss_of_the_zero_function():
    shares = of(on_record("06_genni", "crossing"), target="a slope 0")
    assert ((shares["second_surface"] > 0) == (shares["epsilon"] > 1)).all()


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
    after = {name: [n for n, before in arrows(found).items() if name in before] for name in found}
    said = "; ".join(f"{name} → {', '.join(names)}" for name, names in after.items() if names)
    assert f'"Arrows: {said}."' in PAGES["intro"]
