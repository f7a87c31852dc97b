"""A Sphinx extension: figures, equations, theorems, exercises and sections have numbers such as 3b.1."""

import functools
import re
from typing import Any

_CHAPTER = re.compile(r"(R?\d+[a-z]?) · ")  # as the title of a chapter or, with an R, of a record begins


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; a late listener, for Sphinx numbers through the whole book first."""
    app.connect("env-get-updated", _by_chapter, priority=900)
    app.connect("write-started", _read_once)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read_once(app: Any, builder: Any) -> None:
    """Sphinx would read the whole page that a number is on from its file for each reference to the number."""
    app.env.get_doctree = functools.cache(app.env.get_doctree)


def _by_chapter(app: Any, env: Any) -> list[str]:
    for page, title in env.titles.items():
        if not (found := _CHAPTER.match(title.astext())):
            env.toc_fignumbers.pop(page, None)  # elsewhere figures have captions and no numbers
            continue
        for numbers in env.toc_fignumbers.get(page, {}).values():
            for k, label in enumerate(numbers, 1):
                numbers[label] = (found[1], k)
        contents = env.tocs[page][0][1:]  # behind the title of the page
        for k, section in enumerate(contents[0] if contents else [], 1):
            reference = section[0][0]
            reference["secnumber"] = number = (found[1], k)
            env.toc_secnumbers.setdefault(page, {})[reference["anchorname"]] = number
    return []
