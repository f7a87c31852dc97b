"""Figures, equations, theorems, exercises and sections carry their chapter's number; drawings have a twin."""

import re
import subprocess
import sys

from intertwine_book.build.interactive import DARK
from intertwine_book.figures.style import COLOURS, PAPER

CONF = """
extensions = ["myst_parser", "sphinx_proof", "sphinx_exercise",
              "intertwine_book.build.numbering", "intertwine_book.build.interactive"]
myst_enable_extensions = ["dollarmath"]
numfig = math_numfig = True
numfig_format = {"figure": "Figure %s"}
"""
CHAPTER = """# NUMBER · Title

## First

```{figure} drawn.svg
:name: fig-NUMBER
:alt: A drawing.
Caption.
```

$$1$$ (eq-NUMBER)

```{prf:theorem}
:label: thm-NUMBER
True.
```

```{exercise}
:label: ex-NUMBER
Do it.
```

## Second

### Deeper

{numref}`fig-NUMBER` {eq}`eq-NUMBER` {prf:ref}`thm-NUMBER`.
"""
ELSEWHERE = """# About

```{toctree}
a
b
```

```{figure} drawn.svg
:alt: A drawing.
A caption without a number.
```

Elsewhere {numref}`fig-3b` {eq}`eq-3b` {prf:ref}`thm-3b`.
"""


def test_numbers_are_by_chapter_and_references_agree_from_other_pages(tmp_path):
    for name, text in (("a", CHAPTER.replace("NUMBER", "3")), ("b", CHAPTER.replace("NUMBER", "3b"))):
        (tmp_path / f"{name}.md").write_text(text)
    (tmp_path / "index.md").write_text(ELSEWHERE)
    (tmp_path / "conf.py").write_text(CONF)
    ink = next(iter(DARK))
    (tmp_path / "drawn.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><path fill="{ink}"/></svg>')
    command = [sys.executable, "-m", "sphinx", "-nWq", "-b", "html", tmp_path, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    chapter, about = ((tmp_path / f"html/{name}.html").read_text() for name in ("b", "index"))
    words = re.sub(r"<[^>]*>|\s+", " ", chapter)
    for number in ("Figure 3b.1 ", "(3b.1)", "Theorem 3b.1 ", "Exercise 3b.1", "3b.1. First", "3b.2. Second"):
        assert re.sub(r"\s+", " ", number) in re.sub(r"\s+", " ", words), number
    assert "Figure 3b.1 (3b.1) Theorem 3b.1" in re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", about))
    assert "Figure 1" not in about and "Figure 2" not in about
    assert about.count('src="_images/drawn.svg"') == about.count('src="_images/drawn-dark.svg"') == 1
    assert DARK[ink] in (tmp_path / "html/_images/drawn-dark.svg").read_text()


def test_colours_that_are_lighter_on_dark_pages_are_those_of_the_figures():
    assert list(DARK) == [c.lower() for c in (COLOURS["ink"], PAPER, COLOURS["blue"], COLOURS["grey"])]
