"""One chapter: its source becomes a notebook, papermill executes it, and the result is tidied."""

import ast
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from papermill.execute import execute_notebook
from traitlets.config import Config

from intertwine import files
from intertwine_book import origin
from intertwine_book.build import captions, freshness, parameters
from intertwine_book.build.layout import Book, BookError

PATIENCE = 600  # seconds that a kernel on a busy machine may take to begin, or to hand over a cell's output
SHORT = "Where memory is short, the system ends a process: build with --jobs 1, or choose smaller parameters."
SHORT_ON_GPU = (
    "The GPU has too little memory: build with --jobs 1, choose smaller parameters, or compute on the CPU "
    "with -p device cpu."
)
THIS_RUN = "{{ this_run }}"  # replaced in a chapter's first box by device and duration
_PROBE = "from intertwine_book.origin import environment; environment(globals().get('device', 'cpu'))"

_KERNEL = [
    # no notes of the kernel's on the user's terminal: jupyter_client interrupts a kernel before it ends it,
    # which the kernel calls an error; errors of cells come as exceptions
    "--log-level=50",
    "--IPKernelApp.exec_lines=import intertwine_book.build",  # for what it leaves out (see there)
]


class _ReportingEngine(NBClientEngine):
    """Papermill's own engine, which also reports the current cell, with the notebook as it is by then."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, *, report, **kwargs):
        cell_start = nb_man.cell_start

        def reporting_start(cell, cell_index=None, **more):
            report(cell_index + 1, nb_man.nb)
            return cell_start(cell, cell_index, **more)

        nb_man.cell_start = reporting_start
        super().execute_managed_notebook(nb_man, kernel_name, **kwargs)


papermill_engines.register("reporting", _ReportingEngine)
for _name in ("papermill", "asyncio"):  # errors come as exceptions; after Ctrl-C the kernel's end is none
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def sockets(folder: str) -> Config:
    """Sockets of a kernel's own, as files in a folder.

    By default it takes ports, which are free when they are chosen and may be taken when it begins; then it
    ends, as one did where several chapters began at once.
    """
    return Config(KernelManager={"transport": "ipc", "connection_file": f"{folder}/kernel.json"})


def prepare(
    source: Path, values: Mapping[str, Any], own: Mapping[str, Any] | None = None
) -> tuple[nbformat.NotebookNode, dict[str, Any]]:
    """A chapter as a notebook that has not run, and the values of all its parameters, which are checked.

    Values of one's own count where the notebook has such a parameter.
    """
    node = freshness.read(source)
    captions.add(node)
    cell = parameters.parameters_cell(node)
    declared = parameters.declared(cell.source)
    values = {**values, **{name: value for name, value in (own or {}).items() if name in declared}}
    parameters.check(declared, values)
    cell.source = parameters.with_values(cell.source, values)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    node.metadata = nbformat.from_dict({"kernelspec": kernel})
    return node, {name: parameter.default for name, parameter in declared.items()} | values


def check_world(chosen: Mapping[str, Any]) -> None:
    """Raise a BookError for a data set or a device that this machine does not have."""
    try:
        if "dataset" in chosen:
            from intertwine_book import data

            for split in ("train", "test"):  # a download shows its progress here, not inside a notebook
                data.load(chosen["dataset"], split, device="cpu")
    except (OSError, ValueError, ImportError) as error:
        raise BookError(str(error)) from error
    if str(chosen.get("device", "cpu")) not in ("cpu", "auto"):
        from intertwine import devices

        try:
            devices.pick(chosen["device"])
        except ValueError as error:
            raise BookError(str(error)) from error


def execute(
    book: Book,
    chapter: str,
    values: Mapping[str, Any],
    output: Path,
    *,
    failed: Path,
    record: Mapping[str, Any] | None = None,
    report: Callable[[int, int], None] = lambda cell, of: None,
) -> dict[str, Any]:
    """Execute a chapter and write the notebook that its page is made of, whole or not at all.

    The values are parameters that differ from the chapter's own. Tables that it writes lie in a folder of the
    notebook's name. When a cell raises an error, or the kernel dies or falls silent, the unfinished notebook
    is at `failed`, and there is a ChapterFailed. The record goes into the notebook's metadata under
    `intertwine`, and is returned with parameters, wall time in seconds, peak memory in bytes and environment.
    `report` is called with (cell, number of cells) before each cell.
    """
    node, settings = prepare(book.notebooks[chapter], values)
    node.cells.append(nbformat.v4.new_code_cell(_PROBE))
    os.environ["INTERTWINE_RESULTS"] = str(output.with_suffix(""))
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel of this environment, not one of the user's
    started = time.perf_counter()
    at, reached = 0, node

    def reported(cell: int, notebook: nbformat.NotebookNode) -> None:
        nonlocal at, reached
        at, reached = cell, notebook
        report(cell, len(notebook.cells))

    with tempfile.TemporaryDirectory() as folder:
        try:
            node = execute_notebook(
                node,
                None,
                kernel_name="python3",
                engine_name="reporting",
                cwd=book.root / "chapters",
                progress_bar=False,
                start_timeout=PATIENCE,
                iopub_timeout=PATIENCE,
                report=reported,
                extra_arguments=_KERNEL,
                config=sockets(folder),
            )
        except Exception as error:
            raise _failure(error, node, reached, at, failed) from error
    measured = {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_s": round(time.perf_counter() - started, 2),
        # the probe cell's output is the repr of a dictionary
        "environment": ast.literal_eval(node.cells.pop().outputs[0]["data"]["text/plain"]),
    }
    done = dict(record or {}) | {"parameters": settings, "commit": origin.commit()} | measured
    tidy(node, done)
    output.parent.mkdir(parents=True, exist_ok=True)
    with files.write_whole(output) as path:
        nbformat.write(node, path)
    failed.unlink(missing_ok=True)
    return done


def tidy(node: nbformat.NotebookNode, record: Mapping[str, Any] | None) -> None:
    """Remove traces of this machine from the notebook, fold its parameters, describe this run."""
    knobs = parameters.parameters_cell(node).metadata
    knobs["tags"] = ["parameters", "hide-input"]  # the main figure is to stand on the first screen
    knobs["mystnb"] = {f"code_prompt_{act.lower()}": f"{act} the parameters" for act in ("Show", "Hide")}
    node.metadata.pop("papermill", None)
    if record:
        node.metadata["intertwine"] = json.loads(json.dumps(record))
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace(THIS_RUN, this_run(record))


def this_run(record: Mapping[str, Any] | None) -> str:
    """One line about a run: time, device, profile, date; `intertwine status` knows its memory, too."""
    if record is None:
        return "not executed yet"
    profile = record.get("profile")
    how = f"{{ref}}`profile {profile} <sec-profiles>`" if profile else "own parameters"
    return f"{record['wall_s']:.0f} s on {record['environment']['device']}, {how}, {record['finished'][:10]}"


class ChapterFailed(BookError):
    """A run did not reach its end; the first line is the reason, the last one where its notebook is kept."""


def _failure(
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
    if name == "OutOfMemoryError":  # torch's words are a paragraph, of which the first sentences have numbers
        lines = [SHORT_ON_GPU, lines[1], ". ".join(said.split(". ")[:3])]
    if isinstance(error, DeadKernelError) or name == "MemoryError":
        lines.append(SHORT)
    try:
        with files.write_whole(keep) as path:
            nbformat.write(reached, path)
        lines.append(f"The notebook as far as it came: {keep}")
    except OSError as lost:  # on a full disk, say, which may be why the cell failed
        lines.append(f"The notebook as far as it came could not be kept: {lost.strerror}")
    return ChapterFailed("\n    ".join(lines))
