"""A Sphinx extension: pages read recorded facts, as in {fact}`03_stitching.group_low:.0f`.

It replaces text before it is parsed, so that an alternative text, which holds no roles, has the same facts.
"""

import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from intertwine_book import stories
from intertwine_book.record import kept_folder
from intertwine_book.told import read_told

_ROLE = re.compile(r"{fact}`(\w+)([ .])([^`:]+):?([^`]*)`")
_STORIES = [each.name for each in iter_modules(stories.__path__) if each.name != "told"]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def told(text: str) -> str:
    """Text with its facts written out.

    Example:
        >>> told("The number is {fact}`07_shallow_relu.regions:.0f`.")
        'The number is 7.'

    A fact of a record stands behind the record's name and a point, one of a story behind the story's name.

    Raises:
        ValueError: there is no such record, story, fact, or format.
    """
    return _ROLE.sub(lambda found: _fact(*found.groups()), text)


def _fact(source: str, sign: str, name: str, form: str) -> str:
    of_record = sign == "."
    known = [path.parent.name for path in kept_folder().glob("*/told.json")] if of_record else _STORIES
    if source not in known:
        raise ValueError(_expected("a record" if of_record else "a story", source, known))
    if name not in (facts := _facts_of_record(source) if of_record else _facts_of_story(source)):
        raise ValueError(_expected(f"a fact of {source}", name, facts))
    return format(facts[name], form)


@cache
def _facts_of_record(record: str) -> dict[str, Any]:
    return read_told(kept_folder() / record / "told.json")[1]


@cache
def _facts_of_story(story: str) -> dict[str, Any]:
    return dict(import_module(f"intertwine_book.stories.{story}").facts())


def _expected(what: str, given: str, known: Any) -> str:
    nearest = get_close_matches(given, known, n=1, cutoff=0) or ["none"]
    return f"Expected {what}, was given '{given}': the nearest is '{nearest[0]}'."


def _replace(app: Any, page: str, source: list[str]) -> None:
    from sphinx.util import logging

    lines = source[0].split("\n")
    for k, line in enumerate(lines):
        try:
            lines[k] = told(line)
        except ValueError as error:
            logging.getLogger(__name__).warning(str(error), location=(page, k + 1))
    source[0] = "\n".join(lines)
