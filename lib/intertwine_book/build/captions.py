"""Captions and alternative texts of figures, which stand in the cell below the one that draws."""

import re

import nbformat
import yaml

from intertwine_book.build.layout import BookError

_FIGURE = re.compile(r":::+\{figure\} #(\S+)\n---\n(.*?)\n---\n(.*?)\n:::+\s*", re.DOTALL)


def add(node: nbformat.NotebookNode) -> None:
    """Give each cell `# %% figure="fig-x"` the caption and the alternative text of the cell below it.

    Example:
        >>> draw = nbformat.v4.new_code_cell("draw()", metadata={"figure": "fig-x"})
        >>> text = ":::{figure} #fig-x\\n---\\nalt: A falling line.\\n---\\nA line falls.\\n:::"
        >>> node = nbformat.v4.new_notebook(cells=[draw, nbformat.v4.new_markdown_cell(text)])
        >>> add(node)
        >>> [cell] = node.cells
        >>> cell.metadata.mystnb.figure.caption, cell.metadata.mystnb.image.alt
        ('A line falls.', 'A falling line.')

    Raises:
        BookError: a figure has no caption or no alternative text, or there are some of no figure.
    """
    texts = {}
    for cell in [*node.cells]:
        if cell.cell_type == "markdown" and (found := _FIGURE.fullmatch(cell.source)):
            texts[found[1]] = (yaml.safe_load(found[2]) or {}) | {"caption": found[3]}
            node.cells.remove(cell)
    for cell in node.cells:
        if name := cell.metadata.pop("figure", None):
            if "alt" not in (text := texts.pop(name, {})):
                raise BookError(
                    f"Expected a caption and `alt` of {name}: write a cell `:::{{figure}} #{name}` below it."
                )
            figure = {"name": name, "caption": text["caption"]}
            cell.metadata["mystnb"] = nbformat.from_dict({"figure": figure, "image": {"alt": text["alt"]}})
    if texts:
        raise BookError(f"Expected captions of figures only, was given one of {min(texts)}: remove it.")
