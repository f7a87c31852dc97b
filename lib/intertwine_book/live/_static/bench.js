// The stitching bench of bench.py: the front of one network, a map of channels, the back of another.
function bench(root, { data, opens, shows, bars }) {
  const { element, percent, number } = Controls, stitching = Stitching(data), { labels } = data.digits;
  const first = { front: "twin", layer: 2, before: false, turn: 0, map: "none", rank: Infinity, stretch: 0,
    norm: "frozen", hand: [] };
  const state = { ...first, ...opens }, { results, controls } = Controls.columns(root);
  const ask = Controls.drawing(draw), announce = Controls.announcer(results);

  // ---- results

  const MEASURES = {
    accuracy: "accuracy",
    cka: "CKA of digits",
    orthogonal: "Procrustes, orthogonal",
    group: "Procrustes, ReLU's group",
    r2: "R² of positions",
  };
  const rows = new Map();
  function measure(parent, name) {
    const row = element(parent, "div", { class: `measure ${name}` });
    element(row, "span", {}, MEASURES[name]);
    const track = element(row, "div", { class: "track" });
    rows.set(name, { bar: element(track, "i"), said: element(row, "b"), track });
  }
  const headline = element(results, "div", { class: "measures" });
  ["accuracy", ...bars].forEach((name) => measure(headline, name));
  const alone = stitching.alone(state);
  element(rows.get("accuracy").track, "u", { style: `left: ${100 * alone.accuracy}%` });
  const ground = `Of ${alone.answers.length} digits. The line: the second network alone,`;
  element(results, "p", { class: "note" }, `${ground} ${percent(alone.accuracy, 1)}.`);

  // one digit of each class which the second network alone classifies correctly: an error is the stitch's
  const classes = Array.from({ length: 10 }, (_, k) => k);
  const shown = classes.map((k) => {
    return alone.answers.findIndex((answer, i) => answer === k && labels[data.fit + i] === k);
  });
  const digits = element(results, "div", { class: "digits", role: "img" });
  const answers = shown.map(() => {
    const box = element(digits, "div");
    return { canvas: element(box, "canvas", { width: 8, height: 8 }), said: element(box, "span") };
  });

  // ---- controls: those that the page asks about, and the others in a fold

  const asked = element(controls, "div"), more = Controls.fold(controls, "More to change");
  const all = Controls.fold(controls, "What the measures say");
  const rest = Object.keys(MEASURES).filter((name) => name !== "accuracy" && !bars.includes(name));
  rest.forEach((name) => measure(element(all, "div", { class: "measures" }), name));
  const what = "CKA: which digits are alike, the biased estimate. Procrustes and R²: positions are samples.";
  element(all, "p", { class: "note" }, what);
  all.addEventListener("toggle", ask);
  const hand = ["row", "from"];  // their place is beside the map's
  const place = (name) => (shows.includes(hand.includes(name) ? "map" : name) ? asked : more);
  // the map is seen where the page asks about it; on a telephone after the controls
  const seen = ["map", "rank", "stretch"].some((name) => shows.includes(name));
  const under = element(seen ? controls.parentNode : more, "div");
  const canvas = element(under, "canvas", { class: "map" }), pen = canvas.getContext("2d");
  const legend = element(under, "p", { class: "note" });

  const CHOICES = {
    map: ["Map", [["none", "none"], ["by hand", "by hand"], ["permutation", "permutation"],
      ["scaled", "permutation with scalings"], ["least squares", "least squares"]]],
    front: ["Front of", [["twin", "the first network"], ["itself", "the second itself"],
      ["moved", "the second, moved"], ["untrained", "an untrained one"], ["noise", "noise of each class"]]],
    layer: ["Cut at layer", Array.from({ length: stitching.layers }, (_, k) => [k + 1, `${k + 1}`])],
    before: ["Cut", [[true, "before the ReLU"], [false, "after it"]]],
    norm: ["Batch norm of the back", [["frozen", "frozen"], ["re-estimated", "re-estimated"]]],
  };
  const SLIDERS = {
    turn: { label: "turn the front", min: 0, max: 1, step: 0.01, text: (v) => percent(v) },
    stretch: { label: "stretch the fit", min: 0, max: 1, step: 0.05, text: (v) => percent(v) },
    rank: { label: "rank of the map", min: 1, max: 64, step: 1, text: (v) => `${v}` },
    row: { label: "channel of the back", min: 1, max: 64, step: 1, text: (v) => `${v}` },
    from: { label: "gets of the front", min: 1, max: 64, step: 1, text: (v) => `${v}` },
  };
  const made = {};
  for (const name of new Set([...shows, ...Object.keys(CHOICES), ...Object.keys(SLIDERS)])) {
    if (CHOICES[name]) {
      const [label, options] = CHOICES[name], chosen = (value) => change({ [name]: value });
      made[name] = Controls.choice(place(name), { label, options, value: state[name], chosen });
    } else {
      const moved = (value) => (hand.includes(name) ? byHand(name, value) : change({ [name]: value }));
      made[name] = Controls.slider(place(name), { ...SLIDERS[name], value: state[name] ?? 1, moved });
    }
  }
  Controls.button(controls, "As at first", () => {
    change({ ...first, ...opens, hand: [] });
    for (const name in CHOICES) made[name].show(state[name]);
    for (const name of ["turn", "stretch"]) made[name].show(state[name]);
  });

  function change(values) {
    Object.assign(state, values);
    const n = stitching.channels(state), fits = state.map === "least squares";
    if (state.hand.length !== n) {  // another layer
      const rank = state.hand.length ? n : Math.min(n, state.rank);  // at first, what the page says
      Object.assign(state, { hand: Array.from({ length: n }, (_, i) => i), rank });
      for (const name of ["rank", ...hand]) Controls.set(made[name].input, { max: n });
      made.rank.show(rank);
      select(0);
    }
    for (const name of ["rank", "stretch"]) made[name].box.hidden = !fits;
    for (const name of hand) made[name].box.hidden = state.map !== "by hand";
    ask();
  }

  // ---- the permutation that one makes: drag in a row of the matrix, or move both sliders

  let row = 0, held = [];  // the order before this row was moved: on its way a mark displaces no others
  function select(to) {
    [row, held] = [to, [...state.hand]];
    made.row.show(row + 1);
    made.from.show(state.hand[row] + 1);
  }
  function give(channel) {  // to the row, whose channel goes to the row that had this one
    const other = held.indexOf(channel);
    state.hand = [...held];
    [state.hand[row], state.hand[other]] = [channel, held[row]];
    made.from.show(channel + 1);
  }
  function byHand(name, value) {
    if (name === "from") give(value - 1);
    else select(value - 1);
    ask();
  }
  function dragged(event) {
    const box = canvas.getBoundingClientRect(), n = state.hand.length;
    const at = (part) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
    if (event.type === "pointerdown") select(at((event.clientY - box.top) / box.height));
    give(at((event.clientX - box.left) / box.width));
    ask();
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (state.map !== "by hand") return;
    canvas.setPointerCapture(event.pointerId);
    dragged(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) dragged(event);
  });

  // ---- drawing

  function drawMap(W) {  // blue is negative and red positive; by hand, the fainter, the smaller the cosine
    const n = W.r, side = 12, own = state.map === "by hand", M = own ? stitching.cosines(state) : W;
    const top = own ? 1 : Math.max(...M.d.map(Math.abs)) || 1, ink = Controls.colour(root);
    Object.assign(canvas, { width: n * side, height: n * side });
    canvas.style.touchAction = own ? "none" : "auto";
    for (let k = 0; k < n * n; k++) {
      const i = Math.floor(k / n), j = k % n, size = Math.abs(M.d[k]) / top;
      pen.globalAlpha = size ** (own ? 4 : 0.6);
      pen.fillStyle = M.d[k] < 0 ? "#0072B2" : "#D55E00";
      pen.fillRect(j * side, i * side, side, side);
      pen.globalAlpha = 1;
      if (own && state.hand[i] === j) {
        Object.assign(pen, { strokeStyle: ink, lineWidth: i === row ? 4 : 2 });
        pen.strokeRect(j * side + 2, i * side + 2, side - 4, side - 4);
      }
    }
    const words = own ? "Drag a mark along its row: the fuller a cell, the more alike both channels."
      : "Blue: negative, red: positive.";
    legend.textContent = `The map: rows are channels of the back, columns of the front. ${words}`;
    Controls.set(canvas, { role: "img", "aria-label": `The map, ${n} by ${n}` });
  }

  function drawDigits(now) {
    const ink = Controls.colour(root);
    shown.forEach((i, k) => {
      const { canvas: box, said } = answers[k], brush = box.getContext("2d");
      brush.clearRect(0, 0, 8, 8);
      brush.fillStyle = ink;
      for (let p = 0; p < 64; p++) {
        brush.globalAlpha = stitching.grey(i + data.fit, p);
        brush.fillRect(p % 8, Math.floor(p / 8), 1, 1);
      }
      said.textContent = now[i] === k ? `${k}` : `${now[i]} ✗`;
      said.className = now[i] === k ? "" : "wrong";
    });
    const heard = shown.map((i, k) => `${k}: ${now[i]}`).join(", ");
    Controls.set(digits, { "aria-label": `Ten digits, and what the network takes each for: ${heard}` });
  }

  function draw() {
    const now = stitching.stitched(state), needed = bars.length || all.open;
    const values = { accuracy: now.accuracy, ...(needed ? stitching.measures(state, now) : {}) };
    for (const [name, { bar, said }] of rows) if (name in values) {
      const value = values[name];
      bar.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
      said.textContent = name === "accuracy" ? percent(value, 1) : value < -9.99 ? "< −10" : number(value, 2);
    }
    drawDigits(now.answers);
    drawMap(now.W);
    const heard = ["accuracy", ...bars].map((name) => `${MEASURES[name]} ${rows.get(name).said.textContent}`);
    announce(heard.join(", "));
  }
  change({});
}
