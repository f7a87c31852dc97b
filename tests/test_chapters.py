"""Every chapter keeps to the plan: one parameters cell, short cells, figures that say what they show."""

import ast
import builtins
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import jupytext
import nbformat
import pytest
import torch
import yaml
from papermill.execute import execute_notebook

from intertwine_book import claims
from intertwine_book.build import captions, execute, facts, layout
from intertwine_book.build.layout import Book
from intertwine_book.build.parameters import check, declared, parameters_cell
from intertwine_book.told import read_all

ROOT = Path(__file__).parent.parent
EXAMPLE = "08_squares"  # of CONTRIBUTING: what holds for a chapter holds for it


def book_with_the_example(root: Path) -> Book:
    """The book's chapters, and the one that CONTRIBUTING shows."""
    shutil.copytree(ROOT / "chapters", root / "chapters")
    for name in ("_config.yml", "requirements.lock", "book", "data"):
        (root / name).symlink_to(ROOT / name)
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("### A new chapter")[2]
    (root / f"chapters/{EXAMPLE}.py").write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1])
    return Book(root)


PLACE = TemporaryDirectory()
BOOK = book_with_the_example(Path(PLACE.name))
CHAPTERS = pytest.mark.parametrize("chapter", BOOK.chapters)
RECORDED = [name for name in BOOK.chapters if f"records/{name}" in BOOK.records]  # whose evidence has a page
RECORDS = pytest.mark.parametrize("record", BOOK.records)
LABELS = (r'figure="(fig-[\w-]+)"', r"^# :label: ([\w-]+)", r"^# \(([\w-]+)\)=", r"\$\$ \(([\w-]+)\)")


@cache
def cells(chapter: str, kind: str) -> list:
    node = jupytext.read(BOOK.notebooks[chapter])
    captions.add(node, layout.captions(BOOK.notebooks[chapter]))
    return [cell for cell in node.cells if cell.cell_type == kind]


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_no_line_is_longer_than_one_sentence(name):
    paths = (BOOK.notebooks[name], layout.captions(BOOK.notebooks[name]))
    for path in (each for each in paths if each.is_file()):
        long = [line for line in path.read_text().splitlines() if len(line) > 120]
        assert not long, f"{path.name}: break this line at a clause: {long[0]}"


