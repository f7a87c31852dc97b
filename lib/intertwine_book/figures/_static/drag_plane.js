// The figure of drag_plane.py: the reader moves a point t of a plane of networks (w, c), and sees Σ cᵢ ReLU(wᵢx).
function drag_plane(root, { centre, basis, view, range: [low, high], start: t }) {
  const [space, page, graph] = root.querySelectorAll("svg"), said = root.querySelector("output");
  const inputs = [...root.querySelectorAll("input")], shown = root.querySelectorAll("label span");
  const [whole, , ...neurons] = graph.querySelectorAll("polyline");  // the second is the target's
  const knobs = [space, page].map((svg) => svg.querySelector("circle"));
  const number = (v) => v.toFixed(2).replace("-0.00", "0.00").replace("-", "−");
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  root.querySelectorAll("[hidden]").forEach((part) => { part.hidden = false; });
  const draw = () => {
    const theta = centre.map((value, k) => value + t[0] * basis[0][k] + t[1] * basis[1][k]);
    const w = theta.slice(0, 3), c = theta.slice(3);
    const places = [view.map((row) => sum(row.map((v, k) => v * w[k]))),
      [100 * (t[0] - low) / (high - low), 100 * (high - t[1]) / (high - low)]];
    knobs.forEach((knob, k) => ["cx", "cy"].forEach((name, i) => knob.setAttribute(name, places[k][i])));
    const at = (x) => w.map((each, k) => c[k] * Math.max(each * x, 0)), values = [-1, 0, 1].map(at);
    [whole, ...neurons].forEach((line, k) => {
      const y = values.map((each) => (k ? each[k - 1] : sum(each)));
      line.setAttribute("points", y.map((v, i) => `${50 * i - 50},${-50 * v}`).join(" "));
    });
    shown.forEach((span, k) => { span.textContent = number(t[k]); });
    inputs.forEach((input, k) => { input.ariaValueText = `${number(t[k])} of a unit`; });
    const [minus, , plus] = values.map(sum), loss = ((plus - 1) ** 2 + (minus - 1) ** 2) / 2;
    said.textContent = `w = (${w.map(number).join(", ")}): slopes ${number(plus)} and ${number(-minus)}, `
      + `J/E[y²] = ${number(loss)}`;
  };
  const set = (to) => { t = to; inputs.forEach((input, k) => { input.value = t[k]; }); draw(); };  // a slider rounds
  inputs.forEach((input) => input.addEventListener("input", () => { t = inputs.map((i) => +i.value); draw(); }));
  root.querySelectorAll("button").forEach((b) => b.addEventListener("click", () => set(JSON.parse(b.value))));
  const move = (event) => {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(page.getScreenCTM().inverse());
    set([low + (x / 100) * (high - low), high - (y / 100) * (high - low)]);
  };
  page.style.cursor = "grab";
  page.style.touchAction = "none";
  page.addEventListener("pointerdown", (event) => {
    page.setPointerCapture(event.pointerId);
    page.addEventListener("pointermove", move);
    move(event);
  });
  page.addEventListener("pointerup", () => page.removeEventListener("pointermove", move));
  draw();
}
