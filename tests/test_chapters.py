"""Notebooks keep to the plan: they run, records say what their rows say, and words name what there is."""

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
from types import ModuleType

import jupytext
import nbformat
import pytest
import torch
import yaml
from papermill.execute import execute_notebook

from intertwine_book.build import execute, facts
from intertwine_book.build.layout import Book
from intertwine_book.build.parameters import check, declared, parameters_cell

ROOT = Path(__file__).parent.parent
BOOK = Book(ROOT)
TAUGHT = [name for name in BOOK.chapters if f"records/{name}" in BOOK.records]
CHAPTERS, RECORDS = (pytest.mark.parametrize("name", names) for names in (TAUGHT, BOOK.records))
LABELS = (r'figure="(fig-[\w-]+)"', r"^# :label: ([\w-]+)", r"^# \(([\w-]+)\)=", r"\$\$ \(([\w-]+)\)")


@cache
def cells(name: str, kind: str) -> list:
    return [cell for cell in execute.prepare(BOOK.notebooks[name], {})[0].cells if cell.cell_type == kind]


def program(name: str) -> ast.Module:
    return ast.parse("\n".join(cell.source for cell in cells(name, "code")))


def run(node: nbformat.NotebookNode, folder: Path, cwd: Path) -> nbformat.NotebookNode:
    sockets = execute.sockets(str(folder))
    where = {"cwd": cwd, "kernel_name": "python3", "progress_bar": False, "config": sockets}
    return execute_notebook(node, folder / "ran.ipynb", **where)


@pytest.fixture
def world(tmp_path, monkeypatch) -> Path:
    """A checkout of its own, with a copy of the recorded rows."""
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for name in ("_config.yml", "requirements.lock", "book"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "chapters", tmp_path / "chapters")
    shutil.copytree(ROOT / "data/results", tmp_path / "data/results")
    return tmp_path


# they run


@pytest.mark.slow
def test_a_chapter_runs_with_jupytext_and_papermill_alone(tmp_path):
    chapter = "01_intertwiner_groups"  # the cheapest
    (tmp_path / "smoke.yml").write_text(yaml.safe_dump(BOOK.overrides("smoke")[chapter]))
    # without what another test may have left: where tables go is the notebook's own choice here
    names = {name: value for name, value in os.environ.items() if not name.startswith("INTERTWINE_")}
    names |= {"JUPYTER_PREFER_ENV_PATH": "1", "INTERTWINE_ZOO": str(tmp_path / "zoo")}
    for command in (
        ("jupytext", "--to", "ipynb", "--output", "converted.ipynb", str(BOOK.chapters[chapter])),
        ("papermill", "converted.ipynb", "executed.ipynb", "-f", "smoke.yml"),
    ):
        subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, env=names, check=True)
    executed = nbformat.read(tmp_path / "executed.ipynb", 4).cells
    assert {cell.cell_type for cell in executed} == {"code", "markdown"}
    assert all(cell.execution_count for cell in executed if cell.cell_type == "code")


