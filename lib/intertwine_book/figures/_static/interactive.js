// A plotly figure, drawn when it is nearly seen: without a graphics card three dimensions take seconds. Until
// then, and where there is no WebGL, its still picture stands in the frame.
function interactive(root, { data, layout, says }) {
  const box = root.querySelector(".plotly-graph-div"), moved = root.querySelector(".moved");
  const solid = layout.scene, [slider] = layout.sliders ?? [];
  const scene = layout.scene ?? {}, eye = { x: 1.25, y: 1.25, z: 1.25, ...scene.camera?.eye };
  const back = box.clientWidth < 500 && solid ? 1.2 : 1; // on a telephone the sides of the body would be cut
  for (const axis in eye) eye[axis] *= back;
  scene.camera = { ...scene.camera, eye };
  delete layout.sliders; // ranges of the page take its place: they take keys
  if (solid && !document.createElement("canvas").getContext("webgl")) return;
  const drawn = () => box.data;
  const draw = () => drawn() || Plotly.newPlot(box, data, layout, { displayModeBar: false, responsive: true })
    .then(() => root.classList.add("drawn"));

  const range = (label, attributes, words, move) => {
    const line = moved.appendChild(document.createElement("label")), input = document.createElement("input");
    const text = document.createElement("span");
    for (const key in attributes) input.setAttribute(key, attributes[key]);
    line.append(label + " ", input, " ", text);
    const show = () => {
      [text.textContent, input.ariaValueText] = words(+input.value);
    };
    input.addEventListener("input", () => { show(); draw(); if (drawn()) move(+input.value); });
    show();
    moved.hidden = false;
  };
  if (slider) {
    const { active, steps, currentvalue } = slider;
    const label = (k) => steps[k].label.replace("-", "−"), said = (k) => says.replace("{}", label(k));
    range(currentvalue.prefix, { type: "range", min: 0, max: steps.length - 1, value: active },
      (k) => [label(k), said(k)], (k) => Plotly.restyle(box, ...steps[k].args));
  }
  if (solid) range("turn", { type: "range", min: -180, max: 180, step: 5, value: 0 },
    (angle) => [`${angle}°`.replace("-", "−"), `${angle} degrees`],
    (angle) => {
      const c = Math.cos(angle * Math.PI / 180), s = Math.sin(angle * Math.PI / 180);
      const turned = { x: c * eye.x - s * eye.y, y: s * eye.x + c * eye.y, z: eye.z };
      Plotly.relayout(box, { "scene.camera": { ...scene.camera, eye: turned } });
    });

  const watch = new IntersectionObserver(([seen]) => seen.isIntersecting && draw(), { rootMargin: "500px" });
  addEventListener("load", () => watch.observe(box));
}
