"""The build: nothing runs twice, nothing is half-written, and an error says where to look."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers import RECORD
from jupyter_client import KernelManager
from rich.console import Console

from intertwine_book import build, results
from intertwine_book.build import chapters, execute, freshness, progress
from intertwine_book.build.cli import cli
from intertwine_book.build.layout import Book, BookError, find_book
from intertwine_book.build.render import render
from intertwine_book.build.status import times

pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not ours

# instead of the notebook machinery: a chapter runs while `wait-NAME` is there, and fails if `fail-NAME` is
PRETENDED = """
import json, os, time
from pathlib import Path
from intertwine import files
from intertwine_book.build import chapters, execute, failure, freshness
from intertwine_book.build.layout import Book

def pretended(book, chapter, values, output, *, tables, failed, record, report):
    world = Path(os.environ["TINY_WORLD"])
    with (world / "runs").open("a") as runs:
        runs.write(chapter + " ")
    while (world / f"wait-{chapter}").exists():
        time.sleep(0.01)
    if (world / f"fail-{chapter}").exists():
        raise failure.ChapterFailed("no luck\\n    in a cell")
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


def test_a_build_ends_with_the_page_to_open_and_a_second_one_finds_all_fresh(built_book, monkeypatch):
    output = (built_book.root.parent / "output").read_text()
    assert re.search(r"Open .*_build/html/index\.html\s*$", output), output
    assert (built_book.html / "chapters/02_second.html").exists()
    assert runs(built_book) == {"01_first": 1, "02_second": 1} and not stale(built_book, "smoke")
    monkeypatch.delattr(chapters, "plan")  # it looks no further than at files
    again = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["build", "--profile", "smoke"])
    assert again.exit_code == 0 and "01_first: fresh" in again.output, again.output
    assert runs(built_book) == {"01_first": 1, "02_second": 1}


def test_where_no_bar_is_drawn_a_chapter_says_when_it_begins_and_every_minute_where_it_is(
    tiny_book, monkeypatch
):
    monkeypatch.setattr(progress, "MINUTE", 0.05)
    told = io.StringIO()
    with progress.shown(Console(file=told, width=200), tiny_book, tiny_book.chapters) as (report, _):
        report("01_first", "running", 3, 9)
        wait_for(lambda: told.getvalue().count("cell 3 of 9") > 1)  # a long cell, which reports nothing
        report("01_first", "done", 1, 1)
    first, again, *others = told.getvalue().splitlines()
    assert first == f"01_first: begins, its log is {tiny_book.build}/logs/01_first.log"
    assert again == "01_first: cell 3 of 9" and "01_first: done" in others
    assert not [line for line in others if line.startswith("02_second:")]  # which did not begin


def test_a_chapter_alone_says_in_a_file_every_minute_where_it_is(tiny_book, monkeypatch):
    monkeypatch.setattr(progress, "MINUTE", 0.02)

    def slow(*_, report, **__):
        report(1, 4)
        time.sleep(0.3)
        raise BookError("that is all")

    monkeypatch.setattr(execute, "execute", slow)
    assert "01_first: cell 1 of 4\n" in CliRunner().invoke(cli, ["run", "1"]).output


@pytest.mark.parametrize("terminal", [True, False])
def test_a_chapter_that_fails_says_why_at_once(tiny_book, pretend, terminal):
    (tiny_book.root.parent / "fail-01_first").touch()
    told = io.StringIO()
    console = Console(file=told, width=200, force_terminal=terminal)
    with progress.shown(console, tiny_book, tiny_book.chapters) as (report, _):
        with pytest.raises(BookError):
            chapters.run(chapters.plan(tiny_book, "quick"), report=report, pool=ThreadPoolExecutor(2))
        assert "01_first: failed: no luck\n" in told.getvalue().replace("\r", "")


