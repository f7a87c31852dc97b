"""The build: nothing runs twice, nothing is half-written, and an error says where to look."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from helpers import RECORD
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from rich.console import Console

from intertwine_book import origin
from intertwine_book.build import chapters, download, execute, freshness, progress, render
from intertwine_book.build.cli import cli
from intertwine_book.build.freshness import imported
from intertwine_book.build.layout import Book, BookError
from intertwine_book.record import Record

pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not ours

# instead of the notebook machinery: a chapter runs while `wait-NAME` is there, and fails if `fail-NAME` is
PRETENDED = """
import json, os, time
from pathlib import Path
from intertwine import files
from intertwine_book.build import chapters, execute, freshness
from intertwine_book.build.layout import Book

def pretended(book, chapter, values, output, *, failed, record, report):
    world = Path(os.environ["TINY_WORLD"])
    with (world / "runs").open("a") as runs:
        runs.write(chapter + " ")
    while (world / f"wait-{chapter}").exists():
        time.sleep(0.01)
    if (world / f"fail-{chapter}").exists():
        raise execute.ChapterFailed("no luck\\n    in a cell")
    with files.write_whole(output) as part:
        part.write_text(json.dumps({"metadata": {"intertwine": dict(record)}}))
"""
ONE_AFTER_ANOTHER = """
execute.execute = pretended
for task in chapters.plan(Book(Path.cwd()), "quick").values():
    print(chapters.bring_up_to_date(task), flush=True)
