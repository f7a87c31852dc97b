// The figure of line_walk.py: accuracy along the line, and a channel's activations at the slider's place on it.
function line_walk(root, { walks, grey, orange, blue }) {
  const svg = root.querySelector("svg"), input = root.querySelector("input"), last = +input.max;
  const said = root.querySelector("output"), panels = root.querySelector(".panels"), colours = [orange, blue];
  const shape = (kind, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return svg.appendChild(made);
  };
  const ink = { "font-size": 4, fill: "currentColor" };
  const y = (accuracy) => 60 - 0.6 * accuracy, x = (k) => (100 * k) / last;
  for (const level of [0, 50, 100]) {
    shape("line", { x1: 0, x2: 100, y1: y(level), y2: y(level), stroke: grey, "stroke-width": 0.2 });
    shape("text", { x: -2, y: y(level) + 1.5, "text-anchor": "end", ...ink }, level);
  }
  const under = "from the first network to the second; accuracy in percent";
  shape("text", { x: 50, y: 70, "text-anchor": "middle", ...ink }, under);
  const parts = walks.map((walk, w) => {
    const points = walk.accuracy.map((a, k) => x(k) + "," + y(a)).join(" ");
    shape("polyline", { points, fill: "none", stroke: colours[w], "stroke-width": 0.9 });
    const figure = panels.appendChild(document.createElement("figure"));
    const canvas = figure.appendChild(document.createElement("canvas"));
    canvas.height = walk.images[0].length;
    canvas.width = walk.images[0][0].length;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "A channel's activations, " + walk.way);
    const caption = figure.appendChild(document.createElement("figcaption"));
    caption.textContent = walk.way;
    caption.style.borderBlockStart = "3px solid " + colours[w];
    return { pen: canvas.getContext("2d"), mark: shape("circle", { r: 1.6, fill: colours[w] }) };
  });
  const draw = () => {
    const k = +input.value;
    walks.forEach((walk, w) => {
      const { pen, mark } = parts[w];
      mark.setAttribute("cx", x(k));
      mark.setAttribute("cy", y(walk.accuracy[k]));
      walk.images[k].forEach((row, i) => row.forEach((shade, j) => {
        pen.fillStyle = `rgb(${shade}, ${shade}, ${shade})`;
        pen.fillRect(j, i, 1, 1);
      }));
    });
    const each = walks.map((walk) => walk.way + " " + walk.accuracy[k].toFixed(0) + " %").join(", ");
    said.textContent = (k / last).toFixed(2) + ": " + each;
  };
  input.addEventListener("input", draw);
  draw();
}
