"""Each figure has a caption, words run nothing, and a page says what ran."""

import nbformat
import pytest
from helpers import RECORD

from intertwine_book.build import captions, execute, freshness, render
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


FIGURE = """
# %% figure="fig-a"
1 + 1  # a comment

# %% [markdown]
# :::{figure} #fig-a
# ---
# alt: >-
#   A line
#   that falls.
# ---
# A line falls.
# :::
"""


def ran(source, outputs):
    """The notebook of a source as if it had run."""
    node, settings = execute.prepare(source, {})
    record = RECORD | {"parameters": settings}
    for cell in (each for each in node.cells if each.cell_type == "code"):
        cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text=outputs)], 1
    execute.tidy(node, record)
    return node


def test_words_make_no_chapter_stale_and_stand_on_its_page_beside_the_outputs_of_the_run(tiny_book):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text() + FIGURE)
    _, settings = execute.prepare(source, {})
    executed, before = ran(source, "42"), freshness.stamp(tiny_book, "smoke", "01_first", settings)
    text = source.read_text().replace("A line falls.", "A line rises.").replace("a comment", "another one")
    source.write_text(text.replace("# # 1 ", "# Words, words.\n#\n# # 1 "))
    assert freshness.stamp(tiny_book, "smoke", "01_first", settings) == before
    page = render.page_of(source, executed)
    figure = page.cells[-1]
    assert figure.metadata.mystnb.figure.caption == "A line rises." and "another one" in figure.source
    assert figure.metadata.mystnb.image.alt == "A line that falls."
    assert all(cell.outputs[0].text == "42" for cell in page.cells if cell.cell_type == "code")
    assert "1 s" in "".join(cell.source for cell in page.cells)  # what was said of the run


def test_code_that_is_not_what_ran_is_stale_and_the_page_shows_what_ran(tiny_book):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text() + FIGURE)
    _, settings = execute.prepare(source, {})
    executed, before = ran(source, "42"), freshness.stamp(tiny_book, "smoke", "01_first", settings)
    source.write_text(source.read_text().replace("1 + 1", "1 + 2").replace("A line falls", "A line rises"))
    after = freshness.stamp(tiny_book, "smoke", "01_first", settings)
    executed.metadata.intertwine["stamp"] = before
    nbformat.write(executed, path := tiny_book.root / "executed.ipynb")
    assert not freshness.stale(path, before) and freshness.stale(path, after) == "changed: its cells"
    assert "the precision" in freshness.stale(path, before | {"the precision": "bfloat16"})
    assert render.page_of(source, executed) is executed
