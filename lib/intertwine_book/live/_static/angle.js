// The instrument of angle.py. A matrix leaves the identity, in two neurons and in the channels of a trained
// network; least squares repairs what it can after the ReLU.
function angle(root, { network, digits, fit, before, planes, look, start }) {
  const { element, number } = Controls, { matrix, times, inner, transposed, solve, squares } = Algebra;
  const layers = Engine.network(network), z = Engine.run(layers, Engine.images(digits), { to: before });
  const labels = digits.labels.slice(fit), n = z.c, positions = z.s * z.s;
  const percent = (share, digits) => Controls.percent(share, digits).replace(" ", "\u00a0");
  const relu = (M) => matrix(M.r, M.c, M.d.map((v) => Math.max(v, 0)));

  // Rows of channels, and columns of samples at positions: those of the fit, and those that are judged.
  const part = (from, to) => {
    const M = matrix(n, positions * (to - from));
    for (let p = 0; p < positions; p++) for (let i = 0; i < n; i++) {
      const at = (p * n + i) * z.n;
      M.d.set(z.d.subarray(at + from, at + to), i * M.c + p * (to - from));
    }
    return M;
  };
  const accuracy = (M) => {
    const count = M.c / positions, x = Engine.tensor(n, z.s, count);
    for (let p = 0; p < positions; p++) for (let i = 0; i < n; i++)
      x.d.set(M.d.subarray(i * M.c + p * count, i * M.c + (p + 1) * count), (p * n + i) * count);
    const found = Engine.answers(Engine.run(layers, x, { from: before + 1 }));
    return found.filter((each, k) => each === labels[k]).length / labels.length;
  };
  const seen = part(0, fit), judged = part(fit, z.n), wanted = relu(seen), alone = accuracy(relu(judged));
  const inputs = matrix(2, 4, Float64Array.from([1, 1, -1, -1, 1, -1, 1, -1])), four = relu(inputs);

  // The repair R of the activations `hidden`, and the share of `target` that it leaves.
  const repair = (hidden, target) => {
    const R = transposed(solve(inner(hidden, hidden), inner(hidden, target)));
    const rest = times(R, hidden);
    rest.d.forEach((value, k) => { rest.d[k] = target.d[k] - value; });
    return { R, left: squares(rest) / squares(target) };
  };
  // Of `size` rows: a turn by the angle in each plane of an orthogonal basis, or a stretch, which is in the
  // group: by a factor in every second direction, and by its inverse in the others.
  const made = (kind, at, size, basis) => {
    const A = Algebra.eye(size), t = at * Math.PI / 180, factor = 4 ** (at / 180);
    for (let i = 0; i < size; i++) {
      A.d[i * size + i] = kind === "turn" ? Math.cos(t) : factor ** (i % 2 ? -1 : 1);
      if (kind === "turn") A.d[i * size + (i ^ 1)] = (i % 2 ? 1 : -1) * Math.sin(t);
    }
    return kind === "turn" && basis ? times(times(basis, A), transposed(basis)) : A;
  };

  const panels = element(root, "div", { class: "panels", style: "display: flex; flex-wrap: wrap" });
  const panel = (alt, box) => {  // on a telephone the third is below the others, as wide as both
    const figure = element(panels, "figure", { style: "flex: 1 1 9em" }), style = "max-height: 14em";
    const svg = element(figure, "svg", { viewBox: box, role: "img", "aria-label": alt, style });
    return { svg, said: element(figure, "figcaption") };
  };
  const plane = (alt) => {
    const made = panel(alt, "-55 -55 110 110"), line = { stroke: "currentColor", opacity: 0.4 };
    element(made.svg, "path", { d: "M-54 0H54M0 -54V54", ...line });
    return { ...made, marks: element(made.svg, "g") };
  };
  const hidden = plane("Four inputs, turned, and where ReLU takes them");
  const mended = plane("The four activations after the repair, and where they belong");
  const graph = panel("Accuracy of the trained network against how far the matrix goes", "-26 -6 132 110");
  element(graph.svg, "path", { d: "M0 0V90H100", fill: "none", stroke: "currentColor", opacity: 0.6 });
  const word = { fill: "currentColor", "font-size": 7.5 };
  for (const [y, text] of [[0, "100 %"], [45, "50 %"], [90, "0 %"]])
    element(graph.svg, "text", { x: -2, y: y + 2.5, "text-anchor": "end", ...word }, text);
  const trail = element(graph.svg, "g"), now = element(graph.svg, "g");
  const say = Controls.announcer(root), controls = element(root, "div");
  const state = { kind: "turn", at: start };

  const { colours, repaired, bare } = look;
  const dot = (parent, cx, cy, r, more) => element(parent, "circle", { cx, cy, r, ...more });
  const column = (M, k) => [24 * M.d[k], -24 * M.d[M.c + k]];
  const planesDrawn = () => {
    const moved = times(made(state.kind, state.at, 2), inputs), bent = relu(moved);
    const { R, left } = repair(bent, four), back = times(R, bent);
    hidden.marks.replaceChildren();
    mended.marks.replaceChildren();
    for (let k = 0; k < 4; k++) {
      const [[x, y], [u, v], [a, b], [c, d]] = [moved, bent, four, back].map((M) => column(M, k));
      const stroke = colours[k], ring = { fill: "none", stroke, "stroke-width": 1.5 }, r = 7 - 1.2 * k;
      element(hidden.marks, "path", { d: `M${x} ${y}L${u} ${v}`, stroke, "stroke-dasharray": "2 2" });
      dot(hidden.marks, x, y, 3, ring);
      dot(hidden.marks, u, v, r, { fill: colours[k] });
      element(mended.marks, "path", { d: `M${a} ${b}L${c} ${d}`, stroke, "stroke-width": 2 });
      dot(mended.marks, a, b, r + 2, ring);
      dot(mended.marks, c, d, r - 1, { fill: colours[k] });
    }
    const rounded = [0, 1, 2, 3].map((k) => column(bent, k).map((v) => Math.round(1e6 * v) + 0).join());
    const count = ["one place", "two places", "three places", "four places"][new Set(rounded).size - 1];
    hidden.said.textContent = `After ReLU the four inputs are at ${count}.`;
    mended.said.textContent = `The best repair leaves ${percent(left)} unexplained.`;
  };
  const draw = () => {
    planesDrawn();
    const A = made(state.kind, state.at, n, planes), after = relu(times(A, judged));
    const { R, left } = repair(relu(times(A, seen)), wanted);
    const both = [accuracy(after), accuracy(times(R, after))], x = state.at / 1.8;
    now.replaceChildren();
    both.forEach((share, k) => {
      const kind = k ? { fill: repaired } : { fill: "none", stroke: bare, "stroke-width": 1.2 };
      dot(trail, x, 90 - 90 * share, 1.6, kind);
      dot(now, x, 90 - 90 * share, 4, kind);
    });
    graph.said.textContent = `In a trained network it leaves ${percent(left, 1)}. Of the digits `
      + `${percent(both[1], 1)} are right with it (filled), ${percent(both[0], 1)} without (open); `
      + `${percent(alone, 1)} at first.`;
    say([hidden, mended, graph].map(({ said }) => said.textContent).join(" "));
  };
  const ask = Controls.drawing(draw);
  const words = (at) => (state.kind === "turn" ? `${at}°` : `factor ${number(4 ** (at / 180), 2)}`);
  const slider = Controls.slider(controls, { label: "how far", min: 0, max: 180, step: 5, value: start,
    text: words, moved: (at) => { state.at = at; ask(); } });
  Controls.choice(controls, { label: "The matrix before ReLU", value: "turn",
    options: [["turn", "turns"], ["stretch", "stretches the axes"]],
    chosen: (kind) => {
      state.kind = kind;
      trail.replaceChildren();
      slider.show(state.at);
      ask();
    } });
  draw();
}