"""


@pytest.fixture
def pretend(monkeypatch):
    """Chapters are executed in threads, and by `pretended`."""
    names: dict = {}
    exec(PRETENDED, names)
    monkeypatch.setattr(execute, "execute", names["pretended"])
    monkeypatch.setattr(chapters, "in_a_process", lambda task, threads: chapters.bring_up_to_date(task))


def runs(book: Book) -> Counter:
    path = book.root.parent / "runs"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def build_chapters(book: Book, profile: str = "quick") -> dict[str, str]:
    states = {}
    chapters.run(
        chapters.plan(book, profile),
        report=lambda chapter, state, cell, of: states.update({chapter: state}),
        pool=ThreadPoolExecutor(2),
    )
    return states


def add(book: Book, chapter: str, text: str) -> Path:
    with book.chapters[chapter].open("a") as source:
        source.write(text)
    return book.chapters[chapter]


def start(book: Book, *command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", *command],
        cwd=book.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # a shell's background jobs ignore Ctrl-C, and so would this one, if the tests are such a job
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def start_build(book: Book) -> subprocess.Popen:
    return start(book, "from intertwine_book.build import main; main()", "build")


def wait_for(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def stale(book: Book, profile: str = "quick") -> set[str]:
    return {name for name, task in chapters.plan(book, profile).items() if task.stale}


# end to end


def test_a_build_ends_with_the_page_to_open_and_others_find_all_fresh(built_book):
    output = (built_book.root.parent / "output").read_text()
    assert re.search(r"Open .*_build/html/index\.html\s*$", output), output
    assert (built_book.html / "chapters/02_second.html").exists()
    page = (built_book.html / "index.html").stat().st_mtime_ns
    done = CliRunner().invoke(cli, ["build", "--profile", "smoke"])
    assert done.exit_code == 0 and done.output.count(": fresh") == 2, done.output
    assert runs(built_book) == {"01_first": 1, "02_second": 1}
    again = CliRunner().invoke(cli, ["build", "--profile", "smoke"])
    assert again.output.startswith("Nothing has changed since the last build."), again.output
    assert (built_book.html / "index.html").stat().st_mtime_ns == page  # nor were pages rendered


@pytest.mark.parametrize(
    "change",
    [
        "a text",
        "a chapter",
        "a notebook that ran",
        "a setting",
        "a page",
        "another profile",
        "another request",
    ],
)
def test_a_build_looks_again_where_one_byte_has_changed(built_book, monkeypatch, change):
    asked = ["build", "--profile", "smoke"]
    CliRunner().invoke(cli, asked)
    assert "Nothing has changed" in CliRunner().invoke(cli, asked).output
    changed = {
        "a text": built_book.root / "book/intro.md",
        "a chapter": built_book.notebooks["01_first"],
        "a notebook that ran": built_book.executed("smoke", "01_first"),
    }
    if change in changed:
        changed[change].write_text(changed[change].read_text().replace("T", "t", 1) + " ")
    elif change == "a setting":
        monkeypatch.setenv("INTERTWINE_DTYPE", "float32")
    elif change == "another profile":  # whose pages stand there now
        render.render(built_book, "quick")
    elif change == "a page":
        (built_book.html / "index.html").unlink()
    else:
        asked += ["--only", "01"]
    assert "Nothing has changed" not in CliRunner().invoke(cli, asked).output


def test_an_executed_notebook_has_one_parameters_cell_and_no_path_of_this_machine(built_book, built_once):
    text = built_book.executed("smoke", "01_first").read_text()
    node = nbformat.reads(text, as_version=4)
    nbformat.validate(node)
    kinds = {"parameters", "injected-parameters"}
    (knobs,) = [cell for cell in node.cells if kinds & set(cell.metadata.get("tags", []))]
    assert "seed: int = 5  # of everything random" in knobs.source
    assert node.cells[-1].outputs[0]["data"]["text/plain"] == "5.1"
    for machine in (str(built_once), sys.prefix, str(Path.home())):
        assert machine not in text
    assert re.search(r"This run: \d+ s on .*profile smoke", text)
    record = node.metadata["intertwine"]
    assert record["parameters"] == {"seed": 5, "rate": 0.1} and record["wall_s"] > 0


def test_status_tells_fresh_from_stale(built_book):
    def states(profile: str) -> str:
        return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["status", "--profile", profile]).output

    assert "of 2 notebooks: 2 never run." in states("quick") and "of 2 notebooks: 2 fresh." in states("smoke")
    add(built_book, "02_second", "\n# %%\n0\n")
    assert "1 fresh, 1 stale.\n02_second changed: its cells." in states("smoke")


def test_a_notebook_has_one_line_of_the_status_on_80_columns(tiny_book, monkeypatch):
    name = "04b_similarity_and_function_of_mine"  # as long as the longest of the book
    (tiny_book.root / "chapters/01_first.py").rename(tiny_book.root / f"chapters/{name}.py")
    (tiny_book.root / "chapters/profiles/smoke.yml").unlink()
    environment = {"peak_memory_bytes": 2**30, "device": "16 CPU threads", "torch": "2", "python": "3"}
    record = {"finished": "2026-11-29T12:13:00", "wall_s": 1234, "environment": environment, "stamp": {}}
    monkeypatch.setattr(freshness, "record_of", lambda executed: record if executed.stem == name else None)
    told = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["status"]).output
    (line,) = [line for line in told.splitlines() if line.startswith(name) and "1234" in line]
    assert line.split()[1:] == ["stale", "11-29", "12:13", "1234", "s", "1.0", "16", "CPU"]
    assert len(line.rstrip()) <= 80


@pytest.mark.parametrize("scale, own", [("desk", ""), ("desk", "mine"), ("quick", ""), ("smoke", "")])
def test_a_run_says_where_a_record_s_rows_are_and_leaves_no_empty_folder(
    tiny_book, pretend, scale, own, monkeypatch
):
    source = tiny_book.root / "chapters/records/01_first.py"
    source.parent.mkdir()
    source.write_text(f'# %% tags=["parameters"]\nscale: str = "{scale}"\nown: str = "{own}"\n')
    tiny_book.recorded("01_first").mkdir(parents=True)
    monkeypatch.setenv("INTERTWINE_RESULTS", "of this run")  # as `execute` sets it
    monkeypatch.setattr(download, "show_untrusted", lambda output: None)
    done = CliRunner(env={"COLUMNS": "300"}).invoke(cli, ["run", "records/1", "-p", "scale", scale])
    assert done.exit_code == 0, done.output
    places = {"desk": own or "data/results/01_first", "quick": "", "smoke": "of this run"}
    found = [line for line in done.output.splitlines() if line.startswith("Its rows")]
    assert len(found) == (scale != "quick") and all(line.endswith(places[scale]) for line in found)
    assert [each.name for each in tiny_book.build.glob("runs/**/*") if each.is_dir()] == ["records"]


def test_pages_are_complete_only_if_their_stamp_says_so(built_book, monkeypatch):
    calls = []
    monkeypatch.setattr(render, "_jupyter_book", lambda book, report: calls.append(book))
    render.render(built_book, "smoke")
    assert not calls
    (built_book.build / "pages").unlink()  # a kill leaves none
    render.render(built_book, "smoke")
    assert len(calls) == 1


@pytest.mark.slow
def test_a_warning_fails_the_pages_and_is_shown(tiny_book):
    (tiny_book.root / "book/intro.md").write_text("# Tiny\n\n[nowhere](does-not-exist.md)\n")
    with pytest.raises(BookError, match="does-not-exist"):
        render.render(tiny_book, "quick")
    assert not (tiny_book.build / "pages").exists()  # so the second time too


# stale and fresh


def test_only_what_changed_runs_again(tiny_book, pretend, monkeypatch):
    assert build_chapters(tiny_book) == {"01_first": "done", "02_second": "done"}
    assert runs(tiny_book) == {"01_first": 1, "02_second": 1} and not stale(tiny_book)
    source = add(tiny_book, "01_first", "\n# words\n")
    source.write_text(source.read_text().replace("# A chapter", "# A better chapter"))
    assert not stale(tiny_book)  # prose and comments execute nothing
    add(tiny_book, "01_first", "\n# %%\n1 + 1\n")
    assert stale(tiny_book) == {"01_first"}
    assert build_chapters(tiny_book) == {"01_first": "done", "02_second": "fresh"}
    assert runs(tiny_book) == {"01_first": 2, "02_second": 1}
    tiny_book.recorded("02_second").mkdir(parents=True)
    (tiny_book.recorded("02_second") / "long.csv").write_text("a\n1\n")
    assert stale(tiny_book) == {"02_second"}  # it draws that table
    assert len(stale(tiny_book, "smoke")) == 2
    with monkeypatch.context() as patched:
        patched.setenv("INTERTWINE_DTYPE", "float32")
        assert len(stale(tiny_book)) == 2
    (tiny_book.root / "requirements.lock").write_text("torch==0")
    assert len(stale(tiny_book)) == 2


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library of few files, of which the first is imported by way of the second."""
    texts = {
        "intertwine/__init__.py": "import os",
        "intertwine/a/__init__.py": "from intertwine.a.one import f",
        "intertwine/a/one.py": "import intertwine.b.two as other, sys",
        "intertwine/a/not_imported.py": "import intertwine.c",
        "intertwine/b/__init__.py": "",
        "intertwine/b/two.py": "def g():\n    from intertwine import c, unknown\n    import torch",
        "intertwine/c.py": "from intertwine.a import one  # a circle ends",
        "intertwine_book/__init__.py": "",
        "intertwine_book/figures/turn.py": "from intertwine.b import two",
        "intertwine_book/figures/_static/turn.js": "let x;",
    }
    for name, text in texts.items():
        (tmp_path / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / name).write_text(text)
    monkeypatch.setattr(origin, "LIBRARY", tmp_path / "lib")
    return tmp_path / "lib"


