// The figure of one_function.py: a ReLU network with two hidden neurons, swapped and scaled, beside its graph.
function one_function(root, { blue, red }) {
  const [network, graph] = root.querySelectorAll("svg"), [slider] = root.querySelectorAll("input");
  const [swap, reset] = root.querySelectorAll("button"), said = root.querySelector("output");
  const given = [{ w: 1, b: 0.5, v: 3, colour: blue }, { w: -2, b: 1, v: -1, colour: red }];
  const shape = (svg, kind, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return svg.appendChild(made);
  };
  const number = (t) => String(Math.round(100 * t) / 100).replace("-", "−");
  const write = (svg, x, y, text, style = "") => shape(svg, "text", {
    x, y, "text-anchor": "middle", fill: "currentColor", "font-size": 13, style,
  }, text);
  const halo = "paint-order: stroke; stroke: var(--pst-color-background, #fff); stroke-width: 5px";
  const at = (x, y) => `${130 + 60 * x},${112 - 11 * y}`;
  const curve = (f, attributes) => {
    const points = [];
    for (let k = 0; k <= 80; k++) points.push(at(k / 20 - 2, f(k / 20 - 2)));
    shape(graph, "polyline", { points: points.join(" "), fill: "none", ...attributes });
  };
  let swapped = false;
  const draw = () => {
    const alpha = 2 ** slider.value, [first, second] = given;
    const neurons = [{ ...first, w: alpha * first.w, b: alpha * first.b, v: first.v / alpha }, second];
    if (swapped) neurons.reverse();
    const hidden = ({ w, b }, x) => Math.max(w * x + b, 0);
    const f = (x) => neurons.reduce((sum, neuron) => sum + neuron.v * hidden(neuron, x), 0);
    network.replaceChildren();
    graph.replaceChildren();
    neurons.forEach(({ w, b, v, colour }, k) => {
      const y = [42, 138][k], line = { stroke: colour, "stroke-opacity": 0.8 };
      shape(network, "line", { x1: 24, y1: 90, x2: 130, y2: y, "stroke-width": 1.5 + Math.abs(w), ...line });
      shape(network, "line", { x1: 130, y1: y, x2: 236, y2: 90, "stroke-width": 1.5 + Math.abs(v), ...line });
      write(network, 70, (90 + y) / 2 + 4, number(w), halo);
      write(network, 190, (90 + y) / 2 + 4, number(v), halo);
      shape(network, "circle", { cx: 130, cy: y, r: 27, fill: colour });
      write(network, 130, y - 2, "ReLU", "fill: #fff");
      write(network, 130, y + 14, (b < 0 ? "" : "+") + number(b), "fill: #fff");
    });
    [[24, "x"], [236, "f(x)"]].forEach(([x, text]) => {
      shape(network, "circle", { cx: x, cy: 90, r: 20, stroke: "currentColor", fill: "var(--pst-color-background, #fff)" });
      write(network, x, 94, text);
    });
    shape(graph, "polyline", { points: `${at(-2, 0)} ${at(2, 0)}`, stroke: "currentColor", "stroke-width": 0.7 });
    shape(graph, "polyline", { points: `${at(0, -5)} ${at(0, 9)}`, stroke: "currentColor", "stroke-width": 0.7 });
    neurons.forEach((neuron) => curve((x) => hidden(neuron, x), { stroke: neuron.colour, "stroke-width": 1.8, "stroke-dasharray": "5 3" }));
    curve(f, { stroke: "currentColor", "stroke-width": 3.5 });
    write(graph, 215, 20, "f(x)", `font-weight: bold; ${halo}`);
    write(graph, 120, 20, "dashed: hidden", halo);
    said.textContent = `α = ${number(alpha)}${swapped ? ", swapped" : ""}: blue has ${number(alpha)} and bias `
      + `${number(alpha / 2)} in, ${number(3 / alpha)} out; f(0) = ${number(f(0))} and f(1) = ${number(f(1))}, as given`;
  };
  slider.addEventListener("input", draw);
  swap.addEventListener("click", () => { swapped = !swapped; draw(); });
  reset.addEventListener("click", () => { slider.value = 0; swapped = false; draw(); });
  draw();
}
