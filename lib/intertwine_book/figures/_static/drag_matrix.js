// The figure of drag_matrix.py: a grid of points x, moved by A and then by ReLU, and by ReLU and then by the best B.
function drag_matrix(root, { grey, pink, sky, orange, green }) {
  const panels = [...root.querySelectorAll("svg")], [points] = panels;
  const inputs = [...root.querySelectorAll("input")], said = root.querySelector("output");
  const shown = root.querySelectorAll("label span");
  const relu = (v) => v.map((t) => Math.max(t, 0));
  const times = (A, v) => [A[0] * v[0] + A[1] * v[1], A[2] * v[0] + A[3] * v[1]];
  const grid = [], quadrants = [grey, pink, sky, orange];
  for (let i = -8; i <= 8; i++) for (let j = -8; j <= 8; j++) grid.push([i / 8, j / 8]);
  const X = grid.map(relu), sum = (term) => grid.reduce((total, _, k) => total + term(k), 0);
  const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) => sum((k) => X[k][i] * X[k][j]));
  const best = (Y) => [0, 1].flatMap((i) => {  // a row of B solves the normal equations
    const [u, v] = [0, 1].map((j) => sum((k) => Y[k][i] * X[k][j]));
    return [(u * yy - v * xy) / (xx * yy - xy * xy), (v * xx - u * xy) / (xx * yy - xy * xy)];
  });
  const shape = (svg, kind, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return svg.appendChild(made);
  };
  const dots = panels.map((svg, side) => {
    for (const [x, y] of [[3, 0], [0, 3]])
      shape(svg, "line", { x1: -x, y1: -y, x2: x, y2: y, stroke: grey, "stroke-width": 0.015 });
    return grid.map((p) => shape(svg, "circle", {
      cx: p[0], cy: -p[1], r: side ? 0.025 : 0.045, fill: quadrants[2 * (p[0] > 0) + (p[1] > 0)],
    }));
  });
  const columns = [0, 1].map(() => [
    shape(points, "line", { stroke: green, "stroke-width": 0.05, x1: 0, y1: 0 }),
    shape(points, "circle", { r: 0.16, fill: green, style: "cursor: grab; touch-action: none" }),
  ]);
  const draw = () => {
    const A = inputs.map((input) => +input.value), Y = grid.map((p) => relu(times(A, p)));
    const B = best(Y), Z = X.map((p) => times(B, p));
    shown.forEach((span, k) => { span.textContent = A[k].toFixed(2).replace("-", "−"); });
    [Y, Z].forEach((images, side) => images.forEach((q, k) => {
      dots[side + 1][k].setAttribute("cx", q[0]);
      dots[side + 1][k].setAttribute("cy", -q[1]);
    }));
    columns.forEach(([line, knob], k) => {
      for (const [part, x, y] of [[line, "x2", "y2"], [knob, "cx", "cy"]]) {
        part.setAttribute(x, A[k]);
        part.setAttribute(y, -A[k + 2]);
      }
    });
    const size = sum((k) => Y[k][0] ** 2 + Y[k][1] ** 2);
    const left = sum((k) => (Y[k][0] - Z[k][0]) ** 2 + (Y[k][1] - Z[k][1]) ** 2);
    const share = size ? 100 * left / size : 0;
    const singular = Math.abs(A[0] * A[3] - A[1] * A[2]) < 1e-9 ? " (A is not invertible)" : "";
    said.textContent = `The best B leaves ${share.toFixed(share < 10 && share > 1e-9 ? 1 : 0)} %${singular}`;
  };
  const set = (A) => { inputs.forEach((input, k) => { input.value = A[k]; }); draw(); };
  inputs.forEach((input) => input.addEventListener("input", draw));
  root.querySelectorAll("button").forEach((b) => b.addEventListener("click", () => set(JSON.parse(b.value))));
  columns.forEach(([, knob], k) => {
    const move = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(points.getScreenCTM().inverse());
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
