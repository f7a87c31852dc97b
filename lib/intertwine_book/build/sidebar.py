"""A Sphinx extension: pages of source code at one depth share a table of contents, which is made once.

Sphinx makes the table in the sidebar anew for every page: a fifth of the time of a build of all pages.
On a page of source code no entry is the current one, and links differ only by the way up to the top folder.
"""

import functools
from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    made: dict[int, Any] = {}

    def share(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
        if page.startswith("_modules/"):
            context["toctree"] = made.setdefault(page.count("/"), functools.cache(context["toctree"]))

    app.connect("html-page-context", share, priority=400)  # before the theme, which asks for the table
    return {"parallel_read_safe": True, "parallel_write_safe": True}
