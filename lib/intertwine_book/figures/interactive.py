"""Figures that move, as fragments of a page."""

import json
from pathlib import Path
from typing import Any


def script(name: str, box: str, data: str) -> str:
    """The script element of a figure that moves: `_static/<name>.js` in full, and a call of its function.

    Example:
        >>> "function matrix_slider(root" in script("matrix_slider", "cold", "{}")
        True

    The function has the name of the file and takes the element of the page whose id is `box`, and the data,
    which are JSON. It is inlined, so that it also runs in a notebook, where no file of the book's is near.
    """
    source = (Path(__file__).parent / "_static" / f"{name}.js").read_text()
    safe = data.replace("</", "<\\/")  # a page would end the script there
    return (
        f'<script>\n(() => {{\n{source}{name}(document.getElementById("{box}"), {safe});\n}})();\n</script>'
    )


class Interactive:
    """A plotly figure: a fragment for pages that load plotly.min.js, and what JupyterLab draws by itself."""

    def __init__(self, figure: Any, name: str) -> None:
        self.figure, self.name = figure, name

    def _repr_html_(self) -> str:
        style = f"height: {self.figure.layout.height or 450}px; width: 100%"
        box = f'<div id="{self.name}" class="plotly-graph-div" style="{style}"></div>\n'
        return box + script("interactive", self.name, self.figure.to_json())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.plotly.v1+json": json.loads(self.figure.to_json())}  # beside the html
