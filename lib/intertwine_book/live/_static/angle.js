// The instrument of angle.py. A matrix leaves the identity, in two neurons and in the channels of a trained
// network; least squares repairs what it can after the ReLU.
function angle(root, { network, digits, fit, before, planes, look, start }) {
  const { element, number, circle, text } = Controls;
  const { matrix, times, turned, each, diagonal, leastSquares } = Algebra;
  const layers = Engine.network(network), z = Engine.run(layers, Engine.images(digits), { to: before });
  const labels = digits.labels.slice(fit);
  const percent = (share, digits) => Controls.percent(share, digits).replace(" ", "\u00a0");
  const relu = (M) => each(M, (v) => Math.max(v, 0));

  // The channels of the digits of the fit, at all positions, and the digits that are judged.
  const seen = Engine.channels(z, fit), judged = Engine.samples(z, fit, z.n), wanted = relu(seen);
  const answers = (x) => Engine.answers(Engine.run(layers, x, { from: before + 1 }));
  const accuracy = (x) => Engine.accuracy(answers(x), labels);
  const alone = accuracy(relu(judged));
  const inputs = matrix(2, 4, Float64Array.from([1, 1, -1, -1, 1, -1, 1, -1])), four = relu(inputs);

  // A turn by the angle in each plane of the rows of V, or a stretch, which is in the group: by a factor in
  // every second direction, and by its inverse in the others.
  const made = (V) => {
    if (state.kind === "turn") return turned(V, Array(V.r / 2).fill(state.at * Math.PI / 180));
    return diagonal(Array.from({ length: V.r }, (_, i) => 2 ** (state.at / 180 * (i % 2 ? -1 : 1))));
  };

  // on a telephone the third panel is below the others, as wide as both
  const panels = element(root, "div", { class: "panels flow" });
  const panel = (title, alt, viewBox, axes) => {
    const made = Controls.panel(panels, alt, viewBox), head = element(null, "p", { class: "title" }, title);
    made.svg.before(head);
    made.svg.innerHTML = `${axes}<g></g>`;
    return { ...made, head, marks: made.svg.lastChild };
  };
  const cross = '<path d="M-54 0H54M0 -54V54" stroke="currentColor" opacity="0.4"/>';
  const hidden = panel("after ReLU", "Four inputs, turned, and where ReLU takes them",
    "-55 -55 110 110", cross);
  const mended = panel("after the best linear repair (rings: where they should be)",
    "The four activations after the repair, and where they belong", "-55 -55 110 110", cross);
  const graph = panel("", "Accuracy of the trained network, by angle or factor", "-26 -6 134 120",
    '<path d="M0 0V90H100" fill="none" stroke="currentColor" opacity="0.6"/>'
    + [100, 50, 0].map((share) => text(-2, 92.5 - 0.9 * share, `${share} %`, "end")).join(""));
  Controls.set(graph.svg, { "font-size": 7.5 });
  const say = Controls.announcer(root), controls = element(root, "div");
  const state = { kind: "turn", at: start, trail: new Map() };  // the trail: what was seen at each place

  const { colours, repaired, bare } = look;
  const line = ([x, y], [u, v], paint) => `<path d="M${x} ${y}L${u} ${v}" ${paint}/>`;
  const column = (M, k) => [24 * M.d[k], -24 * M.d[M.c + k]];
  const planesDrawn = () => {
    const moved = times(made(Algebra.eye(2)), inputs), bent = relu(moved);
    const { made: back, left } = leastSquares(bent, four);
    const drawn = colours.map((colour, k) => {
      const [at, to, put, wanted] = [moved, bent, back, four].map((M) => column(M, k)), r = 7 - 1.2 * k;
      const stroke = `stroke="${colour}"`, ring = `fill="none" stroke-width="1.5" ${stroke}`;
      const way = line(at, to, `stroke-dasharray="2 2" ${stroke}`), full = `fill="${colour}"`;
      const gap = line(wanted, put, `stroke-width="2" ${stroke}`);
      return [way + circle(...at, 3, ring) + circle(...to, r, full),
        gap + circle(...wanted, r + 2, ring) + circle(...put, r - 1, full)];
    });
    [hidden, mended].forEach(({ marks }, m) => { marks.innerHTML = drawn.map((both) => both[m]).join(""); });
    const rounded = colours.map((_, k) => column(bent, k).map((v) => Math.round(1e6 * v) + 0).join());
    hidden.caption.textContent = `Places of the four inputs after ReLU: ${new Set(rounded).size}.`;
    mended.caption.textContent = `The best repair leaves ${percent(left)} unexplained.`;
  };
  const draw = () => {
    planesDrawn();
    const A = made(Algebra.transposed(planes)), after = relu(Engine.mix(A, judged));
    const { B: R, left } = leastSquares(relu(times(A, seen)), wanted);
    const both = [accuracy(after), accuracy(Engine.mix(R, after))], x = state.at / 1.8;
    const marks = (r) => both.map((share, k) => circle(x, 90 - 90 * share, r,
      k ? `fill="${repaired}"` : `fill="none" stroke="${bare}" stroke-width="1.2"`)).join("");
    state.trail.set(x, marks(1.6));
    graph.marks.innerHTML = [0, 90, 180].map((at) => text(at / 1.8, 99, words(at))).join("")
      + text(50, 109, name()) + [...state.trail.values()].join("") + marks(4);
    graph.caption.textContent = `The same ${state.kind} in a trained network: the best repair leaves `
      + `${percent(left, 1)} unexplained. Of the digits ${percent(both[1], 1)} are right with the repair `
      + `(filled), ${percent(both[0], 1)} without (open); ${percent(alone, 1)} before the ${state.kind}.`;
    say([hidden, mended, graph].map(({ caption }) => caption.textContent).join(" "));
  };
  const ask = Controls.drawing(draw);
  const name = () => (state.kind === "turn" ? "angle" : "factor");
  const words = (at) => (state.kind === "turn" ? `${at}°` : number(2 ** (at / 180), 2));
  const slider = Controls.slider(controls, { label: "", min: 0, max: 180, step: 5, value: start,
    text: words, moved: (at) => { state.at = at; ask(); } });
  const chosen = (kind) => {
    state.kind = kind;
    state.trail.clear();
    slider.box.firstChild.textContent = name();
    graph.head.textContent = `digits right, by ${name()}`;
    slider.show(state.at);
  };
  Controls.choice(controls, { label: "The matrix before ReLU", value: "turn",
    options: [["turn", "turns"], ["stretch", "stretches the axes"]],
    chosen: (kind) => { chosen(kind); ask(); } });
  chosen("turn");
  draw();
}
