// The figure of turn_basis.py: each unit selects the quarter of the pixels that lie furthest along its axis.
function turn_basis(root, { pixels, concepts, colours }) {
  const slider = root.querySelector("input"), angle = root.querySelector("label span");
  const shape = (svg, kind, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return svg.appendChild(made);
  };
  const panels = [...root.querySelectorAll("figure")].map((figure) => {
    const svg = figure.querySelector("svg"), line = { "stroke-width": 0.02, stroke: colours[2] };
    const dots = pixels.map(([x, y, k]) => shape(svg, "circle", { cx: x, cy: -y, r: 0.045, stroke: colours[k] }));
    const axes = [1, 0.3].map((strength) => shape(svg, "line", { ...line, x1: 0, y1: 0, opacity: strength }));
    axes[0].setAttribute("stroke-width", 0.06);
    return { dots, axes, said: figure.querySelector("output") };
  });
  const draw = () => {
    const t = slider.value * Math.PI / 180, units = [[Math.cos(t), Math.sin(t)], [-Math.sin(t), Math.cos(t)]];
    angle.textContent = slider.value + "°";
    panels.forEach(({ dots, axes, said }, u) => {
      const values = pixels.map(([x, y]) => units[u][0] * x + units[u][1] * y);
      const level = [...values].sort((a, b) => b - a)[pixels.length / 4];
      const selected = values.map((value) => value > level);
      dots.forEach((dot, p) => {
        dot.setAttribute("fill", colours[pixels[p][2]]);
        dot.setAttribute("fill-opacity", selected[p] ? 1 : 0);
        dot.setAttribute("stroke-width", selected[p] ? 0 : 0.012);
      });
      [units[u], units[1 - u]].forEach(([x, y], k) => {
        axes[k].setAttribute("x2", 2 * x);
        axes[k].setAttribute("y2", -2 * y);
      });
      const iou = [0, 1].map((k) => {
        const shows = pixels.map((pixel) => pixel[2] === k);
        const count = (test) => shows.filter((_, p) => test(shows[p], selected[p])).length;
        return count((a, b) => a && b) / count((a, b) => a || b);
      });
      const best = iou[1] > iou[0] ? 1 : 0;
      said.textContent = `IoU ${iou[best].toFixed(2)} with “${concepts[best]}”`;
    });
  };
  slider.addEventListener("input", draw);
  draw();
}
