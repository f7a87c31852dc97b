"""Figures that move, as fragments of a page."""

import json
from pathlib import Path
from typing import Any

from intertwine_book.figures.still import still

_FRAME = """<div class="widget plot" id="{name}">
<div class="frame" style="{height}">
{still}
<div class="plotly-graph-div"></div>
</div>
<div class="moved" hidden></div>
</div>
"""


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
    """A plotly figure: a fragment for pages that load plotly.min.js, and what JupyterLab draws by itself.

    On a page its slider is one of the page's own, which keys move as well as the mouse, and a scene of three
    dimensions turns by a slider, too. A still picture stands in the frame until the figure is drawn, where
    there is no WebGL or no JavaScript, and in print.
    """

    def __init__(self, figure: Any, name: str, says: str = "{}", picture: str = "") -> None:
        """`says` puts the label of a step of the slider into words, for readers who hear it.

        The still picture is `picture`, or what `still` makes of the figure.
        """
        self.figure, self.name, self.says, self.picture = figure, name, says, picture

    def _repr_html_(self) -> str:
        height = f"height: {self.figure.layout.height or 450}px"
        sent = json.dumps({"says": self.says, **json.loads(self.figure.to_json())})
        frame = _FRAME.format(name=self.name, height=height, still=self.picture or still(self.figure))
        return frame + script("interactive", self.name, sent)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.plotly.v1+json": json.loads(self.figure.to_json())}  # beside the html
