// The figure of valley_slider.py: a point on the orbit pq = 1, and the parabola of the loss around it.
function valley_slider(root, { rows, colours }) {
  const [orbit, faint, valley] = colours, slider = root.querySelector("input");
  const [plane, section] = root.querySelectorAll("svg"), most = Math.exp(Math.max(...rows.map(([t]) => Math.abs(t))));
  const shape = (svg, kind, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.textContent = text;
    return svg.appendChild(made);
  };
  const path = (points) => "M" + points.map((point) => point.map((x) => x.toFixed(2)).join(" ")).join("L");
  const span = (from, to) => Array.from({ length: 81 }, (_, k) => from + (to - from) * k / 80);
  const ink = { fill: "currentColor", "font-size": 12 };
  const frame = (svg, across, up) => {
    shape(svg, "path", { d: "M30 10V160H230", stroke: "currentColor", fill: "none" });
    shape(svg, "text", { ...ink, x: 130, y: 182, "text-anchor": "middle" }, across);
    shape(svg, "text", { ...ink, x: 6, y: 85, transform: "rotate(-90 14 85)", "text-anchor": "middle" }, up);
  };
  // left: the loss depends on pq alone, so its level curves are hyperbolas
  const at = (p, q) => [30 + 200 * p / (1.05 * most), 160 - 150 * q / (1.05 * most)];
  frame(plane, "p: scale of the first layer", "q: second layer");
  for (const level of [0.25, 0.5, 2, 4, 1]) {
    const ends = [Math.log(level / most), Math.log(most)], main = level === 1;
    const d = path(span(...ends).map((s) => at(Math.exp(s), level / Math.exp(s))));
    shape(plane, "path", { d, fill: "none", stroke: main ? orbit : faint, "stroke-width": main ? 3 : 0.8 });
  }
  const dot = shape(plane, "circle", { r: 7, fill: valley });
  // right: distances to 0.6, rises to 2
  frame(section, "distance in weight space, −0.6 to 0.6", "rise of the loss, to 2");
  const curve = shape(section, "path", { fill: "none", stroke: valley, "stroke-width": 2.5 });
  const draw = () => {
    const [t, loss, bend, size] = rows[slider.value], p = Math.exp(t), reach = Math.min(0.6, Math.sqrt(4 / bend));
    const [x, y] = at(p, 1 / p);
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    curve.setAttribute("d", path(span(-reach, reach).map((s) => [130 + 100 * s / 0.6, 160 - 75 * bend * s * s / 2])));
    const minus = (text) => text.replace("-", "−");
    root.querySelector("label span").textContent = minus(t.toFixed(2));
    root.querySelector("output").textContent = `loss ${loss.toFixed(3)}, largest eigenvalue ${bend.toFixed(1)}, ` +
      `squared norm ${Math.round(size)}`;
  };
  slider.addEventListener("input", draw);
  draw();
}
