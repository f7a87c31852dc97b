"""A Sphinx extension for the pages of the library: which functions there are, in the order of their use.

`.. functions:: intertwine.shallow` and names make a table of one line each, and then an entry for each. In
their signatures a type is its last word, and an array has its shape: `Tensor[n p]`. With `:short:`, for what
is returned and not made by hand, a signature has only the arguments that must be given.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

_ARGUMENTS = re.compile(
    r'<dl>\n(<dd><em class="sig-param">.*?)</dl>', re.DOTALL
)  # that stand on lines of their own


@cache
def public() -> dict[str, str]:
    """The full name where a thing of the library is defined → the name by which it is imported.

    Example:
        >>> public()["intertwine.groups.activations.Activation"]
        'intertwine.groups.Activation'
    """
    library = importlib.import_module("intertwine")
    modules = [f"intertwine.{each.name}" for each in pkgutil.iter_modules(library.__path__)]
    return {
        f"{getattr(thing, '__module__', module)}.{name}": f"{module}.{name}"
        for module in modules
        for name, thing in offered(module).items()
    }


def offered(module: str) -> dict[str, Any]:
    """What a module has for others: what its `__all__` names, or else what it defines itself.

    Example:
        >>> list(offered("intertwine.data"))
        ['Dataset', 'Masks']
    """
    loaded = importlib.import_module(module)
    ours = [
        name
        for name, thing in vars(loaded).items()
        if getattr(thing, "__module__", "") == module and name[0] != "_" and callable(thing)
    ]
    return {name: getattr(loaded, name) for name in getattr(loaded, "__all__", ours)}


def directive(thing: Any) -> str:
    """The directive of autodoc that documents a thing.

    Example:
        >>> directive(offered), directive(ValueError), directive(3)
        ('autofunction', 'autoexception', 'autodata')
    """
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, Exception) else "autoclass"
    return "autofunction" if inspect.isfunction(thing) else "autodata"


def needed(thing: type) -> str:
    """The arguments without which a class cannot be called, as its signature.

    Example:
        >>> from intertwine.groups import Orthogonal
        >>> needed(Orthogonal)
        '(n)'
    """
    given = inspect.signature(thing).parameters.values()
    return f"({', '.join(each.name for each in given if each.default is each.empty)})"


def entries(thing: Any) -> list[str]:
    """The keys of a mapping or the words of a tuple, as the text of its entry.

    Example:
        >>> entries(("yes", "no"))
        ["   Its entries: ``'yes'``, ``'no'``.", '']
    """
    if not isinstance(thing, Mapping | tuple):
        return []
    return [f"   Its entries: {', '.join(f'``{each!r}``' for each in thing)}.", ""]


class Functions(SphinxDirective):
    """Names of a module: a table of one line each, then an entry for each, in the given order."""

    required_arguments = 1
    option_spec: ClassVar = {"without-members": directives.flag, "short": directives.flag}
    has_content = True

    def run(self) -> list[nodes.Node]:
        module, names = self.arguments[0], " ".join(self.content).split()
        things, extra = importlib.import_module(module), {"autodata": ["   :no-value:"]}
        if "without-members" not in self.options:
            extra["autoclass"] = ["   :members:"]
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
        for name in names:
            thing = getattr(things, name)
            kind = directive(thing)
            short = needed(thing) if "short" in self.options and kind == "autoclass" else ""
            lines += [f".. {kind}:: {name}{short}", *extra.get(kind, []), ""]
            lines += entries(thing) if kind == "autodata" else []
        box = nodes.container()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, box)
        return box.children


def _short_types(app: Any, document: nodes.document) -> None:
    """Types by their last word, linked to where they are described; jaxtyping's arrays by their shape."""
    for signature in document.findall(addnodes.desc_signature):
        for reference in [*signature.findall(addnodes.pending_xref)]:
            if reference["reftarget"].endswith(".Callable"):
                _without_brackets(reference)
        for reference in [*signature.findall(addnodes.pending_xref)]:
            full = reference["reftarget"]
            reference["reftarget"] = public().get(full, full)
            reference.children = []
            reference += nodes.Text(full.rpartition(".")[2])
            if full.startswith("jaxtyping."):
                _shape(reference)


def _shape(reference: addnodes.pending_xref) -> None:
    """`Float[Tensor, 'n p']`, of which this is the first word, becomes `Tensor[n p]`."""
    parent = reference.parent
    first = parent.index(reference)
    texts = [node.astext() for node in parent.children[first:]]
    if "," in texts and "]" in texts:
        comma, end = first + texts.index(","), first + texts.index("]")
        shape = parent.children[end - 1].astext().strip("'\" ")
        array = parent.children[first + 2 : comma]
        inside = [nodes.Text(f"[{shape}]")] if shape not in ("", "...") else []
        parent[first : end + 1] = [*array, *inside]


def _without_brackets(reference: addnodes.pending_xref) -> None:
    """`Callable[[Tensor], float]` becomes `Callable`: what it takes and gives is said with the argument."""
    parent, depth = reference.parent, 0
    if reference not in parent:
        return  # within the brackets of another
    stop = start = parent.index(reference) + 1
    while stop < len(parent) and (depth or parent[stop].astext() == "["):
        depth += {"[": 1, "]": -1}.get(parent[stop].astext(), 0)
        stop += 1
        if not depth:
            break
    del parent[start:stop]


def listed(body: str) -> str:
    """A page's html, in which arguments on lines of their own are a list, which a screen reader counts.

    Example:
        >>> listed('<dl>\\n<dd><em class="sig-param">x</em>,</dd>\\n</dl>')
        '<ul class="arguments">\\n<li><em class="sig-param">x</em>,</li>\\n</ul>'

    Sphinx makes descriptions of them that describe nothing.
    """

    def items(found: re.Match[str]) -> str:
        lines = found[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
        return f'<ul class="arguments">\n{lines}</ul>'

    return _ARGUMENTS.sub(items, body)


def _list_arguments(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    context["body"] = listed(context.get("body", ""))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("functions", Functions)
    app.connect("html-page-context", _list_arguments)
    app.connect("doctree-read", _short_types)
    return {"parallel_read_safe": True}
