// The instrument of bits.py: values of a residual stream, rounded to few bits as they are and as HDy.
function bits(root, { networks, known, colours, start }) {
  const { element, slider, choice, number, percent } = Controls;
  let { network, bits: count } = start, token = 0;
  const panels = element(root, "div", { class: "panels two" });
  const ways = ["values of the channels, as trained", "values after a rotation (random signs, then Hadamard)"].map((title) => {
    const alt = `${title}: a bar for each channel, and the value that is stored`;
    return { title, ...Controls.panel(panels, alt, "0 0 330 190") };
  });
  element(root, "p", { class: "note" }, "lines: what can be stored; red marks: what is stored; grey bars: stored as 0");
  const result = element(root, "p", { class: "result" }), announce = Controls.announcer(root);

  const draw = () => {
    const both = networks[network][token];  // y and HDy
    const most = Math.max(...both.flat().map(Math.abs)), Y = (value) => 95 - 90 * value / most;
    const top = 2 ** (count - 1) - 1, size = (values) => Math.hypot(...values);
    ways.forEach(({ title, svg, caption }, way) => {
      const z = both[way], step = Math.max(...z.map(Math.abs)) / top;
      const stored = z.map((value) => Math.round(value / step)), lines = top < 16 ? 2 * top + 1 : 0;
      const line = (_, k) => `M0 ${Y((k - top) * step)}H330`;  // with more bits they would fill the picture
      const levels = Array.from({ length: lines }, line).join("");
      const marks = stored.map((whole, k) => `M${4 + 10 * k} ${Y(whole * step)}h10`).join("");
      const bars = z.map((value, k) => `<rect x="${5 + 10 * k}" width="8" y="${Math.min(Y(value), 95)}" `
        + `height="${Math.abs(Y(value) - 95)}" fill="${stored[k] ? colours.blue : colours.grey}"/>`);
      svg.innerHTML = `<path d="${levels}" stroke="${colours.grey}" stroke-width="0.6"/>${bars.join("")}`
        + `<path d="${marks}" stroke="${colours.red}" stroke-width="3"/>`;
      const error = size(z.map((value, k) => value - step * stored[k])) / size(z);
      const zeros = `${stored.filter((whole) => whole === 0).length} of ${z.length}`;
      caption.textContent = `${title}: ${zeros} stored as 0, relative error ${percent(error, 1)}`;
    });
    const [plain, rotated] = known[network][count].map((right) => `<b>${number(right)} %</b>`);
    result.innerHTML = `Recorded networks ${network} at ${count} bits: ${plain} of the digits are right `
      + `as trained, ${rotated} rotated.`;
    announce([...ways.map(({ caption }) => caption), result].map((part) => part.textContent).join(". "));
  };
  const ask = Controls.drawing(draw), all = Object.values(known), positions = networks[network].length;
  const steps = Object.keys(all[0]).map(Number).filter((b) => all.every((rows) => b in rows));
  slider(root, { label: "bits", min: 0, max: steps.length - 1, step: 1, value: steps.indexOf(count),
    text: (k) => `${steps[k]} bits`, moved: (k) => { count = steps[k]; ask(); } });
  slider(root, { label: "token", min: 1, max: positions, step: 1, value: 1,
    text: (k) => `${k} of ${positions}`, moved: (k) => { token = k - 1; ask(); } });
  const options = Object.keys(networks).map((key) => [key, key]);
  choice(root, { label: "network", options, value: network, chosen: (to) => { network = to; ask(); } });
  draw();
}
