"""The pages of the library: tasks give what the page shows, every name stands there, no type is prose; and
the page that follows one network through all phases of `weightspace` gives what it says."""

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
import symtable
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
import yaml
from helpers import computed, generator, same_words_and_nearly_the_numbers
from torch import nn

import intertwine
from intertwine import similarity
from intertwine.similarity import MEASURES
from intertwine.weightspace import rules
from intertwine.weightspace.rules.infer import RULES
from intertwine_book import zoo
from intertwine_book.build import api, api_tables, render, status

API = Path(__file__).parent.parent / "book/api"


def test_no_line_of_code_is_wider_than_its_box():
    for path in [*API.glob("*.md"), *API.parent.glob("*.md")]:
        blocks = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
        for code in (code for kind, code in blocks if kind in ("", "python", "pycon")):
            typed = re.findall(r"^(?:>>>|[.]{3}) .*", code, re.MULTILINE) or code.splitlines()
            assert all(len(line) < 79 for line in typed), (path.name, max(typed, key=len))


@pytest.mark.slow
def test_each_task_has_three_statements_at_most_and_gives_what_the_page_shows():
    page = (API / "tasks.md").read_text().partition("(sec-recipes)=")[0]
    begin, names = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], {}
    exec(begin, names)
    tasks = re.findall(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(tasks) > 9 and len(tasks) == page.count("\n### ")
    assert all(len(line) <= 79 for line in begin.splitlines())
    for task, shown in tasks:
        assert len(ast.parse(task).body) <= 3 and all(len(line) <= 79 for line in task.splitlines()), task
        assert same_words_and_nearly_the_numbers(shown, computed(task, names)), (task, shown)


def test_a_task_says_which_names_of_other_tasks_it_uses():
    page = (API / "tasks.md").read_text()
    made: dict[str, str] = {}  # name → the task or recipe that defines it
    for part in re.split(r"\n(?=\((?:task|recipe)-)", page)[1:]:
        own, used = re.match(r"\((.*?)\)=", part)[1], {}
        for code in re.findall(r"```python\n([^`]*?)```", part):
            table = symtable.symtable(code, own, "exec")
            mine = {
                each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()
            }
            for name in {*_names(table)} - mine:
                if name in made and made[name] != own and made[name][:4] == own[:4]:
                    used.setdefault(made[name], set()).add(name)
            made |= dict.fromkeys(mine, own)
        said = re.search(r"^Uses (.*)\.$", part, re.MULTILINE)
        told = re.findall(r"((?:`\w+`(?:, )?)+) of {ref}`([\w-]+)`", said[1] if said else "")
        assert {other: {*re.findall(r"\w+", names)} for names, other in told} == used, own


def test_the_first_page_leads_to_every_task_and_no_library_page_needs_the_book():
    labels = re.findall(r"^\((task-[\w-]+)\)=$", (API / "tasks.md").read_text(), re.MULTILINE)
    asked = re.findall(r"{ref}`[^`<]+<(task-[\w-]+)>`", (API / "index.md").read_text())
    assert asked == labels and len(labels) > 9
    toc = yaml.safe_load((API.parent / "_toc.yml").read_text())
    parts = [part["chapters"] for part in toc["parts"] if part["caption"].startswith("The library")]
    pages = [page for each in chain(*parts) for page in (each, *each.get("sections", []))]
    assert len(pages) > 15 and pages[0]["file"] == "api/index"
    for page in pages:
        assert "intertwine_book" not in (API.parent / f"{page['file']}.md").read_text(), page


def test_every_name_of_a_package_stands_on_its_page_once_and_functions_come_first():
    blocks = re.findall(
        r"functions:: (intertwine\.[\w.]+)\n(?:   :.*\n)*\n((?:   .*\n)+)",
        "".join(page.read_text() for page in sorted(API.glob("*.md"))),
    )
    listed: dict[str, list[str]] = {}
    for module, names in blocks:
        assert all(api.offered(module, name) for name in names.split()), module  # and no file of that name
        listed.setdefault(".".join(module.split(".")[:2]), []).extend(names.split())
    for module, names in listed.items():
        assert len({*names}) == len(names), module
        if hasattr(importlib.import_module(module), "__all__"):
            loaded = importlib.import_module(module)
            offered = {name for name in loaded.__all__ if callable(getattr(loaded, name))}
            assert offered <= {*names}, (module, offered - {*names})
    assert len(listed) > 12


def docstrings() -> dict[str, str]:
    """Full name → docstring, of all that the library's packages offer and of their methods and properties."""
    found = {}
    for module in (f"intertwine.{each.name}" for each in pkgutil.iter_modules(intertwine.__path__)):
        for name in getattr(loaded := importlib.import_module(module), "__all__", ()):
            thing = getattr(loaded, name)
            members = vars(thing).items() if inspect.isclass(thing) else ()
            for full, each in [(name, thing), *((f"{name}.{key}", value) for key, value in members)]:
                ours = getattr(each, "__module__", module).startswith("intertwine")
                if ours and not full.rpartition(".")[2].startswith("_") and (text := inspect.getdoc(each)):
                    found[f"{module}.{full}"] = text
    return found


def test_an_example_imports_what_neither_torch_nor_its_package_offers():
    packages: dict[str, set[str]] = {}  # a text stands in each package that offers its function
    for name, text in docstrings().items():
        packages.setdefault(text, set()).add(".".join(name.split(".")[:2]))
    for text, names in packages.items():
        code = "".join(each.source for each in doctest.DocTestParser().get_examples(text))
        table = symtable.symtable(code, "example", "exec")
        offered = [getattr(each, "__all__", dir(each)) for each in map(importlib.import_module, names)]
        known = {"torch", "nn", *dir(builtins), *chain.from_iterable(offered)}
        known |= {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
        assert not {*_names(table)} - known, text


def _names(table: symtable.SymbolTable) -> Iterator[str]:
    """What code reads of its outermost scope, also within functions."""
    outermost = table.get_type() == "module"
    yield from (each.get_name() for each in table.get_symbols() if outermost or each.is_global())
    for inner in table.get_children():
        yield from _names(inner)


@pytest.mark.slow  # these examples run where they stand, too
def test_the_examples_of_a_page_run_with_what_its_first_line_imports():
    known, tried = docstrings(), 0
    for path in sorted(API.glob("*.md")):
        page = path.read_text()
        blocks = re.findall(r"functions:: (intertwine\.\w+)\n(?:   :.*\n)*\n((?:   .*\n)+)", page)
        if not blocks:
            continue
        line, given = re.search(r"^Examples begin with (.*)\.$", page, re.MULTILINE), {}
        assert line, path.name
        exec("\n".join(re.findall(r"`([^`]+)`", line[1])), given)
        shown = {f"{module}.{name}" for module, names in blocks for name in names.split()}
        texts = {name: text for name, text in known.items() if ".".join(name.split(".")[:3]) in shown}
        for module in re.findall(r"automodule:: ([\w.]+)", page):
            texts[module] = importlib.import_module(module).__doc__
        for name, text in texts.items():
            test = doctest.DocTestParser().get_doctest(text, dict(given), name, None, None)
            tried += len(test.examples)
            assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0, (
                path.name,
                name,
            )
    assert tried > 500


def test_the_example_of_what_notebooks_share_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "zoo"))
    monkeypatch.setitem(zoo.RECIPES, "digits", replace(zoo.RECIPES["digits"], epochs=3))
    example = re.search(r"```python\n(.*?)```", (API / "shared.md").read_text(), re.DOTALL)[1]
    assert computed(example, {}) > "0.5"


