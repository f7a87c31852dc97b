"""What our extensions do to pages: numbers by chapter, dark twins, facts, notebooks to download, one page."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from intertwine_book.build import download, facts
from intertwine_book.build.interactive import DARK
from intertwine_book.build.pdf import chromium, one_page
from intertwine_book.figures.style import COLOURS, PAPER
from intertwine_book.read_told import read_told

ROOT = Path(__file__).parent.parent
OURS = ", ".join(f'"intertwine_book.build.{name}"' for name in ("numbering", "interactive"))
CONF = f"""
extensions = ["myst_nb", "sphinx_proof", "sphinx_exercise", "sphinxcontrib.bibtex", {OURS},
              "intertwine_book.build.facts", "intertwine_book.build.download"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
nb_execution_mode = "off"
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
numfig = math_numfig = True
numfig_format = {{"figure": "Figure %s"}}
html_title = "Symmetries"
html_theme = "sphinx_book_theme"
html_theme_options = {{"repository_url": "https://github.com/us/tiny"}}
html_sourcelink_suffix = ""
"""
BIB = "@misc{godfrey2022, author={Godfrey, C. and Brown, D. and Emerson, T.}, title={S}, year={2022}}"
INDEX = """# Home

```{toctree}
chapters/a
bibliography
```

```{figure} drawn.svg
:alt: A drawing.
A caption without a number.
```

Elsewhere {numref}`fig-a`, {eq}`eq-a`, {prf:ref}`thm-a`, of {fact}`03_stitching.FACT:.0f` % or more.
"""
BOXES = """# 3b · Boxes

{doc}`../index`, {ref}`sec-in`, {numref}`fig-a`, {eq}`eq-a`, {prf:ref}`thm-a`, {ref}`ex-a`.
{cite:t}`godfrey2022` and {cite}`godfrey2022`.

:::{admonition} Before you start
:class: tip
Read `code`.
:::

:::{prf:theorem} A name
:label: thm-a
Let

$$
a &= |x| \\\\
b &= 2
$$ (eq-a)
:::

:::{list-table}
:header-rows: 1

* - ask
  - use
* - which
    one?
  - `f(|x|)`
:::

(sec-in)=
## Inside

:::{exercise}
:label: ex-a
Do it.
:::

::::{solution} ex-a
:class: dropdown
It is five.
::::

```python
x = {"(a)": 1}
```
"""
WRITTEN = """# 3b · Boxes

[Home](ONLINE/index.html#), [Inside](HERE#sec-in), [Figure 3b.1](HERE#fig-a), [(3b.1)](HERE#equation-eq-a), \
[Theorem 3b.1](HERE#thm-a), [Exercise 3b.1](HERE#ex-a).
Godfrey et al. (2022) and [Godfrey et al., 2022].

> **Before you start**
>
> Read `code`.


> **[Theorem 3b.1](HERE#thm-a)** (A name)
>
> Let
>
> $$\\begin{split}a &= |x| \\\\ b &= 2\\end{split} \\tag{3b.1}$$


| ask | use |
| --- | --- |
| which one? | `f(\\|x\\|)` |

## Inside

> **[Exercise 3b.1](HERE#ex-a)**
>
> Do it.


> **Solution to [Exercise 3b.1](HERE#ex-a)**
>
> It is five.


```python
x = {"(a)": 1}
```"""
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><path fill="{next(iter(DARK))}"/></svg>'


@pytest.fixture(scope="module")
def html(tmp_path_factory) -> Path:
    """A small book with all of our extensions, built without a warning."""
    book = tmp_path_factory.mktemp("pages")
    (book / "chapters").mkdir()
    fact = next(k for k, v in told().items() if isinstance(v, float))
    texts = {
        "conf.py": CONF,
        "references.bib": BIB,
        "index.md": INDEX.replace("FACT", fact),
        "drawn.svg": SVG,
    }
    texts["bibliography.md"] = "# Sources\n\n```{bibliography}\n```\n"
    for name, text in texts.items():
        (book / name).write_text(text)
    figure = {"figure": {"name": "fig-a", "caption": "It falls."}, "image": {"alt": "A & B"}}
    drawn = new_output("display_data", {"image/svg+xml": SVG, "text/plain": "<Figure>"})
    cells = [
        new_code_cell("side: int = 2", metadata={"tags": ["parameters", "hide-input"]}),
        new_markdown_cell(BOXES),
        new_code_cell("import math", metadata={"tags": ["hide-input"]}),
        new_code_cell("math.prod([side, side])", outputs=[drawn], metadata={"mystnb": figure}),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    run = {"intertwine": {"commit": "1a2b3c"}, "kernelspec": kernel}
    nbformat.write(new_notebook(cells=cells, metadata=run), book / "chapters/a.ipynb")
    command = [sys.executable, "-m", "sphinx", "-nWq", "-b", "html", book, book / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return book / "html"


def told() -> dict:
    return read_told(ROOT / "data/results/03_stitching/told.json")[1]


def words(page: Path) -> str:
    return " ".join(BeautifulSoup(page.read_text(), "html.parser").find("article").text.split())


def test_numbers_are_by_chapter_and_references_agree_from_other_pages(html):
    chapter, home = words(html / "chapters/a.html"), words(html / "index.html")
    for number in ("Figure 3b.1 ", "(3b.1)", "Theorem 3b.1 ", "Exercise 3b.1", "3b.1. Inside"):
        assert number in chapter, number
    assert "Elsewhere Figure 3b.1, (3b.1), Theorem 3b.1" in home
    assert "Figure 1" not in home


def test_a_drawing_has_a_twin_on_dark_pages_in_the_figures_own_colours(html):
    page = (html / "index.html").read_text()
    assert page.count('src="_images/drawn.svg"') == page.count('src="_images/drawn-dark.svg"') == 1
    assert next(iter(DARK.values())) in (html / "_images/drawn-dark.svg").read_text()
    assert list(DARK) == [c.lower() for c in (COLOURS["ink"], PAPER, COLOURS["blue"], COLOURS["grey"])]


def test_facts_are_written_out_and_no_line_ends_before_a_percent_sign(html):
    name, value = next((k, v) for k, v in told().items() if isinstance(v, float))
    assert f"of {value:.0f}\u00a0% or more" in (html / "index.html").read_text()
    assert facts.told(f"{{fact}}`03_stitching.{name}`, 7 % 2") == f"{value}, 7 % 2"


def test_a_notebook_to_download_says_in_plain_markdown_what_its_page_says_and_its_code_runs(html):
    node = nbformat.read(html / "_sources/chapters/a.ipynb", as_version=4)
    nbformat.validate(node)
    note, install, knobs, text, folded, drawing, caption = node.cells
    assert "https://us.github.io/tiny/chapters/a.html" in note.source
    assert install.source == '%pip install "intertwine[book,vision] @ git+https://github.com/us/tiny@1a2b3c"'
    shown = text.source.replace("https://us.github.io/tiny", "ONLINE").replace(
        "ONLINE/chapters/a.html", "HERE"
    )
    assert shown == WRITTEN
    assert knobs.metadata == {"tags": ["parameters"]} and folded.metadata == {
        "jupyter": {"source_hidden": True}
    }
    data = drawing.outputs[0].data  # JupyterLab shows images in what it does not trust
    assert data["text/html"].startswith('<img alt="A &amp; B" src="data:image/svg+xml;base64,')
    assert re.fullmatch(r"\*\*\[Figure 3b.1\]\(.*\)\.\*\* It falls\.", caption.source)
    exec("\n".join(cell.source for cell in (knobs, folded, drawing)), {})


def test_a_book_without_an_address_says_what_to_install():
    [note] = download.first_cells(new_notebook(), "Symmetries", None)
    assert "not executed yet" in note.source and '`pip install -e ".[book,vision]"`' in note.source


PAGE = """<html><head><title>{title}</title></head><body><nav>menu</nav><article>
<h1 id="top">{title}</h1>{body}</article></body></html>"""


def test_on_paper_links_between_pages_lead_inside_and_others_become_words(tmp_path):
    (tmp_path / "chapters").mkdir()
    intro = '<a href="chapters/one.html#part">a</a><a href="api/x.html">b</a><a href="https://a.org/">c</a>'
    one = '<h2 id="part">p</h2><a href="../intro.html">d</a><img src="../pictures/f.svg">'
    one += '<div id="hole" class="plotly-graph-div"></div>'
    one += '<script>f(document.getElementById("hole"), "<b>")</script>'
    (tmp_path / "intro.html").write_text(PAGE.format(title="Intro", body=intro))
    (tmp_path / "chapters/one.html").write_text(PAGE.format(title="One", body=one))
    whole = one_page(tmp_path, ["intro", "chapters/one"])
    page = BeautifulSoup(whole, "html.parser")
    links = {tag.text: tag["href"] for tag in page.find_all("a")}
    assert links == {"a": "#chapters/one--part", "c": "https://a.org/", "d": "#intro"}
    assert {"intro", "intro--top", "chapters/one", "chapters/one--part"} <= {
        t["id"] for t in page.find_all(id=True)
    }
    assert (
        page.find("img")["src"] == "pictures/f.svg" and page.find("nav") is None and "b" in page.article.text
    )
    assert (
        'f(document.getElementById("chapters/one--hole"), "<b>")' in whole
        and whole.count("plotly.min.js") == 1
    )


def test_without_a_chromium_one_sentence_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Exception, match="Expected a Chromium on the PATH"):
        chromium()
