"""A Sphinx extension: a proof that folds has a title to press.

sphinx-proof gives it none, and the script that folds stops at the first without one: all below stays open.
"""

from typing import Any

from docutils import nodes

_TITLE = "Proof"


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", lambda app, document: give_titles(document))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def give_titles(document: nodes.document) -> None:
    """Move the word that a folded proof begins with into a title."""
    for proof in document.findall(nodes.admonition):
        if {"proof", "dropdown"} <= {*proof["classes"]} and not isinstance(proof[0], nodes.title):
            begin = next(iter(proof.findall(nodes.Text)))
            begin.parent.replace(begin, nodes.Text(begin.removeprefix(f"{_TITLE}.").lstrip()))
            proof.insert(0, nodes.title("", _TITLE))
