"""A Sphinx extension: our docstrings mean |x| by |x|, and `code` by `code`."""

import re
from typing import Any

_CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?![`_])")


def as_we_write(line: str) -> str:
    """A line of a docstring as reStructuredText; lines of an example are left unchanged.

    Example:
        >>> as_we_write("the largest |x| that `f` takes")
        'the largest \\\\|x\\\\| that ``f`` takes'
    """
    if line.lstrip().startswith((">>>", "...")):
        return line
    pieces = re.split(r"(``?[^`]+``?)", line)  # text in backticks is literal
    return "".join(_CODE.sub(r"``\1``", p) if i % 2 else p.replace("|", r"\|") for i, p in enumerate(pieces))


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    example = False
    for i, line in enumerate(lines):  # an example ends with the next blank line
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        lines[i] = line if example else as_we_write(line)


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out docstrings that Python generates, such as `Alias for field number 0`."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
