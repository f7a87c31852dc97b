// The instrument of orbit.py: a trained network with one hidden layer, moved by a matrix A before its
// activation. The weights after it are repaired by the best R: σ(Az) → σ(z). If A is in the group of σ, the
// function stays.
function orbit(root, { networks, digits, removed, neuron, colours, activation }) {
  const { element, slider, choice, text, number, percent } = Controls;
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
    const P = matrix(width, width), pairs = Array(width / 2).fill(angle);
    order.forEach((from, k) => { P.d[k * width + from] = scale[from]; });
    const A = times(Algebra.turned(Algebra.eye(width), pairs), P);  // neurons in order, then turned in pairs
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

  const svg = element(root, "svg", { viewBox: "0 0 400 268", role: "img", fill: "currentColor",
    "aria-label": "Ten digits with the answers of the network and of the pruned "
    + "network; the weights and norms of its neurons" });
  const words = Object.entries({ digit: 22, answer: 52, pruned: 72, weights: 112, norm: 218 });
  const ten = [...Array(10).keys()], left = neurons.map((k) => 60 + 42.5 * k);  // of each column
  const clear = 'fill="transparent" style="cursor: pointer"';
  const frame = (x, wide, more) => `<rect x="${x}" y="86" width="${wide}" height="178" rx="3" ${more}/>`;
  svg.innerHTML = words.map(([word, y]) => text(0, y, word, 13, "start")).join("")
    + ten.map((k) => Controls.image(66 + 34 * k, 4, 3.5, Engine.greys(digits, k))).join("")
    + "<g></g>".repeat(1 + width) + left.map((x) => frame(x, 40, clear)).join("");
  const parts = svg.querySelectorAll("g");
  svg.querySelectorAll("g ~ rect").forEach((target, k) =>
    target.addEventListener("click", () => pick(order[k])));
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const draw = () => {
    const { W, norms, gone, change, most, answers: given } = move(), { word } = trained[activation];
    const answers = [1, 2].flatMap((row) => ten.map((k) => {
      const wrong = given[row][k] !== given[0][k] && `fill="${colours.red}" text-decoration="underline"`;
      const look = `font-weight="600" ${wrong || ""}`;
      return text(80 + 34 * k, 32 + 20 * row, given[row][k], 13, "middle", look);
    }));
    const columns = left.map((x, k) => {
      const high = Math.min(80, 9 * norms[k]), row = W.d.subarray(64 * k, 64 * k + 64);
      const shares = row.map((w) => w / most);
      const look = gone.has(k) ? `fill="none" stroke="${colours.grey}"` : `fill="${colours.blue}"`;
      const ring = order[k] === chosen ? colours.green : "none";
      return [
        frame(x - 1, 42, `fill="none" stroke-width="2.5" stroke="${ring}"`),
        `<rect x="${x + 8}" y="${240 - high}" width="24" height="${high}" stroke-dasharray="3 2" ${look}/>`,
        Controls.image(x + 2, 89, 4.5, shares, colours.blue),
        Controls.image(x + 2, 89, 4.5, shares.map((share) => -share), colours.red),
        text(x + 20, 234 - high, number(norms[k], 1), 13), text(x + 20, 258, order[k] + 1, 13),
      ].join("");
    });
    [answers.join(""), ...columns].forEach((drawn, k) => Controls.fill(parts[k], drawn));
    const right = given.map((row) => percent(Engine.accuracy(row, digits.labels), 1));
    const stays = change < 5e-4 ? "The outputs stay"
      : `The largest change of an output: ${percent(change, change < 0.0995 ? 1 : 0)} of the largest output; `
        + `this change does not commute with ${word}`;
    Controls.fill(result, `<b>${stays}</b>; ${right[1]} of ${count} digits are right. Without the ${removed} `
      + `neurons of smallest norm (dashed): <b>${right[2]}</b>.`);
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