def test_nothing_has_changed_only_if_every_file_is_as_it_was(tiny_book, monkeypatch):
    root, page, pages = tiny_book.root, tiny_book.html / "index.html", tiny_book.build / "pages"
    written = [
        tiny_book.executed("quick", "01_first"),
        root / "book/chapters/01_first.ipynb",
        root / "book/generated/status.md",
        tiny_book.tables("desk") / "01_first/long.csv",
    ]
    for path in [*written, page, pages]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as it was")

    def nothing_changed(profile: str = "quick") -> bool:
        return freshness.nothing_changed(tiny_book, profile, freshness.sources(tiny_book))

    assert not nothing_changed()  # no build ended
    whole = freshness.whole_stamp(tiny_book, "quick", freshness.sources(tiny_book))
    (tiny_book.build / "whole").write_text(whole)
    assert nothing_changed() and not nothing_changed("smoke")
    read = ["chapters/01_first.py", "chapters/profiles/quick.yml", "book/intro.md", "book/_toc.yml"]
    read += ["_config.yml", "requirements.lock"]
    for path in [*(root / name for name in read), *written]:
        content = path.read_text()
        path.write_text(content + " ")
        assert not nothing_changed(), path
        path.write_text(content)
    for path in (page, pages, *written):
        content = path.read_text()
        path.unlink()
        assert not nothing_changed(), path
        path.write_text(content)
    assert nothing_changed()
    monkeypatch.setenv("INTERTWINE_DTYPE", "float32")
    assert not nothing_changed()
    monkeypatch.delenv("INTERTWINE_DTYPE")
    monkeypatch.setattr(results, "library_digest", lambda: "edited")
    assert not nothing_changed()


def test_only_what_changed_runs_again(tiny_book, pretend, monkeypatch):
    assert build_chapters(tiny_book) == {"01_first": "done", "02_second": "done"}
    assert runs(tiny_book) == {"01_first": 1, "02_second": 1} and not stale(tiny_book)
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text().replace("# A chapter", "# A better chapter") + "\n# words\n")
    assert not stale(tiny_book)  # prose and comments execute nothing
    source.write_text(source.read_text() + "\n# %%\n1 + 1\n")
    assert stale(tiny_book) == {"01_first"}
    assert build_chapters(tiny_book) == {"01_first": "done", "02_second": "fresh"}
    assert runs(tiny_book) == {"01_first": 2, "02_second": 1}
    recorded = tiny_book.tables("desk") / "02_second"
    results.write(pd.DataFrame({"a": [1]}), "long", parameters={}, seed=0, folder=recorded, device="cpu")
    assert stale(tiny_book) == {"02_second"}  # its text tells of that table
    assert build_chapters(tiny_book) == {"01_first": "fresh", "02_second": "done"}
    assert len(stale(tiny_book, "smoke")) == 2
    with monkeypatch.context() as patched:
        patched.setenv("INTERTWINE_DTYPE", "float32")
        assert len(stale(tiny_book)) == 2
    (tiny_book.root / "requirements.lock").write_text("torch==0")
    assert len(stale(tiny_book)) == 2


