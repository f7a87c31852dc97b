"""A walk along the line between two networks: accuracy, and what one channel sees on the way."""

import json
from collections.abc import Mapping
from string import Template

import pandas as pd
from IPython.display import HTML
from jaxtyping import Float
from torch import Tensor

from intertwine_book.figures.style import COLOURS, check_columns

_SCRIPT = Template("""
<div class="widget" id="$name">
<svg viewBox="-14 -4 128 78" role="img" aria-label="Accuracy along the line, in percent"></svg>
<p><label>fraction of the way <input type="range" min="0" max="$last" step="1" value="$middle"></label>
<output aria-live="polite"></output></p>
<div class="panels"></div>
</div>
<script>
(() => {
  const root = document.getElementById("$name"), [svg] = root.querySelectorAll("svg");
  const input = root.querySelector("input"), said = root.querySelector("output"), walks = $walks;
  const shape = (kind, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return svg.appendChild(made);
  };
  const ink = {"font-size": 4, fill: "currentColor"};
  const y = accuracy => 60 - 0.6 * accuracy, x = k => 100 * k / $last;
  for (const level of [0, 50, 100]) {
    shape("line", {x1: 0, x2: 100, y1: y(level), y2: y(level), stroke: "$grey", "stroke-width": 0.2});
    shape("text", {x: -2, y: y(level) + 1.5, "text-anchor": "end", ...ink}, level);
  }
  const under = "from the first network to the second; accuracy in percent";
  shape("text", {x: 50, y: 70, "text-anchor": "middle", ...ink}, under);
  const colours = ["$orange", "$blue"], parts = walks.map((walk, w) => {
    const points = walk.accuracy.map((a, k) => x(k) + "," + y(a)).join(" ");
    shape("polyline", {points, fill: "none", stroke: colours[w], "stroke-width": 0.9});
    const figure = root.querySelector(".panels").appendChild(document.createElement("figure"));
    const canvas = figure.appendChild(document.createElement("canvas"));
    canvas.height = walk.images[0].length; canvas.width = walk.images[0][0].length;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "A channel's activations, " + walk.way);
    figure.appendChild(document.createElement("figcaption")).textContent = walk.way;
    figure.querySelector("figcaption").style.borderBlockStart = "3px solid " + colours[w];
    return {canvas, mark: shape("circle", {r: 1.6, fill: colours[w]})};
  });
  const draw = () => {
    const k = +input.value;
    walks.forEach((walk, w) => {
      parts[w].mark.setAttribute("cx", x(k)); parts[w].mark.setAttribute("cy", y(walk.accuracy[k]));
      const {canvas} = parts[w], pen = canvas.getContext("2d");
      walk.images[k].forEach((row, i) => row.forEach((grey, j) => {
        pen.fillStyle = "rgb(" + grey + "," + grey + "," + grey + ")"; pen.fillRect(j, i, 1, 1);
      }));
    });
    const each = walks.map(walk => walk.way + " " + walk.accuracy[k].toFixed(0) + " %").join(", ");
    said.textContent = (k / $last).toFixed(2) + ": " + each;
  };
  input.addEventListener("input", draw);
  draw();
})();
</script>
""")


def line_walk(lines: pd.DataFrame, images: Mapping[str, Float[Tensor, "n h w"]]) -> HTML:
    """Two walks from a network to another, with a slider: accuracy, and a channel's response to one image.

    Example:
        >>> import pandas as pd, torch
        >>> ways = {"as trained": torch.rand(3, 8, 8), "matched": torch.rand(3, 8, 8)}
        >>> rows = [{"way": way, "fraction": k / 2, "accuracy": 50.0} for way in ways for k in range(3)]
        >>> "matched" in line_walk(pd.DataFrame(rows), ways).data
        True

    The lines have columns way, fraction (equally spaced, in order) and accuracy in percent; the images are,
    for each of two ways, a channel's activations at every fraction, where black is 0 and white the largest.
    """
    check_columns(lines, "way", "fraction", "accuracy")
    walks = []
    for way, walk in images.items():
        accuracy = lines.loc[lines["way"] == way, "accuracy"].round(1).tolist()
        if len(accuracy) != len(walk) or len(walk) < 2:
            raise ValueError(
                f"Expected an accuracy for each of at least 2 images of {way!r}, was given {len(accuracy)} "
                f"accuracies and {len(walk)} images."
            )
        grey = (255 * walk / walk.amax().clamp_min(1e-12)).clamp_min(0).round().int().tolist()
        walks.append({"way": way, "accuracy": accuracy, "images": grey})
    last = len(walks[0]["images"]) - 1
    values = {"name": "line-walk", "last": last, "middle": last // 2, "walks": json.dumps(walks)}
    return HTML(_SCRIPT.substitute(COLOURS, **values))
