// The instrument of valley.py: a ball in the plane of two scales of a trained network, and the valley around.
//
// u is the norm of the weights into the hidden neurons, biases included, and v that of the weights out of
// them; all else is as trained. With ReLU the outputs are s·z + b, where s = uv / (u₀v₀); as trained, s = 1.
function valley(root, { table, norms: [u0, v0], start, colours, pictures, most, far, high }) {
  const { element, slider, number } = Controls;
  const { from, per, values, slopes } = table;
  let u, v, first, path, rate = start.rate, decay = 0, run = 0, stopped;

  // The mean cross-entropy, and its derivative with respect to s: between two places of the table a cubic.
  function loss(a, b) {
    const s = a * b / u0 / v0, at = Math.max(0, Math.min(values.length - 1.001, (s - from) * per));
    const k = Math.floor(at), x = at - k, rise = values[k + 1] - values[k];
    const m = slopes[k] / per, n = slopes[k + 1] / per;
    const c = 3 * rise - 2 * m - n, d = m + n - 2 * rise;
    return { value: values[k] + x * (m + x * (c + x * d)), slope: per * (m + x * (2 * c + 3 * x * d)) };
  }
  const imbalance = () => u * u - v * v;

  const panels = element(root, "div", { class: "panels two" });
  const panel = (drawn, alt, caption, left, right, top) => {  // what does not move is drawn in valley.py
    const { svg } = Controls.panel(panels, alt, "0 0 300 256", caption);
    const X = (a) => 44 + 250 * (a - left) / (right - left), Y = (b) => 214 - 206 * b / top;
    const line = (points, stroke, width, more = "") => {
      const d = points.map(([a, b]) => `${X(a).toFixed(1)} ${Y(b).toFixed(1)}`).join("L") || "0 0";
      return `<path d="M${d}" fill="none" stroke="${stroke}" stroke-width="${width}" ${more}/>`;
    };
    const ball = (a, b, r) => Controls.circle(X(a), Y(b), r, `fill="${colours.blue}"`);
    svg.innerHTML = `${drawn}<g></g>`;
    return { svg, line, ball, moving: svg.lastChild };
  };
  const plane = panel(pictures[0], "Level curves of the loss over two norms of weights, and a ball",
    "green: the orbit; grey dot: as trained; dashed: equal imbalance", 0, most, most);
  const section = panel(pictures[1], "The loss near the ball, in the direction in which it bends most",
    "blue: at the ball; dashed: as trained", -far, far, high);
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const steps = Array.from({ length: 121 }, (_, k) => k / 120);
  const draw = () => {
    const { value } = loss(u, v), count = path.length - 1, least = Math.sqrt(Math.abs(first));
    const equal = steps.map((k) => [Math.hypot(least, k * most), k * most])
      .map(([a, b]) => (first > 0 ? [a, b] : [b, a])).filter((p) => Math.max(...p) < 1.0001 * most);
    plane.moving.innerHTML = plane.line(equal, colours.orange, 2, 'stroke-dasharray="6 4"')
      + plane.line(path, colours.blue, 2) + plane.ball(u, v, 9);
    const across = steps.map((k) => {
      const e = far * (2 * k - 1), r = Math.hypot(u, v);
      return [e, Math.min(1.13 * high, loss(u + e * v / r, v + e * u / r).value)];
    });
    section.moving.innerHTML = section.line(across, colours.blue, 3)
      + section.ball(0, Math.min(value, high + 1), 6);
    const change = number(100 * (imbalance() / first - 1), 1);
    result.textContent = `loss ${number(value, 3)}, imbalance |in|² − |out|² = `
      + number(imbalance())
      + (count ? `; after ${count} ${count > 1 ? "steps" : "step"} the imbalance has changed by ` : "")
      + (count ? `${change} %` : "")
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
    const mine = ++run, some = Controls.still() ? count : Math.ceil(count / 25);
    const go = (left) => {
      if (mine !== run) return;
      for (let k = 0; k < Math.min(some, left); k++) {
        const slope = loss(u, v).slope / u0 / v0;
        const next = [u - rate * (slope * v + decay * u), v - rate * (slope * u + decay * v)];
        stopped = Math.min(...next) <= 0 || Math.abs(Math.log(next[0] * v0 / next[1] / u0)) > 3.5
          || Math.abs(next[0] * next[1] / u0 / v0 - 3.05) > 2.95;  // the sliders' ranges
        if (stopped) break;
        if (Math.hypot(next[0] - u, next[1] - v) < 1e-4) left = 0;  // it lies still
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
    "until it lies still": () => descend(3000),
    "one step": () => descend(1),
    "as trained": () => { drop(u0, v0); say(); },
  });
  plane.svg.style.cssText = "touch-action: none; cursor: crosshair";
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