def test_an_executed_notebook_has_one_parameters_cell_and_no_path_of_this_machine(built_book, built_once):
    text = built_book.executed("smoke", "01_first").read_text()
    node = nbformat.reads(text, as_version=4)
    nbformat.validate(node)
    tagged = [
        cell
        for cell in node.cells
        if {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))
    ]
    assert len(tagged) == 1 and "seed: int = 5  # of everything random" in tagged[0].source
    assert "hide-input" in tagged[0].metadata["tags"]  # a page shows it on a click
    assert node.cells[-1].outputs[0]["data"]["text/plain"] == "5.1"
    for machine in (str(built_once), sys.prefix, str(Path.home()), os.sep + "tmp"):
        assert machine not in text
    assert re.search(r"This run: \d+ s, .* profile \*smoke\*", text)
    record = node.metadata["intertwine"]
    assert record["parameters"] == {"seed": 5, "rate": 0.1} and record["wall_s"] > 0


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
def test_after_a_kill_only_what_was_not_finished_is_repeated(tiny_book, pretend):
    wait = tiny_book.root.parent / "wait-02_second"
    wait.touch()
    process = start(tiny_book, PRETENDED + ONE_AFTER_ANOTHER)
    wait_for(lambda: runs(tiny_book)["02_second"])
    process.kill()
    process.communicate()
    wait.unlink()
    assert stale(tiny_book) == {"02_second"}
    assert build_chapters(tiny_book) == {"01_first": "fresh", "02_second": "done"}
    assert runs(tiny_book) == {"01_first": 1, "02_second": 2}


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
def test_a_killed_build_repeats_only_what_was_not_finished(tiny_book):
    world = tiny_book.root.parent
    second = tiny_book.chapters["02_second"]
    second.write_text(second.read_text().replace('"wait"', '"wait-second"'))
    (world / "wait-second").touch()
    process = start_build(tiny_book)
    wait_for(lambda: tiny_book.executed("quick", "01_first").exists() and runs(tiny_book)["02_second"])
    process.kill()
    process.communicate()
    assert not tiny_book.executed("quick", "02_second").exists()
    (world / "wait-second").unlink()
    output, _ = (again := start_build(tiny_book)).communicate(timeout=300)
    assert again.returncode == 0, output
    assert runs(tiny_book)["01_first"] == 1


def test_an_interrupted_run_finds_its_tables_again_and_changed_code_finds_none(tiny_book):
    task = chapters.plan(tiny_book, "smoke")["01_first"]
    row = tiny_book.tables("smoke") / "01_first" / "rates.csv"
    chapters.begin(row.parent, task)
    row.touch()
    chapters.begin(row.parent, task)
    assert row.exists()
    chapters.begin(row.parent, replace(task, stamp=task.stamp | {"its cells": "others"}))
    assert not row.exists()


@pytest.mark.slow
def test_two_builds_at_once_both_succeed_and_share_the_work(tiny_book):
    both = [start_build(tiny_book), start_build(tiny_book)]
    for process in both:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    assert runs(tiny_book) == {"01_first": 1, "02_second": 1}


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_leaves_nothing_half_written_and_says_what_is_kept(tiny_book, sent):
    (tiny_book.root.parent / "wait").touch()
    process = start_build(tiny_book)
    wait_for(lambda: len(runs(tiny_book)) == 2)
    process.send_signal(sent)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + sent and "Interrupted. Finished steps are kept" in said, said
    assert "leaked" not in said and "Traceback" not in said
    assert not list(tiny_book.root.rglob("*.ipynb"))


