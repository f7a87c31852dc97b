"""The book online: a folder of pages and notebooks for a branch, and buttons that open chapters from there.

Buttons are built from `repository: url:` in _config.yml, and absent while it is not set. They are for GitHub.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from intertwine_book.build.layout import Book, BookError
from intertwine_book.build.writing import check_writable

BRANCH = "gh-pages"
_PAPER = "<!-- on paper -->"  # the home page has it where the link is to stand
_LINK = '<p>The chapters are also <a href="book.pdf">one PDF</a>, to print.</p>'
_GITHUB = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")


def publish(book: Book, profile: str, folder: Path) -> str:
    """Fill a new folder with the rendered book, a PDF of it and, in `notebooks`, those that its pages offer.

    Returns why there is no PDF, if there is none: it needs a Chromium. A link to it stands only beside it.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BookError(f"Expected a new or empty folder, {folder} holds something: name another one.")
    book.check_all_ran(profile)
    if not book.repository:
        raise BookError("Expected the address of the repository in _config.yml (repository: url:): set it.")
    check_writable(folder)
    from intertwine_book.build.pdf import pdf
    from intertwine_book.build.render import render  # slow to import, for who is only refused

    try:
        shutil.copytree(render(book, profile).parent, folder, dirs_exist_ok=True)
        (folder / ".nojekyll").touch()  # or GitHub leaves out folders that begin with _
        for name in book.notebooks:
            (folder / f"notebooks/{name}").parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / f"_sources/chapters/{name}.ipynb", folder / f"notebooks/{name}.ipynb")
        try:
            shutil.copy(pdf(book, profile), folder / "book.pdf")
        except BookError as error:
            return f"Without a PDF. {error}"
        home = folder / "intro.html"
        home.write_text(home.read_text().replace(_PAPER, _LINK))
        return ""
    except BaseException:  # what is half filled would be refused the next time
        shutil.rmtree(folder, ignore_errors=True)
        raise


def address(url: str | None) -> str | None:
    """Where the pages of a repository stand.

    Example:
        >>> address("https://github.com/us/book")
        'https://us.github.io/book'
    """
    found = _GITHUB.fullmatch(url or "")
    return f"https://{found[1]}.github.io/{found[2]}" if found else None


def links(url: str | None, chapter: str) -> dict[str, str]:
    """Where a chapter can be run in a browser.

    Example:
        >>> links("https://github.com/us/book", "02_x")["Colab"]
        'https://colab.research.google.com/github/us/book/blob/gh-pages/notebooks/02_x.ipynb'

    Colab opens the executed notebook from the branch of pages, Binder the source from the main branch.
    """
    if not (found := _GITHUB.fullmatch(url or "")):
        return {}
    owner, name = found.groups()
    lab = f"lab/tree/chapters/{chapter}.py%3Ffactory%3DJupytext%20Notebook"
    return {
        "Colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/{BRANCH}/notebooks/{chapter}.ipynb",
        "Binder": f"https://mybinder.org/v2/gh/{owner}/{name}/HEAD?urlpath={lab}",
    }


def setup(app: Any) -> dict[str, bool]:
    """A Sphinx extension, called by Sphinx."""
    app.connect("html-page-context", _buttons, priority=502)  # behind the theme's own buttons
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _buttons(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if not page.startswith("chapters/"):
        return
    found = links(app.config.html_theme_options.get("repository_url"), page.removeprefix("chapters/"))
    buttons = [
        {"type": "link", "text": name, "tooltip": f"Run on {name}", "icon": "fas fa-play", "url": url}
        for name, url in found.items()
    ]
    if buttons:
        group = {"type": "group", "tooltip": "Run in the browser", "icon": "fas fa-rocket"}
        context["header_buttons"].append(group | {"buttons": buttons, "label": "launch-buttons"})
