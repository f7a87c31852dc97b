// The instrument of valley.py: a ball in the plane of two scales of a trained network, and the valley around.
//
// u is the norm of the weights into the hidden neurons, biases included, and v that of the weights out of
// them; all else is as trained. With ReLU the outputs are s·z + b, where s = uv / (u₀v₀); as trained, s = 1.
function valley(root, { scores, bias, labels, norms: [u0, v0], start, colours }) {
  const { element, set, slider, number } = Controls;
  const z = Engine.halves(scores), n = labels.length, c = bias.length;  // those of a sample one after another
  const most = Math.exp(1.3) * Math.max(u0, v0), far = 15, high = 3;  // what the pictures show
  let u, v, first, path, rate = start.rate, decay = 0, run = 0, stopped;

  function loss(a, b) {  // the mean cross-entropy, and its derivative with respect to s
    const s = a * b / u0 / v0;
    let value = 0, slope = 0;
    for (let i = 0; i < n; i++) {
      const right = labels[i], score = (k) => bias[k] + s * z[i * c + k];
      let top = -Infinity, all = 0, mean = 0;
      for (let k = 0; k < c; k++) top = Math.max(top, score(k));
      for (let k = 0; k < c; k++) {
        const weight = Math.exp(score(k) - top);
        all += weight;
        mean += weight * z[i * c + k];
      }
      value += (Math.log(all) + top - score(right)) / n;
      slope += (mean / all - z[i * c + right]) / n;
    }
    return { value, slope };
  }
  const imbalance = () => u * u - v * v;

  const panels = element(root, "div", { class: "panels two" });
  const panel = (alt, caption, [across, left, right, ...ticks], [up, top, ...marks]) => {
    const { svg } = Controls.panel(panels, alt, "0 0 300 256", caption);
    const ink = { fill: "currentColor", "font-size": 12, "text-anchor": "middle" };
    const write = (x, y, text, more) => element(svg, "text", { x, y, ...ink, ...more }, text);
    const draws = (stroke, width, more) =>
      element(svg, "path", { fill: "none", stroke, "stroke-width": width, ...more });
    const X = (a) => 44 + 250 * (a - left) / (right - left), Y = (b) => 214 - 206 * b / top;
    draws("currentColor", 1, { d: "M44 8V214H294" });
    write(169, 250, across);
    write(0, 0, up, { transform: "translate(13 111) rotate(-90)" });
    for (const a of ticks) write(X(a), 231, number(a));
    for (const b of marks) write(b < 10 ? 34 : 26, Y(b) + 4, number(b));
    const line = (points) => {
      return `M${points.map(([a, b]) => `${X(a).toFixed(1)} ${Y(b).toFixed(1)}`).join("L") || "0 0"}`;
    };
    return { svg, draws, X, Y, line };
  };
  const plane = panel("Level curves of the loss over two norms of weights, and a ball",
    "green: the orbit; grey dot: as trained; dashed: equal imbalance",
    ["norm of the weights in", 0, most, 50, 100], ["norm of the weights out", most, 50, 100]);
  const section = panel("The loss near the ball, in the direction in which it bends most",
    "blue: at the ball; dashed: as trained", ["distance in weight space", -far, far, -10, 0, 10],
    ["loss", high, 1, 2, 3]);
  const steps = Array.from({ length: 121 }, (_, k) => k / 120);
  const curve = (f) => plane.line(steps.map(f).filter((p) => Math.max(...p) < 1.0001 * most));
  for (const s of [0.25, 0.5, 1, 1.5, 2, 3]) {
    const middle = Math.sqrt(s * u0 * v0), ratio = most / middle;
    const d = curve((k) => [middle * ratio ** (2 * k - 1), middle * ratio ** (1 - 2 * k)]);
    plane.draws(...(s === 1 ? [colours.green, 4] : [colours.grey, 1]), { d });
  }
  const kept = plane.draws(colours.orange, 2, { "stroke-dasharray": "6 4" });
  const trail = plane.draws(colours.blue, 2);
  element(plane.svg, "circle", { cx: plane.X(u0), cy: plane.Y(v0), r: 4, fill: colours.grey });
  const ball = element(plane.svg, "circle", { r: 9, fill: colours.blue });
  const across = (a, b) => section.line(steps.map((k) => {
    const e = far * (2 * k - 1), r = Math.hypot(a, b);
    return [e, Math.min(1.13 * high, loss(a + e * b / r, b + e * a / r).value)];
  }));
  section.draws(colours.grey, 1.5, { d: across(u0, v0), "stroke-dasharray": "4 3" });
  const here = section.draws(colours.blue, 3);
  const spot = element(section.svg, "circle", { cx: section.X(0), r: 6, fill: colours.blue });
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const draw = () => {
    const { value } = loss(u, v), count = path.length - 1, least = Math.sqrt(Math.abs(first));
    set(ball, { cx: plane.X(u), cy: plane.Y(v) });
    set(trail, { d: plane.line(path) });
    const equal = (k) => [Math.hypot(least, k * most), k * most];
    set(kept, { d: curve(first > 0 ? equal : (k) => equal(k).reverse()) });
    set(here, { d: across(u, v) });
    set(spot, { cy: section.Y(Math.min(value, high + 1)) });
    const change = number(100 * (imbalance() / first - 1), 1);
    result.textContent = `loss ${number(value, 3)}, imbalance |in|² − |out|² = `
      + number(imbalance())
      + (count ? `; after ${count} ${count > 1 ? "steps" : "step"} the imbalance has changed by ${change} %` : "")
      + (stopped ? "; stopped: the next step is out of the sliders' range"
        : Math.max(u, v) > most ? "; the ball is outside the picture" : "");
    announce(result.textContent);
  };
  const ask = Controls.drawing(draw);
  const drop = (a, b) => {  // the ball begins a new path
    [u, v, run, stopped] = [a, b, run + 1, false];
    [first, path] = [imbalance(), [[u, v]]];
    ask();
  };
  const say = () => {
    along.show(Math.log(u * v0 / v / u0) / 2);
    over.show(u * v / u0 / v0);
  };
  const descend = (count) => {  // with an eye on it, unless the reader wants no motion
    stopped = false;
    const mine = ++run, some = Controls.still() ? count : 4;
    const go = (left) => {
      if (mine !== run) return;
      for (let k = 0; k < Math.min(some, left); k++) {
        const slope = loss(u, v).slope / u0 / v0;
        const next = [u - rate * (slope * v + decay * u), v - rate * (slope * u + decay * v)];
        stopped = Math.min(...next) <= 0 || Math.abs(Math.log(next[0] * v0 / next[1] / u0)) > 3.5
          || Math.abs(next[0] * next[1] / u0 / v0 - 3.05) > 2.95;  // the sliders' ranges
        if (stopped) break;
        [u, v] = next;
        path.push(next);
      }
      say();
      ask();
      if (left > some && !stopped) requestAnimationFrame(() => go(left - some));
    };
    go(count);
  };

  const place = () => {
    const t = Math.exp(along.value()), s = Math.sqrt(over.value());
    drop(u0 * s * t, v0 * s / t);
  };
  const along = slider(root, { label: "along the valley", min: -1.75, max: 1.75, step: 0.05, value: start.t,
    text: (t) => `t = ${number(t, 2)}`, moved: place });
  const over = slider(root, { label: "across it", min: 0.1, max: 6, step: 0.05, value: start.s,
    text: (s) => `× ${number(s, 2)}`, moved: place });
  slider(root, { label: "learning rate", min: -1, max: 5.5, step: 0.5, value: Math.log2(rate),
    text: (e) => `η = ${number(2 ** e, 1)}`, moved: (e) => { rate = 2 ** e; } });
  slider(root, { label: "weight decay", min: 0, max: 0.001, step: 0.0001, value: 0,
    text: (l) => `λ = ${number(l, 4)}`, moved: (l) => { decay = l; } });
  Controls.buttons(root, {
    "descend: 100 steps": () => descend(100),
    "one step": () => descend(1),
    "as trained": () => { drop(u0, v0); say(); },
  });
  set(plane.svg, { style: "touch-action: none; cursor: crosshair" });
  Controls.drag(plane.svg, (event) => {
    const { x, y } = Controls.inside(plane.svg, event);
    const within = (a) => Math.max(0.05 * most, Math.min(most, a));
    [u, v] = [within((x - 44) * most / 250), within((214 - y) * most / 206)];
    say();
    place();  // where the sliders say
  });
  place();
  draw();
}