def test_the_end_of_a_container_is_told_as_an_interrupt(tiny_book, monkeypatch, capsys):
    def ended(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setattr(execute, "execute", ended)
    monkeypatch.setattr(sys, "argv", ["intertwine", "run", "1"])
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # or a test that fails ends the tests
    try:
        with pytest.raises(SystemExit) as end:
            build.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert end.value.code == 143 and "Interrupted. Finished steps are kept" in capsys.readouterr().err


def test_half_rendered_pages_are_rendered_again_with_chapters_that_never_ran(built_book):
    page = built_book.html / "index.html"
    first = page.stat().st_mtime_ns
    assert render(built_book, "smoke") == page and page.stat().st_mtime_ns == first
    with built_book.chapters["02_second"].open("a") as source:
        source.write('\n# %% figure="fig-later"\n0\n')
    captions = built_book.root / "chapters/captions/02_second.yml"
    captions.parent.mkdir()
    captions.write_text("fig-later: {caption: Later., alt: A line.}")
    (built_book.root / "_config.yml").write_text(
        "title: Tiny\nonly_build_toc_files: true\nsphinx: {config: {numfig: true}}\n"
    )
    (built_book.root / "book/intro.md").write_text("# Tiny\n\nSee {numref}`fig-later`.\n")
    built_book.executed("smoke", "02_second").unlink()
    page.write_text("half")
    assert render(built_book, "smoke").read_text() != "half"
    assert "not executed yet" in (built_book.html / "chapters/02_second.html").read_text()
    assert re.search(r"See .*Fig. 1", (built_book.html / "intro.html").read_text())


def test_pages_are_complete_only_if_their_stamp_says_so(built_book, monkeypatch):
    from intertwine_book.build import render as rendering

    calls = []
    monkeypatch.setattr(rendering, "_jupyter_book", lambda book, report: calls.append(book))
    render(built_book, "smoke")
    assert not calls
    (built_book.build / "pages").unlink()  # a kill leaves none
    render(built_book, "smoke")
    assert len(calls) == 1


@pytest.mark.slow
def test_a_warning_fails_the_pages_and_is_shown(tiny_book):
    (tiny_book.root / "book/intro.md").write_text("# Tiny\n\n[nowhere](does-not-exist.md)\n")
    with pytest.raises(BookError, match="does-not-exist"):
        render(tiny_book, "quick")
    assert not (tiny_book.build / "pages").exists()  # so the second time too


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "01_first", "-p", "sed", "3"], ["'sed'", "did you mean 'seed'"]),
        (["run", "01_first", "-p", "seed", "many"], ["'seed'", "int", "'many'", "str"]),
        (["run", "01_frist"], ["Unknown chapter '01_frist'", "did you mean '01_first'"]),
        (["run", "9"], ["Unknown chapter '9'", "02_second"]),
        (["build", "--profile", "smok"], ["Unknown profile 'smok'", "did you mean 'smoke'"]),
        (["build", "--only", "third"], ["Unknown chapter 'third'"]),
        (["status", "--profile", "big"], ["Unknown profile 'big'. Known: quick, smoke"]),
        (["run", "1", "-p", "seed=-1"], ["'seed'", "from 0", "-1"]),
        (["build", "--profile", "smoke", "--anew", "swap"], ["recorded at the profile smoke", "'swap'"]),
        (["run", "1", "--output", "mine.html"], ["mine.html", "such as mine.ipynb"]),
        (["run", "1", "--output", "chapters"], ["chapters", "such as mine.ipynb"]),
        (["run", "1", "--output", "_config.yml/mine.ipynb"], ["_config.yml/mine", "Not a directory"]),
    ],
)
def test_a_bad_word_on_the_command_line_stops_before_any_work(tiny_book, arguments, words):
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1 and all(word in result.output for word in words), result.output
    assert "Traceback" not in result.output and not tiny_book.build.exists()


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ('dataset: str = "cifar10"', ["nowhere", "INTERTWINE_DATA"]),
        ('dataset: str = "cifar11"', ["cifar11", "cifar10"]),
        ('device: str = "warp"', ["'warp'", "cpu"]),
        ("memory_gb: int = 1_000_000", ["memory_gb", "1000000 GB", "cpu has"]),
    ],
)
def test_a_missing_world_stops_before_any_work(tiny_book, monkeypatch, parameter, words):
    monkeypatch.setenv("INTERTWINE_DATA", str(tiny_book.root / ("." if "here" in parameter else "nowhere")))
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text().replace("seed: int = 0", f"{parameter}\nseed: int = 0"))
    for arguments in (["run", "1"], ["build"]):
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 1 and all(word in result.output for word in words), result.output
        assert not runs(tiny_book)


@pytest.mark.slow
def test_run_takes_parameters_and_says_where_the_notebook_is(tiny_book, tmp_path):
    output = tmp_path / "mine.ipynb"
    result = CliRunner().invoke(
        cli, ["run", "1", "-p", "seed", "7", "-p", "rate", "1e-3", "--output", str(output)]
    )
    assert result.exit_code == 0, result.output
    assert str(output) in result.output
    assert json.loads(output.read_text())["metadata"]["intertwine"]["parameters"] == {
        "seed": 7,
        "rate": 0.001,
    }
    other = CliRunner().invoke(cli, ["run", "2", "--output", str(output)])
    assert other.exit_code == 1 and f"{output} is of 01_first: give another name" in other.output


