// The instrument of angle.py. A matrix leaves the identity, in two neurons and in the channels of a trained
// network; least squares repairs what it can after the ReLU. Everything is computed in angle.py.
function angle(root, { states, wanted, step, alone, look: { colours, repaired, bare }, start }) {
  const { element, number, circle, text } = Controls;
  const percent = (share, digits) => Controls.percent(share, digits).replace(" ", "\u00a0");

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
    + [100, 50, 0].map((share) => text(-2, 92.5 - 0.9 * share, `${share} %`, 7.5, "end")).join(""));
  const say = Controls.announcer(root), controls = element(root, "div");
  const state = { kind: "turn", at: start, trail: new Map() };  // the trail: what was seen at each place

  const line = ([x, y], [u, v], paint) => `<path d="M${x} ${y}L${u} ${v}" ${paint}/>`;
  const place = ([x, y]) => [24 * x, -24 * y];
  const draw = () => {
    const { moved, mended: back, missed, left, accuracies } = states[state.kind][state.at / step];
    const bent = moved.map((point) => point.map((value) => Math.max(value, 0)));
    const drawn = colours.map((colour, k) => {
      const [at, to, put, aim] = [moved, bent, back, wanted].map((points) => place(points[k]));
      const stroke = `stroke="${colour}"`, ring = `fill="none" stroke-width="1.5" ${stroke}`, r = 7 - 1.2 * k;
      const way = line(at, to, `stroke-dasharray="2 2" ${stroke}`), full = `fill="${colour}"`;
      const gap = line(aim, put, `stroke-width="2" ${stroke}`);
      return [way + circle(...at, 3, ring) + circle(...to, r, full),
        gap + circle(...aim, r + 2, ring) + circle(...put, r - 1, full)];
    });
    [hidden, mended].forEach(({ marks }, m) => { marks.innerHTML = drawn.map((both) => both[m]).join(""); });
    hidden.caption.textContent = `Places of the four inputs after ReLU: ${new Set(bent.map(String)).size}.`;
    mended.caption.textContent = `The best repair leaves ${percent(missed)} unexplained.`;

    const x = state.at / 1.8, marks = (r) => accuracies.map((share, k) => circle(x, 90 - 90 * share, r,
      k ? `fill="${repaired}"` : `fill="none" stroke="${bare}" stroke-width="1.2"`)).join("");
    state.trail.set(x, marks(1.6));
    graph.marks.innerHTML = [0, 90, 180].map((at) => text(at / 1.8, 99, words(at), 7.5)).join("")
      + text(50, 109, name(), 7.5) + [...state.trail.values()].join("") + marks(4);
    const [without, right] = accuracies.map((share) => percent(share, 1));
    graph.caption.textContent = `The same ${state.kind} in a trained network: the best repair leaves `
      + `${percent(left, 1)} unexplained. Of the digits ${right} are right with the repair (filled), `
      + `${without} without (open); ${percent(alone, 1)} before the ${state.kind}.`;
    say([hidden, mended, graph].map(({ caption }) => caption.textContent).join(" "));
  };
  const ask = Controls.drawing(draw);
  const name = () => (state.kind === "turn" ? "angle" : "factor");
  const words = (at) => (state.kind === "turn" ? `${at}°` : number(2 ** (at / 180), 2));
  const slider = Controls.slider(controls, { label: "", min: 0, max: 180, step, value: start,
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
