"""The pages: executed notebooks and the texts of `book/` become html, by jupyter-book."""

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
import pandas as pd

from intertwine import files
from intertwine_book.build import execute, facts, freshness, progress, status
from intertwine_book.build.layout import PROFILES, Book, BookError
from intertwine_book.claims import corrected, scoreboard, summary
from intertwine_book.read_told import read_all
from intertwine_book.wording import markdown_table


def render(
    book: Book,
    profile: str,
    report: Callable[[str, int], None] = lambda state, percent: None,
    *,
    read: str = "",
) -> Path:
    """Render the book from the notebooks executed at one profile, if anything changed; the page to open.

    `report` is called with (state in words, percent of it done). A warning is an error here. What a build has
    read, by `freshness.read_by_build`, is kept for the next one.
    """
    page, stamp_file = book.html / "index.html", book.build / "pages"
    report("collecting", 0)
    with files.lock(book.build / "locks" / "render"):
        notebooks = _collect(book, profile)
        _figures(book, notebooks)
        verdicts = _generated(book, profile)
        stamp = freshness.pages_stamp(book, notebooks)
        # what the last build that ended well, without a warning, left
        before = stamp_file.read_text().split() if page.is_file() and stamp_file.is_file() else []
        if before != stamp:
            if verdicts is not None:
                report("drawing", 0)
                _draw(book, verdicts)
            stamp_file.unlink(missing_ok=True)
            report("starting Sphinx", 0)
            if before[:1] != stamp[:1]:  # Sphinx would treat half-written pages as finished
                shutil.rmtree(book.html, ignore_errors=True)
                shutil.rmtree(book.build / ".doctrees", ignore_errors=True)
            _jupyter_book(book, report)
            for record in book.records:  # the pages link to the tables that their words rest on
                tables = page.parent / "tables" / record
                shutil.copytree(book.recorded(record), tables, dirs_exist_ok=True)
            with files.write_whole(stamp_file) as path:
                path.write_text(" ".join(stamp))
        freshness.keep(book, read)  # inside the lock: the pages are those of this build
    return page


def _collect(book: Book, profile: str) -> dict[str, Path]:
    """Put every notebook beside the texts, of another profile where it did not run at this one."""
    folder = book.root / "book/chapters"
    notebooks = {name: folder / f"{name}.ipynb" for name in book.notebooks}
    for name, source in book.notebooks.items():
        known = [book.executed(other, name) for other in (profile, *reversed(PROFILES))]
        executed = next((path for path in known if path.is_file()), None)
        node = nbformat.read(executed, as_version=4) if executed else None
        _write(notebooks[name], nbformat.writes(page_of(source, node)))
    for stray in {*folder.rglob("*.ipynb")} - {*notebooks.values()}:
        stray.unlink()
    return notebooks


def page_of(source: Path, executed: nbformat.NotebookNode | None) -> nbformat.NotebookNode:
    """The notebook of a page: words of the source as they are now, outputs of the run.

    Where the code is not that which ran, it stands as it ran. A notebook that never ran has no outputs, and
    dashes for values of the run in its sentences.
    """
    if executed is None:
        node, _ = execute.prepare(source, {})
        execute.tidy(node, None)
        for cell in node.cells:
            if cell.cell_type == "markdown":
                cell.source = _GLUED.sub("–", cell.source)
            elif "mystnb" in cell.metadata:  # a figure, which other pages may refer to
                cell.outputs = [nbformat.v4.new_output("display_data", {"image/svg+xml": _EMPTY})]
    else:
        node = _with_outputs(source, executed)
    for index, cell in enumerate(node.cells):
        cell.id = f"cell-{index}"  # random otherwise, and then never fresh
        try:
            _write_out(cell)
        except ValueError as error:
            raise BookError(f"{source.name}: {error}") from error
    return node


def _with_outputs(source: Path, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    record = executed.metadata["intertwine"]
    try:
        node, settings = execute.prepare(source, record["parameters"])
    except BookError:  # it ran with parameters that it has no longer
        return executed
    if settings != record["parameters"] or freshness.cells(node) != freshness.cells(executed):
        return executed
    ran = (cell for cell in executed.cells if cell.cell_type == "code")
    for cell in (each for each in node.cells if each.cell_type == "code"):
        outputs = next(ran)
        cell.outputs, cell.execution_count = outputs.outputs, outputs.execution_count
    execute.tidy(node, record)
    node.metadata["language_info"] = executed.metadata.get("language_info", {})
    return node


def _write_out(cell: nbformat.NotebookNode) -> None:
    """Facts of records in the words of a cell, and in the caption and alternative text of its figure."""
    if cell.cell_type == "markdown":
        cell.source = facts.told(cell.source)
    elif shown := cell.metadata.get("mystnb", {}).get("figure"):
        shown["caption"] = facts.told(shown["caption"])
        image = cell.metadata["mystnb"]["image"]
        image["alt"] = facts.told(image["alt"])


def _figures(book: Book, notebooks: Mapping[str, Path]) -> None:
    """Every named figure as `generated/<name>.svg`, or `.html` if it moves, for pages that show it again."""
    for path in notebooks.values():
        for cell in nbformat.read(path, as_version=4).cells:
            if name := cell.metadata.get("mystnb", {}).get("figure", {}).get("name"):
                for kind, suffix in (("image/svg+xml", "svg"), ("text/html", "html")):
                    drawn = [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]
                    _write(book.root / f"book/generated/{name}.{suffix}", "".join(drawn) or _EMPTY)


_GLUED = re.compile(r"{glue:\w+}`[^`]*`|```{glue}[^`]*```")  # a value or a table of the run
_EMPTY = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="40"><text y="25">not drawn yet</text></svg>'
)