TRANSPORT = """
# %%
import ipykernel
print(ipykernel.get_connection_info(unpack=True)["transport"])
"""


@pytest.mark.slow
def test_a_kernel_has_sockets_that_no_other_can_take(tiny_book, tmp_path):
    """Ports are free when they are chosen, and may be gone when the kernel begins."""
    with tiny_book.chapters["01_first"].open("a") as source:
        source.write(TRANSPORT)
    output = tmp_path / "mine.ipynb"
    assert CliRunner().invoke(cli, ["run", "1", "--output", str(output)]).exit_code == 0
    assert json.loads(output.read_text())["cells"][-1]["outputs"][0]["text"] == ["ipc\n"]


TABLE = """
# %%
from intertwine_book import results
run = results.run(globals(), "01_first")

@run.table(step=range(2), uses=["rate"])
def areas(step):
    return {"area": 7 * step}
"""


@pytest.mark.slow
def test_an_edited_table_is_computed_again_and_runs_with_other_parameters_are_apart(tiny_book, monkeypatch):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text() + TABLE)

    def run(*given: str) -> tuple[list, str, dict]:
        done = CliRunner(env={"COLUMNS": "300"}).invoke(cli, ["run", "1", *given])
        assert done.exit_code == 0, done.output
        notebook, tables = (re.search(rf"{word}: +(\S+)", done.output)[1] for word in ("notebook", "tables"))
        node = nbformat.read(notebook, as_version=4)
        return pd.read_csv(f"{tables}/areas.csv")["area"].tolist(), done.output, node

    first, output, node = run("-p", "seed=7", "-p", "rate", "1e-3")
    assert first == [0, 7] and "Found" not in output
    assert "profile *quick with seed 7, rate 0.001*" in node.cells[0].source
    assert node.metadata["intertwine"]["commit"] == results.origin.code()["commit"]
    assert "Found, not computed: areas" in run("-p", "seed=7", "-p", "rate", "1e-3")[1]
    source.write_text(source.read_text().replace("7 * step", "8 * step"))
    again, output, _ = run("-p", "seed=7", "-p", "rate", "1e-3")
    assert again == [0, 8] and "Found" not in output
    assert len([*(tiny_book.build / "runs").glob("*.ipynb")]) == 1
    run("-p", "seed=8")
    assert len([*(tiny_book.build / "runs").glob("01_first-*/areas.csv")]) == 2


def test_the_parameters_of_a_chapter_are_shown_without_running_it(tiny_book):
    shown = CliRunner().invoke(cli, ["run", "1", "--parameters", "-p", "seed=3"])
    assert "seed: int = 3  # of everything random" in shown.output and not runs(tiny_book)


def test_edits_of_a_library_that_is_installed_as_a_copy_are_said_to_have_no_effect(tiny_book):
    own = tiny_book.root / "lib"
    for package in results.PACKAGES:
        shutil.copytree(results.LIBRARY / package, own / package, ignore=shutil.ignore_patterns("*.csv"))
    show = ["run", "1", "--parameters"]
    assert "Warning" not in CliRunner().invoke(cli, show).output  # the copy is what the checkout holds
    with (own / "intertwine/groups/__init__.py").open("a") as edited:
        edited.write("raise SystemExit\n")
    said = CliRunner().invoke(cli, show).output
    assert f"the copy in {results.LIBRARY}" in said and "`pip install -e .`" in said
    shutil.rmtree(own)
    own.symlink_to(results.LIBRARY)  # as an editable installation has it
    assert "Warning" not in CliRunner().invoke(cli, show).output