def test_code_is_stale_if_a_module_changed_that_it_imports_in_whatever_way(library, tiny_book):
    add(tiny_book, "01_first", "\n# %%\nfrom intertwine.a import f\nimport intertwine_book.figures.turn\n")
    found = imported(tiny_book.chapters["01_first"], library)
    assert "intertwine.c" in found and "intertwine.a.not_imported" not in found

    def changed(name: str, more: str) -> set[str]:
        freshness._syntax.cache_clear()
        before = {name: task.stamp for name, task in chapters.plan(tiny_book, "quick").items()}
        (library / name).write_text((library / name).read_text() + "\n" + more)
        after = {name: task.stamp for name, task in chapters.plan(tiny_book, "quick").items()}
        return {name for name in after if after[name] != before[name]}

    assert not changed("intertwine/a/not_imported.py", "x = 1")
    assert not changed("intertwine/c.py", "# words")
    assert changed("intertwine/c.py", "x = 1") == {"01_first"}
    assert changed("intertwine_book/figures/_static/turn.js", "x = 1;") == {"01_first"}


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


def ran(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source as if it had run, with 42 as each output."""
    node, settings = execute.prepare(source, {})
    for cell in (each for each in node.cells if each.cell_type == "code"):
        cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text="42")], 1
    execute.tidy(node, RECORD | {"parameters": settings})
    return node


def test_a_page_has_the_words_of_its_source_beside_the_outputs_of_the_run(tiny_book):
    source = add(tiny_book, "01_first", FIGURE)
    _, settings = execute.prepare(source, {})
    executed, before = ran(source), freshness.stamp(tiny_book, "smoke", "01_first", settings)
    text = source.read_text().replace("A line falls.", "A line rises.").replace("a comment", "another one")
    source.write_text(text)
    assert freshness.stamp(tiny_book, "smoke", "01_first", settings) == before
    page = render.page_of(source, executed)
    figure = page.cells[-1]
    assert figure.metadata.mystnb.figure.caption == "A line rises." and "another one" in figure.source
    assert figure.metadata.mystnb.image.alt == "A line that falls."
    assert all(cell.outputs[0].text == "42" for cell in page.cells if cell.cell_type == "code")
    source.write_text(text.replace("1 + 1", "1 + 2"))  # code that is not what ran: the page shows what ran
    after = freshness.stamp(tiny_book, "smoke", "01_first", settings)
    executed.metadata.intertwine["stamp"] = before
    nbformat.write(executed, path := tiny_book.root / "executed.ipynb")
    assert not freshness.stale(path, before) and freshness.stale(path, after) == "changed: its cells"
    assert "1 + 1" in render.page_of(source, executed).cells[-1].source


def test_a_chapter_that_did_not_run_at_a_profile_is_shown_as_it_ran_at_another(tiny_book):
    add(tiny_book, "02_second", "\n# %% [markdown]\n# It is {glue:text}`x:.2f`.\n")
    executed = tiny_book.executed("smoke", "01_first")
    executed.parent.mkdir(parents=True)
    executed.write_text(nbformat.writes(ran(tiny_book.chapters["01_first"])))
    notebooks = render._collect(tiny_book, "quick")
    assert "This run: 1 s" in notebooks["01_first"].read_text()
    never = notebooks["02_second"].read_text()
    assert "It is –." in never and "not executed yet" in never


# kills, interrupts, two at once


def test_a_failing_chapter_stops_neither_the_others_nor_the_next_build(tiny_book, pretend):
    world = tiny_book.root.parent
    (world / "fail-01_first").touch()
    with pytest.raises(BookError, match="01_first failed: no luck"):
        build_chapters(tiny_book)
    assert stale(tiny_book) == {"01_first"}
    (world / "fail-01_first").unlink()
    assert build_chapters(tiny_book) == {"01_first": "done", "02_second": "fresh"}
    assert runs(tiny_book) == {"01_first": 2, "02_second": 1}


@pytest.mark.slow
def test_a_killed_build_repeats_only_what_was_not_finished(tiny_book):
    world = tiny_book.root.parent
    second = tiny_book.chapters["02_second"]
    second.write_text(second.read_text().replace('"wait"', '"wait-second"'))
    (world / "wait-second").touch()
    process = start_build(tiny_book)
    wait_for(lambda: tiny_book.executed("quick", "01_first").exists() and runs(tiny_book)["02_second"])
    process.kill()
    process.communicate()
    assert stale(tiny_book) == {"02_second"}
    (world / "wait-second").unlink()
    output, _ = (again := start_build(tiny_book)).communicate(timeout=300)
    assert again.returncode == 0, output
    assert runs(tiny_book)["01_first"] == 1


@pytest.mark.slow
def test_a_second_build_waits_for_the_first_and_finds_its_work_done(tiny_book, pretend):
    waits = [tiny_book.root.parent / f"wait-{name}" for name in tiny_book.chapters]
    for wait in waits:
        wait.touch()
    process = start(tiny_book, PRETENDED + ONE_AFTER_ANOTHER)
    wait_for(lambda: runs(tiny_book)["01_first"])
    tasks = chapters.plan(tiny_book, "quick")
    with ThreadPoolExecutor() as pool:
        second = [pool.submit(chapters.bring_up_to_date, task) for task in tasks.values()]
        time.sleep(0.2)
        assert not second[0].done()
        for wait in waits:
            wait.unlink()
        first, _ = process.communicate()
        both = [first.split(), [each.result() for each in second]]
    assert [sorted(states) for states in zip(*both, strict=True)] == [["done", "fresh"]] * 2
    assert runs(tiny_book) == {"01_first": 1, "02_second": 1}


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])  # Ctrl-C, and the end of a container
def test_interrupting_leaves_nothing_half_written_and_says_what_is_kept(tiny_book, sent):
    (tiny_book.root.parent / "wait").touch()
    process = start_build(tiny_book)
    wait_for(lambda: len(runs(tiny_book)) == 2)
    process.send_signal(sent)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + sent and "Interrupted. Finished steps are kept" in said, said
    assert "leaked" not in said and "Traceback" not in said
    assert not list(tiny_book.root.rglob("*.ipynb"))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_no_signal_ends_a_wait_in_the_middle_where_a_lock_would_stay_locked(tiny_book, monkeypatch, sent):
    ended, before = [], signal.getsignal(sent)

    def wait(pending, timeout):
        signal.raise_signal(sent)
        time.sleep(0.01)  # an exception of the handler would come here
        ended.append(True)
        return set(), pending

    monkeypatch.setattr(chapters, "wait", wait)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt) as stop:
        monkeypatch.setattr(chapters, "in_a_process", lambda task, threads: "done")
        chapters.run(chapters.plan(tiny_book, "smoke"), jobs=1, pool=pool)
    assert ended == [True] and stop.value.args == (sent,) and signal.getsignal(sent) == before


def test_an_interrupted_run_finds_its_tables_again_and_changed_code_finds_none(tiny_book):
    task = chapters.plan(tiny_book, "smoke")["01_first"]
    row = tiny_book.executed("smoke", "01_first").with_suffix("") / "rates.csv"
    chapters.begin(row.parent, task)
    row.touch()
    chapters.begin(row.parent, task)
    assert row.exists()
    chapters.begin(row.parent, replace(task, stamp=task.stamp | {"its cells": "others"}))
    assert not row.exists()


# what goes wrong, and where to look


def test_a_failing_cell_is_named_and_the_notebook_as_far_as_it_came_is_kept(tiny_book):
    add(tiny_book, "01_first", "\n# %%\nlevel = 3\nassert level > 4\n")
    kept = tiny_book.failed("quick", "01_first")
    with pytest.raises(BookError) as error:
        chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"])
    for word in ("01_first", "In [3]", "level = 3", "AssertionError", str(kept)):
        assert word in str(error.value)
    assert "AssertionError" in kept.read_text()
    assert not tiny_book.executed("quick", "01_first").exists()


@pytest.mark.parametrize(
    "error",
    [
        CellTimeoutError.error_from_timeout_and_cell("Timeout", 600, nbformat.v4.new_code_cell("0")),
        DeadKernelError("Kernel died"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_whatever_ends_a_run_its_notebook_is_kept_and_a_kernel_has_long_to_answer(
    tiny_book, monkeypatch, error
):
    given: dict = {}

    def stopped(node, output, **options):
        given.update(options)
        node.cells[1].outputs = [nbformat.v4.new_output("stream", text="as far as it came")]
        options["report"](2, node)
        raise error

    monkeypatch.setattr(execute, "execute_notebook", stopped)
    task, kept = chapters.plan(tiny_book, "quick")["01_first"], tiny_book.failed("quick", "01_first")
    with pytest.raises(BookError, match=rf"^{type(error).__name__}: .*\n    in cell In \[1\], which") as said:
        chapters.bring_up_to_date(task)
    assert str(kept) in str(said.value) and "as far as it came" in kept.read_text()
    assert given["iopub_timeout"] >= 600 and given["start_timeout"] >= 600
    monkeypatch.setattr(nbformat, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(BookError, match="not be kept: No space left"):  # nor does this hide why it ended
        chapters.bring_up_to_date(task)


def test_where_no_bar_is_drawn_lines_say_where_a_chapter_is_and_why_it_failed(tmp_path):
    told = io.StringIO()
    with progress.shown(Console(file=told, width=200), ["01_first", "02_second"], tmp_path) as report:
        report("01_first", "cell 1 of 9", 1, 9)
        report("01_first", "cell 2 of 9", 2, 9)
        report("01_first", "failed: no luck", 1, 1)
    assert told.getvalue().splitlines() == ["01_first: cell 1 of 9", "01_first: failed: no luck; 1 left"]


def test_a_line_a_minute_says_how_many_cases_a_long_cell_has_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "MINUTE", 0.02)
    monkeypatch.setenv("INTERTWINE_LOG", str(tmp_path / "01_first.log"))
    told = tmp_path / "told"
    with told.open("w", buffering=1) as file:
        console = Console(file=file, width=200)
        with progress.shown(console, ["01_first"], tmp_path) as report:
            report("01_first", "cell 3 of 9", 3, 9)

            @Record(own=tmp_path).table(side=[1, 2])
            def areas(side):
                if side == 2:  # the first one is done
                    wait_for(lambda: told.read_text().count("1 of 2 cases") >= 2)
                return {"area": side**2}

    lines = told.read_text().splitlines()
    assert lines[0] == "01_first: cell 3 of 9"
    line = re.compile(r"01_first: cell 3 of 9, areas: 1 of 2 cases, \d\d:\d\d left, 0 min so far")
    assert sum(line.fullmatch(each) is not None for each in lines) >= 2
    assert not progress.last_step(tmp_path / "01_first.log")  # the table is there


# one chapter


@pytest.mark.slow
def test_run_takes_parameters_and_says_where_the_notebook_is(tiny_book, tmp_path):
    output = tmp_path / "mine.ipynb"
    given = ["-p", "seed", "7", "-p", "rate=1e-3"]
    result = CliRunner().invoke(cli, ["run", "1", *given, "--output", str(output)])
    assert result.exit_code == 0 and str(output) in result.output, result.output
    record = json.loads(output.read_text())["metadata"]["intertwine"]
    assert record["parameters"] == {"seed": 7, "rate": 0.001}
    assert record["profile"] == "quick with seed 7, rate 0.001"
    other = CliRunner().invoke(cli, ["run", "2", "--output", str(output)])
    assert other.exit_code == 1 and f"{output} is of 01_first: give another name" in other.output
    shown = CliRunner().invoke(cli, ["run", "1", "--parameters", "-p", "seed=3"]).output
    assert shown == "seed: int = 3  # of everything random\nrate: float = 0.1\n"
    assert runs(tiny_book) == {"01_first": 1}
