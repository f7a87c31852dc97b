"""A Sphinx extension: a function's parameters as a table: type, default, what it is.

Types and defaults come from the signature, words from the section *Args* of the docstring. Words that refer
to another function, such as *as in `cka`*, are replaced by those of that function.
"""

import inspect
import re
import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from sphinx.util.inspect import stringify_signature
from sphinx.util.typing import stringify_annotation

Function = Callable[..., Any]

_STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_ARGS = re.compile(r"^Args:\n((?:(?: +.*)?\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*): ((?:.*\n)(?: {5,}.*\n)*)", re.MULTILINE)
_NEXT = re.compile(r"^(?:Returns|Yields|Raises|Note):$|\Z", re.MULTILINE)
_ELSEWHERE = re.compile(r"(, )?\bas (?:in )?`([\w.]+)`(?: takes (?:it|them))?[.;]? ?")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _tabulate, priority=450)  # before napoleon
    app.connect("autodoc-process-signature", _shorten)
    return {"parallel_read_safe": True}


def words_of(function: Function) -> dict[str, str]:
    """Parameter → what the docstring says of it, with the words of other functions in their place.

    What it adds for several parameters that another function explains is the entry "".

    Example:
        >>> from intertwine.similarity import grelu_procrustes
        >>> words_of(grelu_procrustes)["X"][:36], words_of(grelu_procrustes)[""][:27]
        ('features (n, p), tokens (n, t, p) or', 'The paper has "samples". Wh')
    """
    words: dict[str, str] = {}
    for name in _entries(function):
        words[name], rest = _resolved(function, name)
        words |= {"": rest} if rest else {}
    return words


def _resolved(function: Function, name: str) -> tuple[str, str]:
    """What is said of one parameter, and what is added for all that share its entry."""
    text, shared = _entries(function)[name]
    there = _ELSEWHERE.search(text)
    if there is None or not (said := _said(function, there[2], name)):
        return text, ""
    rest = text[there.end() :]
    if shared or said.endswith("."):  # it stands alone, or begins a sentence
        rest = rest[:1].upper() + rest[1:]
    if shared:
        return said, rest
    return f"{text[: there.start()]}{'. ' if there[1] else ''}{said} {rest}".strip(), ""


def _entries(function: Function) -> dict[str, tuple[str, bool]]:
    """Parameter → its words as they stand there, and whether another one shares them."""
    found = _ARGS.search((inspect.getdoc(function) or "") + "\n")
    return {
        name.strip("*"): (" ".join(text.split()), "," in names)
        for names, text in (_ENTRY.findall(found[1]) if found else ())
        for name in names.split(", ")
    }


def _said(function: Function, named: str, parameter: str) -> str:
    """What another function says of this parameter, or of one whose name ends with it; "" if nothing."""
    module, first = function.__module__, named.split(".")[0]
    while module and not callable(getattr(sys.modules[module], first, None)):
        module = module.rpartition(".")[0]  # the function may be a neighbour's, known to the package
    thing: Any = sys.modules.get(module)
    for part in named.split("."):
        thing = getattr(thing, part, None)
    known = _entries(thing) if callable(thing) and thing is not function else {}
    name = next((each for each in known if f"_{each}".endswith(f"_{parameter}")), None)
    return _resolved(thing, name)[0] if name else ""


def type_of(annotation: Any) -> str:
    """A type as people write it: without modules, the choices of a literal side by side.

    Example:
        >>> from typing import Literal
        >>> type_of(Literal["max", "sum"] | None)
        "'max' | 'sum' | None"
    """
    if annotation is Parameter.empty:
        return ""
    text = stringify_annotation(annotation, "fully-qualified-except-typing")
    text = re.sub(r"\b[a-z_]\w*\.(?:\w+\.)*(?=\w)", "", text)
    return re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace(", ", " | "), text)


def table(function: Function) -> list[str]:
    """Lines of reStructuredText, a row for each parameter; none where there is nothing to tell.

    Example:
        >>> from intertwine.genni import epsilon_set
        >>> [line.strip() for line in table(epsilon_set)[5:11]]
        ['* - parameter', '- type', '- default', '- what it is', '* - ``grid``', '- ``Grid``']
    """
    words = words_of(function)
    rows = [["parameter", "type", "default", "what it is"]]
    for each in _parameters(function):
        default = "" if each.default is each.empty else f"``{each.default!r}``"
        type_ = type_of(each.annotation)
        name = f"``{_STARS.get(each.kind, '')}{each.name}``"
        rows.append([name, type_ and f"``{type_}``", default, words.get(each.name, "")])
    if len(rows) == 1:
        return []
    shown = rows if words else [row[:-1] for row in rows]
    lines = [".. list-table::", "   :class: parameters", "   :header-rows: 1", ""]
    for row in shown:
        lines += [f"   {'* ' if k == 0 else '  '}- {cell}" for k, cell in enumerate(row)]
    return ["", *lines, "", words.get("", ""), ""]


def _parameters(function: Function) -> list[Parameter]:
    known = inspect.signature(function).parameters.values()
    return [each for each in known if each.name not in ("self", "cls")]


def _told(what: str, thing: Any) -> bool:
    """Functions have a table; methods and classes where their docstring tells of their arguments."""
    return what == "function" or (what in ("method", "class") and bool(words_of(thing)))


def _tabulate(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if _told(what, thing):
        text = "\n".join(lines) + "\n"
        found = _ARGS.search(text) or _NEXT.search(text)
        assert found is not None  # the end of the text, if nothing else
        end = found.end() if found[0].startswith("Args") else found.start()
        lines[:] = [*text[: found.start()].splitlines(), *table(thing), *text[end:].splitlines()]


def _shorten(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """The signature without the types that the table has."""
    if not signature or not _told(what, thing):
        return None
    own = inspect.signature(thing)
    bare = own.replace(parameters=_parameters(thing)) if what != "function" else own
    return stringify_signature(bare, show_annotation=False, show_return_annotation=False), returned
