"""A Sphinx extension: the first interval of a page, "95 % interval" or in brackets, links to what it is.

The notation page says it once, at `(intervals)=`. Nobody writes such a link by hand, so none is forgotten.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docutils import nodes

LABEL = "intervals"
_NUMBER = r"[−-]?\d+(?:\.\d+)?"
_INTERVAL = re.compile(rf"(95\s%\s(?:t-)?intervals?|\[{_NUMBER},\s{_NUMBER}\])")
_TAKEN = (nodes.reference, nodes.literal, nodes.literal_block, nodes.raw, nodes.title)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx, before `download` writes the page's notebook."""
    app.connect("doctree-resolved", _link, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _link(app: Any, document: nodes.document, page: str) -> None:
    there = app.env.get_domain("std").anonlabels.get(LABEL)
    if not (page.startswith("chapters/") and there):
        return
    address = app.builder.get_relative_uri(page, there[0]) + f"#{there[1]}"
    for parent in {_block(text): None for text in document.findall(nodes.Text)}:
        if _within(parent, _TAKEN):
            continue
        runs = [*_runs(parent)]
        for k, run in enumerate(runs):
            if linked := _linked(run, parent, address):
                runs[k] = linked
                parent.children = [piece for each in runs for piece in each]
                return  # one link a page: a link at each number would be noise


def _block(text: nodes.Text) -> nodes.Element:
    """What holds the sentence: a number from the run, a phrase of its own, belongs to its neighbours."""
    return text.parent.parent if _is_words(text.parent) else text.parent


def _is_words(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Text) or "pasted-text" in getattr(node, "attributes", {}).get("classes", ())


def _runs(parent: nodes.Element) -> Iterator[list[nodes.Node]]:
    for _, run in groupby(parent.children, _is_words):
        yield list(run)


def _linked(run: list[nodes.Node], parent: nodes.Element, address: str) -> list[nodes.Node]:
    """The run with its first interval as a link; empty where it has none."""
    parts = _INTERVAL.split("".join(each.astext() for each in run), maxsplit=1)
    if not _is_words(run[0]) or len(parts) == 1:
        return []
    pieces = [_piece(k, part, address) for k, part in enumerate(parts)]
    for piece in pieces:
        piece.parent = parent
    return pieces


def _within(node: nodes.Node | None, kinds: tuple[type, ...]) -> bool:
    while node and not isinstance(node, kinds):
        node = node.parent
    return node is not None


def _piece(k: int, part: str, address: str) -> nodes.Node:
    """Every second part of a split text is what it was split at."""
    if k % 2 == 0:
        return nodes.Text(part)
    return nodes.reference("", part, internal=True, refuri=address, classes=["interval"])
