// The instrument of angle.py. A matrix leaves the identity, in two neurons and in the channels of a trained
// network; least squares repairs what it can after the ReLU.
function angle(root, { network, digits, fit, before, planes, look, start }) {
  const { element, number } = Controls, { matrix, times, transposed, each, leastSquares } = Algebra;
  const layers = Engine.network(network), z = Engine.run(layers, Engine.images(digits), { to: before });
  const labels = digits.labels.slice(fit), n = z.c;
  const percent = (share, digits) => Controls.percent(share, digits).replace(" ", "\u00a0");
  const relu = (M) => each(M, (v) => Math.max(v, 0));

  // The channels of the digits of the fit, at all positions, and the digits that are judged.
  const seen = Engine.channels(z, fit), judged = Engine.samples(z, fit, z.n), wanted = relu(seen);
  const answers = (x) => Engine.answers(Engine.run(layers, x, { from: before + 1 }));
  const accuracy = (x) => Engine.accuracy(answers(x), labels);
  const alone = accuracy(relu(judged));
  const inputs = matrix(2, 4, Float64Array.from([1, 1, -1, -1, 1, -1, 1, -1])), four = relu(inputs);

  // Of `size` rows: a turn by the angle in each plane of an orthogonal basis, or a stretch, which is in the
  // group: by a factor in every second direction, and by its inverse in the others.
  const made = (size, basis) => {
    const A = Algebra.eye(size), t = state.at * Math.PI / 180, factor = 2 ** (state.at / 180);
    for (let i = 0; i < size; i++) {
      A.d[i * size + i] = state.kind === "turn" ? Math.cos(t) : factor ** (i % 2 ? -1 : 1);
      if (state.kind === "turn") A.d[i * size + (i ^ 1)] = (i % 2 ? 1 : -1) * Math.sin(t);
    }
    return state.kind === "turn" && basis ? times(times(basis, A), transposed(basis)) : A;
  };

  // on a telephone the third panel is below the others, as wide as both
  const panels = element(root, "div", { class: "panels flow" });
  const panel = (title, alt, viewBox) => {
    const made = Controls.panel(panels, alt, viewBox), head = element(null, "p", { class: "title" }, title);
    made.svg.before(head);
    return { ...made, head };
  };
  const plane = (title, alt) => {
    const made = panel(title, alt, "-55 -55 110 110");
    element(made.svg, "path", { d: "M-54 0H54M0 -54V54", stroke: "currentColor", opacity: 0.4 });
    return { ...made, marks: element(made.svg, "g") };
  };
  const hidden = plane("after ReLU", "Four inputs, turned, and where ReLU takes them");
  const mended = plane("after the best linear repair (rings: where they should be)",
    "The four activations after the repair, and where they belong");
  const graph = panel("", "Accuracy of the trained network, by angle or factor", "-26 -6 134 120");
  element(graph.svg, "path", { d: "M0 0V90H100", fill: "none", stroke: "currentColor", opacity: 0.6 });
  const write = (x, y, anchor, text = "") => element(graph.svg, "text",
    { x, y, "text-anchor": anchor, fill: "currentColor", "font-size": 7.5 }, text);
  for (const share of [100, 50, 0]) write(-2, 92.5 - 0.9 * share, "end", `${share} %`);
  const ticks = [0, 90, 180].map((at) => write(at / 1.8, 99, "middle")), axis = write(50, 109, "middle");
  const trail = element(graph.svg, "g"), now = element(graph.svg, "g");
  const say = Controls.announcer(root), controls = element(root, "div");
  const state = { kind: "turn", at: start };

  const { colours, repaired, bare } = look;
  const dot = (parent, cx, cy, r, more) => element(parent, "circle", { cx, cy, r, ...more });
  const column = (M, k) => [24 * M.d[k], -24 * M.d[M.c + k]];
  const planesDrawn = () => {
    const moved = times(made(2), inputs), bent = relu(moved), { made: back, left } = leastSquares(bent, four);
    hidden.marks.replaceChildren();
    mended.marks.replaceChildren();
    for (let k = 0; k < 4; k++) {
      const [[x, y], [u, v], [a, b], [c, d]] = [moved, bent, four, back].map((M) => column(M, k));
      const stroke = colours[k], ring = { fill: "none", stroke, "stroke-width": 1.5 }, r = 7 - 1.2 * k;
      element(hidden.marks, "path", { d: `M${x} ${y}L${u} ${v}`, stroke, "stroke-dasharray": "2 2" });
      dot(hidden.marks, x, y, 3, ring);
      dot(hidden.marks, u, v, r, { fill: stroke });
      element(mended.marks, "path", { d: `M${a} ${b}L${c} ${d}`, stroke, "stroke-width": 2 });
      dot(mended.marks, a, b, r + 2, ring);
      dot(mended.marks, c, d, r - 1, { fill: stroke });
    }
    const rounded = [0, 1, 2, 3].map((k) => column(bent, k).map((v) => Math.round(1e6 * v) + 0).join());
    hidden.caption.textContent = `Places of the four inputs after ReLU: ${new Set(rounded).size}.`;
    mended.caption.textContent = `The best repair leaves ${percent(left)} unexplained.`;
  };
  const draw = () => {
    planesDrawn();
    const A = made(n, planes), after = relu(Engine.mix(A, judged));
    const { B: R, left } = leastSquares(relu(times(A, seen)), wanted);
    const both = [accuracy(after), accuracy(Engine.mix(R, after))], x = state.at / 1.8;
    now.replaceChildren();
    both.forEach((share, k) => {
      const kind = k ? { fill: repaired } : { fill: "none", stroke: bare, "stroke-width": 1.2 };
      dot(trail, x, 90 - 90 * share, 1.6, kind);
      dot(now, x, 90 - 90 * share, 4, kind);
    });
    graph.caption.textContent = `The same ${state.kind} in a trained network: the best repair leaves `
      + `${percent(left, 1)} unexplained. Of the digits ${percent(both[1], 1)} are right with the repair `
      + `(filled), ${percent(both[0], 1)} without (open); ${percent(alone, 1)} before the ${state.kind}.`;
    say([hidden, mended, graph].map(({ caption }) => caption.textContent).join(" "));
  };
  const ask = Controls.drawing(draw);
  const words = (at) => (state.kind === "turn" ? `${at}°` : number(2 ** (at / 180), 2));
  const slider = Controls.slider(controls, { label: "", min: 0, max: 180, step: 5, value: start,
    text: words, moved: (at) => { state.at = at; ask(); } });
  const chosen = (kind) => {
    const name = kind === "turn" ? "angle" : "factor";
    state.kind = kind;
    for (const each of [slider.box.firstChild, axis]) each.textContent = name;
    graph.head.textContent = `digits right, by ${name}`;
    ticks.forEach((tick, k) => { tick.textContent = words(90 * k); });
    trail.replaceChildren();
    slider.show(state.at);
  };
  Controls.choice(controls, { label: "The matrix before ReLU", value: "turn",
    options: [["turn", "turns"], ["stretch", "stretches the axes"]],
    chosen: (kind) => { chosen(kind); ask(); } });
  chosen("turn");
  draw();
}
