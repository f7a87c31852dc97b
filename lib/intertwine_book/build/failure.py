"""A run that did not reach its end: the reason, the cell, and the notebook as far as it came."""

from pathlib import Path

import nbformat
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from intertwine import files
from intertwine_book.build.layout import BookError

SHORT = "Where memory is short, the system ends a process: build with --jobs 1, or choose smaller parameters."


class ChapterFailed(BookError):
    """A run did not reach its end; the first line is the reason, the last one where its notebook is kept."""


def failure(
    error: Exception, source: nbformat.NotebookNode, reached: nbformat.NotebookNode, at: int, keep: Path
) -> ChapterFailed:
    """Keep the notebook that a run reached, and say why it ended there: a cell's error, or the kernel's.

    `source` is the notebook before the run, and `at` the number of its last cell, from 1; 0 before the first.
    """
    if isinstance(error, PapermillExecutionError):
        name, said, at = error.ename, error.evalue, error.cell_index + 1
    else:  # nbclient's words have several lines, and then the cell
        name, said = type(error).__name__, " ".join(str(error).partition("Here is a preview")[0].split())
    lines = [f"{name}: {said}", "before its first cell"]
    if at:
        prompt = sum(cell.cell_type == "code" for cell in source.cells[:at])
        begins = source.cells[at - 1].source.strip().partition("\n")[0]
        lines[1] = f"in cell In [{prompt}], which begins `{begins}`"
    below = [cell.source for cell in source.cells[at:] if cell.cell_type == "markdown"]
    if name == "AssertionError" and below:
        lines.append("The text that it guards begins: " + below[0].partition("\n")[0])
    if isinstance(error, DeadKernelError) or name in ("MemoryError", "OutOfMemoryError"):
        lines.append(SHORT)
    try:
        with files.write_whole(keep) as path:
            nbformat.write(reached, path)
        lines.append(f"The notebook as far as it came: {keep}")
    except OSError as lost:  # on a full disk, say, which may be why the cell failed
        lines.append(f"The notebook as far as it came could not be kept: {lost.strerror}")
    return ChapterFailed("\n    ".join(lines))
