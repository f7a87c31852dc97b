"""Fixtures: a book small enough to build in a test, and the library without its run-time type checker."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxtyping
import pytest
from hypothesis import Phase, settings

# slow to import, for the process that starts the workers as well: a fixture imports what it needs
if TYPE_CHECKING:
    from intertwine_book.build.layout import Book

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # slow: see intertwine_book.build

# a law is tried on twenty draws, and no clock decides: workers share two cores
# to explain a counterexample takes minutes, to show it a second
settings.register_profile(
    "laws", max_examples=20, deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain]
)
settings.load_profile("laws")

ROOT = Path(__file__).parent.parent

CHAPTER = """\
# %% [markdown]
# # A chapter
#
# This run: {{ this_run }}

# %% tags=["parameters"]
seed: int = 0  # of everything random
rate: float = 0.1

# %%
import os
import time
from pathlib import Path

world = Path(os.environ.get("TINY_WORLD", "."))
with (world / "runs").open("a") as runs:
    runs.write("NAME ")
while (world / "wait").exists():
    time.sleep(0.05)
seed + rate
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What builds or plans a book, opens a browser, draws or repeats an experiment is slow: laws are not."""
    for item in items:
        needs = {"built_book", "built", "html", "page", "paper"} & {*getattr(item, "fixturenames", ())}
        if needs or re.match(r"test_(story_)?figures|test_.*experiment", item.path.name):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported lives as long as the run: it is not looked through at every collection of garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def one_thread():
    """The number of threads decides on the way and on the rounding, and a test may leave another behind."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def unchecked():
    """As a user meets the library: without the run-time type checker of the tests."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def write_tiny_book(root: Path) -> Book:
    """Two chapters, two profiles and one page; `runs` beside the book says which chapters ran."""
    from intertwine_book.build.layout import Book

    for folder in ("chapters/profiles", "book"):
        (root / folder).mkdir(parents=True)
    for name in ("01_first", "02_second"):
        (root / f"chapters/{name}.py").write_text(CHAPTER.replace("NAME", name))
    (root / "chapters/profiles/quick.yml").write_text("")
    (root / "chapters/profiles/smoke.yml").write_text("01_first: {seed: 5}")
    (root / "book/intro.md").write_text("(sec-profiles)=\n# Tiny\n")
    (root / "book/_toc.yml").write_text(
        "format: jb-book\nroot: intro\nchapters: [{file: chapters/01_first}, {file: chapters/02_second}]\n"
    )
    (root / "_config.yml").write_text(
        'title: Tiny\nonly_build_toc_files: true\nexecute: {execute_notebooks: "off"}\n'
    )
    shutil.copy(ROOT / "requirements.lock", root)
    return Book(root)


@pytest.fixture
def tiny_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """A small book of which nothing was executed, the current folder."""
    book = write_tiny_book(tmp_path / "tiny")
    monkeypatch.setenv("TINY_WORLD", str(tmp_path))
    monkeypatch.setenv("INTERTWINE_LOG", "")  # a run sets it
    monkeypatch.setenv("INTERTWINE_DATA", os.environ.get("INTERTWINE_DATA", ""))  # a command sets it
    monkeypatch.chdir(book.root)
    return book


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small book that the command line built at the profile smoke, once for all workers."""
    from intertwine import files

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with files.lock(shared / "built"):
        if not (shared / "built").exists():
            root = shared / "building/tiny"
            write_tiny_book(root)
            code = "from intertwine_book.build import main; main()"
            done = subprocess.run(
                [sys.executable, "-c", code, "build", "--profile", "smoke", "--jobs", "1"],
                cwd=root,
                env=os.environ | {"TINY_WORLD": str(root.parent)},
                capture_output=True,
                text=True,
            )
            (root.parent / "output").write_text(done.stdout + done.stderr)
            root.parent.rename(shared / "built")
    return shared / "built"


@pytest.fixture
def built_book(built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """A copy of a small book that was built at the profile smoke, the current folder."""
    from intertwine_book.build.layout import Book

    world = shutil.copytree(built_once, tmp_path / "world")
    monkeypatch.setenv("TINY_WORLD", str(world))
    monkeypatch.setenv("INTERTWINE_DATA", os.environ.get("INTERTWINE_DATA", ""))  # a command sets it
    monkeypatch.chdir(world / "tiny")
    return Book(world / "tiny")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of downloaded data sets, for tests on real data."""
    return Path(os.environ.get("INTERTWINE_DATA", ""))


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; without one, or without playwright, a test is skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser'")
    from intertwine_book.build.layout import BookError
    from intertwine_book.build.pdf import chromium

    try:
        path = chromium()
    except BookError as error:
        pytest.skip(str(error))
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def page(browser):
    """A page without formulas and pictures, which take longer than all the rest."""
    opened = browser.new_page()
    opened.route(
        re.compile("/mathjax/|/_images/|plotly|fontawesome|[.](css|woff2)"), lambda route: route.abort()
    )
    return opened


@pytest.fixture(scope="session")
def node() -> Callable[..., Any]:
    """A function that runs files of `live/_static`, then a body of JavaScript, whose keywords are in `given`.

    It gives what the body returns. The node is that of playwright's wheel, or one that is installed; without
    either a test is skipped.
    """
    import json
    from importlib.util import find_spec

    from intertwine_book.live.instrument import sources

    spec = find_spec("playwright")
    inside = Path(spec.origin).parent / "driver/node" if spec and spec.origin else None
    program = str(inside) if inside and inside.exists() else shutil.which("node")
    if program is None:
        pytest.skip("needs the extra 'browser', whose wheel has a node, or node itself")

    def run(parts: list[str], body: str, **given: Any) -> Any:
        script = (
            "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
            f"{sources(*parts)}\nconst result = (() => {{\n{body}\n}})();\n"
            "const plain = (key, value) => ArrayBuffer.isView(value) ? [...value] : value;\n"
            "process.stdout.write(JSON.stringify(result, plain));"
        )
        done = subprocess.run(
            [program, "-e", script], input=json.dumps(given), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else what was frozen is never freed, and nanobind reports leaks
