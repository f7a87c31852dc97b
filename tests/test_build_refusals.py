"""What cannot be is said in one sentence, before any work."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from intertwine_book.build import captions, chapters, execute, facts
from intertwine_book.build.cli import cli
from intertwine_book.build.layout import BookError
from intertwine_book.build.parameters import check, declared, parse, with_values

SOURCE = """\
from typing import Literal

dataset: Literal["digits", "cifar10"] = "digits"  # ein Wörterbuch: ü, σ
seed: int = 10  # of everything random
rate: float = 0.1
widths: list[int] = [16, 32]
bias: bool = True
pairs: int = 4  # of networks, at least 2
layers: list[int] = [1]  # from 1 to 4
kinds: list[str] = ["ReLU"]  # and "tanh"
budgets: list[int] = []  # of epochs"""
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "dataset": st.sampled_from(["digits", "cifar10"]),
        "seed": st.integers(0),
        "rate": st.floats(allow_nan=False, allow_infinity=False) | st.integers(0),
        "widths": st.lists(st.integers(1, 512), min_size=1),
        "pairs": st.integers(2),
        "kinds": st.lists(st.sampled_from(["ReLU", "tanh"]), min_size=1),
        "layers": st.lists(st.integers(1, 4), min_size=1),
        "budgets": st.lists(st.integers(1)),
        "bias": st.booleans(),
    },
)


@given(VALUES)
def test_what_is_written_is_what_is_declared(values):
    check(declared(SOURCE), values)
    written = with_values(SOURCE, values)
    again = declared(written)
    expected = {name: parameter.default for name, parameter in declared(SOURCE).items()} | values
    assert {name: parameter.default for name, parameter in again.items()} == expected
    assert [p.annotation for p in again.values()] == [p.annotation for p in declared(SOURCE).values()]
    assert written.count("#") == SOURCE.count("#")  # comments are kept


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_a_literal_typed_on_the_command_line_is_that_literal(value):
    assert parse(repr(value)) == value and type(parse(repr(value))) is type(value)
    assert parse(f"{value},1") == [value, 1]  # a shell takes a list without brackets


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        # parameters
        (lambda: check(declared(SOURCE), {"sed": 3}), "'sed': did you mean 'seed'? Known: dataset, seed"),
        (lambda: check(declared(SOURCE), {"seed": "many"}), "'seed' expects int (10 by default)"),
        (lambda: check(declared(SOURCE), {"dataset": "mnist"}), "one of 'digits', 'cifar10'"),
        (lambda: check(declared(SOURCE), {"widths": [1, "a"]}), "'widths' expects list[int]"),
        (lambda: check(declared(SOURCE), {"seed": -1}), "numbers from 0 (10 by default), was given -1"),
        (lambda: check(declared(SOURCE), {"widths": []}), "'widths' expects some values"),
        (lambda: check(declared(SOURCE), {"kinds": ["tank"]}), "'tank': did you mean 'tanh'?"),
        (lambda: check(declared(SOURCE), {"layers": [2, 7]}), "numbers from 1 to 4"),
        (lambda: declared("seed = 0"), "lines `name: type = value` only"),
        (lambda: declared("widths: list[int] = [\n    1,\n]"), "'widths' in one line"),
        (lambda: declared("seed: print('ran') = 0"), "found `print('ran')`"),  # it is read and not evaluated
        # facts
        (lambda: facts.told("{fact}`03_stiching.x`"), "'03_stiching': the nearest is '03_stitching'"),
        (lambda: facts.told("{fact}`03_stitching.nothing`"), "a fact of 03_stitching, was given 'nothing'"),
    ],
)  # fmt: skip
def test_what_is_given_is_refused_with_what_is_allowed(refused, words):
    with pytest.raises((BookError, ValueError)) as error:
        refused()
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_figure_without_a_caption_and_a_caption_without_a_figure_are_named():
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    for words in ([], [new_markdown_cell(":::{figure} #fig-a\n---\n{}\n---\nIt falls.\n:::")]):
        draw = new_code_cell("draw()", metadata={"figure": "fig-a"})
        with pytest.raises(BookError, match="a caption and `alt` of fig-a"):
            captions.add(new_notebook(cells=[draw, *words]))
    with pytest.raises(BookError, match="one of fig-b"):
        captions.add(new_notebook(cells=[new_markdown_cell(":::{figure} #fig-b\n---\nalt: x\n---\nA.\n:::")]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "01_first", "-p", "sed", "3"], "'sed': did you mean 'seed'"),
        (["run", "1", "-p", "seed=-1"], "from 0"),
        (["run", "01_frist"], "Unknown chapter '01_frist': did you mean '01_first'"),
        (["build", "--profile", "smok"], "Unknown profile 'smok': did you mean 'smoke'"),
        (["build", "--only", "third"], "Unknown chapter 'third'"),
        (["run", "1", "--output", "mine.html"], "such as mine.ipynb"),
        (["run", "1", "--output", "_config.yml/mine.ipynb"], "File exists"),
        (["pdf"], "01_first has not: build first, or name"),
        (["publish", "chapters"], "holds something"),
    ],
)
def test_a_bad_word_on_the_command_line_stops_before_any_work(tiny_book, arguments, words):
    result = CliRunner(env={"COLUMNS": "300"}).invoke(cli, arguments)
    assert result.exit_code == 1 and words in result.output, result.output
    assert "Traceback" not in result.output and not tiny_book.build.exists()


