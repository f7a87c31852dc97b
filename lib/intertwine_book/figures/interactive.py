"""A figure that moves, as a fragment of a page."""

import json
from typing import Any

# drawn when nearly seen: without a graphics card three dimensions take seconds
_FRAGMENT = """<div id="{name}" class="plotly-graph-div" style="height: {height}px; width: 100%"></div>
<script>
(box => {{
  const {{data, layout}} = {figure};
  const draw = () => box.data || Plotly.newPlot(box, data, layout, {{displaylogo: false, responsive: true}});
  const watch = new IntersectionObserver(([seen]) => seen.isIntersecting && draw(), {{rootMargin: "500px"}});
  addEventListener("load", () => watch.observe(box));
  addEventListener("beforeprint", draw);
}})(document.getElementById("{name}"));
</script>"""


class Interactive:
    """A plotly figure: a fragment for pages that load plotly.min.js, and what JupyterLab draws by itself."""

    def __init__(self, figure: Any, name: str) -> None:
        self.figure, self.name = figure, name

    def _repr_html_(self) -> str:
        drawn = self.figure.to_json().replace("</", "<\\/")
        return _FRAGMENT.format(name=self.name, height=self.figure.layout.height or 450, figure=drawn)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.plotly.v1+json": json.loads(self.figure.to_json())}  # beside the html
