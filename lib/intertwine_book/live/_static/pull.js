// The instrument of pull.py: points x of the plane, σ(Ax), and Bσ(x) with the best B, one over the other.
function pull(root, { activations, presets, start, colours }) {
  const { element, set, slider, choice, number, percent } = Controls, { matrix, times, each } = Algebra;
  const { grey, pink, sky, orange, green, red } = colours, quadrants = [grey, pink, sky, orange];
  const side = Array.from({ length: 17 }, (_, k) => k / 8 - 1), count = side.length ** 2;
  const grid = [...side.flatMap((x) => side.map(() => x)), ...side.flatMap(() => side)];
  const points = matrix(2, count, grid);  // all are fitted, and every second one is shown
  const at = ({ d }, k) => [d[k], -d[count + k]];  // as the drawings have it: downwards
  const seen = [...Array(count).keys()].filter((k) => at(points, k).every((x) => 4 * x % 1 === 0));
  let name = start.activation, A = start.A;

  const panels = element(root, "div", { class: "panels" });
  const [plane, images] = ["The points x, and two knobs for the columns of A",
    "The points σ(Ax), rings at Bσ(x), and a line from each point to its ring"].map((alt) =>
    Controls.panel(panels, alt, "-2.1 -2.1 4.2 4.2"));
  plane.caption.innerHTML = "<i>x</i>, and the columns of <i>A</i>";
  const axes = `<path d="M-3 0H3M0-3V3" stroke="${grey}" stroke-width="0.015"/>`;
  const path = (d, stroke, width) => `<path d="${d.join("")}" stroke="${stroke}" fill="none" `
    + `stroke-width="${width}" stroke-linecap="round"/>`;
  const dots = (M, width) => quadrants.map((colour, q) => path(seen
    .filter((k) => 2 * (grid[k] > 0) + (grid[count + k] > 0) === q)
    .map((k) => `M${at(M, k).map((x) => x.toFixed(3)).join(" ")}h0`), colour, width)).join("");
  const column = `<line stroke="${green}" stroke-width="0.05"/>`
    + `<circle r="0.24" fill="${green}" style="cursor: grab; touch-action: none"/>`;
  plane.svg.innerHTML = axes + dots(points, 0.13) + column + column;
  const [stalks, knobs] = ["line", "circle"].map((kind) => [...plane.svg.querySelectorAll(kind)]);
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const draw = () => {
    const sigma = Engine.ACTIVATIONS[name](), { shown, from, size } = activations[name], r = 0.018 * size;
    const Y = each(times(matrix(2, 2, A), points), sigma);
    const { B, made: Z, left } = Algebra.leastSquares(each(points, sigma), Y);
    const ring = ([x, y]) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    const line = (k) => `M${at(Y, k).join(" ")}L${at(Z, k).join(" ")}`;
    set(images.svg, { viewBox: `${from} ${-from - size} ${size} ${size}` });
    images.svg.innerHTML = axes + path(seen.map(line), red, 0.006 * size)
      + path(seen.map((k) => ring(at(Z, k))), "currentColor", 0.005 * size) + dots(Y, 0.026 * size);
    images.caption.innerHTML = name === "identity" ? "dots <i>Ax</i>, rings <i>Bx</i>"
      : `dots ${shown}(<i>Ax</i>), rings <i>B</i> ${shown}(<i>x</i>)`;
    stalks.forEach((stalk, k) => set(stalk, { x2: A[k], y2: -A[k + 2] }));
    knobs.forEach((knob, k) => set(knob, { cx: A[k], cy: -A[k + 2] }));
    const singular = Math.abs(A[0] * A[3] - A[1] * A[2]) < 1e-9 ? " (A is not invertible)" : "";
    const share = percent(left, left > 1e-9 && left < 0.0995 ? 1 : 0);
    const b = Array.from(B.d, (entry) => number(entry, 2));
    const verdict = left > 1e-9 ? `No B fits exactly. The best B misses ${share} of σ(Ax), in squares`
      : "B fits exactly";
    result.innerHTML = `<b>${verdict}</b>${singular}; B has the rows (${b[0]}, ${b[1]}) and `
      + `(${b[2]}, ${b[3]})`;
    announce(verdict + singular);
  };
  const ask = Controls.drawing(draw);

  const options = Object.entries(activations).map(([key, { shown }]) => [key, shown]);
  choice(root, { label: "activation σ", options, value: name, chosen: (to) => { name = to; ask(); } });
  const entries = element(root, "div", { class: "matrix" });
  const sliders = ["a₁₁", "a₁₂", "a₂₁", "a₂₂"].map((label, k) => slider(entries, {
    label, min: -2, max: 2, step: 0.01, value: A[k], text: (v) => number(v, 2),
    moved: (to) => { A = A.with(k, to); ask(); },
  }));
  const go = (to) => {
    A = to.map((a) => Math.max(-2, Math.min(2, Math.round(100 * a) / 100)));
    sliders.forEach(({ show }, k) => show(A[k]));
    ask();
  };
  Controls.buttons(root, Object.fromEntries(Object.entries(presets).map(([key, to]) => [key, () => go(to)])));
  knobs.forEach((knob, k) => Controls.drag(knob, (event) => {
    if (event.type === "pointerdown") return;  // a knob is not moved by being taken hold of
    const { x, y } = Controls.inside(plane.svg, event);
    go(A.with(k, x).with(k + 2, -y));
  }));
  draw();
}
