"""The notebook of a page can be read without the book: its words are the page's, and its code still runs."""

import re
import subprocess
import sys

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from intertwine_book.build import download, phrases, readable

CONF = """
extensions = ["myst_nb", "sphinx_proof", "sphinx_exercise", "sphinx_design", "sphinxcontrib.bibtex",
              "intertwine_book.build.bibliography", "intertwine_book.build.numbering",
              "intertwine_book.build.download"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
nb_execution_mode = "off"
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
bibtex_default_style = "authors_and_year"
numfig = math_numfig = True
numfig_format = {"figure": "Figure %s"}
html_title = "Symmetries"
html_theme_options = {"repository_url": "https://github.com/us/tiny"}
html_theme = "sphinx_book_theme"
html_sourcelink_suffix = ""
exclude_patterns = [".*", "**/.*"]
"""
BIB = """@article{godfrey2022,
  author = {Godfrey, C. and Brown, D. and Emerson, T.}, title = {S}, journal = {J}, year = {2022}}
"""
INDEX = """# Home

```{toctree}
chapters/03_x
bibliography
```

(sec-home)=
## A section at home
"""
BOXES = """# 3 · Boxes

{doc}`../index` and {ref}`sec-home`; {numref}`fig-a`, {eq}`eq-a`, {prf:ref}`thm-a`, {ref}`ex-a`,
{ref}`sec-in`.
It costs {glue:text}`lost:.1f` points {cite}`godfrey2022`, as {cite:t}`godfrey2022` say[^why].
2 * 3 * 4 < 25_000.

[^why]: A note.

:::{admonition} Before you start
:class: tip
Read `code`.
:::

:::{note}
A note.
:::

:::{prf:theorem} A name, {cite:t}`godfrey2022`
:label: thm-a
Let $x > 0$.

$$
a &= |x| \\\\
b &= 2
$$ (eq-a)
:::

:::{prf:proof}
Clear.
:::

- In a list:

  :::{list-table}
  :header-rows: 1
  * - $|x|$
    - two

      lines
  * - - one
      - two
    - {numref}`fig-a`
  :::

::::{tab-set}
:::{tab-item} First
Under the first tab.
:::
::::

::::{grid} 2
:::{grid-item-card} A card
Its text.
:::
::::

:::{dropdown} Folded *words*
Behind it.
:::

```{figure} drawn.svg
:name: fig-drawn
:alt: A drawing.
A caption with {glue:text}`lost:.2f`.
```

<div class="raw">Raw html.</div>

term
: What it is.

(sec-in)=
## Inside
"""
SOLUTION = """:::{exercise}
:label: ex-a
Do it.
:::

::::{solution} ex-a
:class: dropdown
Done.
::::

:::{exercise}
:label: ex-b
Compute it.
:::

::::{solution-start} ex-b
:class: dropdown
::::
"""
RUN = {
    "intertwine": {"commit": "1a2b3c"},
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path/></svg>'

WRITTEN = [
    "It costs 1.2 points [[Godfrey *et al.*, 2022](SOURCE)], as Godfrey *et al.* [[2022](SOURCE)] say",
    r"2 \* 3 \* 4 \< 25_000.",
    "[Home](ONLINE/index.html) and [A section at home](ONLINE/index.html#sec-home);",
    "[Figure 3.2](#fig-a), [(3.1)](#equation-eq-a), [Theorem 3.1](#thm-a)",
    "[Exercise 3.1](#ex-a),\n[Inside](#sec-in)",
    '## <a id="sec-in"></a>3.1. Inside',
    "> **Before you start**\n>\n> Read `code`.",
    "> **Note**\n>\n> A note.",
    '> <a id="thm-a"></a>**Theorem 3.1** (A name, Godfrey *et al.* [[2022](SOURCE)])\n>\n> Let $x > 0$.\n>\n',
    r"> $$\begin{split}a &= |x| \\ b &= 2\end{split} \tag{3.1}$$",
    "> **Proof.** Clear.",
    "  | $\\vert x\\vert$ | two<br>lines |\n  | --- | --- |\n  | • one<br>• two | [Figure 3.2](#fig-a) |",
    "**First**\n\nUnder the first tab.",
    "**A card**\n\nIts text.",
    "<details><summary>Folded <em>words</em></summary>\n\nBehind it.\n\n</details>",
    "![A drawing.](attachment:drawn.svg)\n\n**Figure 3.1.** A caption with 1.23.",
    '<div class="raw">Raw html.</div>',
    "**term**\n\n> What it is.",
    '<a id="fig-a"></a>**Figure 3.2.** It costs 1.',
    '<summary><b>Solution to <a href="#ex-a">Exercise 3.1</a></b></summary>\n\nDone.\n\n</details>',
    "**Solution to [Exercise 3.2](#ex-b)**",
    "Exercise 3.2</a></b></summary>\n\nIt is five.\n\n</details>",
    "</sup> A note.",
]


def told(name: str, value: str) -> nbformat.NotebookNode:
    """The output of `glue`."""
    glued = {"scrapbook": {"name": name, "mime_prefix": "application/papermill.record/"}}
    return new_output("display_data", {"application/papermill.record/text/plain": value}, metadata=glued)


def cell(source: str, *outputs: nbformat.NotebookNode, **metadata) -> nbformat.NotebookNode:
    return new_code_cell(source, metadata=metadata, outputs=[*outputs], execution_count=1)


NOTEBOOK = [
    new_markdown_cell(BOXES),
    cell("import math", tags=["hide-input"]),
    cell("from typing import Literal\n\nside: Literal[2, 3] = 2", tags=["parameters", "hide-input"]),
    cell("area = math.prod([side, side])", told("lost", "1.2345"), tags=["remove-cell"]),
    cell(
        "area",
        new_output("display_data", {"image/svg+xml": SVG, "text/plain": "<Figure>"}),
        tags=["remove-input"],
        mystnb={
            "figure": {"name": "fig-a", "caption": "It costs {glue:text}`lost:.0f`."},
            "image": {"alt": "A & B"},
        },
    ),
    new_markdown_cell("Text {numref}`fig-a`."),
    cell("print(area)", new_output("stream", name="stdout", text="4\n")),
    new_markdown_cell("(sec-after)=\n## After"),
    new_markdown_cell(SOLUTION),
    cell("area + 1", new_output("display_data", {"text/plain": "5"})),
    new_markdown_cell("It is five.\n\n::::{solution-end}\n::::\n\nThe end."),
    cell("assert area", tags=["remove-cell"]),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[nbformat.NotebookNode, str]:
    """The notebook that a small book offers, and the text of its page."""
    folder = tmp_path_factory.mktemp("readable")
    (folder / "book/chapters").mkdir(parents=True)
    book, name = folder / "book", "chapters/03_x"
    (book / "conf.py").write_text(CONF)
    (book / "references.bib").write_text(BIB)
    (book / "index.md").write_text(INDEX)
    (book / "bibliography.md").write_text("# Sources\n\n```{bibliography}\n```\n")
    (book / "chapters/drawn.svg").write_text(SVG)
    nbformat.write(new_notebook(cells=NOTEBOOK, metadata=RUN), book / f"{name}.ipynb")
    command = [sys.executable, "-m", "sphinx", "-Wq", "-b", "html", book, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", (folder / f"html/{name}.html").read_text()))
    return nbformat.read(folder / f"html/_sources/{name}.ipynb", as_version=4), page


@pytest.fixture(scope="module")
def words(built) -> str:
    told = "\n\n".join(cell.source for cell in built[0].cells if cell.cell_type == "markdown")
    named = re.sub(r"https://us.github.io/tiny/bibliography.html#id\d+", "SOURCE", told)
    return named.replace("https://us.github.io/tiny", "ONLINE")


def test_no_role_and_no_directive_is_left(built, words):
    nbformat.validate(built[0])
    assert not re.findall(r"{[\w:+-]+}`|:::|```{|^\([\w-]+\)=", words, re.MULTILINE)
    assert all(cell.source for cell in built[0].cells)
    assert all(set(cell.metadata) <= {"jupyter", "tags"} for cell in built[0].cells)


def test_each_construct_of_a_page_is_plain_markdown(words):
    assert not [each for each in WRITTEN if each not in words]


def test_numbers_are_those_of_the_page(built, words):
    plain = re.sub(r"\*\*|\]\([^)]*\)|\[|<[^>]*>", "", words)
    for number in ("Figure 3.1", "Figure 3.2", "Theorem 3.1", "Exercise 3.1", "Exercise 3.2", "3.1. Inside"):
        assert number in built[1] and number in plain, number


def test_parameters_come_first_and_what_a_page_hides_is_collapsed(built):
    code = [cell for cell in built[0].cells if cell.cell_type == "code" and cell.id != "install"]
    assert "side" in code[0].source and code[0].metadata == {"tags": ["parameters"]}
    hidden = {cell.source: {*cell.metadata.get("jupyter", {})} for cell in code[1:]}
    assert hidden == {
        "import math": {"source_hidden"},
        "area = math.prod([side, side])": {"source_hidden"},  # and its output was a value for a sentence
        "area": {"source_hidden"},
        "print(area)": set(),
        "area + 1": {"source_hidden", "outputs_hidden"},
        "assert area": {"source_hidden"},
    }
    assert not code[2].outputs and code[4].outputs
    exec("\n".join(cell.source for cell in code), {})


def test_a_drawing_is_an_image_which_jupyterlab_shows_without_trust(built):
    [drawn] = [cell for cell in built[0].cells if cell.source == "area"]
    data = drawn.outputs[0].data
    assert data["text/html"].startswith('<img alt="A &amp; B" src="data:image/svg+xml;base64,')
    assert "image/svg+xml" not in data
    assert [cell for cell in built[0].cells if "drawn.svg" in cell.get("attachments", {})]


def test_the_notebook_of_one_run_has_an_image_beside_each_drawing(tmp_path):
    drawn = new_output("display_data", {"image/svg+xml": SVG, "text/plain": "<Figure>"})
    moves = new_output("display_data", {"image/svg+xml": SVG, "text/html": "<b>moves</b>"})
    cell = new_code_cell("area", outputs=[drawn, moves, new_output("stream", text="1")])
    cell.metadata["mystnb"] = {"image": {"alt": "A & B"}}
    nbformat.write(new_notebook(cells=[new_markdown_cell("# A"), cell]), tmp_path / "run.ipynb")
    readable.show_untrusted(tmp_path / "run.ipynb")
    first, second, third = nbformat.read(tmp_path / "run.ipynb", 4).cells[1].outputs
    assert first.data["text/html"].startswith('<img alt="A &amp; B" src="data:image/svg+xml;base64,')
    assert first.data["image/svg+xml"] == SVG and second.data["text/html"] == "<b>moves</b>"
    assert third.text == "1"


def test_where_the_book_has_an_address_a_cell_installs_it(built):
    note, install, title = built[0].cells[:3]
    assert "[a chapter](https://us.github.io/tiny/chapters/03_x.html)" in note.source
    assert install.source == '%pip install "intertwine[book,vision] @ git+https://github.com/us/tiny@1a2b3c"'
    assert title.source.startswith("# 3 · Boxes")


def test_a_book_without_an_address_says_what_to_install_and_links_to_no_page_of_its_own():
    [note] = download.first_cells(new_notebook(), "03_x", "Symmetries", None)
    assert "not executed yet" in note.source
    assert 'in a copy of the book\'s repository*\n\n`pip install -e ".[book,vision]"`' in note.source
    document = new_document("03_x")
    elsewhere = nodes.reference("", "Home", refuri="../index.html", internal=True)
    assert phrases.inline(phrases.Page(document), elsewhere) == "Home"
