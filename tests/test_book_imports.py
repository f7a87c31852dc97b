"""A chapter is stale if a module changed that it imports, in whatever way, and not otherwise."""

import shutil
from pathlib import Path

import pytest

from intertwine_book import results
from intertwine_book.build import chapters, freshness
from intertwine_book.build.imports import imported

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "chapters").glob("0*.py"))


@pytest.fixture
def library(tmp_path):
    """A copy of both packages, to be edited."""
    return shutil.copytree(ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))


def edit(path: Path, more: str = "edited = True") -> None:
    path.write_text(path.read_text() + f"\n{more}\n")


def test_every_way_to_import_is_followed_and_nothing_else(tmp_path):
    texts = {
        "intertwine/__init__.py": "import os",
        "intertwine/a/__init__.py": "from intertwine.a.one import f",
        "intertwine/a/one.py": "import intertwine.b.two as other, sys",
        "intertwine/a/not_imported.py": "import intertwine.c",
        "intertwine/b/__init__.py": "",
        "intertwine/b/two.py": "def g():\n    from intertwine import c, unknown\n    import torch",
        "intertwine/c.py": "from intertwine.a import one  # a circle ends",
        "intertwine_book/__init__.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    source = tmp_path / "chapter.py"
    source.write_text("from intertwine.a import f")
    found = imported(source, tmp_path)
    assert list(found) == [
        "intertwine",
        "intertwine.a",
        "intertwine.a.one",
        "intertwine.b",
        "intertwine.b.two",
        "intertwine.c",
    ]
    assert found["intertwine.b"] == tmp_path / "intertwine/b/__init__.py"
    before = freshness.code(source, tmp_path)
    edit(tmp_path / "intertwine/a/not_imported.py"), edit(tmp_path / "intertwine_book/__init__.py")
    assert freshness.code(source, tmp_path) == before
    edit(tmp_path / "intertwine/c.py", "# a comment")
    assert freshness.code(source, tmp_path) == before
    edit(tmp_path / "intertwine/c.py")
    assert freshness.code(source, tmp_path) != before


@pytest.mark.slow
def test_an_edit_makes_the_chapters_stale_that_import_the_module_and_no_others(library):
    def codes():
        return {source.stem: freshness.code(source, library) for source in SOURCES}

    known = codes()

    def edited(module):
        edit(library / Path(*module.split(".")).with_suffix(".py"))
        after = codes()
        changed = {name for name in after if after[name] != known[name]}
        known.update(after)
        assert changed == {source.stem for source in SOURCES if module in imported(source, library)}
        return changed

    edited("intertwine_book.figures.shallow")
    assert edited("intertwine_book.dissected") == {"05_interpretability"}
    assert len(edited("intertwine.files")) == len(SOURCES)  # tables are written with it
    assert not edited("intertwine_book.claims.page")  # it makes pages, not chapters


def test_a_script_is_of_the_module_that_has_its_name(library):
    known, page = (
        {source: freshness.code(source, library) for source in SOURCES},
        "figures/_static/matrix_slider.js",
    )
    edit(library / "intertwine_book" / page)
    changed = {source.stem for source in SOURCES if freshness.code(source, library) != known[source]}
    assert changed == {"03_stitching"}


def test_what_instruments_share_is_of_each_chapter_that_has_one(library):
    known = {source: freshness.code(source, library) for source in SOURCES}
    edit(library / "intertwine_book/live/_static/engine.js")
    changed = {source for source in SOURCES if freshness.code(source, library) != known[source]}
    wanted = {s for s in SOURCES if "intertwine_book.live.instrument" in imported(s, library)}
    assert changed == wanted and len(wanted) >= 4


def test_the_stamp_of_a_chapter_covers_what_it_imports(tiny_book, library, monkeypatch):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text() + "\n# %%\nfrom intertwine_book.figures import shallow\n")
    monkeypatch.setattr(results, "LIBRARY", library)

    def stamps():
        return {name: task.stamp for name, task in chapters.plan(tiny_book, "quick").items()}

    before = stamps()
    edit(library / "intertwine_book/figures/shallow.py")
    after = stamps()
    assert before["01_first"] != after["01_first"] and before["02_second"] == after["02_second"]
