"""The modules of our two packages that a source imports, read from its text without running it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from intertwine_book.origin import LIBRARY, PACKAGES


def imported(source: Path, library: Path = LIBRARY) -> dict[str, Path]:
    """Every module of the library that a source imports, directly or by way of others.

    Statements inside functions count, and so do the `__init__` files on the way to a module.

    Example:
        >>> sorted(imported(LIBRARY / "intertwine/devices.py"))
        []
        >>> "intertwine.files" in imported(LIBRARY / "intertwine_book/record.py")
        True

    The library is the folder that holds both packages; modules are name → file, by name.
    """
    found: dict[str, Path | None] = {}  # None: a member of a module
    waiting = [source]
    while waiting:
        for parts in (name.split(".") for name in names(waiting.pop().read_text())):
            for module in (".".join(parts[:length]) for length in range(1, len(parts) + 1)):
                if module not in found and parts[0] in PACKAGES:
                    found[module] = path = _file(library, module)
                    waiting += [path] if path else []
    return {module: path for module, path in sorted(found.items()) if path}


def _file(library: Path, name: str) -> Path | None:
    place = library.joinpath(*name.split("."))
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


@cache
def names(text: str) -> frozenset[str]:
    """The dotted names that a source imports, of modules or of their members."""
    return frozenset(name for node in ast.walk(ast.parse(text)) for name in _dotted(node))


def _dotted(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
