"""The first interval of a chapter links to the one place that says what it is."""

import re
import subprocess
import sys

import pytest

CONF = """
extensions = ["myst_parser", "intertwine_book.build.intervals"]
myst_enable_extensions = ["attrs_inline"]
"""
CHAPTER = """# 3 · Title

{first}

A mean with 95 % interval, a gain of 0.05 [−0.02, 0.12], two with 95 % t-intervals, and `[0, 1]`.
The range [from, to] is none.
From a run: 0.02 [[0.01]{.pasted-text}, [0.03]{.pasted-text}].
"""
NOTATION = """# Notation

(intervals)=
**Intervals** are 95 % intervals by Student's t.

```{toctree}
chapters/a
```
"""


@pytest.mark.parametrize(
    ("written", "linked"),
    [
        ("None is here.", "95 % interval"),
        ("In `[0, 1]`: 0.02 [[0.01]{.pasted-text}, [0.03]{.pasted-text}].", "[0.01, 0.03]"),
        ("Two of 0.05 [−0.02, 0.12] and [0, 1].", "[−0.02, 0.12]"),
    ],
)
def test_the_first_interval_of_a_chapter_links_to_what_intervals_are(tmp_path, written, linked):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters/a.md").write_text(CHAPTER.replace("{first}", written))
    (tmp_path / "index.md").write_text(NOTATION)
    (tmp_path / "conf.py").write_text(CONF)
    command = [sys.executable, "-m", "sphinx", "-nWq", "-b", "html", tmp_path, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    chapter, notation = ((tmp_path / "html" / name).read_text() for name in ("chapters/a.html", "index.html"))
    links = re.findall(r'<a class="interval[^"]*" href="([^"]*)">([^<]*)</a>', chapter)
    assert links == [("../index.html#intervals", linked)]
    assert 'id="intervals"' in notation and 'class="interval' not in notation
