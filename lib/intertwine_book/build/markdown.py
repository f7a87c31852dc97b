"""The blocks of a page that Sphinx has read, as Markdown that any notebook shows: lists, tables, theorems."""

import re
from collections.abc import Iterable

from docutils import nodes

from intertwine_book.build.phrases import SILENT, Page, around, inline, line, phrase

_START = re.compile(r"(?m)^(\d*)([-+#>.)])(?=\s)")  # what Markdown would read at the start of a line
_ROW = "| {} |".format


def text(page: Page, children: Iterable[nodes.Node]) -> str:
    """Blocks, with an empty line between them."""
    written = (block(page, child).strip("\n") for child in children)
    return "\n\n".join(each for each in written if each)


def block(page: Page, node: nodes.Node) -> str:
    """A paragraph, a list, a table, a theorem: whatever stands on lines of its own."""
    match node:
        case _ if isinstance(node, SILENT):
            return ""
        case nodes.paragraph():
            return _START.sub(r"\1\\\2", phrase(page, node))
        case nodes.math_block():
            return _equation(page, node)
        case nodes.literal_block() | nodes.doctest_block():
            return _program(node)
        case nodes.bullet_list() | nodes.enumerated_list():
            return _items(page, node)
        case nodes.definition():
            return quote(text(page, node.children))
        case nodes.caption():
            return caption(page, node.parent, node)
        case nodes.table():
            return _table(page, node)
        case nodes.footnote() | nodes.citation():
            label, *told = node.children
            return f'<a id="{node["ids"][0]}"></a><sup>[{label.astext()}]</sup> {text(page, told)}'
        case nodes.block_quote():
            return quote(text(page, node.children))
        case nodes.transition():
            return "---"
        case nodes.line_block():
            return "  \n".join(line(page, child) for child in node.children)
        case nodes.Admonition() if node.tagname != "proof_node":
            return _admonition(page, node)
        case nodes.Text() | nodes.Inline():
            return inline(page, node)
        case nodes.TextElement():  # a rubric, the label of a tab, the title of a card
            return around("**", line(page, node))
    if node.tagname == "dropdown_main":
        title, *body = node.deepcopy().children
        for arrow in [*title.findall(nodes.raw)]:
            arrow["format"] = ""  # it is drawn in html
        return fold(line(page, title), text(page, body))
    if node.get("design_component") == "card-title":
        return around("**", line(page, node))
    return text(page, node.children)


def _equation(page: Page, node: nodes.Element) -> str:
    tex, number = node.astext().strip(), page.number(node)
    if node.get("nowrap"):
        return tex
    if "\\\\" in tex and not tex.startswith("\\begin"):
        tex = f"\\begin{{split}}{tex}\\end{{split}}"
    tex = " ".join(tex.split())  # on one line also a quote may hold it
    tag = f" \\tag{{{number}}}" if number else ""
    return "\n\n".join(filter(None, [page.anchor(node), f"$${tex}{tag}$$"]))


def _program(node: nodes.Element) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", node.astext())), default=0))
    return f"{fence}{node.get('language', '').replace('default', '')}\n{node.astext()}\n{fence}"


def _items(page: Page, node: nodes.Element) -> str:
    first = node.get("start", 1) if isinstance(node, nodes.enumerated_list) else None
    written = []
    for k, item in enumerate(node.children):
        mark = "- " if first is None else f"{first + k}. "
        written.append(mark + text(page, item.children).replace("\n", "\n" + " " * len(mark)))
    loose = any(len(item.children) > 1 for item in node.children)
    return re.sub(r"(?m)^ +$", "", ("\n\n" if loose else "\n").join(written))


def caption(page: Page, node: nodes.Element, words: nodes.Node) -> str:
    """The caption of a figure, as its page has it."""
    number = page.number(node)
    head = f"**{node.tagname.title()} {number}.** " if number else ""
    return page.anchor(node) + head + phrase(page, words)


def _table(page: Page, node: nodes.Element) -> str:
    rows = [[_cell(page, entry) for entry in row.children] for row in node.findall(nodes.row)]
    if not any(node.findall(nodes.thead)):
        rows.insert(0, [""] * len(rows[0]))
    rows.insert(1, ["---"] * len(rows[0]))
    titles = [child for child in node.children if isinstance(child, nodes.title)]
    head = "".join(caption(page, node, title) + "\n\n" for title in titles)
    return head + "\n".join(_ROW(" | ".join(row)) for row in rows)


def _cell(page: Page, entry: nodes.Element) -> str:
    """On one line; a bar would end the cell, in a formula too."""
    entry = entry.deepcopy()  # the page itself is still to be written
    for formula in [*entry.findall(nodes.math), *entry.findall(nodes.math_block)]:
        bars = formula.astext().replace(r"\|", r"\Vert ").replace("|", r"\vert ")
        formula.children = [nodes.Text(bars)]
    blocks = [re.sub(r"(?m)^ *- ", "• ", block(page, each)) for each in entry.children]
    return re.sub(r"\n+ *", "<br>", "\n".join(blocks)).replace("|", r"\|")


def _admonition(page: Page, node: nodes.Element) -> str:
    """A box or a theorem is a quote with a bold head; one that is folded stays so."""
    titled = node.children and isinstance(node.children[0], nodes.title)
    body = text(page, node.children[1:] if titled else node.children)
    name = head(page, node)
    if "dropdown" in node["classes"]:
        return fold(page.anchor(node) + name, body)
    if not name:
        return quote(re.sub(r"^Proof\.", "**Proof.**", body))
    return quote(f"{page.anchor(node)}{name}\n\n{body}")


def head(page: Page, node: nodes.Element) -> str:
    """What stands above a box, a theorem, an exercise or a solution: `**Theorem 3.1** (Its name)`."""
    title = node.children[0] if node.children else None
    words = line(page, title) if isinstance(title, nodes.title) else ""
    kind = node.get("realtype") or node.get("type", "")  # a theorem has the first, an exercise the second
    number = page.number(node)
    if number or "realtype" in node:
        return f"**{' '.join(filter(None, [kind.title(), number]))}** {words}".strip()
    if not words and node.tagname != "admonition":  # a note, a warning
        words = node.tagname.title()
    return around("**", words)


def quote(text: str) -> str:
    """Markdown, quoted.

    Example:
        >>> print(quote("**Note**\\n\\nIt is so."))
        > **Note**
        >
        > It is so.
    """
    return "\n".join(f"> {each}".rstrip() for each in text.splitlines())


def fold(title: str, text: str) -> str:
    """Markdown behind a title, to be unfolded."""
    return f"<details><summary>{html(title)}</summary>\n\n{text}\n\n</details>"


def html(text: str) -> str:
    """A title in Markdown where only html is read.

    Example:
        >>> html("**Solution to [Exercise 3.1](#ex-x)**")
        '<b>Solution to <a href="#ex-x">Exercise 3.1</a></b>'
    """
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<!\\)\*(.+?)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^]]*)\]\(([^)]*)\)", r'<a href="\2">\1</a>', text)
