"""What cannot be is said in a sentence, at once, and before any work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from intertwine_book.build import chapters
from intertwine_book.build.cli import cli
from intertwine_book.build.layout import BookError
from intertwine_book.build.publish import publish

REFUSED = """
import sys
from click.testing import CliRunner
from intertwine_book.build.cli import cli
for arguments in {commands}:
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 1 and "Error: " in refused.output, refused
    loaded = {slow} & set(sys.modules)
    assert not loaded, (arguments, loaded)
"""
COMMANDS = [
    ["run", "7"],
    ["build", "--profile", "big"],
    ["build", "--only", "7"],
    ["status", "--profile", "big"],
    ["pdf", "--profile", "big"],
    ["publish", "--profile", "big", "public"],
]


def refuse(folder: Path, commands: list[list[str]], slow: set[str]) -> None:
    """Commands that are refused in a folder, without the import of any of these packages."""
    code = REFUSED.format(commands=commands, slow=slow)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_outside_a_checkout_nothing_slow_is_imported(tmp_path):
    refuse(tmp_path, [*COMMANDS, ["networks"]], {"pandas", "papermill", "torch"})


def test_a_name_that_is_unknown_is_refused_before_anything_slow_is_imported(tiny_book):
    refuse(tiny_book.root, COMMANDS, {"pandas", "papermill", "torch"})


def test_what_did_not_run_or_cannot_be_written_is_refused_before_torch_is_imported(tiny_book):
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text().replace("seed: int = 0", "device: str = 'warp'\nseed: int = 0"))
    tiny_book.build.touch()
    commands = [["pdf"], ["publish", "public"], ["run", "1"], ["build"]]
    refuse(tiny_book.root, commands, {"torch", "sphinx", "matplotlib"})


@pytest.mark.parametrize("there", ["_build", "_build/logs", "book/generated"])
def test_a_build_that_can_write_nothing_says_so_before_any_work(tiny_book, there):
    (tiny_book.root / there).parent.mkdir(exist_ok=True)
    (tiny_book.root / there).touch()  # a file, as no permission stops root
    said = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["build"])
    assert said.exit_code == 1
    assert f"Expected to write into the folder {tiny_book.root / there}" in said.output
    assert not (tiny_book.root.parent / "runs").exists()


@pytest.mark.parametrize(
    ("number", "words"), [(13, "Permission denied"), (28, "No space left on device"), (30, "Read-only")]
)
def test_a_process_of_the_build_says_what_the_machine_refuses(tiny_book, monkeypatch, number, words):
    def refused(*_, **__):
        raise OSError(number, os.strerror(number), "its log")

    task = chapters.plan(tiny_book, "quick")["01_first"]
    for name in ("INTERTWINE_LOG", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # a process sets them, and they are restored after the test
    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(BookError, match=rf"^{words}.* \(its log\)\. Finished steps are kept"):
        chapters.in_a_process(task, 1)


def test_what_cannot_be_published_whole_leaves_nothing_that_is_refused_next(tiny_book, monkeypatch):
    (tiny_book.root / "_config.yml").write_text('repository: {url: "https://github.com/us/tiny"}\n')
    executed = [tiny_book.executed("quick", name) for name in tiny_book.chapters]
    for path in (tiny_book.html / "index.html", *executed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr("intertwine_book.build.render.render", lambda book, _: book.html / "index.html")
    folder = tiny_book.root / "public"
    with pytest.raises(OSError, match="ipynb"):  # the pages offer none
        publish(tiny_book, "quick", folder)
    assert not folder.exists()
