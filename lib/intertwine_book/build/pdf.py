"""The book as one PDF: the built pages in one document, printed by Chromium; its links stay inside."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup, Tag

from intertwine import files
from intertwine_book.build.layout import Book, BookError

_PATIENCE = 300_000  # milliseconds, for a machine that is busy
_STYLE = "font-size: 8pt; width: 100%; text-align: center"
_NUMBER = f"<div style='{_STYLE}'><span class='pageNumber'></span></div>"
# figures that move are drawn by the CPU, as the output of a graphics card is not printed
_ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_READY = """async () => {
  if (window.MathJax) await MathJax.startup.promise;
  document.documentElement.dataset.theme = "light";
  document.querySelectorAll("details:not(.hide)").forEach((x) => (x.open = true));  // solutions, not code
  dispatchEvent(new Event("beforeprint"));  // figures that turn draw themselves
  for (const box of document.querySelectorAll(".plotly-graph-div")) {  // paper has no graphics card
    const still = Object.assign(new Image(), { alt: "", className: "still" });
    still.src = await Plotly.toImage(box, { format: "png", width: 600, height: 420, scale: 3 });
    box.replaceWith(still);
    await still.decode();
  }
}"""
# what is looked up, or run, at a screen
_SCREEN = ("api/", "run_again", "beside", "generated/status")
_PLOTLY = '<script src="_static/plotly.min.js"></script>'


def pdf(book: Book, profile: str) -> Path:
    """Print the book as rendered at a profile, without what is looked up or run at a screen; the file."""
    book.check_all_ran(profile)
    try:
        from playwright.sync_api import Error
    except ImportError as error:
        raise BookError("Expected playwright, found none: pip install '.[browser]' here.") from error
    browser = chromium()
    from intertwine_book.build.render import render  # slow to import, for who is only refused

    html = render(book, profile).parent
    whole, printed = html / "whole.html", book.build / "book.pdf"
    try:
        whole.write_text(one_page(html, _pages(book)))
        _print(browser, whole, printed)
    except Error as error:
        said = str(error).partition("\n")[0]
        raise BookError(f"Expected a Chromium that prints the pages, {browser} did not: {said}") from error
    finally:  # whatever lies beside the pages is published with them
        whole.unlink(missing_ok=True)
    return printed


def _print(browser: str, whole: Path, printed: Path) -> None:
    from playwright.sync_api import sync_playwright

    with files.write_whole(printed) as part, sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=_ARGUMENTS, timeout=_PATIENCE)
        page = started.new_page()
        page.goto(whole.as_uri(), timeout=_PATIENCE)
        page.evaluate(_READY)
        page.pdf(
            path=part,
            format="A4",
            margin={"top": "18mm", "bottom": "18mm", "left": "18mm", "right": "18mm"},
            print_background=True,
            outline=True,
            tagged=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=_NUMBER,
        )
        started.close()


def chromium() -> str:
    """The Chromium on the PATH."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    if (path := next(found, None)) is None:
        raise BookError("Expected a Chromium on the PATH, found none: install one (apt install chromium).")
    return path


def _pages(book: Book) -> list[str]:
    """The pages in the order of the book, without those that nobody prints."""
    contents = yaml.safe_load((book.root / "book/_toc.yml").read_text())
    named = [entry["file"] for part in contents.get("parts", [contents]) for entry in part["chapters"]]
    return [name for name in [contents["root"], *named] if not name.startswith(_SCREEN)]


def one_page(html: Path, names: Sequence[str]) -> str:
    """The articles of some pages in one document; a link to any other page becomes plain words.

    The document has to lie in the folder of pages, from which pictures and styles are taken. The first of the
    names, without `.html`, lends its head.
    """
    pages = [BeautifulSoup((html / f"{name}.html").read_text(), "html.parser") for name in names]
    articles = [article for page in pages for article in page.find_all("article", limit=1)]
    for name, article in zip(names, articles, strict=True):
        for tag in article.find_all(id=True):
            tag["id"] = f"{name}--{tag['id']}"
        article["id"] = name
        for tag in article.find_all(["a", "img"]):
            _lead_inside(tag, name, html, set(names))
        for script in filter(lambda each: each.string, article.find_all("script")):
            # a figure that moves finds its element by the new name
            script.string = re.sub(r'(?<=getElementById\(")', f"{name}--", str(script.string))
    body = f'<body class="one-page"><main>{"".join(map(str, articles))}</main></body>'
    plotly = _PLOTLY if "plotly-graph-div" in body else ""
    return f'<!doctype html><html lang="en">{pages[0].head}{plotly}{body}</html>'


def _lead_inside(tag: Tag, name: str, html: Path, names: set[str]) -> None:
    key = "href" if tag.name == "a" else "src"
    link = urlsplit(str(tag.get(key, "")))
    if link.scheme or link.netloc:
        return
    there = (html / name).parent / unquote(link.path) if link.path else html / f"{name}.html"
    path = there.resolve().relative_to(html.resolve())
    if tag.name == "img":
        tag[key] = path.as_posix()
    elif (target := path.with_suffix("").as_posix()) in names:
        tag[key] = f"#{target}--{link.fragment}" if link.fragment else f"#{target}"
    else:
        tag.unwrap()
