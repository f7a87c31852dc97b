"""Captions and alternative texts of figures, which stand behind the cell that draws, as MyST writes them."""

import re
from pathlib import Path

import nbformat
import yaml

from intertwine_book.build.layout import BookError

_FIGURE = re.compile(r":::+\{figure\} #(\S+)\n---\n(.*?)\n---\n(.*?)\n:::+\s*", re.DOTALL)


def add(node: nbformat.NotebookNode, captions: Path) -> None:
    """Give each cell `# %% figure="fig-x"` of a notebook its caption and its alternative text.

    They are those of a markdown cell that has nothing but a figure of this label, and goes:

    Example:
        >>> draw = nbformat.v4.new_code_cell("draw()", metadata={"figure": "fig-x"})
        >>> text = ":::{figure} #fig-x\\\\n---\\\\nalt: A falling line.\\\\n---\\\\nA line falls.\\\\n:::"
        >>> node = nbformat.v4.new_notebook(cells=[draw, nbformat.v4.new_markdown_cell(text)])
        >>> add(node, Path("01_x.yml"))
        >>> [cell] = node.cells
        >>> cell.metadata.mystnb.figure.caption, cell.metadata.mystnb.image.alt
        ('A line falls.', 'A falling line.')

    Or they stand in a file of captions, by label.

    Raises:
        BookError: a figure has no caption or no alternative text, or there are some of no figure.
    """
    texts = yaml.safe_load(captions.read_text()) if captions.is_file() else {}
    for cell in [*node.cells]:
        if cell.cell_type == "markdown" and (found := _FIGURE.fullmatch(cell.source)):
            texts[found[1]] = (yaml.safe_load(found[2]) or {}) | {"caption": found[3]}
            node.cells.remove(cell)
    drawn = set()
    for cell in node.cells:
        if name := cell.metadata.pop("figure", None):
            drawn.add(name)
            if not {"caption", "alt"} <= set(texts.get(name, ())):
                raise BookError(
                    f"Expected a caption and `alt` of {name}: write a cell `:::{{figure}} #{name}` behind it."
                )
            figure = {"name": name, "caption": texts[name]["caption"]}
            cell.metadata["mystnb"] = nbformat.from_dict(
                {"figure": figure, "image": {"alt": texts[name]["alt"]}}
            )
    if stray := sorted(set(texts) - drawn):
        raise BookError(f"Expected captions of figures only, was given one of {stray[0]}: remove it.")
