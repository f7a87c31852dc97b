"""A Sphinx extension: in code, a name that is imported from the library links to its description."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

_BLOCK = re.compile(r"<pre>.*?</pre>", re.DOTALL)
_IMPORT = re.compile(r"^from (intertwine[\w.]*) import (?:\(([^)]*)\)|([\w, ]+)$)", re.MULTILINE)
_NAME = re.compile(  # not after a dot; not a keyword of a call
    r'(?<!<span class="o">\.</span>)<span class="n">(\w+)</span>'
    r'(?:<span class="o">\.</span><span class="n">(\w+)</span>)?(?!<span class="o">=</span>)'
)
_LINK = '<a class="reference internal code-link" href="{}">{}</a>'


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def linked(body: str, address: Callable[[str], str | None]) -> str:
    """A page's html with links from its code; `address` knows where a full name is described.

    Example:
        >>> code = '<span class="n">fit</span>'
        >>> page = f"<pre>from intertwine.alignment import fit</pre> <pre>{code}</pre> <p>{code}</p>"
        >>> print(linked(page, {"intertwine.alignment.fit": "a.html#fit"}.get).partition("</pre> ")[2])
        <pre><a class="reference internal code-link" href="a.html#fit"><span class="n">fit</span></a></pre> <p><span class="n">fit</span></p>

    A name that the page's code assigns, too, is left alone.
    """  # noqa: E501
    text = "\n".join(unescape(re.sub(r"<[^>]+>", "", block)) for block in _BLOCK.findall(body))
    full = {
        name: f"{module}.{name}"
        for module, several, some in _IMPORT.findall(text)
        for name in re.findall(r"\w+", several or some)
        if not re.search(rf"^\s*(\w+, )*{name}(, \w+)* = |\bfor {name}\b", text, re.MULTILINE)
    }

    def link(found: re.Match[str]) -> str:
        name = full.get(found[1])
        if name and (where := address(name)):
            first = f'<span class="n">{found[1]}</span>'
            return found[0].replace(first, _LINK.format(where, first), 1)
        if name and found[2] and (where := address(f"{name}.{found[2]}")):  # of a module
            return _LINK.format(where, found[0])
        return found[0]

    return _BLOCK.sub(lambda block: _NAME.sub(link, block[0]), body) if full else body


def _link(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    described = app.env.domaindata["py"]["objects"]

    def address(name: str) -> str | None:
        found = described.get(name)
        if found is None or found.objtype == "module":
            return None
        return f"{app.builder.get_relative_uri(page, found.docname)}#{found.node_id}"

    if not page.startswith("_modules/"):
        context["body"] = linked(context.get("body", ""), address)
