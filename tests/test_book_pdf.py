"""The book on paper: links lead inside the document, and nothing of this machine stays in it."""

import pytest
from bs4 import BeautifulSoup

from intertwine_book.build import pdf
from intertwine_book.build.layout import BookError
from intertwine_book.build.pdf import chromium, one_page

PAGE = """<html><head><title>{title}</title></head><body><nav>menu</nav><article>
<h1 id="top">{title}</h1>{body}</article></body></html>"""


def test_links_between_pages_lead_inside_and_others_become_words(tmp_path):
    (tmp_path / "chapters").mkdir()
    intro = '<a href="chapters/one.html#part">a</a><a href="api/x.html">b</a><a href="https://a.org/">c</a>'
    one = (
        '<h2 id="part">p</h2><a href="../intro.html">d</a><a href="#part">e</a><img src="../pictures/f.svg">'
    )
    (tmp_path / "intro.html").write_text(PAGE.format(title="Intro", body=intro))
    (tmp_path / "chapters/one.html").write_text(PAGE.format(title="One", body=one))
    page = BeautifulSoup(one_page(tmp_path, ["intro", "chapters/one"]), "html.parser")
    links = {tag.text: tag["href"] for tag in page.find_all("a")}
    assert links == {
        "a": "#chapters/one--part",
        "c": "https://a.org/",
        "d": "#intro",
        "e": "#chapters/one--part",
    }
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert ids == ["intro", "intro--top", "chapters/one", "chapters/one--top", "chapters/one--part"]
    assert page.find("img")["src"] == "pictures/f.svg" and page.find("nav") is None
    assert "b" in page.find("article").text and str(tmp_path) not in str(page)


def test_a_figure_that_moves_finds_its_element_and_what_draws_it(tmp_path):
    figure = '<div id="hole" class="plotly-graph-div"></div>'
    figure += '<script>f(document.getElementById("hole"), "<b>")</script>'
    (tmp_path / "one.html").write_text(PAGE.format(title="One", body=figure))
    page = one_page(tmp_path, ["one"])
    assert 'id="one--hole"' in page and 'f(document.getElementById("one--hole"), "<b>")' in page
    assert page.count("plotly.min.js") == 1


def test_without_a_chromium_one_sentence_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BookError, match="Expected a Chromium on the PATH"):
        chromium()


def test_a_chromium_that_does_not_print_is_said_and_nothing_is_left_beside_the_pages(tiny_book, monkeypatch):
    pytest.importorskip("playwright", reason="needs the extra 'browser'")
    html = tiny_book.html
    for name in ("intro", *(f"chapters/{chapter}" for chapter in tiny_book.chapters)):
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / f"{name}.html").write_text(PAGE.format(title=name, body=""))
    for chapter in tiny_book.chapters:
        tiny_book.executed("quick", chapter).parent.mkdir(parents=True, exist_ok=True)
        tiny_book.executed("quick", chapter).touch()
    monkeypatch.setattr("intertwine_book.build.render.render", lambda book, profile: html / "intro.html")
    monkeypatch.setattr(pdf, "chromium", lambda: "/nowhere/chromium")
    with pytest.raises(BookError, match="Expected a Chromium that prints the pages, /nowhere/chromium did"):
        pdf.pdf(tiny_book, "quick")
    assert not (html / "whole.html").exists() and not (tiny_book.build / "book.pdf").exists()
