"""A Sphinx extension: pages read the facts of records, as in {fact}`03_stitching.group_low:.0f`.

It replaces text before it is parsed, so that an alternative text, which holds no roles, has the same facts.
"""

import re
from difflib import get_close_matches
from functools import cache
from typing import Any

from intertwine_book.read_told import read_told
from intertwine_book.record import kept_folder

_ROLE = re.compile(r"{fact}`(\w+)\.([^`:]+):?([^`]*)`")
_PERCENT = re.compile(r"(?<=[\d`]) %(?!%| \d)")  # of a number, and no operator of a program


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; the texts of notebooks are written out by `render`."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def told(text: str) -> str:
    """Text with its facts written out, and no line that ends between a number and its percent sign.

    Raises:
        ValueError: there is no such record, fact, or format.
    """
    return _ROLE.sub(lambda found: _fact(*found.groups()), _PERCENT.sub("\u00a0%", text))


def _fact(record: str, name: str, form: str) -> str:
    known = [path.parent.name for path in kept_folder().glob("*/told.json")]
    if record not in known:
        raise ValueError(_expected("a record", record, known))
    if name not in (facts := _facts(record)):
        raise ValueError(_expected(f"a fact of {record}", name, facts))
    written = format(facts[name], form)
    return written if isinstance(facts[name], str) else written.replace("-", "\u2212")  # a minus, no hyphen


@cache
def _facts(record: str) -> dict[str, Any]:
    return read_told(kept_folder() / record / "told.json")[1]


def _expected(what: str, given: str, known: Any) -> str:
    nearest = get_close_matches(given, known, n=1, cutoff=0) or ["none"]
    return f"Expected {what}, was given '{given}': the nearest is '{nearest[0]}'."


def _replace(app: Any, page: str, source: list[str]) -> None:
    from sphinx.util import logging

    lines = source[0].split("\n")
    for k, line in enumerate(lines if app.env.doc2path(page).endswith(".md") else []):
        try:
            lines[k] = told(line)
        except ValueError as error:
            logging.getLogger(__name__).warning(str(error), location=(page, k + 1))
    source[0] = "\n".join(lines)
