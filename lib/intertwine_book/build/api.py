"""A Sphinx extension for the pages of the library: their functions, and docstrings as people write them.

`.. functions:: intertwine.shallow` and names make a table of one line each, and then an entry for each. With
`:short:`, for what is returned and not made by hand, an entry has no arguments.
"""

import importlib
import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

_KEY = re.compile(r"(?<![\w`])([a-z][a-z-]*(?:19|20)\d\d[a-z]*)\b")
_ARGUMENTS = re.compile(r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL)  # on lines of their own
_COLON = "\ufdd0"  # stands for a colon until napoleon has read the docstring


class Functions(SphinxDirective):
    """Names of a module: a table of one line each, then an entry for each, in the given order."""

    required_arguments = 1
    option_spec: ClassVar = {"without-members": directives.flag, "short": directives.flag}
    has_content = True

    def run(self) -> list[nodes.Node]:
        module, names = self.arguments[0], " ".join(self.content).split()
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
        for name in names:
            try:
                thing = offered(module, name)
            except ValueError as error:
                raise self.error(str(error)) from error
            if inspect.isclass(thing):
                kind = "autoexception" if issubclass(thing, Exception) else "autoclass"
                lines.append(f".. {kind}:: {name}" + "()" * ("short" in self.options))
                lines += ["   :members:"] * ("without-members" not in self.options) + [""]
            elif inspect.isfunction(thing):
                lines += [f".. autofunction:: {name}", ""]
            else:
                lines += [f".. autodata:: {name}", "   :no-value:", ""]
                if isinstance(thing, Mapping | tuple):
                    lines += [f"   Its entries: {', '.join(f'``{each!r}``' for each in thing)}.", ""]
        box = nodes.container()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, box)
        return box.children


def offered(module: str, name: str) -> Any:
    """What a module offers under a name; a file of that name is loaded, too, and is not meant.

    Example:
        >>> offered("intertwine.similarity", "nulls")
        Traceback (most recent call last):
        ...
        ValueError: Expected nulls among the names of intertwine.similarity, found the file nulls.py: ...
    """
    thing = getattr(importlib.import_module(module), name, None)
    if inspect.ismodule(thing):
        raise ValueError(
            f"Expected {name} among the names of {module}, found the file {name}.py: import what is meant in "
            f"the package's __init__.py."
        )
    if thing is None:
        raise ValueError(f"Expected {name} among the names of {module}, found none.")
    return thing


def as_we_write(line: str, keys: frozenset[str] = frozenset()) -> str:
    """A line of a docstring as reStructuredText: |x| is |x|, a $formula$ is shown as it stands, a key cites.

    Example:
        >>> as_we_write("the largest |x| of $x ↦ Ax$ in godfrey2022", frozenset(["godfrey2022"]))
        'the largest \\\\|x\\\\| of ``x ↦ Ax`` in :cite:alp:`godfrey2022`'
    """
    pieces = re.split(r"(``?[^`]+``?|\$[^$]+\$)", line)
    for i, piece in enumerate(pieces):
        if i % 2:  # what stands in backticks is as it is
            pieces[i] = f"``{piece[1:-1]}``" if piece[0] == "$" else piece
        else:
            cited = _KEY.sub(lambda found: f":cite:alp:`{found[1]}`" if found[1] in keys else found[1], piece)
            pieces[i] = cited.replace("|", r"\|")
    return "".join(pieces)


@cache
def _keys(bibliography: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^@\w+{(.+),$", bibliography.read_text(), re.MULTILINE))


def _protect(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the colons of what is said of an attribute: napoleon takes all before the first for its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = lines[0].replace(":", _COLON)


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    keys, example = _keys(Path(app.srcdir, "references.bib")), False
    for i, line in enumerate(lines):  # an example ends with the next blank line
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        lines[i] = (line if example else as_we_write(line, keys)).replace(_COLON, ":")


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out docstrings that Python generates, such as `Alias for field number 0`."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def _list_arguments(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Arguments on lines of their own are a list: Sphinx makes descriptions of them that describe nothing."""

    def items(found: re.Match[str]) -> str:
        lines = found[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
        return f'<ul class="arguments">\n{lines}</ul>'

    context["body"] = _ARGUMENTS.sub(items, context.get("body", ""))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("functions", Functions)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _protect, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _process)
    app.connect("html-page-context", _list_arguments)
    return {"parallel_read_safe": True}
