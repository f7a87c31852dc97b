// The instrument of orbit.py: a trained network with one hidden layer, moved by a matrix A before its
// activation. The weights after it are repaired by the best R: σ(Az) → σ(z). If A is in the group of σ, the
// function stays.
function orbit(root, { networks, digits, removed, neuron, colours, activation }) {
  const { element, set, slider, choice, button, announcer, drawing, number, percent } = Controls;
  const { matrix, times, transposed, solve } = Algebra, random = Algebra.random(1);
  const images = Engine.images(digits), count = images.n, grey = Engine.bytes(digits.pixels);
  const trained = Object.fromEntries(Object.entries(networks).map(([key, { network, word }]) => {
    const layers = Engine.network(network), [, first, { name, slope }, { weight, bias, shape }] = layers;
    const sigma = Engine.ACTIVATIONS[name](slope), { c, d } = Engine.run(layers, images, { to: 2 });
    const into = matrix(...first.shape, first.weight), out = matrix(...shape, weight);
    return [key, { word, sigma, bias, into, out, Z: matrix(c, count, d) }];  // Z: before the activation
  }));
  const width = trained[activation].into.r, each = Array.from({ length: width }, (_, k) => k);
  let order, scale, angle, chosen = neuron;
  const forget = () => { [order, scale, angle] = [[...each], each.map(() => 1), 0]; };
  forget();

  function move() {
    const { sigma, bias, into, out, Z } = trained[activation], apply = (M) => ({ ...M, d: M.d.map(sigma) });
    const S = matrix(width, width), T = matrix(width, width);  // scaled and in order, then turned in pairs
    each.forEach((k) => {
      S.d[k * width + order[k]] = scale[order[k]];
      T.d[k * width + k] = Math.cos(angle);
      T.d[k * width + (k ^ 1)] = Math.sin(angle) * (k % 2 ? 1 : -1);
    });
    const A = times(T, S), W = times(A, into), before = apply(Z), after = apply(times(A, Z));
    const R = solve(times(after, transposed(after)), times(after, transposed(before)));  // by columns
    const repaired = times(out, transposed(R));
    const norms = each.map((k) => Math.hypot(...W.d.subarray(k * W.c, (k + 1) * W.c)));
    const gone = new Set([...each].sort((i, j) => norms[i] - norms[j]).slice(0, removed));
    const fewer = { ...repaired, d: repaired.d.map((w, k) => (gone.has(k % width) ? 0 : w)) };
    const outputs = [[out, before], [repaired, after], [fewer, after]].map(([V, H]) => {
      const Y = times(V, H);
      return { c: Y.r, n: count, d: Y.d.map((y, k) => y + bias[Math.floor(k / count)]) };
    });
    const [old, now] = outputs.map(({ d }) => d);
    const most = (values) => values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const change = most(old.map((y, k) => now[k] - y)) / most(old);
    return { W, norms, gone, change, most: most(into.d), answers: outputs.map(Engine.answers) };
  }

  const svg = element(root, "svg", { viewBox: "0 0 400 268", role: "img", "aria-label": "Ten digits with the "
    + "answers of the network and of the pruned network; the weights and norms of its neurons" });
  const ink = { fill: "currentColor", "font-size": 13, "text-anchor": "middle" };
  const write = (x, y, text = "", more = {}) => element(svg, "text", { x, y, ...ink, ...more }, text);
  const pixels = (x, y, size) => Array.from({ length: 64 }, (_, p) => element(svg, "rect", {
    x: x + size * (p % 8), y: y + size * (p >> 3), width: size + 0.1, height: size + 0.1, fill: ink.fill }));
  const words = { digit: 22, answer: 52, pruned: 72, weights: 112, norm: 218 };
  for (const word in words) write(0, words[word], word, { "text-anchor": "start" });
  const answers = [[], [], []], columns = [], bold = { "font-weight": 600 };
  for (let k = 0; k < 10; k++) {
    pixels(66 + 34 * k, 4, 3.5).forEach((rect, p) => set(rect, { "fill-opacity": grey[64 * k + p] / 16 }));
    for (const row of [1, 2]) answers[row].push(write(80 + 34 * k, 32 + 20 * row, "", bold));
  }
  for (const k of each) {
    const x = 60 + 42.5 * k, box = { y: 86, height: 178, rx: 3 };
    const frame = element(svg, "rect", { x: x - 1, width: 42, ...box, fill: "none", "stroke-width": 2.5 });
    const bar = element(svg, "rect", { x: x + 8, width: 24, "stroke-dasharray": "3 2" });
    const [above, below] = [0, 258].map((y) => write(x + 20, y));
    columns.push({ frame, bar, cells: pixels(x + 2, 89, 4.5), above, below });
    const target = element(svg, "rect", { x, width: 40, ...box, fill: "transparent" });
    set(target, { style: "cursor: pointer" });
    target.addEventListener("click", () => pick(order[k]));
  }
  const result = element(root, "p"), announce = announcer(root);

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
    const right = given.map((row) => percent(row.filter((a, i) => a === digits.labels[i]).length / count, 1));
    const stays = change < 5e-4 ? "The outputs stay"
      : `Some output changes by ${percent(change, change < 0.0995 ? 1 : 0)}: ${word} does not allow this A`;
    result.innerHTML = `<b>${stays}</b>; ${right[1]} of ${count} digits are right. Without the ${removed} `
      + `neurons of smallest norm (dashed): <b>${right[2]}</b>.`;
    announce(result.textContent);
  };
  const ask = drawing(draw);
  const pick = (k) => {
    chosen = k;
    which.show(k);
    size.show(Math.log2(Math.abs(scale[k])));
    ask();
  };
  const names = each.map((k) => [k, `${k + 1}`]);
  const which = choice(root, { label: "neuron", options: names, value: chosen, chosen: pick });
  const size = slider(root, { label: "scale it", min: -2, max: 2, step: 0.1, value: 0,
    text: (e) => `× ${number(2 ** e, 2)}`, moved: (e) => {
      scale[chosen] = Math.sign(scale[chosen]) * 2 ** e;
      ask();
    } });
  const buttons = element(root, "p", { style: "display: flex; flex-wrap: wrap; gap: 0.4em" });
  button(buttons, "swap it with the next", () => {
    const place = order.indexOf(chosen), next = (place + 1) % width;
    [order[place], order[next]] = [order[next], order[place]];
    ask();
  });
  button(buttons, "scale all at random", () => {
    scale = scale.map((a) => Math.sign(a) * 2 ** (4 * random() - 2));
    pick(chosen);
  });
  const options = Object.entries(networks).map(([key, { word }]) => [key, word]);
  let turn = null;
  if (options.length > 1) {  // then a reader also looks for an A that an activation does not allow
    button(buttons, "change its sign", () => { scale[chosen] *= -1; ask(); });
    turn = slider(root, { label: "turn pairs", min: 0, max: 90, step: 5, value: 0, text: (a) => `by ${a}°`,
      moved: (a) => { angle = a * Math.PI / 180; ask(); } });
    const other = (to) => { activation = to; ask(); };
    choice(root, { label: "activation", options, value: activation, chosen: other });
  }
  button(buttons, "as trained", () => { forget(); turn?.show(0); pick(chosen); });
  draw();
}