@CHAPTERS
def test_a_chapter_asks_of_our_modules_only_what_they_have(chapter):
    """A name that was renamed in the library is found here, long before the chapter runs."""
    tree = ast.parse(BOOK.chapters[chapter].read_text())
    modules, bound = (
        {},
        {
            node.id
            for node in ast.walk(tree)
            if isinstance(getattr(node, "ctx", 0), ast.Store) and isinstance(node, ast.Name)
        },
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("intertwine"):
            for name in node.names:
                found = getattr(import_module(node.module), name.name, None)
                found = found or import_module(f"{node.module}.{name.name}")
                if isinstance(found, ModuleType) and (name.asname or name.name) not in bound:
                    modules[name.asname or name.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert hasattr(modules[node.value.id], node.attr), f"line {node.lineno}: {ast.unparse(node)}"


@CHAPTERS
def test_plain_jupytext_makes_a_notebook_that_knows_its_kernel(chapter):
    node = jupytext.read(BOOK.chapters[chapter])
    assert node.metadata["kernelspec"]["name"] == "python3"
    assert node.metadata["kernelspec"]["language"] == "python"
    kinds = {cell.cell_type for cell in node.cells}
    assert kinds == {"markdown", "code"}  # a header without its root key would be a raw cell


@pytest.mark.slow
def test_a_chapter_runs_with_jupytext_and_papermill_alone(tmp_path):
    chapter = "01_intertwiner_groups"  # the cheapest
    (tmp_path / "smoke.yml").write_text(yaml.safe_dump(BOOK.overrides("smoke")[chapter]))
    # without what another test may have left: where tables go is the notebook's own choice here
    world = {name: value for name, value in os.environ.items() if not name.startswith("INTERTWINE_")}
    world |= {"JUPYTER_PREFER_ENV_PATH": "1", "INTERTWINE_ZOO": str(tmp_path / "zoo")}
    for command in (
        ("jupytext", "--to", "ipynb", "--output", "converted.ipynb", str(BOOK.chapters[chapter])),
        ("papermill", "converted.ipynb", "executed.ipynb", "-f", "smoke.yml"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=world, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    executed = nbformat.read(tmp_path / "executed.ipynb", 4).cells
    assert "raw" not in {cell.cell_type for cell in executed}
    assert all(cell.execution_count for cell in executed if cell.cell_type == "code")


@CHAPTERS
def test_every_profile_sets_parameters_that_the_chapter_has(chapter):
    known = declared(parameters_cell(jupytext.read(BOOK.chapters[chapter])).source)
    assert {"seed", "device"} <= set(known)
    for profile in BOOK.profiles:
        check(known, BOOK.overrides(profile)[chapter])


HIDDEN = {"hide-input", "remove-input", "remove-cell"}
REMOVED = {"remove-input", "remove-cell"}


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


def lines(cells) -> int:
    return sum(1 for cell in cells for line in cell.source.splitlines() if line.strip())


def check_code(code) -> None:
    pictures = (k for k, cell in enumerate(code) if {"figure", "mystnb"} & cell.metadata.keys())
    later = code[next(pictures, -1) + 1 :]  # nothing is read before the first picture, so that folds
    folded = lines(cell for cell in later if tags(cell) & HIDDEN and "parameters" not in tags(cell))
    assert lines(code) <= 200, f"{lines(code)} lines of code, expected at most 200: move bookkeeping out"
    assert folded <= lines(code) / 4, f"{folded} of {lines(code)} lines are hidden, expected a quarter"


@CHAPTERS
def test_code_is_what_the_page_shows(chapter):
    if chapter not in RECORDED:
        return check_code(cells(chapter, "code"))
    shown = [cell.source for cell in cells(chapter, "code") if not tags(cell) & (HIDDEN | {"parameters"})]
    shown.remove(to_adapt(chapter))
    lengths = [sum(bool(line.strip()) for line in source.splitlines()) for source in shown]
    assert 4 <= len(shown) <= 9 and max(lengths) <= 15, lengths  # the method, from scratch
    assert max(len(line) for source in shown for line in source.splitlines()) <= 78
    assert not [cell.source for cell in cells(chapter, "code") if tags(cell) & REMOVED]


@RECORDS
def test_a_record_shows_all_of_its_code_and_ends_with_all_that_it_claims(record):
    code = cells(record, "code")
    assert not [cell.source for cell in code if tags(cell) & REMOVED]
    assert code[-1].source.splitlines()[-1] == "told.board()"
    assert check(declared(parameters_cell(jupytext.read(BOOK.records[record])).source), {}) is None
    text = BOOK.records[record].read_text()
    assert "{{ this_run }}" in text and text.count("record.table(") >= 1 <= text.count(
        "*What would change it*"
    )


@pytest.mark.slow
@RECORDS
def test_what_a_record_tells_is_what_its_rows_say(record, tmp_path, monkeypatch):
    """It runs at quick, where nothing is computed, on a copy of its tables."""
    for name in ("chapters", "_config.yml", "requirements.lock"):
        (tmp_path / name).symlink_to(BOOK.root / name)
    kept = shutil.copytree(BOOK.root / "data/results", tmp_path / "data/results")
    path = kept / BOOK.records[record].stem / "told.json"
    before = json.loads(path.read_text())
    path.unlink()
    node, _ = execute.prepare(BOOK.records[record], {})
    node.cells.insert(0, nbformat.v4.new_code_cell(f"import os; os.chdir({str(tmp_path)!r})"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    execute_notebook(
        node,
        tmp_path / "ran.ipynb",
        cwd=tmp_path,
        kernel_name="python3",
        progress_bar=False,
        config=execute.sockets(str(tmp_path)),
    )
    assert json.loads(path.read_text()) == before


def assert_no_undefined_names(source: str) -> None:
    pytest.importorskip("ruff", reason="ruff finds undefined names, and is for development alone")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@CHAPTERS
def test_what_the_page_shows_needs_nothing_that_it_hides(chapter):
    assert_no_undefined_names(
        "\n\n".join(cell.source for cell in cells(chapter, "code") if not tags(cell) & REMOVED)
    )


def to_adapt(chapter: str) -> str:
    """The cell of *Adapt this*."""
    found = jupytext.read(BOOK.chapters[chapter]).cells
    begins = [k for k, cell in enumerate(found) if "## Adapt this" in cell.source]
    code = [cell.source for cell in found[min(begins, default=0) :] if cell.cell_type == "code"]
    assert begins and code, f'{chapter}: expected a section "## Adapt this" with a cell that runs alone'
    return code[0]


def test_a_chapter_without_a_cell_to_adapt_is_told_so(tiny_book, monkeypatch):
    monkeypatch.setitem(globals(), "BOOK", tiny_book)
    with pytest.raises(AssertionError, match='01_first: expected a section "## Adapt this" with a cell'):
        to_adapt("01_first")


@CHAPTERS
def test_the_cell_to_adapt_uses_no_name_of_another_cell(chapter):
    assert_no_undefined_names(to_adapt(chapter))


@CHAPTERS
def test_the_cell_to_adapt_uses_the_public_library_and_of_the_book_its_data_alone(chapter):
    tree = ast.walk(ast.parse(to_adapt(chapter)))
    named = [(n.module, each.name) for n in tree if isinstance(n, ast.ImportFrom) for each in n.names]
    of_book = {(module, name) for module, name in named if module.startswith("intertwine_book")}
    assert of_book <= {("intertwine_book", "data")}


@CHAPTERS
def test_the_cell_to_adapt_gives_no_function_of_the_chapter_another_meaning(chapter):
    sources = [cell.source for cell in cells(chapter, "code")]
    at = sources.index(to_adapt(chapter))
    earlier, _ = functions("\n".join(sources[:at]))
    own, imported = functions(sources[at])
    assert not earlier & (own | imported), "its later cells would call another function"


def functions(source: str) -> tuple[set[str], set[str]]:
    """The names of functions and classes that some code defines, and the names that it imports."""
    nodes = [*ast.walk(ast.parse(source))]
    imports = (name for n in nodes if isinstance(n, ast.Import | ast.ImportFrom) for name in n.names)
    defined = {
        node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    return defined, {name.asname or name.name for name in imports}


@pytest.mark.slow
@CHAPTERS
def test_the_cell_to_adapt_runs_alone(chapter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        exec(compile(to_adapt(chapter), chapter, "exec"), {"__name__": "mine"})
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@CHAPTERS
def test_a_chapter_runs_without_what_its_page_hides_and_each_cell_again(chapter, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("INTERTWINE_RESULTS", str(tmp_path / "tables"))
    node, _ = execute.prepare(BOOK.chapters[chapter], BOOK.overrides("smoke")[chapter])
    shown = [cell for cell in node.cells if not tags(cell) & REMOVED and cell.cell_type == "code"]
    new = nbformat.v4.new_code_cell
    node.cells = [new(cell.source, metadata=cell.metadata) for cell in shown for _ in range(2)]
    sockets = execute.sockets(str(tmp_path))
    places = {"cwd": BOOK.root / "chapters", "kernel_name": "python3", "config": sockets}
    execute_notebook(node, tmp_path / "shown.ipynb", progress_bar=False, **places)


def decisions(chapter: str) -> list[ast.Module]:
    """The code of the section before *Adapt this*, whose table says what to use when: its spans, parsed."""
    text = "\n".join(cell.source for cell in cells(chapter, "markdown"))
    section = text.partition("\n## Adapt this")[0].rpartition("\n## ")[2]
    assert "list-table" in section, "a chapter ends in a table that decides"
    parsed = []
    for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", section.replace("\n", " ")):
        with contextlib.suppress(SyntaxError):  # a shape, an option, a name of a role
            parsed.append(ast.parse(span))
    return parsed


@pytest.mark.parametrize("chapter", [name for name in RECORDED if name != EXAMPLE])
def test_the_table_that_decides_calls_what_its_section_imports_or_the_chapter_defines(chapter):
    defined = {
        node.name
        for cell in cells(chapter, "code")
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.FunctionDef)
    }
    names: dict[str, object] = {"torch": torch}
    for tree in decisions(chapter):
        if isinstance(tree.body[0], ast.ImportFrom):
            exec(compile(tree, chapter, "exec"), names)
        if isinstance(tree.body[0], ast.Assign):
            defined |= {each.id for each in tree.body[0].targets if isinstance(each, ast.Name)}
    for node in (node for tree in decisions(chapter) for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = node.func.id
            known = called in names or called in defined or hasattr(builtins, called)
            assert known, f"{called}: say from where it is imported"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            assert hasattr(names[node.value.id], node.attr), ast.unparse(node)


@CHAPTERS
def test_a_parameter_keeps_its_value(chapter):
    known = set(declared(parameters_cell(jupytext.read(BOOK.chapters[chapter])).source)) - {"device"}
    tree = ast.parse("\n".join(cell.source for cell in cells(chapter, "code")))
    bound = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    assert [name for name, times in Counter(bound).items() if name in known and times > 1] == []


def test_a_label_stands_in_one_place_of_the_book():
    sources = [path.read_text() for path in BOOK.notebooks.values()]
    labels = [each for text in sources for pattern in LABELS for each in re.findall(pattern, text, re.M)]
    assert [each for each, times in Counter(labels).items() if times > 1] == []


def test_facts_links_and_papers_that_a_notebook_names_exist():
    sources = {name: path.read_text() for name, path in BOOK.notebooks.items()}
    labels = {each for text in sources.values() for p in LABELS for each in re.findall(p, text, re.M)}
    papers = set(re.findall(r"^@\w+\{(\w+),", (BOOK.root / "book/references.bib").read_text(), re.M))
    for name, text in sources.items():
        facts.told(text)  # a ValueError names a fact that no story and no record has
        links = set(re.findall(r"(?:link=|\"link\": )\"([\w-]+)\"", text))
        links |= set(re.findall(r"{ref}`(?:[^`<]*<)?(rec-[\w-]+)", text))
        assert not links - labels, name
        assert not set(re.findall(r"paper=\"(\w+)\"", text)) - papers, name


@CHAPTERS
def test_every_figure_has_a_name_a_caption_and_alt_text_and_is_referred_to(chapter):
    prose = " ".join(cell.source for cell in cells(chapter, "markdown"))
    code = cells(chapter, "code")
    nodes = ast.walk(ast.parse("\n".join(cell.source for cell in code)))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    drawing = {
        n.name for node in imports if "intertwine_book.figures" in str(node.module) for n in node.names
    }
    drawn = [cell for cell in code if _last_call(cell.source) in drawing - {"use_style", "readable"}]
    assert drawn
    for cell in drawn:
        figure, image = cell.metadata["mystnb"]["figure"], cell.metadata["mystnb"]["image"]
        for name, text in {"caption": figure["caption"], "alt": image["alt"]}.items():
            assert len(text) > 40, f"the {name} of {figure['name']} has {len(text)} characters, expected 41"
        assert f"`{figure['name']}`" in prose, figure["name"]


def _last_call(source: str) -> str | None:
    """The name of the function that the last line of a cell calls for its value."""
    match ast.parse(source).body:
        case [*_, ast.Expr(ast.Call(ast.Name(name)))]:
            return name
    return None


@CHAPTERS
def test_the_first_box_says_what_one_needs_learns_and_waits_for(chapter):
    first = cells(chapter, "markdown")[0].source
    assert "**You need**" in first and "**You will learn**" in first and "{{ this_run }}" in first


@CHAPTERS
def test_a_chapter_imports_the_library_and_touches_no_file_by_itself(chapter):
    source = "\n".join(cell.source for cell in cells(chapter, "code"))
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert not names & {"open", "exec", "eval", "input"} and "savefig" not in source


@CHAPTERS
def test_nothing_is_drawn_from_a_generator_that_is_not_seeded(chapter):
    """Methods that draw by themselves have the device's generator, which no seed of a chapter reaches."""
    source = "\n".join(cell.source for cell in cells(chapter, "code"))
    names = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    assert not names & {"pca_lowrank", "svd_lowrank", "lobpcg"}


@CHAPTERS
def test_data_are_loaded_onto_a_named_device(chapter):
    """Without it they would lie on a GPU wherever there is one, whatever the chapter's parameter says."""
    source = "\n".join(cell.source for cell in cells(chapter, "code"))
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    loads = [call for call in calls if ast.unparse(call.func) in ("data.load", "data.scenes")]
    assert all("device" in [keyword.arg for keyword in call.keywords] for call in loads)


def test_every_claim_points_to_a_chapter_and_a_label_that_exist():
    sources = {name: path.read_text() for name, path in BOOK.notebooks.items()}
    told = [claim for claim, _ in read_all(BOOK.root / "data/results")]
    for claim in [*claims.load(BOOK.root / "book/claims.yml"), *told]:
        if claim.chapter in sources:
            assert claim.link is None or any(claim.link in text for text in sources.values()), claim.id
