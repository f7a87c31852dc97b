"""A Sphinx extension: a page's button, and `publish`, give a notebook that reads and runs without the book.

It lies in `_sources` under the name of its page, in plain Markdown, with the numbers that Sphinx gave.
"""

import base64
import html
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from intertwine import files
from intertwine_book.build.publish import address

Word = Callable[[str, str, str], str]  # of a role, its own words and its target

_NOTE = """\
*This notebook is {page} of the book “{book}”, {ran}. To run it, install{where}*

`{command}`

*{wheel}Numbers in its sentences and captions are those of the book's run; when you run it, yours stand in the
outputs. Tables go into `results`; trained networks and data sets into the folders that the variables
INTERTWINE_ZOO and INTERTWINE_DATA name, or else into `intertwine` in your cache folder.*"""
_WHEEL = (
    "A wheel is enough where there is no copy: `pip wheel --no-deps .` makes it in one, and "
    '`pip install "FILE.whl[book,vision]"` installs it elsewhere. '
)
_BOX = re.compile(r"^(:{3,}|`{3,})\{([\w:-]+)\} *(.*)\n((?::[\w-]+:.*\n)*)((?:.*\n)*?)\1$", re.MULTILINE)
_TARGET = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
_ROLE = re.compile(r"{([\w:]+)}`(?:([^`<]+?)\s+<)?([^`>]+)>?`")
_EQUATION = re.compile(r"\$\$(.+?)\$\$(?: \(([\w-]+)\))?", re.DOTALL)
_FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", _offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _offer(app: Any, error: Exception | None) -> None:
    repository = app.config.html_theme_options.get("repository_url")
    online = app.config.html_baseurl or address(repository)
    for page in sorted(app.env.found_docs) if app.builder.format == "html" and error is None else ():
        source = Path(app.env.doc2path(page))
        if source.suffix == ".ipynb":
            node = readable(nbformat.read(source, as_version=4), words_of(app.env, page, online))
            own = f"{online.rstrip('/')}/{page}.html" if online else None
            node.cells[:0] = first_cells(node, app.config.html_title, repository, own)
            nbformat.validate(node)
            offered = Path(app.outdir, f"_sources/{page}.ipynb")
            offered.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(node, offered)


def words_of(env: Any, page: str, online: str | None) -> Word:
    """What stands for a role on a page that Sphinx has read, as a link where the book is online."""
    labels = env.get_domain("std").labels
    numbers = {
        label: (page, kind.title(), ".".join(map(str, number)))
        for page, kinds in env.toc_fignumbers.items()
        for kind, numbered in kinds.items()
        for label, number in numbered.items()
    }
    cited = getattr(env.domains.get("cite"), "citations", ())
    authors = {each.key: _authors(each.entry) for each in cited}

    def word(role: str, words: str, target: str) -> str:
        if role.startswith("cite"):
            said = "; ".join(authors.get(key, key) for key in target.split(","))
            return re.sub(r", (\d{4}\w?)", r" (\1)", said) if role == "cite:t" else f"[{said}]"
        if role == "doc":
            place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)).lstrip("/"), ""
            said = words or env.titles[place[0]].astext()
        elif role == "eq":
            place = numbers[f"equation-{target}"][0], f"equation-{target}"
            said = f"({numbers[place[1]][2]})"
        elif role in ("ref", "numref", "prf:ref"):
            at, _, title = labels.get(target, (page, target, target))
            at, *name = numbers.get(target, (at, title))
            place, said = (at, target), words or " ".join(name)
        else:
            return f"`{words or target}`" if role.startswith("py") else words or target
        return f"[{said}]({online.rstrip('/')}/{place[0]}.html#{place[1]})" if online else said

    return word


def _authors(entry: Any) -> str:
    names = ["".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
    said = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{said}, {entry.fields['year']}"


def readable(node: nbformat.NotebookNode, word: Word) -> nbformat.NotebookNode:
    """An executed notebook in plain Markdown, without what only the book needs."""
    cells = []
    for cell in node.cells:
        if cell.cell_type == "code":
            shown = cell.metadata.get("mystnb", {})
            cells.append(_code(cell, shown.get("image", {}).get("alt", "")))
            if figure := shown.get("figure"):
                caption = f"**{word('numref', '', figure['name'])}.** {plain(figure['caption'], word)}"
                cells.append(new_markdown_cell(caption, id=f"{cell.id}-caption"))
        elif words := plain(cell.source, word):
            cells.append(new_markdown_cell(words, id=cell.id))
    return nbformat.v4.new_notebook(cells=cells, metadata=node.metadata)


def plain(text: str, word: Word) -> str:
    """MyST as Markdown that any notebook shows: boxes are quotes with a bold head, roles their words.

    Example:
        >>> box = ":::{prf:theorem} Reduction\\n:label: thm-x\\nBy {eq}`eq-y`.\\n:::"
        >>> print(plain(box, lambda role, words, target: {"eq-y": "(3.1)"}.get(target, "Theorem 3.2")))
        > **Theorem 3.2** (Reduction)
        >
        > By (3.1).
    """
    text = _blocks(_TARGET.sub("", text), word)
    text = _ROLE.sub(lambda role: word(role[1], role[2] or "", role[3]), text)
    return _EQUATION.sub(lambda found: _equation(found[1], found[2], word), text).strip()


def _blocks(text: str, word: Word) -> str:
    return _BOX.sub(lambda box: _box(word, *box.groups()), text)


def _box(word: Word, fence: str, kind: str, title: str, options: str, body: str) -> str:
    label = (re.search(r"^:(?:label|name): (.+)", options, re.MULTILINE) or ["", ""])[1]
    if kind in ("glue", "solution-end"):
        return ""
    if kind == "math":
        return f"$${body}$$ ({label})"
    if kind == "list-table":
        head = f"**{word('numref', '', label)}.** {title}\n\n" if label else f"**{title}**\n\n" * bool(title)
        return head + _table(body)
    if kind.startswith("solution"):
        head = f"**Solution to {word('ref', '', title)}**"
    elif kind == "admonition":
        head = f"**{title}**"
    else:
        name = word("ref", "", label) if label else kind.rpartition(":")[2].title()
        head = f"**{name}** ({title})" if title else f"**{name}**"
    lines = f"{head}\n\n{_blocks(body, word)}".strip().split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines) + "\n"


