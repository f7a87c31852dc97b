"""The built pages: links lead somewhere, nothing is fetched from elsewhere, pictures say what they are."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from intertwine_book.build.pdf import one_page

HTML = Path(os.environ.get("INTERTWINE_HTML", "absent"))
pytestmark = pytest.mark.skipif(
    "INTERTWINE_HTML" not in os.environ, reason="INTERTWINE_HTML names no built book (make book, _build/html)"
)


@pytest.fixture(scope="module")
def pages() -> dict[Path, BeautifulSoup]:
    found = {
        path.resolve(): BeautifulSoup(path.read_text(), "html.parser")
        for path in HTML.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(found) > 5, f"no built book in {HTML}"
    return found


def test_every_internal_link_leads_somewhere(pages):
    anchors = {
        path: {tag[key] for key in ("id", "name") for tag in page.find_all(attrs={key: True})}
        for path, page in pages.items()
    }
    broken = []
    for path, page in pages.items():
        for tag in page.find_all(["a", "link", "img", "script"]):
            link = urlsplit(tag.get("href") or tag.get("src") or "")
            if link.scheme or link.netloc or not (link.path or link.fragment):
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            missing = not target.exists() or (
                link.fragment and target in anchors and unquote(link.fragment) not in anchors[target]
            )
            if missing:
                broken.append(f"{path.name}: {link.geturl()}")
    assert not broken, "\n".join(sorted(set(broken))[:20])


def test_buttons_lead_to_the_book_s_own_repository_or_nowhere(pages):
    config = yaml.safe_load((Path(__file__).parents[1] / "_config.yml").read_text())
    own = config["repository"]["url"].removeprefix("https://github.com/")
    for path, page in pages.items():
        for tag in page.find_all("a", href=re.compile("colab|mybinder")):
            assert own and own in tag["href"], f"{path.name}: {tag['href']}"


def test_nothing_is_fetched_from_elsewhere(pages):
    fetched = [("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")]
    for path, page in pages.items():
        for name, key in fetched:
            for tag in page.find_all(name):
                if name == "link" and "canonical" in (tag.get("rel") or []):
                    continue
                assert not urlsplit(tag.get(key) or "").netloc, f"{path.name}: {tag}"
        for script in page.find_all("script", src=False):
            assert not re.search(r"""(import|require|src)\W{1,4}https?://""", script.text), path.name


def test_every_picture_has_alt_text_and_every_figure_a_caption(pages):
    for path, page in pages.items():
        article = page.find("article") or page
        for image in article.find_all("img"):
            assert image.get("alt") and not image["alt"].endswith((".svg", ".png")), f"{path.name}: {image}"
        for figure in article.find_all("figure"):
            assert figure.find("figcaption"), f"{path.name}: {figure.get('id')}"


def test_on_paper_every_link_leads_somewhere():
    names = [f"chapters/{path.stem}" for path in (HTML / "chapters").glob("*.html")]
    page = BeautifulSoup(one_page(HTML, ["intro", *names]), "html.parser")
    known = {tag["id"] for tag in page.find_all(id=True)}
    inside = [tag["href"] for tag in page.find_all("a") if tag.get("href", "").startswith("#")]
    assert len(inside) > 100 and {unquote(link[1:]) for link in inside} <= known


def test_no_page_is_large_and_none_holds_an_error(pages):
    for path, page in pages.items():
        assert path.stat().st_size < 6e6, path.name
        assert not page.find_all(class_="problematic"), path
        assert path.parent.name != "chapters" or "Traceback (most recent call last)" not in page.text, path


def test_executed_notebooks_are_offered_and_free_of_paths(notebooks):
    for name, notebook in notebooks.items():
        text = nbformat.writes(notebook)
        assert '"execution_count": 1' in text, f"{name} did not run"
        assert '"stderr"' not in text, f"{name} shows a warning"
        assert str(HTML.parent.parent.resolve()) not in text and str(Path.home()) + "/" not in text


def test_an_offered_notebook_reads_without_the_book_and_has_the_numbers_of_its_page(notebooks, pages):
    for name, notebook in notebooks.items():
        nbformat.validate(notebook)
        assert all(set(cell.metadata) <= {"jupyter", "tags"} for cell in notebook.cells), name
        words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert not re.findall(r"{[\w:+-]+}`|:::|```{|^\([\w-]+\)=", words, re.MULTILINE), name
        page = pages[(HTML / f"chapters/{name}.html").resolve()].find("article")
        for kind, pattern in {
            "caption-number": r"^(?:> )*\*\*\[?([A-Z][a-z]+ \w+\.\d+)",
            "eqno": r"\\tag{(\w+\.\d+)}",
        }.items():
            shown = [" ".join(tag.text.strip("()#. \n").split()) for tag in page.find_all(class_=kind)]
            shown = [each for each in shown if not each.startswith("Table")]  # to which nothing refers
            assert re.findall(pattern, words, re.MULTILINE) == shown, name


@pytest.fixture(scope="module")
def notebooks() -> dict[str, nbformat.NotebookNode]:
    found = {path.stem: nbformat.read(path, as_version=4) for path in HTML.glob("_sources/chapters/*.ipynb")}
    assert found
    return found