def test_the_page_of_similarity_joins_values_and_chance():
    (example,) = re.findall(r"```python\n(.*?)```", (API / "similarity.md").read_text(), re.DOTALL)
    draw, layers = generator(0), ["0", "2"]
    a = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 7))
    names = {"a": a, "b": a, "layers": layers, "images": torch.randn(60, 5, generator=draw)}
    names["generator"] = draw
    exec(example, names)
    assert (names["values"].to_numpy().diagonal() > 0.7).all()


def test_the_measures_on_their_page_are_those_of_the_registry():
    rows = status.measures().splitlines()
    assert [row.split("`")[1] for row in rows[2:]] == [repr(name) for name in MEASURES]
    functions = {each.function.__name__ for each in MEASURES.values() if hasattr(each.function, "__name__")}
    assert len(functions) > 7 and not functions - {*similarity.__all__}, "import it in similarity/__init__.py"


def test_how_weightspace_works_is_computed_as_it_stands_there():
    blocks = re.findall(r"```pycon\n(.*?)```", (API / "how_it_works.md").read_text(), re.DOTALL)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "how_it_works", None, None)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(page)
    assert found.attempted > 30 and found.failed == 0  # doctest prints what differs


def test_the_page_of_models_lists_the_operations_that_have_a_rule_and_no_docstring():
    page = (API / "models.md").read_text()
    assert "{include} ../generated/operations.md" in page and "automodule" not in page
    listed = re.findall(r"`(\w+)`", render.operations())
    assert {"linear", "conv2d", "softmax", "cat"} < {*listed} < {*RULES}
    assert sum(map(len, rules.operations().values())) == len(listed)


def offered() -> dict[str, object]:
    """Full name → functions, classes and methods that the library's packages offer."""
    found: dict[str, object] = {}
    for module in (f"intertwine.{each.name}" for each in pkgutil.iter_modules(intertwine.__path__)):
        for name in getattr(loaded := importlib.import_module(module), "__all__", ()):
            if callable(thing := getattr(loaded, name)):
                found[f"{module}.{name}"] = thing
    return found


def test_each_function_has_a_row_for_each_parameter_with_its_default_and_no_word_leads_elsewhere():
    functions = {name: thing for name, thing in offered().items() if inspect.isfunction(thing)}
    assert len(functions) > 70
    for name, function in functions.items():
        lines = api_tables.table(function)
        known = inspect.signature(function).parameters
        rows = [k for k, line in enumerate(lines) if line.startswith("   * - ``")]
        assert len(rows) == len(known), name
        for row, parameter in zip(rows, known.values(), strict=True):
            assert lines[row].strip("* -`") == parameter.name
            assert (parameter.default is parameter.empty) == (lines[row + 2].strip() == "-"), name
        assert not {*known} - {*api_tables.words_of(function)}, f"{name}: say in Args what they are"


def test_the_words_of_a_parameter_are_there_and_not_on_another_page():
    """A function whose arguments another one explains shows its words: no *as in `cka`* is left."""
    known = {name.rpartition(".")[2] for name, thing in offered().items() if "Args:" in str(thing.__doc__)}
    for name, thing in offered().items():
        for parameter, words in api_tables.words_of(thing).items():
            told = re.match(r"as in `(\w+)`", words)
            assert not (told and told[1] in known), (name, parameter, words)
