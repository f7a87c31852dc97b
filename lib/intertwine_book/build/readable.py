"""The notebook that a reader downloads: the words of its page, around the cells that were executed.

One can read it without the book: no reference is open, and what the page folds or leaves out is collapsed.
"""

import base64
import html
import mimetypes
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import nbformat
from docutils import nodes

from intertwine import files
from intertwine_book.build import markdown
from intertwine_book.build.phrases import Page, line

_CELL = 10_000  # myst-nb counts a line of the k-th cell, from 0, as (k + 1) · 10,000 and more
_NO_SOURCE = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
_NO_OUTPUT = {"remove-cell", "remove-output", "hide-cell", "hide-output"}
_PLOTLY = "application/vnd.plotly.v1+json"


class _Piece(NamedTuple):
    """What a page shows next: words, or else a code cell."""

    cell: int  # of the executed notebook
    words: str | None = None
    title: bool = False
    fold: str = ""  # what stands above it, if it is folded
    alt: str = ""  # what a drawing of the code shows


def readable(node: nbformat.NotebookNode, page: Page, folder: Path = Path()) -> nbformat.NotebookNode:
    """An executed notebook with the words of its page; pictures of the page's text lie in the folder.

    The page says where words stand. Cells that it leaves out stay where they are, and the one with parameters
    becomes the first of all code.
    """
    code = [k for k, cell in enumerate(node.cells) if cell.cell_type == "code"]
    made: list[nbformat.NotebookNode] = []
    words: list[_Piece] = []

    def close() -> None:
        if words:
            made.append(_words(words, page, folder, f"words-{len(made)}"))
            words.clear()

    for piece in (*_pieces(page, page.document), _Piece(len(node.cells))):
        while code and (code[0] < piece.cell or (code[0] == piece.cell and piece.words is None)):
            close()
            shown = piece if code[0] == piece.cell else _Piece(code[0])  # or else the page leaves it out
            made.append(_code(node.cells[code.pop(0)], bool(shown.fold), shown.alt))
        if piece.words is not None:
            if piece.title:
                close()
            words.append(piece)
    close()
    return nbformat.v4.new_notebook(cells=_parameters_first(made), metadata=node.metadata)


def _pieces(page: Page, node: nodes.Element, level: int = 1, fold: str = "") -> Iterator[_Piece]:
    at = 0
    for child in node.children:
        at = next((each.line // _CELL - 1 for each in child.findall() if each.line), at)
        titled = isinstance(child, nodes.section) and isinstance(child.children[0], nodes.title)
        if isinstance(child, nodes.title) or (child.parent is page.document and isinstance(child, nodes.raw)):
            continue  # a title is told with what it stands above; and what a page alone runs is not told
        if titled:
            yield _Piece(at, _heading(page, child, level), title=True)
            yield from _pieces(page, child, level + 1)
        elif _is_code(child):
            alt = next((image.get("alt", "") for image in child.findall(nodes.image)), "")
            yield _Piece(cell := int(child["cell_index"]), fold=fold, alt=alt)
            for caption in child.findall(nodes.caption):
                yield _Piece(cell, markdown.block(page, caption), fold=fold)
        elif cells := [each for each in child.findall() if _is_code(each)]:
            named = "" if isinstance(child, nodes.section) else markdown.head(page, child)
            if named:  # a solution around cells
                yield _Piece(int(cells[0]["cell_index"]) - 1, named)
            yield from _pieces(page, child, level, fold or named)
        elif words := markdown.block(page, child):
            yield _Piece(at, words, fold=fold)


def _is_code(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def _heading(page: Page, section: nodes.Element, level: int) -> str:
    number = page.number(section)
    words = f"{number}. " * bool(number) + line(page, section.children[0])
    return f"{'#' * level} {page.anchor(section)}{words}"


def _words(pieces: list[_Piece], page: Page, folder: Path, name: str) -> nbformat.NotebookNode:
    parts = []
    for fold, each in groupby(pieces, lambda piece: piece.fold):
        text = "\n\n".join(piece.words or "" for piece in each)
        parts.append(markdown.fold(fold, text) if fold else text)
    cell = nbformat.v4.new_markdown_cell("\n\n".join(parts), id=name)
    shown = {
        image: folder / file for image, file in page.images.items() if f"(attachment:{image})" in cell.source
    }
    if shown:
        cell.attachments = {image: _attached(file) for image, file in shown.items()}
    return cell


def _attached(file: Path) -> dict[str, str]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return {kind: base64.b64encode(file.read_bytes()).decode()}


def _code(cell: nbformat.NotebookNode, folded: bool, alt: str) -> nbformat.NotebookNode:
    """A code cell without what only the book needs; collapsed where the page folds it or leaves it out."""
    tags = set(cell.metadata.get("tags", []))
    outputs = [out for out in (_output(each, alt) for each in cell.outputs) if out.get("data", True)]
    hidden: dict[str, bool] = {}
    if (folded or tags & _NO_SOURCE) and "parameters" not in tags:
        hidden["source_hidden"] = True
    if outputs and (folded or tags & _NO_OUTPUT):
        hidden["outputs_hidden"] = True
    metadata: dict[str, object] = {"jupyter": hidden} if hidden else {}
    metadata |= {"tags": ["parameters"]} if "parameters" in tags else {}  # papermill looks for it
    return nbformat.from_dict(dict(cell) | {"outputs": outputs, "metadata": metadata})


def _output(output: nbformat.NotebookNode, alt: str) -> nbformat.NotebookNode:
    """Without values for sentences; a drawing as an image, and a figure that moves as JupyterLab has it.

    JupyterLab shows no drawing of a notebook that it does not trust, such as a downloaded one, but images.
    """
    if "data" not in output:
        return output
    data = {kind: each for kind, each in output.data.items() if "papermill.record" not in kind}
    if _PLOTLY in data:
        data = {_PLOTLY: data[_PLOTLY]}
    elif drawing := data.pop("image/svg+xml", None):
        data["text/html"] = _image(drawing, alt)
    return nbformat.from_dict(dict(output) | {"data": data})


def _image(drawing: str, alt: str) -> str:
    text = base64.b64encode(drawing.encode()).decode()
    return f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{text}">'


def show_untrusted(notebook: Path) -> None:
    """Put an image beside each drawing of an executed notebook, for a JupyterLab that does not trust it."""
    node = nbformat.read(notebook, as_version=4)
    for cell in node.cells:
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        for data in (output.get("data", {}) for output in cell.get("outputs", ())):
            if drawing := data.get("image/svg+xml"):
                data.setdefault("text/html", _image(drawing, alt))
    with files.write_whole(notebook) as path:
        nbformat.write(node, path)


def _parameters_first(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    knobs = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    others = [cell for cell in cells if cell not in knobs]
    first = next((k for k, cell in enumerate(others) if cell.cell_type == "code"), len(others))
    return [*others[:first], *knobs, *others[first:]]
