"""Captions and alternative texts of a chapter's figures, which stand in a file of their own."""

from pathlib import Path

import nbformat
import yaml

from intertwine_book.build.layout import BookError


def add(node: nbformat.NotebookNode, captions: Path) -> None:
    """Give each cell `# %% figure="fig-x"` of a notebook its caption and its alternative text.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "01_x.yml")
        >>> _ = file.write_text("fig-x: {caption: A line falls., alt: A falling line.}")
        >>> cell = nbformat.v4.new_code_cell("draw()", metadata={"figure": "fig-x"})
        >>> add(nbformat.v4.new_notebook(cells=[cell]), file)
        >>> cell.metadata.mystnb.figure.caption, cell.metadata.mystnb.image.alt
        ('A line falls.', 'A falling line.')

    Raises:
        BookError: a figure has no caption or no alternative text, or there are some of no figure.
    """
    texts = yaml.safe_load(captions.read_text()) if captions.is_file() else {}
    drawn = set()
    for cell in node.cells:
        if name := cell.metadata.pop("figure", None):
            drawn.add(name)
            if not {"caption", "alt"} <= set(texts.get(name, ())):
                raise BookError(f"Expected `caption` and `alt` of {name} in {captions}: write them.")
            figure = {"name": name, "caption": texts[name]["caption"]}
            cell.metadata["mystnb"] = nbformat.from_dict(
                {"figure": figure, "image": {"alt": texts[name]["alt"]}}
            )
    if stray := sorted(set(texts) - drawn):
        raise BookError(f"Expected captions of figures only, {captions} has one of {stray[0]}: remove it.")