def _write(path: Path, content: str) -> None:
    """Write a file whole, and only if it changes, as Sphinx compares dates."""
    if not path.is_file() or path.read_text() != content:
        with files.write_whole(path) as part:
            part.write_text(content)


def _generated(book: Book, profile: str) -> pd.DataFrame | None:
    """Write what is computed: runs of the chapters, verdicts, errata; return the verdicts."""
    folder = book.root / "book/generated"
    _write(folder / "status.md", status.page(book, profile))
    _write(folder / "networks.md", status.networks())
    _write(folder / "measures.md", status.measures())
    _write(folder / "operations.md", operations())
    for name, part in status.parts(book.root / "benchmarks").items():
        _write(folder / f"{name}.md", part)
    _write(folder / "notebooks.md", _notebooks(book))
    judged = corrected(read_all(book.root / "data/results"))
    if not judged:
        return None
    try:
        pages = scoreboard(judged)
    except ValueError as error:
        raise BookError(str(error)) from error
    for name, page in pages.items():
        _write(folder / f"{name}.md", page)
    return summary(judged)


def _draw(book: Book, verdicts: pd.DataFrame) -> None:
    from intertwine_book.figures import gallery, learned  # matplotlib is slow to import
    from intertwine_book.figures.chapter_map import chapter_map, chapter_tree
    from intertwine_book.figures.scoreboard import printed_and_measured
    from intertwine_book.figures.style import use_style
    from intertwine_book.live.explorer import explorer
    from intertwine_book.live.orbit import of_digits

    use_style()
    figures = {f"learned-{name}": figure for name, figure in learned.figures().items()}
    drawn = gallery.figures(book.root / "book" / gallery.PAGE)
    figures |= {f"gallery-{name}": figure for name, figure in drawn.items()}
    figures["numbers"] = printed_and_measured(verdicts)
    figures |= {"chapters": chapter_map(needs(book)), "chapters-narrow": chapter_tree(needs(book))}
    for name, figure in figures.items():
        figure.savefig(book.root / f"book/generated/{name}.svg", metadata={"Date": None})
    _write(book.root / "book/generated/orbit.html", of_digits("relu").data)
    gpt_2 = explorer("explorer", ["GPT-2"], blocks=False)
    _write(book.root / "book/generated/explorer.html", gpt_2.data)


def _notebooks(book: Book) -> str:
    """Links to the notebooks that the pages offer; Sphinx knows no page of theirs, so in html."""
    items = []
    for name, source in book.notebooks.items():
        title = re.search(r"^# # (.+)$", source.read_text(), re.MULTILINE)
        words = html.escape(title[1] if title else name)
        items.append(f'<li><a href="_sources/chapters/{name}.ipynb" download>{words}</a></li>')
    return "\n".join(["```{raw} html", "<ul>", *items, "</ul>", "```", ""])


def operations() -> str:
    """The operations of torch that have a rule, as a table in markdown: a row for each file of rules."""
    from intertwine.weightspace import rules  # torch is slow to import

    rows = [
        [file, ", ".join(f"`{name}`" for name in sorted(names))] for file, names in rules.operations().items()
    ]
    return markdown_table([["kind", "operations"], *rows])


def needs(book: Book) -> dict[str, tuple[str, list[str]]]:
    """Number → title and the numbers of the chapters that its first box asks for."""
    found = {}
    for source in book.chapters.values():
        text = source.read_text()
        if title := re.search(r"^# # (\w+) · (.+)$", text, re.MULTILINE):
            box = text.partition("**You need**")[2].partition("\n#\n")[0]
            found[title[1]] = title[2], re.findall(r"{doc}`0*(\w+?)_", box)
    return found


def _jupyter_book(book: Book, report: Callable[[str, int], None]) -> None:
    root = book.root
    start = "import gc; gc.set_threshold(20_000, 50, 50); "  # pages are graphs of many nodes, seldom garbage
    start += "import intertwine_book.build; from jupyter_book.cli.main import main; main()"  # why: there
    command = [sys.executable, "-c", start, "build"]
    command += [str(root / "book"), "--path-output", str(root)]
    command += ["--config", str(root / "_config.yml"), "--toc", str(root / "book/_toc.yml")]
    command += ["--warningiserror", "--nitpick", "--keep-going"]
    log, tail = book.build / "render.log", b""
    with (
        log.open("wb") as copy,
        subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        assert process.stdout is not None
        try:
            while chunk := os.read(process.stdout.fileno(), 1 << 16):
                copy.write(chunk)
                tail = tail[-200:] + chunk
                if found := progress.of_sphinx(tail.decode(errors="replace")):
                    report(*found)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        lines = progress.plain(log.read_text(errors="replace")).splitlines()
        troubles = [line for line in lines if re.search(r"WARNING|ERROR|[Ee]xception", line)] or lines[-15:]
        raise BookError("\n".join(["The pages did not render:", *troubles, f"The whole log: {log}"]))
