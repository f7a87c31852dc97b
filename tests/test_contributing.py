"""The examples of CONTRIBUTING keep all rules, and the lines of the first pages print what they say."""

import contextlib
import io
import json
import re
import runpy
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest
import test_chapters as chapters
import test_similarity
import test_similarity_compare
import test_similarity_registry
from test_chapters import world  # noqa: F401  a fixture
from test_similarity_compare import setting  # noqa: F401  a fixture

from intertwine.similarity import MEASURES
from intertwine_book.build import execute, render
from intertwine_book.build.layout import Book

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "tests/examples"
NAMES = {*Book(EXAMPLES).notebooks}
SHOWN = [ROOT / "README.md", ROOT / "book/api/index.md", ROOT / "book/intro.md"]


def marks(test: Callable) -> dict[str, list]:
    """Argument → the values that a test is tried with."""
    found = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    return {argument: list(values) for argument, values in found}


def arguments(test: Callable) -> tuple[str, ...]:
    return test.__code__.co_varnames[: test.__code__.co_argcount]


def laws(module: ModuleType, known: set[str]) -> dict[str, Callable]:
    """The tests of a module that are tried with each of these names."""
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    return {name: test for name, test in tests.items() if known <= {*marks(test).get("name", ())}}


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_the_examples_of_a_first_page_print_what_stands_below_them(page):
    pairs = re.findall(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", page.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    for code, printed in pairs:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(code, names)
        assert shown.getvalue() == printed
    assert len(pairs) == (1 if page.stem == "intro" else 3)


def test_the_readme_is_short_and_names_the_five_papers():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 110
    assert all(name in text for name in ("Godfrey", "Csiszárik", "Lengyel", "Ramakrishnan", "Fowler"))


@pytest.fixture
def examples(world, monkeypatch) -> Book:  # noqa: F811
    """A book that holds the chapter and the record of `tests/examples`, too."""
    for name in NAMES:
        shutil.copy(EXAMPLES / f"chapters/{name}.py", world / f"chapters/{name}.py")
    monkeypatch.setattr(chapters, "BOOK", book := Book(world))
    return book


def rules(request: pytest.FixtureRequest, *, slow: bool) -> Iterator[str]:
    """Hold the examples to every rule of a chapter and of a record; the names of the rules."""
    for known in ({*chapters.TAUGHT}, {*chapters.BOOK.records} - NAMES):
        for rule, test in laws(chapters, known).items():
            if slow == any(mark.name == "slow" for mark in test.pytestmark):
                (name,) = (each for each in NAMES if ("/" in each) == ("/" in next(iter(known))))
                # a rule finds its own folder empty, where the book of the examples has files
                given = {"name": name, "tmp_path": request.getfixturevalue("tmp_path_factory").mktemp("rule")}
                others = {*arguments(test)} - {*given}
                given |= {each: request.getfixturevalue(each) for each in others}
                test(**{each: given[each] for each in arguments(test)})
                yield rule


def test_the_example_chapter_and_record_keep_the_rules(examples, request):
    assert len([*rules(request, slow=False)]) > 6


@pytest.mark.slow
def test_the_example_record_gives_its_chapter_a_fact_and_both_run_by_the_rules(
    examples, request, monkeypatch
):
    record, chapter = (next(each for each in NAMES if ("/" in each) == kind) for kind in (True, False))
    where = examples.root / "chapters"
    node, _ = execute.prepare(examples.notebooks[record], examples.overrides("desk")[record])
    chapters.run(node, examples.root, where)
    told = json.loads((examples.recorded(record) / "told.json").read_text())
    assert [each["said"] for each in told["claims"]] == ["no counterexample"]
    assert (examples.recorded(record) / "areas.csv").read_text().count("\n") == 11
    monkeypatch.chdir(examples.root)
    assert "has 81 points" in render.page_of(examples.notebooks[chapter], None).cells[0].source
    chapters.test_labels_are_unique_and_facts_links_and_papers_that_a_notebook_names_exist()
    assert len([*rules(request, slow=True)]) == 3


MEASURED = {
    name: test
    for module in (test_similarity, test_similarity_compare, test_similarity_registry)
    for name, test in laws(module, {*MEASURES}).items()
}


@pytest.mark.parametrize("law", MEASURED)
def test_the_example_measure_keeps_the_laws_of_the_registry(law, monkeypatch, request):
    monkeypatch.setitem(MEASURES, "distances", runpy.run_path(str(EXAMPLES / "measure.py"))["LINE"])
    tried = {argument: values for argument, values in marks(MEASURED[law]).items() if argument != "name"}
    others = {*arguments(MEASURED[law])} - {"name", *tried}
    fixtures = {each: request.getfixturevalue(each) for each in others}
    for values in product(*tried.values()):
        MEASURED[law](name="distances", **dict(zip(tried, values, strict=True)), **fixtures)
    assert len(MEASURED) > 5
