"""Captions stand in a file beside the chapter, and each figure of the chapter has one."""

import nbformat
import pytest

from intertwine_book.build import captions, execute, freshness, layout
from intertwine_book.build.layout import BookError

CELL = nbformat.v4.new_code_cell


def notebook(*figures: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[CELL("draw()", metadata={"figure": name}) for name in figures])


def test_a_figure_without_a_caption_and_a_caption_without_a_figure_are_named(tmp_path):
    file = tmp_path / "01_x.yml"
    with pytest.raises(BookError, match="fig-a"):
        captions.add(notebook("fig-a"), file)
    file.write_text("fig-a: {caption: A line falls.}")
    with pytest.raises(BookError, match="alt"):
        captions.add(notebook("fig-a"), file)
    file.write_text(
        "fig-a: {caption: A line falls., alt: A line.}\nfig-b: {caption: It rises., alt: A line.}"
    )
    with pytest.raises(BookError, match="fig-b"):
        captions.add(notebook("fig-a"), file)
    captions.add(notebook("fig-a", "fig-b"), file)


def test_a_chapter_with_another_caption_is_stale(tiny_book):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text() + '\n# %% figure="fig-a"\n0\n')
    file = layout.captions(source)
    file.parent.mkdir()
    stamps = set()
    for text in ("A line falls.", "A line rises."):
        file.write_text(f"fig-a: {{caption: {text}, alt: A line.}}")
        node, settings = execute.prepare(source, {})
        assert node.cells[-1].metadata.mystnb.figure.caption == text
        stamps.add(freshness.stamp(tiny_book, "smoke", "01_first", settings))
    assert len(stamps) == 2
