"""A Sphinx extension: a page's button, and `publish`, give a notebook that reads without the book.

It lies in `_sources` under the name of its page. Numbers and references are Sphinx's own, so that a notebook
cannot say another number than its page.
"""

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
from docutils import nodes

from intertwine_book.build.phrases import Page
from intertwine_book.build.publish import address
from intertwine_book.build.readable import readable

_MADE = "_readable"
_NOTE = """\
*This notebook is {page} of the book “{book}”, {ran}. To run it, install{where}*

`{command}`

*Numbers in its sentences and captions, and the line “This run”, are those of the book's run; when you run it,
yours stand in the outputs. Where you put networks of your own in the place of the book's, leave out the last,
collapsed cells: they write the book's own tables. Some figures that move need a notebook that is trusted, or
run. Tables go into `results/{name}`, each choice of parameters into a folder of its own; trained networks and
data sets go into the folders that the variables INTERTWINE_ZOO and INTERTWINE_DATA name, or else into
`intertwine` in your cache folder.*"""


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; a late listener, for by then every reference is resolved."""
    app.connect("doctree-resolved", _write, priority=900)
    app.connect("build-finished", _offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Any, document: nodes.document, name: str) -> None:
    source = Path(app.env.doc2path(name))
    if app.builder.format != "html" or source.suffix != ".ipynb":
        return
    repository = app.config.html_theme_options.get("repository_url")
    online = app.config.html_baseurl or address(repository)
    page = _page(app, document, name, f"{online.rstrip('/')}/{name}.html" if online else None)
    node = readable(nbformat.read(source, as_version=4), page, Path(app.srcdir))
    node.cells[:0] = first_cells(node, source.stem, app.config.html_title, repository, page.address(""))
    nbformat.validate(node)
    path = Path(app.outdir, _MADE, f"{name}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(node, path)


def _page(app: Any, document: nodes.document, name: str, online: str | None) -> Page:
    """A page with the numbers that Sphinx gave to what stands on it."""
    kinds = [*app.env.toc_fignumbers.get(name, {}).values(), app.env.toc_secnumbers.get(name, {})]
    numbers = {
        label.removeprefix("#"): ".".join(map(str, number))
        for kind in kinds
        for label, number in kind.items()
    }
    return Page(
        document, numbers, lambda link: urljoin(online, link) if online else link if "://" in link else None
    )


def _offer(app: Any, error: Exception | None) -> None:
    if (made := Path(app.outdir, _MADE)).is_dir():  # now that Sphinx has copied its sources
        shutil.copytree(made, Path(app.outdir, "_sources"), dirs_exist_ok=True)
        shutil.rmtree(made)


def first_cells(
    node: nbformat.NotebookNode, name: str, book: str, repository: str | None, online: str | None = None
) -> list[nbformat.NotebookNode]:
    """What this notebook is and needs, and a cell that installs it where the book has an address.

    Example:
        >>> [note] = first_cells(nbformat.v4.new_notebook(), "01_x", "Symmetries", None)
        >>> note.source.splitlines()[2]
        '`pip install -e ".[book,vision]"`'
    """
    run = node.metadata.get("intertwine")
    commit = run and run["commit"]
    command = install(repository, commit)
    note = _NOTE.format(
        page=f"[a chapter]({online})" if online else "a chapter",
        book=book,
        ran="as it was executed" + (f" at commit {commit[:10]}" if commit else "")
        if run
        else "not executed yet",
        where="" if repository else ", in a copy of the book's repository",
        command=command,
        name=name,
    )
    cells = [nbformat.v4.new_markdown_cell(note, id="what-this-is")]
    return [*cells, nbformat.v4.new_code_cell(f"%{command}", id="install")] if repository else cells


def install(repository: str | None, commit: str | None) -> str:
    """The command that installs what an executed notebook ran with, as far as it is committed.

    Example:
        >>> install("https://github.com/us/book", "1a2b3c")
        'pip install "intertwine[book,vision] @ git+https://github.com/us/book@1a2b3c"'
        >>> install(None, None)  # in a checkout
        'pip install -e ".[book,vision]"'
    """
    if not repository:
        return 'pip install -e ".[book,vision]"'
    pinned = f"@{commit}" if commit and not commit.endswith("-dirty") else ""
    return f'pip install "intertwine[book,vision] @ git+{repository}{pinned}"'
