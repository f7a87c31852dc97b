"""The words of a page that Sphinx has read, as Markdown: sentences, with all their references and numbers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from docutils import nodes

_SPECIAL = re.compile(r"[\\`*$<~]|(?<!\w)_|_(?!\w)")  # what Markdown would read in a word
SILENT = (nodes.target, nodes.comment, nodes.substitution_definition, nodes.system_message)


@dataclass
class Page:
    """What the words of one page need: its numbers, and where its links lead.

    Args:
        document: the page, as Sphinx is about to write it.
        numbers: of figures, tables, equations, theorems, exercises and sections, by their ids.
        address: of a link of the page; None where it leads nowhere outside of the book.
    """

    document: nodes.document
    numbers: Mapping[str, str] = field(default_factory=dict)
    address: Callable[[str], str | None] = lambda link: None
    images: dict[str, str] = field(default_factory=dict)  # name → file, of pictures that a text shows

    @cached_property
    def named(self) -> set[str]:
        """The ids that links of the page itself lead to."""
        links = self.document.findall(nodes.reference)
        return {link.get("refid") or link.get("refuri", "").removeprefix("#") for link in links}

    def anchor(self, node: nodes.Element) -> str:
        return "".join(f'<a id="{name}"></a>' for name in node["ids"] if name in self.named)

    def number(self, node: nodes.Element) -> str:
        """Of a figure, an equation, a theorem; empty where it has none."""
        return next((self.numbers[name] for name in node["ids"] if name in self.numbers), "")


def inline(page: Page, node: nodes.Node) -> str:
    """One phrase of a sentence."""
    match node:
        case nodes.Text():
            return _SPECIAL.sub(r"\\\g<0>", str(node))
        case nodes.emphasis() | nodes.title_reference():
            return around("*", phrase(page, node))
        case nodes.strong():
            return around("**", phrase(page, node))
        case nodes.literal():
            return code(node.astext())
        case nodes.math():
            return f"${' '.join(node.astext().split())}$"
        case nodes.footnote_reference():
            return f"<sup>[{node.astext()}](#{node['refid']})</sup>"
        case nodes.superscript() | nodes.subscript():
            tag = node.tagname[:3]
            return f"<{tag}>{phrase(page, node)}</{tag}>"
        case nodes.reference():
            return _link(page, node)
        case nodes.image():
            return _image(page, node)
        case nodes.raw():
            return node.astext() if "html" in node["format"] else ""
    return "" if isinstance(node, SILENT) else phrase(page, node)


def phrase(page: Page, node: nodes.Node) -> str:
    """All that stands in a paragraph, a title, a caption."""
    return "".join(inline(page, child) for child in node.children)


def line(page: Page, node: nodes.Node) -> str:
    """A phrase on one line, as a heading or the cell of a table has it."""
    return " ".join(phrase(page, node).split())


def code(text: str) -> str:
    """Words of a program in a sentence.

    Example:
        >>> code("a"), code("`a`")
        ('`a`', '`` `a` ``')
    """
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def around(mark: str, text: str) -> str:
    """Emphasis, which Markdown does not see beside a space."""
    inner = text.strip()
    return text.replace(inner, f"{mark}{inner}{mark}") if inner else text


def _link(page: Page, node: nodes.Element) -> str:
    words, uri = phrase(page, node), node.get("refuri", "")
    here = node.get("refid") or (uri[1:] if uri.startswith("#") else "")
    target = f"#{here}" if here else page.address(uri)
    inner = words.strip()
    return words.replace(inner, f"[{inner}]({target})") if target and inner else words


def _image(page: Page, node: nodes.Element) -> str:
    uri = node["uri"]
    if "://" not in uri:
        name = uri.rpartition("/")[2]
        page.images[name] = uri
        uri = f"attachment:{name}"
    return f"![{' '.join(node.get('alt', '').split())}]({uri})"