def test_how_long_a_chapter_takes_is_the_sum_of_what_is_on_record(tiny_book, monkeypatch):
    (tiny_book.root / "chapters/profiles/desk.yml").write_text("")
    folder = tiny_book.tables("desk") / "01_first"
    for name, seconds, device in (("areas", 7200, "1 GPU"), ("sides", 9000, "1 GPU"), ("sums", None, "cpu")):
        path = results.write(
            pd.DataFrame({"x": [1]}), name, parameters={}, seed=0, folder=folder, device="cpu"
        )
        known = json.loads(path.with_suffix(".json").read_text()) | {"wall_s": seconds, "device": device}
        path.with_suffix(".json").write_text(json.dumps(known))
    said = times(tiny_book, "desk", tiny_book.chapters).splitlines()
    unknown = "02_second: not known, it has no table on record"
    assert said[1:3] == ["01_first: 270 min for 2 tables, 1 GPU", unknown]
    monkeypatch.delattr(execute, "execute")  # it is said before that
    assert unknown in CliRunner().invoke(cli, ["run", "2", "--profile", "desk"]).output


def test_what_cannot_be_is_said_first(tiny_book):
    printed = CliRunner().invoke(cli, ["pdf"])
    assert "01_first has not: build first, or name" in printed.output, printed.output
    narrow = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["status"]).output
    assert narrow.count("never run") == 2 and "recorded" in narrow


def test_status_warns_of_a_torch_that_is_wrong_or_slow_in_bfloat16(tiny_book, monkeypatch):
    for fault, last in (("Off by 75%: set this.", "Warning: Off by 75%: set this.\n"), ("", "\n")):
        monkeypatch.setattr("intertwine.devices.bfloat16_fault", lambda fault=fault: fault)
        shown = CliRunner().invoke(cli, ["status"]).output
        assert shown.endswith(last) and shown.count("Warning") == bool(fault)


def test_data_lie_in_the_checkout_unless_the_variable_names_a_folder(tiny_book, monkeypatch):
    monkeypatch.setenv("INTERTWINE_DATA", "elsewhere")
    CliRunner().invoke(cli, ["run", "1", "--parameters"])
    assert os.environ["INTERTWINE_DATA"] == "elsewhere"
    del os.environ["INTERTWINE_DATA"]
    CliRunner().invoke(cli, ["run", "1", "--parameters"])
    assert Path(os.environ["INTERTWINE_DATA"]) == tiny_book.root / "data"


def test_a_chapter_that_did_not_run_at_a_profile_is_shown_as_it_ran_at_another(tiny_book):
    from intertwine_book.build import render as rendering

    source = tiny_book.chapters["02_second"]
    glued = '\n# %% [markdown]\n# It is {glue:text}`x:.2f`.\n\n# %% figure="fig-a"\n0\n'
    source.write_text(source.read_text() + glued)
    captions = source.parent / "captions/02_second.yml"
    captions.parent.mkdir()
    captions.write_text("fig-a: {caption: '{glue:text}`n:.1f` of them.', alt: A line.}")
    node, settings = execute.prepare(tiny_book.chapters["01_first"], {"seed": 9})
    node.metadata["intertwine"] = RECORD | {"parameters": settings}
    executed = tiny_book.executed("smoke", "01_first")
    executed.parent.mkdir(parents=True)
    executed.write_text(nbformat.writes(node))
    notebooks = rendering._collect(tiny_book, "quick")
    ran = notebooks["01_first"].read_text()
    assert "seed: int = 9" in ran and "This run: 1 s" in ran
    never = notebooks["02_second"].read_text()
    assert "It is –." in never and "– of them." in never and "glue:" not in never


def test_status_tells_fresh_from_stale(built_book):
    def states(profile: str) -> str:
        return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["status", "--profile", profile]).output

    assert states("quick").count("never run") == 2
    assert "Chapters also ran at smoke" in states("quick") and "also" not in states("smoke")
    assert states("smoke").count("fresh") == 2
    source = built_book.chapters["02_second"]
    source.write_text(source.read_text() + "\n# %%\n0\n")
    assert states("smoke").count("stale") == 1 and states("smoke").count("fresh") == 1


def publish(folder: Path, profile: str = "smoke") -> str:
    arguments = ["publish", "--profile", profile, str(folder)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, arguments).output


