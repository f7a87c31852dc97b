// The stitching bench of bench.py: the front of one network, a map of channels, the back of another.
function bench(root, { data, opens, shows, bars, choices, sliders, measures }) {
  const { element, markup, percent, number } = Controls, { labels } = data.digits;
  const stitching = Stitching(data);
  const first = { front: "twin", layer: 2, before: false, turn: 0, map: "none", rank: Infinity, stretch: 0,
    norm: "frozen", hand: [], ...opens };
  const joined = "Front: first layers of one network → map → back: last layers of the second network.";
  element(root, "p", { class: "note" }, joined);
  const state = { ...first }, { results, controls } = Controls.columns(root);
  const ask = Controls.drawing(draw), announce = Controls.announcer(results);

  const rows = new Map();
  function measure(parent, name) {
    const row = element(parent, "div", { class: `measure ${name}` });
    row.innerHTML = markup`<span>${measures[name]}</span><div class="track"><i></i></div><b></b>`;
    const [, track, said] = row.children;
    rows.set(name, { bar: track.firstChild, said, track });
  }
  ["accuracy", ...bars].forEach((name) => measure(results, name));
  const alone = stitching.alone(state);
  element(rows.get("accuracy").track, "u", { style: `left: ${100 * alone.accuracy}%` });
  const ground = `Of ${alone.answers.length} digits. The line: the second network alone,`;
  element(results, "p", { class: "note" }, `${ground} ${percent(alone.accuracy, 1).replace(" ", "\u00a0")}.`);

  // one digit of each class which the second network alone classifies correctly: an error is the stitch's
  const digits = element(results, "div", { class: "digits", role: "img" });
  const shown = Array.from({ length: 10 }, (_, k) => {
    const i = alone.answers.findIndex((answer, each) => answer === k && labels[data.fit + each] === k);
    const box = element(digits, "div"), greys = Engine.greys(data.digits, data.fit + i);
    box.innerHTML = `<svg viewBox="0 0 8 8">${Controls.image(0, 0, 1, greys)}</svg><span></span>`;
    return { i, said: box.lastChild };
  });

  // the controls that the page asks about, and the others in a fold
  const asked = element(controls, "div"), more = Controls.fold(controls, "More to change");
  const all = Controls.fold(controls, "What the measures say (1 = the same)");
  const rest = Object.keys(measures).filter((name) => !rows.has(name));
  rest.forEach((name) => measure(all, name));
  element(all, "p", { class: "note" }, "CKA compares digits (biased estimate), Procrustes and R² positions.");
  all.addEventListener("toggle", ask);
  const hand = ["row", "from"];  // their place is beside the map's
  const place = (name) => (shows.includes(hand.includes(name) ? "map" : name) ? asked : more);
  // the map is seen where the page asks about it; on a telephone after the controls
  const seen = ["map", "rank", "stretch"].some((name) => shows.includes(name));
  const under = element(seen ? controls.parentNode : more, "div");
  const canvas = element(under, "canvas", { class: "map", role: "img" }), pen = canvas.getContext("2d");
  const legend = element(under, "p", { class: "note" });

  const moves = { row: (v) => { select(v - 1); ask(); }, from: (v) => give(v - 1) }, made = {};
  for (const name of new Set([...shows, ...Object.keys(choices), ...Object.keys(sliders)])) {
    const [label, options] = choices[name] ?? [], value = state[name] ?? 1;
    const chosen = moves[name] ?? ((to) => change({ [name]: to }));
    const text = (v) => (sliders[name].max === 1 ? percent(v) : `${v}`);
    made[name] = options ? Controls.choice(place(name), { label, options, value, chosen })
      : Controls.slider(place(name), { ...sliders[name], value, text, moved: chosen });
  }
  Controls.button(controls, "Reset", () => {
    change({ ...first });
    for (const name of [...Object.keys(choices), "turn", "stretch"]) made[name].show(state[name]);
  });

  function change(values) {
    Object.assign(state, values);
    const n = stitching.channels(state), fits = state.map === "least squares";
    if (state.hand.length !== n) {  // another layer
      state.rank = state.hand.length ? n : Math.min(n, state.rank);  // at first, what the page says
      state.hand = [...Array(n).keys()];
      for (const name of ["rank", ...hand]) Controls.set(made[name].input, { max: n });
      made.rank.show(state.rank);
      select(0);
    }
    for (const name of ["rank", "stretch"]) made[name].box.hidden = !fits;
    for (const name of hand) made[name].box.hidden = state.map !== "by hand";
    ask();
  }

  // The permutation that one makes: drag in a row of the matrix, or move both sliders.
  let row = 0, held = [];  // the order before this row was moved: on its way a mark displaces no others
  function select(to) {
    [row, held] = [to, state.hand];
    made.row.show(row + 1);
    made.from.show(state.hand[row] + 1);
  }
  function give(channel) {  // to the row, whose channel goes to the row that had this one
    state.hand = [...held];
    [state.hand[row], state.hand[held.indexOf(channel)]] = [channel, held[row]];
    made.from.show(channel + 1);
    ask();
  }
  Controls.drag(canvas, (event) => {
    if (state.map !== "by hand") return;
    const box = canvas.getBoundingClientRect(), n = state.hand.length;
    const at = (part) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
    if (event.type === "pointerdown") select(at((event.clientY - box.top) / box.height));
    give(at((event.clientX - box.left) / box.width));
  });

  function drawMap(W) {  // blue is negative and red positive; by hand, the fainter, the smaller the cosine
    const n = W.r, side = 12, own = state.map === "by hand", M = own ? stitching.cosines(state) : W;
    const top = Math.max(...M.d.map(Math.abs)) || 1;
    Object.assign(canvas, { width: n * side, height: n * side });
    Object.assign(pen, { strokeStyle: getComputedStyle(root).color });
    canvas.style.touchAction = own ? "none" : "auto";
    for (let k = 0; k < n * n; k++) {
      const x = side * (k % n), i = Math.floor(k / n), y = side * i;
      pen.globalAlpha = (Math.abs(M.d[k]) / top) ** (own ? 4 : 0.6);
      pen.fillStyle = M.d[k] < 0 ? "#0072B2" : "#D55E00";
      pen.fillRect(x, y, side, side);
      pen.globalAlpha = 1;
      pen.lineWidth = i === row ? 4 : 2;
      if (own && state.hand[i] === k % n) pen.strokeRect(x + 2, y + 2, side - 4, side - 4);
    }
    const words = own ? "Drag a mark along its row: the fuller a cell, the more alike both channels."
      : "Blue: negative, red: positive.";
    legend.textContent = `The map: rows are channels of the back, columns of the front. ${words}`;
    Controls.set(canvas, { "aria-label": `The map, ${n} by ${n}` });
  }

  function draw() {
    const now = stitching.stitched(state), needed = bars.length || all.open;
    const values = { accuracy: now.accuracy, ...(needed ? stitching.measures(state, now) : {}) };
    for (const [name, value] of Object.entries(values)) {
      const { bar, said } = rows.get(name);
      bar.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
      said.textContent = name === "accuracy" ? percent(value, 1) : value < -9.99 ? "< −10" : number(value, 2);
    }
    shown.forEach(({ i, said }, k) => {
      const right = now.answers[i] === k;
      said.textContent = right ? k : `${now.answers[i]} ✗`;
      said.className = right ? "" : "wrong";
    });
    const answers = shown.map(({ i }, k) => `${k}: ${now.answers[i]}`).join(", ");
    Controls.set(digits, { "aria-label": `Ten digits, and what the network takes each for: ${answers}` });
    drawMap(now.W);
    const heard = ["accuracy", ...bars].map((name) => `${measures[name]} ${rows.get(name).said.textContent}`);
    announce(heard.join(", "));
  }
  change({});
}