def _table(body: str) -> str:
    """A list of lists as a table of Markdown, the first row as its head."""
    rows = [
        re.split(r"\n? {2}- ?", row.replace("|", r"\|"))
        for row in re.split(r"^\* - ?", body, flags=re.MULTILINE)
    ]
    lines = [f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows[1:]]
    lines.insert(1, "| --- " * len(rows[1]) + "|")
    return "\n".join(lines)


def _equation(tex: str, label: str | None, word: Word) -> str:
    tex = tex.replace("\n> ", "\n").strip()
    if "\\\\" in tex and not tex.startswith("\\begin"):
        tex = f"\\begin{{split}}{tex}\\end{{split}}"
    number = re.search(r"\((.+?)\)", word("eq", "", label)) if label else None
    return f"$${' '.join(tex.split())}{f' {chr(92)}tag{{{number[1]}}}' if number else ''}$$"


def _code(cell: nbformat.NotebookNode, alt: str) -> nbformat.NotebookNode:
    """A code cell without values for sentences, collapsed where the page folds it or leaves it out."""
    tags = {*cell.metadata.get("tags", [])}
    outputs = [_output(each, alt) for each in cell.outputs if "scrapbook" not in each.get("metadata", {})]
    made = new_code_cell(cell.source, outputs=outputs, execution_count=cell.execution_count, id=cell.id)
    if "parameters" in tags:
        made.metadata["tags"] = ["parameters"]  # papermill looks for it
    elif tags & _FOLDED:
        made.metadata["jupyter"] = {"source_hidden": True}
    return made


def _output(output: nbformat.NotebookNode, alt: str) -> nbformat.NotebookNode:
    """A drawing also as an image: JupyterLab shows no drawing of a notebook that it does not trust."""
    data = output.get("data", {})
    if drawing := data.get("image/svg+xml"):
        text = base64.b64encode(drawing.encode()).decode()
        data.setdefault("text/html", f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{text}">')
    return output


def show_untrusted(notebook: Path) -> None:
    """Put an image beside each drawing of an executed notebook."""
    node = nbformat.read(notebook, as_version=4)
    for cell in node.cells:
        for output in cell.get("outputs", ()):
            _output(output, cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))
    with files.write_whole(notebook) as path:
        nbformat.write(node, path)


def first_cells(
    node: nbformat.NotebookNode, book: str, repository: str | None, page: str | None = None
) -> list[nbformat.NotebookNode]:
    """What this notebook is and needs, and a cell that installs it where the book has an address.

    Example:
        >>> [note] = first_cells(nbformat.v4.new_notebook(), "Symmetries", None)
        >>> note.source.splitlines()[2]
        '`pip install -e ".[book,vision]"`'
    """
    run = node.metadata.get("intertwine")
    commit = run["commit"] if run else None
    command = install(repository, commit)
    ran = (
        "as it was executed" + (f" at commit {commit[:10]}" if commit else "") if run else "not executed yet"
    )
    where = "" if repository else ", in a copy of the book's repository"
    wheel = "" if repository else _WHEEL
    of = f"[a chapter]({page})" if page else "a chapter"
    note = _NOTE.format(page=of, book=book, ran=ran, where=where, command=command, wheel=wheel)
    cells = [new_markdown_cell(note, id="what-this-is")]
    return [*cells, new_code_cell(f"%{command}", id="install")] if repository else cells


def install(repository: str | None, commit: str | None) -> str:
    """The command that installs what an executed notebook ran with, as far as it is committed.

    Example:
        >>> install("https://github.com/us/book", "1a2b3c")
        'pip install "intertwine[book,vision] @ git+https://github.com/us/book@1a2b3c"'
        >>> install(None, None)  # in a checkout
        'pip install -e ".[book,vision]"'
    """
    if not repository:
        return 'pip install -e ".[book,vision]"'
    pinned = f"@{commit}" if commit and not commit.endswith("-dirty") else ""
    return f'pip install "intertwine[book,vision] @ git+{repository}{pinned}"'
