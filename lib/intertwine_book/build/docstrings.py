"""A Sphinx extension: docstrings as people write them, who mean |x| by |x| and code by `code`.

A name of the library becomes a link, a symbol or $a formula$ is typeset, a key of the bibliography cites.
"""

import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from intertwine_book.build.formulas import as_tex, typeset
from intertwine_book.build.library import public

_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")
_KEY = re.compile(r"(?<![\w`])([a-z][a-z-]*(?:19|20)\d\d[a-z]*)\b")
_TYPE = re.compile(r" +:type: ")
_COLON = "\ufdd0"  # stands for a colon until napoleon has read the docstring


def as_we_write(line: str, links: dict[str, str] | None = None, keys: frozenset[str] = frozenset()) -> str:
    """A line of a docstring as reStructuredText; lines of an example are left unchanged.

    Example:
        >>> as_we_write("the largest |x| that `f` takes", {"f": "here.f"})
        'the largest \\\\|x\\\\| that :py:obj:`f <here.f>` takes'
        >>> as_we_write("$x ↦ Ax$ in H_σ of godfrey2022", keys=frozenset(["godfrey2022"]))
        ':math:`x ↦ Ax` in :math:`H_{σ}` of :cite:alp:`godfrey2022`'

    Args:
        links: what stands in backticks → the full name that it leads to.
        keys: of the bibliography.
    """
    if line.lstrip().startswith((">>>", "...")):
        return line

    def code(found: re.Match[str]) -> str:
        first, dot, rest = found[1].removesuffix("()").partition(".")
        names = links or {}
        target = names.get(first + dot + rest) or (names[first] + dot + rest if first in names else None)
        return f":py:obj:`{found[1]} <{target}>`" if target else f"``{found[1]}``"

    def words(text: str) -> str:
        text = _KEY.sub(lambda found: f":cite:alp:`{found[1]}`" if found[1] in keys else found[1], text)
        return text.replace("|", r"\|")

    pieces = re.split(r"(``?[^`]+``?|\$[^$]+\$)", line)  # text in backticks is literal
    line = "".join(piece if i % 2 else typeset(piece) for i, piece in enumerate(pieces))
    pieces = re.split(r"(``?[^`]+``?|\$[^$]+\$)", line)
    for i, piece in enumerate(pieces):
        if i % 2 and piece[0] == "$":  # a role needs a space beside it, and an escaped one does not show
            before = r"\ " if re.search(r"\S$", pieces[i - 1]) else ""
            pieces[i] = before + f":math:`{as_tex(piece[1:-1])}`"
            pieces[i] += r"\ " if re.match(r"\S", pieces[i + 1]) else ""
        else:
            pieces[i] = _CODE.sub(code, piece) if i % 2 else words(piece)
    return "".join(pieces)


@cache
def _links(package: str) -> dict[str, str]:
    """What may stand in backticks in the docstrings of a package → where it leads.

    A bare name leads into the package itself. One that is no plain word leads to the only other that has it.
    """
    shorts = [*public().values()]
    words = Counter(short.rpartition(".")[2] for short in shorts)
    links = {word: short for short in shorts if words[word := short.rpartition(".")[2]] == 1}
    links = {word: short for word, short in links.items() if not re.fullmatch("[a-z]+", word)}
    links |= public() | {short: short for short in shorts}
    for start in ("intertwine.", f"{package}."):
        links |= {short.removeprefix(start): short for short in shorts if short.startswith(start)}
    return links


def _arguments(thing: Any) -> set[str]:
    try:
        return {*inspect.signature(thing).parameters}
    except (TypeError, ValueError):
        return set()


@cache
def _keys(bibliography: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^@\w+{(.+),$", bibliography.read_text(), re.MULTILINE))


def _protect(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the colons of what is said of an attribute: napoleon takes all before the first for its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = lines[0].replace(":", _COLON)


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    keys, example = _keys(Path(app.srcdir, "references.bib")), False
    own = _arguments(obj)
    links = _links(".".join(name.split(".")[:2]))
    links = {word: full for word, full in links.items() if full != name and word not in own}
    lines[:] = _typed(lines)
    for i, line in enumerate(lines):  # an example ends with the next blank line
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        as_is = example or _TYPE.match(line)  # a type is no sentence
        lines[i] = (line if as_is else as_we_write(line, links, keys)).replace(_COLON, ":")


def _typed(lines: list[str]) -> list[str]:
    """Attributes that napoleon found, with their types as options, which become part of their signatures."""
    found: list[str] = []
    last = 0
    for line in lines:
        if line.startswith(".. attribute::"):
            last = len(found)
        if _TYPE.match(line):
            found.insert(last + 1, line)
        else:
            found.append(line)
    return found


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out docstrings that Python generates, such as `Alias for field number 0`."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _protect, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
