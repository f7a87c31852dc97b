"""A Sphinx extension: the sidebar has two doors, *Book* and *Library*, and the contents behind one of them.

A part of `_toc.yml` whose caption begins with *The library* is the library's, every other part the book's.
"""

import re
from collections.abc import Mapping
from typing import Any

DOORS = {"Book": "intro", "Library": "api/index"}  # and their first pages
_PART = re.compile(r'(?=<p aria-level="2" class="caption")')


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _open, priority=900)  # after the theme's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def one_door(contents: str, addresses: Mapping[str, str]) -> str:
    """The contents behind the door of the current page, with a link to each door before them.

    Example:
        >>> part = '<p aria-level="2" class="caption" role="heading">'
        >>> both = f'{part}The chapters</p> 1 {part}The library</p> <li class="current">2</li>'
        >>> shown = one_door(both, {"Book": "intro.html", "Library": "#"})
        >>> "The chapters" in shown, "The library" in shown, shown[19:49]
        (False, True, '<a href="intro.html">Book</a><')
    """
    parts: dict[str, list[str]] = {"Book": [], "Library": []}
    for part in _PART.split(contents):
        parts["Library" if ">The library" in part else "Book"].append(part)
    here = next((door for door, own in parts.items() if "current" in "".join(own)), "Book")
    marks = {door: ' aria-current="true"' if door == here else "" for door in parts}
    links = "".join(f'<a href="{addresses[door]}"{marks[door]}>{door}</a>' for door in parts)
    return f'<div class="doors">{links}</div>{"".join(parts[here])}'


def _open(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    make = context.get("generate_toctree_html")
    if make is None or not app.env.found_docs.issuperset(DOORS.values()):
        return
    addresses = {door: context["pathto"](first) for door, first in DOORS.items()}

    def contents(kind: str, **options: Any) -> Any:
        made = make(kind, **options)
        return one_door(str(made), addresses) if kind == "sidebar" else made

    context["generate_toctree_html"] = contents
