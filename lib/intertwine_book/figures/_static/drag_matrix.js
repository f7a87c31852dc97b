// The figure of drag_matrix.py: the same grid of points, moved by A and then by ReLU, and the other way round.
function drag_matrix(root, { grey, pink, sky, orange, green }) {
  const [left, right] = root.querySelectorAll("svg");
  const inputs = [...root.querySelectorAll("input")], said = root.querySelector("output");
  const shown = root.querySelectorAll("label span");
  const relu = (v) => v.map((t) => Math.max(t, 0));
  const times = (A, v) => [A[0] * v[0] + A[1] * v[1], A[2] * v[0] + A[3] * v[1]];
  const grid = [], quadrants = [grey, pink, sky, orange];
  for (let i = -8; i <= 8; i++) for (let j = -8; j <= 8; j++) grid.push([i / 8, j / 8]);
  const shape = (svg, kind, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return svg.appendChild(made);
  };
  const dots = [left, right].map((svg) => {
    for (const [x, y] of [[3, 0], [0, 3]])
      shape(svg, "line", { x1: -x, y1: -y, x2: x, y2: y, stroke: grey, "stroke-width": 0.02 });
    return grid.map((p) => shape(svg, "circle", { r: 0.05, fill: quadrants[2 * (p[0] > 0) + (p[1] > 0)] }));
  });
  const columns = [0, 1].map(() => [
    shape(left, "line", { stroke: green, "stroke-width": 0.05, x1: 0, y1: 0 }),
    shape(left, "circle", { r: 0.16, fill: green, style: "cursor: grab; touch-action: none" }),
  ]);
  const draw = () => {
    const A = inputs.map((input) => +input.value), phi = relu(A);
    shown.forEach((span, k) => { span.textContent = A[k].toFixed(2).replace("-", "−"); });
    let apart = 0, size = 0;
    grid.forEach((p, k) => {
      const pair = [relu(times(A, p)), times(phi, relu(p))];
      pair.forEach((q, side) => {
        dots[side][k].setAttribute("cx", q[0]);
        dots[side][k].setAttribute("cy", -q[1]);
      });
      apart += (pair[0][0] - pair[1][0]) ** 2 + (pair[0][1] - pair[1][1]) ** 2;
      size += pair[0][0] ** 2 + pair[0][1] ** 2;
    });
    columns.forEach(([line, knob], k) => {
      for (const [part, x, y] of [[line, "x2", "y2"], [knob, "cx", "cy"]]) {
        part.setAttribute(x, A[k]);
        part.setAttribute(y, -A[k + 2]);
      }
    });
    const ratio = size ? Math.sqrt(apart / size) : 0;
    said.textContent = "relative difference " + ratio.toFixed(2) + (ratio < 0.005 ? ": the two agree" : "");
  };
  const set = (A) => { inputs.forEach((input, k) => { input.value = A[k]; }); draw(); };
  inputs.forEach((input) => input.addEventListener("input", draw));
  root.querySelectorAll("button").forEach((b) => b.addEventListener("click", () => set(JSON.parse(b.value))));
  columns.forEach(([, knob], k) => {
    const move = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(left.getScreenCTM().inverse());
      const A = inputs.map((input) => +input.value);
      A[k] = at.x;
      A[k + 2] = -at.y;
      set(A);
    };
    knob.addEventListener("pointerdown", (event) => {
      knob.setPointerCapture(event.pointerId);
      knob.addEventListener("pointermove", move);
    });
    knob.addEventListener("pointerup", () => knob.removeEventListener("pointermove", move));
  });
  draw();
}