def test_what_cannot_be_published_is_said_in_a_sentence(built_book):
    folder = built_book.root / "public"
    assert "01_first has not: build first, or name" in publish(folder, "quick")
    assert "address of the repository" in publish(folder) and not folder.exists()
    assert "holds something" in publish(built_book.root)


@pytest.mark.slow
def test_a_published_book_has_notebooks_that_install_the_library_and_buttons_that_open_them(built_book):
    config, folder = built_book.root / "_config.yml", built_book.root / "public"
    ours = ", ".join(f"intertwine_book.build.{name}" for name in ("download", "publish"))
    extension = f"sphinx: {{extra_extensions: [{ours}]}}\n"
    repository = 'repository: {url: "https://github.com/us/tiny"}\n'
    config.write_text(config.read_text() + extension + repository)
    intro = built_book.root / "book/intro.md"
    intro.write_text(intro.read_text() + "\n```{raw} html\n<!-- on paper -->\n```\n")
    assert "Ready to be pushed" in (said := publish(folder))
    printed = (folder / "book.pdf").is_file()
    assert printed == ('href="book.pdf"' in (folder / "intro.html").read_text())
    assert printed == ("Without a PDF" not in said)
    node = nbformat.read(folder / "notebooks/01_first.ipynb", as_version=4)
    assert re.search(r'^%pip install .*@ git\+https://github.com/us/tiny(@\w+)?"$', node.cells[1].source)
    page = (folder / "chapters/01_first.html").read_text()
    assert "colab.research.google.com/github/us/tiny/blob/gh-pages/notebooks/01_first.ipynb" in page
    assert "mybinder.org/v2/gh/us/tiny/HEAD?urlpath=lab/tree/chapters/01_first.py" in page
    assert "mybinder" not in (folder / "intro.html").read_text()


def test_outside_a_checkout_one_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BookError, match=r"_config\.yml"):
        find_book()


def test_a_file_name_in_a_profile_must_be_a_chapter(tiny_book):
    (tiny_book.root / "chapters/profiles/smoke.yml").write_text("01_frist: {seed: 1}")
    with pytest.raises(BookError, match=r"smoke\.yml.*did you mean '01_first'"):
        tiny_book.overrides("smoke")


def test_this_run_is_one_line(tiny_book):
    assert "\n" not in execute.this_run(None)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "Interrupted. Finished steps are kept"),
        (
            OSError(28, "No space left on device", "zoo"),
            1,
            "left on device (zoo). Finished steps are",
        ),
        (OSError(28, "No space left on device"), 1, "left on device. Finished steps are"),
        (PermissionError(13, "Permission denied", "zoo"), 1, "Permission denied (zoo). Finished steps are"),
        (
            shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
            1,
            "No space left on device: 'b'. Finished steps are",
        ),
    ],
)
def test_what_stops_a_run_is_one_sentence_that_says_what_is_kept(tiny_book, monkeypatch, error, status, said):
    def stopped(*_, **__):
        raise error

    monkeypatch.chdir(tiny_book.root)
    monkeypatch.setattr(execute, "execute", stopped)
    done = CliRunner().invoke(cli, ["run", "01_first"])
    assert done.exit_code == status and said in done.output and "Traceback" not in done.output


@pytest.mark.slow
def test_the_interrupt_that_ends_a_kernel_is_not_told_as_an_error(tmp_path):
    """jupyter_client sends it; where it met the kernel between two cells, the terminal showed an ERROR."""
    manager = KernelManager(kernel_name="python3")
    with (tmp_path / "said").open("w") as said:
        manager.start_kernel(extra_arguments=execute._KERNEL, stdout=said, stderr=said)
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        meet = "def interrupted(*_):\n    raise KeyboardInterrupt\n"
        meet += "get_ipython().kernel.shell_handlers['history_request'] = interrupted"
        client.execute_interactive(meet, timeout=60)
        client.history()  # answered by an interrupt
        client.execute_interactive("done = True", timeout=60)  # messages are handled in turn
        client.stop_channels()
        manager.shutdown_kernel()
    assert (tmp_path / "said").read_text() == ""
