"""A Sphinx extension: plotly.js from the book itself where a figure moves, and no script from elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _load)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _load(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    # thebe would run cells elsewhere; we have no button for it, and declared twice it is an error
    scripts = context["script_files"]  # changed in place, as later additions go to the same list
    scripts[:] = [script for script in scripts if "thebe" not in f"{script.filename} {script.attributes}"]
    if "plotly-graph-div" in context.get("body", ""):
        app.add_js_file("plotly.min.js", priority=100)  # in the head: figures call it as they are read


def _copy(app: Any, error: Exception | None) -> None:
    if error is None:
        import plotly

        source = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        shutil.copy(source, Path(app.outdir) / "_static")
