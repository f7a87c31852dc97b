"""Fixtures: a book small enough to build in a test."""

import os
import shutil
from pathlib import Path

import pytest

from intertwine.book.layout import Book

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


@pytest.fixture
def tiny_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """Two chapters, two profiles and one page; `runs` beside it says which chapters ran."""
    root = tmp_path / "tiny"
    for folder in ("chapters/profiles", "book"):
        (root / folder).mkdir(parents=True)
    for name in ("01_first", "02_second"):
        (root / f"chapters/{name}.py").write_text(CHAPTER.replace("NAME", name))
    (root / "chapters/profiles/quick.yml").write_text("")
    (root / "chapters/profiles/smoke.yml").write_text("01_first: {seed: 5}")
    (root / "book/intro.md").write_text("# Tiny\n")
    (root / "book/_toc.yml").write_text(
        "format: jb-book\nroot: intro\nchapters: [{file: chapters/01_first}, {file: chapters/02_second}]\n"
    )
    (root / "_config.yml").write_text('title: Tiny\nexecute: {execute_notebooks: "off"}\n')
    shutil.copy(ROOT / "requirements.lock", root)
    monkeypatch.setenv("TINY_WORLD", str(tmp_path))
    monkeypatch.chdir(root)
    return Book(root)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of downloaded data sets, for tests on real data."""
    return Path(os.environ.get("INTERTWINE_DATA", ""))
