// The instrument of orbit.py: a trained network with one hidden layer, moved by a matrix A before its
// activation. The weights after it are repaired by the best R: σ(Az) → σ(z). If A is in the group of σ, the
// function stays.
function orbit(root, { networks, digits, removed, neuron, colours, activation }) {
  const { element, set, slider, choice, number, percent } = Controls;
  const { matrix, times, each } = Algebra, random = Algebra.random(1);
  const images = Engine.images(digits), count = images.n;
  const trained = Object.fromEntries(Object.entries(networks).map(([key, { network, word }]) => {
    const layers = Engine.network(network), [, first, { name, slope }, { weight, bias, shape }] = layers;
    const sigma = Engine.ACTIVATIONS[name](slope), { c, d } = Engine.run(layers, images, { to: 2 });
    const into = matrix(...first.shape, first.weight), out = matrix(...shape, weight);
    return [key, { word, sigma, bias, into, out, Z: matrix(c, count, d) }];  // Z: before the activation
  }));
  const width = trained[activation].into.r, neurons = [...Array(width).keys()];
  let order, scale, angle, chosen = neuron;
  const forget = () => { [order, scale, angle] = [[...neurons], neurons.map(() => 1), 0]; };
  forget();

  function move() {
    const { sigma, bias, into, out, Z } = trained[activation];
    const A = matrix(width, width);  // neurons are scaled and in order, then turned in pairs
    neurons.forEach((k) => {
      const one = order[k], other = order[k ^ 1];
      A.d[k * width + one] = Math.cos(angle) * scale[one];
      A.d[k * width + other] = Math.sin(angle) * scale[other] * (k % 2 ? 1 : -1);
    });
    const W = times(A, into), before = each(Z, sigma), after = each(times(A, Z), sigma);
    const repaired = times(out, Algebra.leastSquares(after, before).B);
    const norms = neurons.map((k) => Math.hypot(...W.d.subarray(k * W.c, (k + 1) * W.c)));
    const gone = new Set([...neurons].sort((i, j) => norms[i] - norms[j]).slice(0, removed));
    const fewer = each(repaired, (w, k) => (gone.has(k % width) ? 0 : w));
    const outputs = [[out, before], [repaired, after], [fewer, after]].map(([V, H]) => {
      const Y = each(times(V, H), (y, k) => y + bias[Math.floor(k / count)]);
      return { c: Y.r, n: count, d: Y.d };
    });
    const most = (values) => Math.max(...values.map(Math.abs)), [old, now] = outputs.map(({ d }) => d);
    const change = most(old.map((y, k) => now[k] - y)) / most(old);
    return { W, norms, gone, change, most: most(into.d), answers: outputs.map(Engine.answers) };
  }

  const svg = element(root, "svg", { viewBox: "0 0 400 268", role: "img", "aria-label": "Ten digits with the "
    + "answers of the network and of the pruned network; the weights and norms of its neurons" });
  const ink = { fill: "currentColor", "font-size": 13, "text-anchor": "middle" };
  const write = (x, y, text = "", more = {}) => element(svg, "text", { x, y, ...ink, ...more }, text);
  const words = { digit: 22, answer: 52, pruned: 72, weights: 112, norm: 218 };
  for (const word in words) write(0, words[word], word, { "text-anchor": "start" });
  const answers = [[], [], []], columns = [], bold = { "font-weight": 600 };
  for (let k = 0; k < 10; k++) {
    Controls.image(svg, 66 + 34 * k, 4, 3.5, Engine.greys(digits, k));
    for (const row of [1, 2]) answers[row].push(write(80 + 34 * k, 32 + 20 * row, "", bold));
  }
  for (const k of neurons) {
    const x = 60 + 42.5 * k, box = { y: 86, height: 178, rx: 3 };
    const frame = element(svg, "rect", { x: x - 1, width: 42, ...box, fill: "none", "stroke-width": 2.5 });
    const bar = element(svg, "rect", { x: x + 8, width: 24, "stroke-dasharray": "3 2" });
    const [above, below] = [0, 258].map((y) => write(x + 20, y));
    columns.push({ frame, bar, cells: Controls.image(svg, x + 2, 89, 4.5), above, below });
    const pointed = { fill: "transparent", style: "cursor: pointer" };
    const target = element(svg, "rect", { x, width: 40, ...box, ...pointed });
    target.addEventListener("click", () => pick(order[k]));
  }
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const draw = () => {
    const { W, norms, gone, change, most, answers: given } = move(), { word } = trained[activation];
    for (const row of [1, 2]) answers[row].forEach((text, k) => {
      text.textContent = given[row][k];
      const [fill, line] = given[row][k] === given[0][k] ? [ink.fill, "none"] : [colours.red, "underline"];
      set(text, { fill, "text-decoration": line });
    });
    columns.forEach(({ frame, bar, cells, above, below }, k) => {
      const height = Math.min(80, 9 * norms[k]);
      set(frame, { stroke: order[k] === chosen ? colours.green : "none" });
      set(bar, { y: 240 - height, height, ...(gone.has(k) ? { fill: "none", stroke: colours.grey }
        : { fill: colours.blue, stroke: "none" }) });
      set(above, { y: 234 - height });
      [above.textContent, below.textContent] = [number(norms[k], 1), order[k] + 1];
      cells.forEach((cell, p) => {
        const w = W.d[64 * k + p], opacity = Math.min(1, Math.abs(w) / most).toFixed(2);
        set(cell, { fill: w > 0 ? colours.blue : colours.red, "fill-opacity": opacity });
      });
    });
    const right = given.map((row) => percent(Engine.accuracy(row, digits.labels), 1));
    const stays = change < 5e-4 ? "The outputs stay"
      : `The largest change of an output: ${percent(change, change < 0.0995 ? 1 : 0)} of the largest output; `
        + `this change does not commute with ${word}`;
    result.innerHTML = `<b>${stays}</b>; ${right[1]} of ${count} digits are right. Without the ${removed} `
      + `neurons of smallest norm (dashed): <b>${right[2]}</b>.`;
    announce(result.textContent);
  };
  const ask = Controls.drawing(draw);
  const pick = (k) => {
    chosen = k;
    which.show(k);
    size.show(Math.log2(Math.abs(scale[k])));
    ask();
  };
  const names = neurons.map((k) => [k, `${k + 1}`]);
  const which = choice(root, { label: "neuron", options: names, value: chosen, chosen: pick });
  const size = slider(root, { label: "scale it", min: -2, max: 2, step: 0.1, value: 0,
    text: (e) => `× ${number(2 ** e, 2)}`, moved: (e) => {
      scale[chosen] = Math.sign(scale[chosen]) * 2 ** e;
      ask();
    } });
  const options = Object.entries(networks).map(([key, { word }]) => [key, word]);
  const several = options.length > 1;  // then a reader also looks for an A that an activation does not allow
  Controls.buttons(root, {
    "swap it with the next": () => {
      const place = order.indexOf(chosen), next = (place + 1) % width;
      [order[place], order[next]] = [order[next], order[place]];
      ask();
    },
    "scale all at random": () => {
      scale = scale.map((a) => Math.sign(a) * 2 ** (4 * random() - 2));
      pick(chosen);
    },
    ...(several && { "change its sign": () => { scale[chosen] *= -1; ask(); } }),
    "as trained": () => {
      forget();
      if (several) turn.show(0);
      pick(chosen);
    },
  });
  const turn = several && slider(root, { label: "turn neurons 1–2, 3–4, … by",
    min: 0, max: 90, step: 5, value: 0, text: (a) => `${a}°`,
    moved: (a) => { angle = a * Math.PI / 180; ask(); } });
  const other = (to) => { activation = to; ask(); };
  if (several) choice(root, { label: "activation", options, value: activation, chosen: other });
  draw();
}