@pytest.mark.slow
@CHAPTERS
def test_each_cell_of_a_chapter_runs_again(name, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("INTERTWINE_RESULTS", str(tmp_path / "tables"))
    node, _ = execute.prepare(BOOK.chapters[name], BOOK.overrides("smoke")[name])
    code = [cell for cell in node.cells if cell.cell_type == "code"]
    again = nbformat.v4.new_code_cell
    node.cells = [again(cell.source, metadata=cell.metadata) for cell in code for _ in range(2)]
    run(node, tmp_path, ROOT / "chapters")


@pytest.mark.slow
@RECORDS
def test_what_a_record_tells_is_what_its_rows_say(name, world):
    """It runs at quick, where nothing is computed, on a copy of its tables."""
    path = Book(world).recorded(name) / "told.json"
    before = json.loads(path.read_text())
    path.unlink()
    run(execute.prepare(BOOK.records[name], {})[0], world, world / "chapters")
    assert json.loads(path.read_text()) == before


# they keep to the plan


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_every_profile_sets_parameters_that_the_notebook_has_and_none_is_overwritten(name):
    source = parameters_cell(jupytext.read(BOOK.notebooks[name])).source
    known = declared(source)
    for profile in BOOK.profiles:
        check(known, BOOK.overrides(profile)[name])
    names = [node for node in ast.walk(program(name)) if isinstance(node, ast.Name)]
    stored = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
    again = [each for each in known if stored[each] > 1 and each != "device"]
    assert not again or name in BOOK.records  # whose functions have arguments of these names


def too_wide(name: str, lines: list[str], columns: int) -> list[str]:
    """Those of a notebook's lines that are wider, each with its place."""
    path = BOOK.notebooks[name]
    known = path.read_text().splitlines()
    return [
        f"{path.relative_to(BOOK.root)}:{known.index(line) + 1} has {len(line)} columns, {columns} at most"
        for line in lines
        if len(line) > columns
    ]


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_no_line_of_a_notebook_has_more_than_120_columns(name):
    assert too_wide(name, BOOK.notebooks[name].read_text().splitlines(), 120) == []


def visible(name: str) -> list[str]:
    """The cells of a chapter whose code is not folded, but for the one to adapt."""
    code = cells(name, "code")
    shown = [cell.source for cell in code if not tags(cell) & {"hide-input", "parameters"}]
    shown.remove(to_adapt(name))
    return shown


@CHAPTERS
def test_no_line_of_visible_code_has_more_than_78_columns(name):
    assert too_wide(name, [line for source in visible(name) for line in source.splitlines()], 78) == []


def tags(cell) -> set[str]:
    return set(cell.metadata.get("tags", []))


@pytest.mark.parametrize("name", [*TAUGHT, *BOOK.records])
def test_no_code_is_removed_from_a_page_and_each_figure_is_referred_to(name):
    code, prose = cells(name, "code"), " ".join(cell.source for cell in cells(name, "markdown"))
    assert not [cell.source for cell in code if tags(cell) & {"remove-input", "remove-cell"}]
    assert "{{ this_run }}" in prose
    if name in BOOK.records:
        assert code[-1].source.splitlines()[-1] == "told.board()" and "*What would change it*" in prose
    else:
        figures = [cell.metadata["mystnb"]["figure"]["name"] for cell in code if "mystnb" in cell.metadata]
        assert figures and not [figure for figure in figures if f"`{figure}`" not in prose]
        assert "**You need**" in prose and "**You will learn**" in prose


@CHAPTERS
def test_visible_cells_of_a_chapter_are_the_method(name):
    shown = visible(name)
    lengths = [sum(bool(line.strip()) for line in source.splitlines()) for source in shown]
    assert 4 <= len(shown) <= 9 and max(lengths) <= 15, lengths


@RECORDS
def test_no_constant_of_a_record_is_another_on_a_gpu(name):
    """What a function reads is part of its code: a GPU's rows would count as those of other code."""
    constants = [each for each in program(name).body if isinstance(each, ast.Assign | ast.AnnAssign)]
    assert not [each for each in map(ast.unparse, constants) if re.search(r"device\.type|is_available", each)]


# words and code name what there is


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_a_notebook_asks_of_our_modules_only_what_they_have(name):
    """A name that was renamed in the library is found here, long before the notebook runs."""
    tree, modules = program(name), {}
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("intertwine"):
            for each in node.names:
                found = getattr(import_module(node.module), each.name, None)
                found = found or import_module(f"{node.module}.{each.name}")
                if isinstance(found, ModuleType) and (each.asname or each.name) not in bound:
                    modules[each.asname or each.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert hasattr(modules[node.value.id], node.attr), f"line {node.lineno}: {ast.unparse(node)}"


def to_adapt(name: str) -> str:
    """The cell of *Adapt this*."""
    found = jupytext.read(BOOK.chapters[name]).cells
    begins = next((k for k, cell in enumerate(found) if "## Adapt this" in cell.source), None)
    assert begins is not None, f"Expected a section '## Adapt this' in {name}, found none."
    return next(cell.source for cell in found[begins:] if cell.cell_type == "code")


@pytest.mark.slow
@CHAPTERS
def test_the_cell_to_adapt_runs_alone_by_the_public_library_and_the_book_s_data(name, tmp_path, monkeypatch):
    imports = (node for node in ast.walk(ast.parse(to_adapt(name))) if isinstance(node, ast.ImportFrom))
    named = {(node.module, each.name) for node in imports for each in node.names}
    assert {each for each in named if each[0].startswith("intertwine_book")} <= {("intertwine_book", "data")}
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        exec(compile(to_adapt(name), name, "exec"), {"__name__": "mine"})
    assert not [*tmp_path.iterdir()]


class Shortcut(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bend = torch.nn.Conv2d(1, 6, 3, padding=1), torch.nn.ReLU()
        self.more, self.head = torch.nn.Conv2d(6, 6, 3, padding=1), torch.nn.Linear(6, 10)

    def forward(self, x):
        h = self.bend(self.conv(x))
        return self.head((h + self.more(h)).mean((2, 3)))


def test_chapter_2_takes_a_network_with_shortcuts_and_its_group_costs_nothing(capsys):
    network = re.compile(r"^mine = .*?^layer, activation = .*?$", re.DOTALL | re.MULTILINE)
    code, changed = network.subn(
        'mine, layer, activation = Shortcut().eval(), "conv", "bend"', to_adapt("02_sanity_rotations")
    )
    assert changed == 1
    with torch.random.fork_rng():
        exec(compile(code, "chapter 2", "exec"), {"Shortcut": Shortcut})
    permuted, scaled, turned = capsys.readouterr().out.splitlines()
    for line in (permuted, scaled):  # the group of ReLU
        assert "0.0% unexplained, 100% of the answers" in line
    assert "0.0% unexplained" not in turned


@CHAPTERS
def test_the_table_that_decides_calls_what_its_section_imports_or_the_chapter_defines(name):
    text = "\n".join(cell.source for cell in cells(name, "markdown"))
    section = text.partition("\n## Adapt this")[0].rpartition("\n## ")[2]
    assert "list-table" in section, "a chapter ends in a table that decides"
    known = {*dir(builtins)} | {n.name for n in ast.walk(program(name)) if isinstance(n, ast.FunctionDef)}
    names: dict[str, object] = {"torch": torch}
    called = []
    for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", section.replace("\n", " ")):
        with contextlib.suppress(SyntaxError):  # a shape, an option, a name of a role
            tree = ast.parse(span)
            if isinstance(tree.body[0], ast.ImportFrom):
                exec(compile(tree, name, "exec"), names)
            if isinstance(tree.body[0], ast.Assign):
                known |= {each.id for each in tree.body[0].targets if isinstance(each, ast.Name)}
            called += ast.walk(tree)
    for node in called:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id in known | {*names}, f"{node.func.id}: say from where it is imported"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            assert hasattr(names[node.value.id], node.attr), ast.unparse(node)


def test_labels_are_unique_and_facts_links_and_papers_that_a_notebook_names_exist():
    sources = {name: path.read_text() for name, path in BOOK.notebooks.items()}
    labels = [each for text in sources.values() for p in LABELS for each in re.findall(p, text, re.M)]
    assert [each for each, times in Counter(labels).items() if times > 1] == []
    papers = set(re.findall(r"^@\w+\{([\w-]+),", (ROOT / "book/references.bib").read_text(), re.M))
    for name, text in sources.items():
        facts.told(text)  # a ValueError names a fact that no record has
        links = set(re.findall(r"(?:link=|\"link\": )\"([\w-]+)\"", text))
        links |= set(re.findall(r"{ref}`(?:[^`<]*<)?(rec-[\w-]+)", text))
        assert not links - {*labels}, name
        named = set(re.findall(r"(?:\bpaper=|\"paper\": )\"([\w-]+)\"", text))
        cited = ",".join(re.findall(r"{cite(?::\w+)?}`([^`]+)`", text)).split(",")
        named |= {key.strip() for key in cited} - {""}
        assert not named - papers, f"{name}: add {named - papers} to book/references.bib"


@RECORDS
def test_every_fact_that_a_record_tells_is_read(name):
    pages, record = [*BOOK.notebooks.values(), *(ROOT / "book").glob("*.md")], Path(name).name
    read = {key for p in pages for key in re.findall(rf"{{fact}}`{record}\.([^`:]+)", p.read_text())}
    read |= {*re.findall(r"facts\[['\"](\w+)['\"]\]", BOOK.records[name].read_text())}
    written = BOOK.root / "data/results" / record / "told.json"
    told = json.loads(written.read_text())["facts"] if written.is_file() else {}  # a new one has told nothing
    assert told.keys() - read == set(), "read them on a page, or tell them no longer"
