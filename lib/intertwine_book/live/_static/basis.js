// The instrument of basis.py: two units of a trained layer as axes, turned by the reader, and the pixels that
// each unit then selects in drawn scenes.
function basis(root, { maps, codes, shows, concepts, paints, pictures, side, size, quantile, units, rest }) {
  const { element, number, circle, text } = Controls;
  const bytes = (coded) => Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
  const whole = new Uint16Array(bytes(maps.numbers).buffer), count = whole.length / 2;
  const images = count / side ** 2;
  const values = maps.steps.map((step, unit) => {  // as shares of the unit's largest
    return Float64Array.from(whole.subarray(unit * count, (unit + 1) * count), (each) => each * step);
  });
  const packed = bytes(codes), pixels = size ** 2;
  const code = (pixel) => (packed[pixel >> 2] >> (2 * (pixel & 3))) & 3;  // which layer of its scene is seen

  // A pixel between the centres of positions is a mean of two, in each direction.
  const between = Array.from({ length: size }, (_, pixel) => {
    const at = Math.min(Math.max((pixel + 0.5) * side / size - 0.5, 0), side - 1), low = Math.floor(at);
    return { low, high: Math.min(low + 1, side - 1), share: at - low };
  });
  const chosen = new Uint8Array(images * pixels), areas = new Float64Array(concepts.length);
  for (let p = 0; p < chosen.length; p++) for (const k of shows[Math.floor(p / pixels)][code(p)]) areas[k]++;

  // What a unit selects at a level that a share `quantile` of its numbers exceeds, and its best concept.
  function dissected(numbers) {
    const level = numbers.slice().sort()[count - 1 - Math.floor(quantile * count + 1e-6)];
    const both = new Float64Array(concepts.length), row = new Float64Array(side);
    let selected = 0;
    for (let image = 0; image < images; image++) {
      const seen = [0, 0, 0, 0];
      for (let r = 0; r < size; r++) {
        const { low, high, share } = between[r], top = (image * side + low) * side;
        for (let c = 0; c < side; c++)
          row[c] = numbers[top + c] * (1 - share) + numbers[(image * side + high) * side + c] * share;
        for (let c = 0, p = (image * size + r) * size; c < size; c++, p++) {
          const { low: left, high: right, share: part } = between[c];
          chosen[p] = row[left] * (1 - part) + row[right] * part > level ? 1 : 0;
          if (chosen[p]) seen[code(p)]++;
        }
      }
      seen.forEach((found, k) => {
        selected += found;
        for (const concept of shows[image][k] ?? []) both[concept] += found;
      });
    }
    const iou = Array.from(both, (found, k) => found / Math.max(selected + areas[k] - found, 1));
    const best = iou.indexOf(Math.max(...iou));
    return { level, best, iou: iou[best] };
  }

  const { results, controls } = Controls.columns(root), say = Controls.announcer(root);
  const across = `width: ${Math.floor(100 / pictures.length) - 1}%; margin-right: 1%`;
  const canvas = `<canvas width="${size}" height="${size}" style="${across}"></canvas>`;
  const rows = units.map((unit) => {
    const box = element(results, "div"), alt = `pixels that unit ${unit} selects are lit`;
    box.innerHTML = '<p style="margin: 0.3em 0 0.1em"></p>'
      + `<div role="img" aria-label="Scenes, of which the ${alt}">${canvas.repeat(pictures.length)}</div>`;
    const pens = [...box.querySelectorAll("canvas")].map((each) => each.getContext("2d"));
    return { said: box.firstChild, pens };
  });
  element(results, "p", { class: "note" }, rest.key);
  const painted = pictures.map(({ pixels: text }) => bytes(text));
  const light = ({ pens }) => pens.forEach((pen, k) => {
    const shown = pen.createImageData(size, size);
    for (let p = 0; p < pixels; p++) {
      const lit = chosen[pictures[k].number * pixels + p];
      for (let c = 0; c < 3; c++) shown.data[4 * p + c] = painted[k][3 * p + c] * (lit ? 1 : 0.22);
      shown.data[4 * p + 3] = 255;
    }
    pen.putImageData(shown, 0, 0);
  });

  // The plane of both units, as shares of its largest value, with some positions of the scenes.
  let moving = !Controls.still(), at = moving ? 0 : rest.angle;
  const slider = Controls.slider(controls, { label: "turn the basis", min: 0, max: 90, step: 1, value: at,
    text: (angle) => `${angle}°`, moved: (to) => { moving = false; at = to; ask(); } });
  const alt = `Positions of the scenes by the values of units ${units.join(" and ")}, and both axes`;
  const svg = element(controls, "svg", { viewBox: "-100 -116 208 140", role: "img", fill: "currentColor",
    "aria-label": alt });
  const scale = 100 / Math.max(...values[0], ...values[1]), own = rest.concepts;
  const alive = [...values[0].keys()].filter((k) => values[0][k] + values[1][k] > 0);
  const every = Math.ceil(alive.length / 350), spots = alive.filter((_, j) => j % every === 0).map((k) => {
    const image = Math.floor(k / side ** 2), place = k % side ** 2;
    const middle = (each) => Math.floor((each + 0.5) * size / side);
    const pixel = (image * size + middle(Math.floor(place / side))) * size + middle(place % side);
    const shown = own.findIndex((concept) => shows[image][code(pixel)].includes(concept));
    return { k, colour: shown < 0 ? rest.neither : paints[shown] };
  });
  const dot = ({ k, colour }) => circle(scale * values[0][k], -scale * values[1][k], 1.8,
    `fill="${colour}" stroke="${colour}"`);
  const legend = [...own.map((concept, k) => [paints[k], `shows ${concepts[concept]}`]), [rest.neither, "neither"]]
    .map(([paint, words], k) => circle(-96, -85 + 12 * k, 3, `fill="${paint}"`) + text(-90, -82 + 12 * k, words, 8.5, "start"));
  svg.innerHTML = spots.map(dot).join("") + text(106, 20, `value of unit ${units[0]} →`, 8.5, "end")
    + text(-2, -106, `↑ value of unit ${units[1]}`, 8.5, "start") + legend.join("") + "<g></g>";
  const dots = svg.querySelectorAll("[stroke]"), axes = svg.lastChild;

  const ask = Controls.drawing(() => {
    const t = at * Math.PI / 180, turned = [[Math.cos(t), Math.sin(t)], [-Math.sin(t), Math.cos(t)]];
    const drawn = [];
    const words = turned.map(([x, y], u) => {
      const numbers = values[0].map((value, k) => x * value + y * values[1][k]), found = dissected(numbers);
      light(rows[u]);
      const said = `Unit ${units[u]}, best match: ${concepts[found.best]} (IoU ${number(found.iou, 2)})`;
      rows[u].said.textContent = said;
      drawn.push(`<path d="M0 0L${64 * x} ${-64 * y}" stroke="currentColor" stroke-width="1.5"/>`,
        text(66 * x + 2, 8 - 76 * y, `unit ${units[u]}`, 8.5, x < -0.1 ? "end" : "start"));
      if (u > 0) return said;
      const [a, b] = [x, -y].map((part) => scale * found.level * part);
      const beyond = `M${a - 42 * y} ${b - 42 * x}L${a + 42 * y} ${b + 42 * x}`;
      drawn.push(`<path d="${beyond}" stroke="currentColor" stroke-dasharray="3 3"/>`);
      spots.forEach(({ k }, j) => dots[j].setAttribute("fill-opacity", numbers[k] > found.level ? 1 : 0));
      return said;
    });
    axes.innerHTML = drawn.join("");
    slider.show(at);
    say(words.join(". "));
  });
  ask();

  // When it has been in view for a second it moves to its opening state, once, unless the reader moves it.
  let timer = 0, began;
  const open = () => {
    watch.disconnect();
    if (!moving) return;
    began ??= performance.now();
    at = Math.round(Math.min(1, (performance.now() - began) / 3000) * rest.angle);
    moving = at < rest.angle;
    ask();
    requestAnimationFrame(open);
  };
  const watch = new IntersectionObserver(([seen]) => {
    clearTimeout(timer);
    if (seen.isIntersecting) timer = setTimeout(open, 1000);
  }, { threshold: 0.5 });
  watch.observe(svg);
}
