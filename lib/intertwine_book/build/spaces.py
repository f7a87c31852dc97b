"""A Sphinx extension: no line of a page ends between a number and its percent sign."""

from typing import Any

from docutils import nodes

_AS_WRITTEN = (nodes.literal, nodes.literal_block, nodes.raw, nodes.math, nodes.math_block, nodes.comment)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx, before `download` writes the page's notebook."""
    app.connect("doctree-resolved", lambda app, document, page: bind(document), priority=790)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def bind(document: nodes.Element) -> None:
    """Put a space that does not break before each percent sign of a text; code stays as it is written."""
    for text in list(document.findall(nodes.Text)):
        if " %" in text and not isinstance(text.parent, _AS_WRITTEN):
            text.parent.replace(text, nodes.Text(text.replace(" %", "\u00a0%")))
