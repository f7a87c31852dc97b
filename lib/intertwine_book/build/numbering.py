"""A Sphinx extension: figures, equations, theorems, exercises and sections have numbers such as 3b.1."""

import re
from typing import Any

_CHAPTER = re.compile(r"(\d+[a-z]?) · ")  # as a chapter's title begins


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; a late listener, for Sphinx numbers through the whole book first."""
    app.connect("env-get-updated", _by_chapter, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
