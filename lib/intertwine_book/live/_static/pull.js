// The instrument of pull.py: points x of the plane, σ(Ax), and Bσ(x) with the best B, one over the other.
function pull(root, { activations, presets, start, colours }) {
  const { element, set, slider, choice, button, announcer, drawing, number, percent } = Controls;
  const { grey, pink, sky, orange, green, red } = colours, points = [], quadrants = [grey, pink, sky, orange];
  for (let i = -8; i <= 8; i++) for (let j = -8; j <= 8; j++) points.push([i / 8, j / 8]);
  const all = points.map((_, k) => k), seen = all.filter((k) => points[k].every((x) => 4 * x % 1 === 0));
  let name = start.activation, A = start.A;
  const times = (M, v) => [M[0] * v[0] + M[1] * v[1], M[2] * v[0] + M[3] * v[1]];
  const sum = (term) => all.reduce((total, k) => total + term(k), 0);
  const best = (X, Y) => {  // a row of B solves the normal equations
    const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) => sum((k) => X[k][i] * X[k][j]));
    return [0, 1].flatMap((i) => {
      const [u, v] = [0, 1].map((j) => sum((k) => Y[k][i] * X[k][j]));
      return [(u * yy - v * xy) / (xx * yy - xy * xy), (v * xx - u * xy) / (xx * yy - xy * xy)];
    });
  };

  const panels = element(root, "div", { class: "panels" });
  const [plane, images] = ["The points x, and two knobs for the columns of A",
    "The points σ(Ax), rings at Bσ(x), and a line from each point to its ring"].map((alt) => {
    const figure = element(panels, "figure");
    const svg = element(figure, "svg", { role: "img", "aria-label": alt });
    element(svg, "path", { d: "M-3 0H3M0-3V3", stroke: grey, "stroke-width": 0.015 });
    return { svg, caption: element(figure, "figcaption") };
  });
  set(plane.svg, { viewBox: "-2.1 -2.1 4.2 4.2" });
  plane.caption.innerHTML = "<i>x</i>, and the columns of <i>A</i>";
  const path = (svg, stroke) => element(svg, "path", { stroke, fill: "none", "stroke-linecap": "round" });
  const lines = path(images.svg, red), rings = path(images.svg, "currentColor");
  const moved = quadrants.map((colour) => path(images.svg, colour));
  const dots = (some, at) => some.map((k) => `M${at[k][0].toFixed(3)} ${(-at[k][1]).toFixed(3)}h0`).join("");
  const within = (q) => seen.filter((k) => 2 * (points[k][0] > 0) + (points[k][1] > 0) === q);
  quadrants.forEach((colour, q) => {
    set(path(plane.svg, colour), { d: dots(within(q), points), "stroke-width": 0.13 });
  });
  const columns = [0, 1].map(() => [
    element(plane.svg, "line", { stroke: green, "stroke-width": 0.05, x1: 0, y1: 0 }),
    element(plane.svg, "circle", { r: 0.24, fill: green, style: "cursor: grab; touch-action: none" }),
  ]);
  const result = element(root, "p"), announce = announcer(root);

  const draw = () => {
    const sigma = Engine.ACTIVATIONS[name](), { shown, from, size } = activations[name], r = 0.018 * size;
    const X = points.map((p) => p.map(sigma)), Y = points.map((p) => times(A, p).map(sigma));
    const B = best(X, Y), Z = X.map((p) => times(B, p));
    const ring = ([x, y]) => `M${x - r} ${-y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    const line = (k) => `M${Y[k][0]} ${-Y[k][1]}L${Z[k][0]} ${-Z[k][1]}`;
    set(images.svg, { viewBox: `${from} ${-from - size} ${size} ${size}` });
    set(lines, { d: seen.map(line).join(""), "stroke-width": 0.006 * size });
    set(rings, { d: seen.map((k) => ring(Z[k])).join(""), "stroke-width": 0.005 * size });
    moved.forEach((part, q) => set(part, { d: dots(within(q), Y), "stroke-width": 0.026 * size }));
    images.caption.innerHTML = `dots ${shown}(<i>Ax</i>), rings <i>B</i> ${shown}(<i>x</i>)`;
    columns.forEach(([stalk, knob], k) => {
      set(stalk, { x2: A[k], y2: -A[k + 2] });
      set(knob, { cx: A[k], cy: -A[k + 2] });
    });
    const size2 = sum((k) => Y[k][0] ** 2 + Y[k][1] ** 2) || 1;
    const left = sum((k) => (Y[k][0] - Z[k][0]) ** 2 + (Y[k][1] - Z[k][1]) ** 2) / size2;
    const singular = Math.abs(A[0] * A[3] - A[1] * A[2]) < 1e-9 ? " (A is not invertible)" : "";
    const share = percent(left, left > 1e-9 && left < 0.0995 ? 1 : 0), b = B.map((entry) => number(entry, 2));
    result.innerHTML = `<b>The best B leaves ${share}</b>${singular}; B has the rows (${b[0]}, ${b[1]}) and `
      + `(${b[2]}, ${b[3]})`;
    announce(`The best B leaves ${share}${singular}`);
  };
  const ask = drawing(draw);

  const options = Object.entries(activations).map(([key, { shown }]) => [key, shown]);
  choice(root, { label: "activation σ", options, value: name, chosen: (to) => { name = to; ask(); } });
  const entries = element(root, "div", { class: "panels two" });
  const sliders = ["a₁₁", "a₁₂", "a₂₁", "a₂₂"].map((label, k) => slider(entries, {
    label, min: -2, max: 2, step: 0.01, value: A[k], text: (v) => number(v, 2),
    moved: (to) => { A = A.map((a, i) => (i === k ? to : a)); ask(); },
  }));
  const go = (to) => {
    A = to.map((a) => Math.max(-2, Math.min(2, Math.round(100 * a) / 100)));
    sliders.forEach(({ show }, k) => show(A[k]));
    ask();
  };
  const buttons = element(root, "p", { style: "display: flex; flex-wrap: wrap; gap: 0.4em" });
  for (const [text, to] of Object.entries(presets)) button(buttons, text, () => go(to));
  columns.forEach(([, knob], k) => {
    knob.addEventListener("pointerdown", ({ pointerId }) => knob.setPointerCapture(pointerId));
    knob.addEventListener("pointermove", ({ pointerId, clientX, clientY }) => {
      if (!knob.hasPointerCapture(pointerId)) return;
      const from = plane.svg.getScreenCTM().inverse(), to = [...A];
      const at = new DOMPoint(clientX, clientY).matrixTransform(from);
      [to[k], to[k + 2]] = [at.x, -at.y];
      go(to);
    });
  });
  draw();
}