def test_outside_a_checkout_and_in_a_profile_of_no_chapter_a_sentence_says_so(
    tiny_book, tmp_path, monkeypatch
):
    (tiny_book.root / "chapters/profiles/smoke.yml").write_text("01_frist: {seed: 1}")
    assert "did you mean '01_first'" in CliRunner().invoke(cli, ["build", "--profile", "smoke"]).output
    monkeypatch.chdir(tmp_path)
    assert "inside a checkout" in CliRunner().invoke(cli, ["build"]).output


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ('dataset: str = "cifar10"', ["nowhere", "INTERTWINE_DATA"]),
        ('dataset: str = "cifar11"', ["cifar11", "cifar10"]),
        ('device: str = "warp"', ["'warp'", "cpu"]),
    ],
)
def test_a_missing_world_stops_before_any_work(tiny_book, monkeypatch, parameter, words):
    monkeypatch.setenv("INTERTWINE_DATA", str(tiny_book.root / "nowhere"))
    source = tiny_book.chapters["01_first"]
    source.write_text(source.read_text().replace("seed: int = 0", f"{parameter}\nseed: int = 0"))
    for arguments in (["run", "1"], ["build"]):
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 1 and all(word in result.output for word in words), result.output
    assert not (tiny_book.root.parent / "runs").exists()


REFUSED = """
import sys
from click.testing import CliRunner
from intertwine_book.build.cli import cli
for arguments in (["run", "7"], ["build", "--profile", "big"], ["pdf", "--profile", "big"]):
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 1 and "Error: " in refused.output, refused
    assert not {"pandas", "papermill", "torch"} & set(sys.modules), arguments
"""


def test_a_name_that_is_unknown_is_refused_before_anything_slow_is_imported(tiny_book):
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_build_that_can_write_nothing_says_so_before_any_work(tiny_book):
    there = "book/generated"
    (tiny_book.root / there).touch()  # a file, as no permission stops root
    said = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["build"])
    assert said.exit_code == 1
    assert f"Expected to write into the folder {tiny_book.root / there}" in said.output
    assert not (tiny_book.root.parent / "runs").exists()


def test_what_the_machine_refuses_is_a_sentence_that_says_what_is_kept(tiny_book, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "its log")

    said = "No space left on device (its log). Finished steps are kept"
    with monkeypatch.context() as patched:
        patched.setattr(execute, "execute", refused)
        done = CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["run", "1"])
        assert done.exit_code == 1 and said in done.output and "Traceback" not in done.output
    for name in ("INTERTWINE_LOG", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # a process of the build sets them; restored after the test
    task = chapters.plan(tiny_book, "quick")["01_first"]
    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(BookError) as error:
        chapters.in_a_process(task, 1)
    assert said in str(error.value)
