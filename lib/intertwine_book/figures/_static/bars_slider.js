// The figure of bars_slider.py: a bar for each share, at the position of the slider.
function bars_slider(root, { at, shares, colours }) {
  const slider = root.querySelector("input"), svg = root.querySelector("svg");
  const shape = (kind, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.textContent = text;
    return svg.appendChild(made);
  };
  const ink = { fill: "currentColor", "font-size": 12 };
  const bars = Object.keys(shares).map((name, k) => {
    shape("text", { ...ink, x: 72, y: 34 * k + 21, "text-anchor": "end" }, name);
    shape("rect", { x: 80, y: 34 * k + 6, width: 200, height: 22, fill: colours[k], opacity: 0.15 });
    const bar = shape("rect", { x: 80, y: 34 * k + 6, height: 22, fill: colours[k] });
    return { name, bar, said: shape("text", { ...ink, x: 286, y: 34 * k + 21 }) };
  });
  const draw = () => {
    const position = +slider.value;
    root.querySelector("label span").textContent = at[position];
    bars.forEach(({ name, bar, said }) => {
      const share = shares[name][position];
      bar.setAttribute("width", 200 * Math.max(0, share));
      said.textContent = share.toFixed(2).replace("-", "−");
    });
    const words = bars.map(({ name }) => `${name} ${shares[name][position].toFixed(2)}`);
    root.querySelector("output").textContent = words.join(", ");
  };
  slider.addEventListener("input", draw);
  draw();
}
