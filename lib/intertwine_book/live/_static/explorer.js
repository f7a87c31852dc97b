// The symmetry explorer of explorer.py: a network in the colours of its hidden spaces, which light up.
function explorer(root, data) {
  const { element, choice, markup } = Controls, { views, colours } = data;
  const [HEIGHT, GAP, LETTER] = [26, 14, 6.7];  // of a row, below it, and of a letter at most
  const GREY = "#8a8a8a", whole = (n) => n.toLocaleString("en");
  for (const view of Object.values(views)) for (const part of ["rows", "values", "spaces"])
    view[part] = view[part].map((k) => data[part][k]);
  let key = data.first, chosen = -1, hovered = -1, change = "";
  let block = data.switches.length ? data.first : "";

  const choices = element(root, "div", { class: "choices" });
  const both = element(root, "div", { class: "explorer" });
  both.innerHTML = '<div class="graph" tabindex="0" role="group" aria-label="the graph of the network"></div>'
    + '<div class="side"><p class="total"></p><div class="spaces" role="radiogroup" '
    + 'aria-label="hidden spaces"></div><div class="told"></div></div>';
  const [graph, side] = both.children, [total, list, told] = side.children;
  const announce = Controls.announcer(side), shade = element(root, "style");

  // A network is chosen, or the switches of a block are set; then all is drawn anew.
  const options = data.public.map((each) => [each, each]);
  if (block) options.unshift(["block", "build a block"]);
  if (options.length > 1) {
    const value = block ? "block" : key;
    choice(choices, { label: "network", options, value, chosen: (to) => show(to === "block" ? block : to) });
  }
  const switches = element(choices, "div", { class: "switches" });
  data.switches.forEach(([label, on, off], k) => {
    const set = (to) => {
      block = block.slice(0, k) + to + block.slice(k + 1);
      show(block);
    };
    choice(switches, { label, options: [["1", on], ["0", off]], value: block[k], chosen: set });
  });

  function show(next) {  // the space of the same role stays chosen
    const switched = ![key, next].some((name) => data.public.includes(name)) && key !== next;
    const growth = views[next].dimension - views[key].dimension, sign = "−±+"[Math.sign(growth) + 1];
    change = switched ? ` (${sign}${whole(Math.abs(growth))} by this switch)` : "";
    const role = views[key].spaces[chosen]?.role;
    key = next;
    chosen = views[key].spaces.findIndex((space) => space.role === role);
    hovered = -1;
    switches.hidden = key !== block;
    drawGraph(views[key]);
    drawList(views[key]);
    light();
    announce(`${total.textContent} ${describe(chosen)}`);
  }

  // --- the list of spaces ---
  function drawList({ spaces, dimension, stays }) {
    const group = `${root.parentNode.id} space`;
    const item = (k, background, name, size = "", more = "") => markup`<label data-spaces="${k}">`
      + markup`<input type="radio" name="${group}" value="${k}" ${k === chosen && "checked"}>`
      + markup`<i style="background: ${background}"></i><b>${name}</b><span>${size}</span>${[more]}</label>`;
    const items = spaces.map(({ name, group, times, dimension: own }, k) => {
      const share = Math.max(0.5, 100 * own / (dimension || 1)), look = `background: ${colours[k]}`;
      const bar = own ? markup`<div class="bar" style="${look}; width: ${share}%"></div>` : "";
      const often = times > 1 ? `, in each of ${times} blocks` : "";
      const more = markup`<span class="group">${group}${often}</span>${[bar]}`;
      return item(k, colours[k], name, own ? whole(own) : "finite", more);
    });
    const all = item(-1, `linear-gradient(90deg, ${colours.slice(0, 4).join(", ")})`, "all of them");
    if (stays.length) items.push(item(spaces.length, GREY, "what does not move"));
    list.innerHTML = markup`<p>${spaces.length} hidden spaces<span>dimension</span></p>${[all, ...items]}`;
  }
  list.addEventListener("change", ({ target }) => choose(+target.value));

  // what is pointed at: a part of the graph or of the list that belongs to one space
  const spacesOf = (target) => target.closest("[data-spaces]")?.dataset.spaces.split(" ").map(Number) ?? [];
  function point([one = -1, ...others]) {
    hovered = others.length ? -1 : one;
    light();
  }
  both.addEventListener("pointerover", ({ pointerType, target }) => {
    if (pointerType === "mouse") point(spacesOf(target));  // a finger chooses
  });
  both.addEventListener("pointerleave", () => point([]));

  function choose(k) {
    [chosen, hovered, change] = [k, -1, ""];
    light();
    const boxes = [...graph.querySelectorAll(`[data-spaces~="${k}"] rect[rx]`)];
    const rows = boxes.map((box) => box.y.baseVal.value);
    const seen = (row) => row > graph.scrollTop && row < graph.scrollTop + graph.clientHeight - HEIGHT;
    if (rows.length && !rows.some(seen)) graph.scrollTo({ top: rows[0] - 60, behavior: "smooth" });
    announce(describe(k));
  }

  // --- what is lit: the space under the pointer, else the one that is chosen, else all ---
  function light() {
    const lit = hovered >= 0 ? hovered : chosen;
    shade.textContent = lit < 0 ? ""
      : `#${root.parentNode.id} .graph g:not([data-spaces~="${lit}"]) { opacity: 0.18; }`;
    tell(lit);
  }

  function tell(k) {
    const { title, dimension, parameters, spaces, stays, fold } = views[key], space = spaces[k];
    total.textContent = `${title}. Linear changes of the weights that leave the function unchanged: `
      + `dimension ${whole(dimension)}${change} of ${whole(parameters)} weights.`;
    const line = (text) => markup`<p>${text}</p>`;
    const weight = ([name, shape, axis, part]) => {
      const sizes = shape.map((n, j) => (j === axis ? markup`<strong>${n}</strong>` : `${n}`)).join(" × ");
      return markup`<li>${name}  ${[sizes]}${part && ` (${part})`}</li>`;
    };
    const weights = ([title, side]) => (space[side]?.length
      ? [line(title), markup`<ul>${space[side].map(weight)}</ul>`] : []);
    const lines = space ? [line(describe(k)), ...data.sides.flatMap(weights)]
      : k === spaces.length ? stays.map(([reason, names]) => line(`${reason}: ${names.join(", ")}`))
      : [line("Each colour is a hidden space: what has this colour moves together. "
        + "Choose one, or point at it."),
        fold ? line(`The block in the frame stands for ${fold[2]}.`) : ""];
    told.innerHTML = lines.join("");
  }

  function describe(k) {
    const space = views[key].spaces[k];
    if (!space) return "";
    const { name, group, moves, times, dimension, why } = space;
    const size = dimension ? `dimension ${whole(dimension)}` : "finite";
    return `${name}: ${group} moves ${moves}, ${size}${times > 1 ? ` in ${times} blocks together` : ""}. `
      + `Why: ${why}.`;
  }

  // --- the graph: a row for each node, values as arrows; one that is read later runs left of the boxes ---
  function drawGraph({ rows, values, fold, spaces, stays }) {
    const left = 10 + 11 * Math.max(...values.map(([, , , , lane = -1]) => lane + 1));
    const width = 20 + LETTER * Math.max(...rows.map((row) => row.label.length));
    const top = (k) => 6 + k * (HEIGHT + GAP), size = [left + width + (fold ? 40 : 4), top(rows.length)];
    const mark = (on, drawn) => {  // a part that belongs to spaces, or to what does not move
      const there = [...new Set(on)].filter((space) => space >= 0);
      return `<g data-spaces="${there.join(" ") || (stays.length ? spaces.length : -1)}">${drawn}</g>`;
    };
    const parts = values.map((value) => mark([value[0]], arrows(value, left, top)));
    rows.forEach(({ label, reads = [], writes = [] }, k) => {
      const y = top(k), passing = values.filter(([, start, , near, , far = []]) => start === k
        || far.some(([row]) => row === k) || (near && start === k - 1)).map(([space]) => space);
      const box = `x="${left}" y="${y}" width="${width}" height="${HEIGHT}" rx="3" stroke="${GREY}"`;
      parts.push(mark([...reads, ...writes, ...passing], markup`<title>${label}</title>`
        + `<rect ${box} fill="var(--pst-color-background, #fff)"/>`
        + markup`<text x="${left + 8}" y="${y + 17}">${label}</text>`));
      [[reads, y], [writes, y + HEIGHT - 4]].forEach(([side, at]) => side.forEach((space, j) => {
        const wide = width / side.length, band = `x="${left + j * wide}" y="${at}" width="${wide}"`;
        parts.push(mark([space], `<rect ${band} height="4" fill="${colours[space]}"/>`));
      }));
    });
    if (fold) {
      const [first, period, times] = fold, y = top(first) - GAP / 2, high = period * (HEIGHT + GAP);
      parts.unshift(`<rect x="1" y="${y}" width="${size[0] - 2}" height="${high}" rx="8" fill="none" `
        + `stroke="${GREY}" stroke-dasharray="4 4"/>`
        + `<text x="${size[0] - 6}" y="${top(first) + 10}" text-anchor="end">× ${times}</text>`);
    }
    const said = `A network of ${rows.length} rows in the colours of ${spaces.length} hidden spaces`;
    graph.innerHTML = `<svg viewBox="0 0 ${size.join(" ")}" width="${size[0]}" role="img" `
      + `aria-label="${said}">${parts.join("")}</svg>`;
  }
  graph.addEventListener("click", ({ target }) => {  // a box has several spaces: each click chooses the next
    const spaces = spacesOf(target), next = spaces[(spaces.indexOf(chosen) + 1) % spaces.length];
    list.querySelectorAll("input")[next + 1]?.click();
  });

  function arrows([space, start, place, near, lane, far = []], left, top) {
    const colour = space < 0 ? GREY : colours[space], x = left + 14 + 9 * place, y = top(start) + HEIGHT;
    const arrow = (way, head) => `<path d="${way}" fill="none" stroke="${colour}" stroke-width="3.5"/>`
      + `<path d="${head}" fill="${colour}"/>`;
    const further = far.map(([row, share]) => {
      const turn = y + 3 + 4 * Math.min(place, 2), side = left - 11 * (lane + 1);
      const end = top(row) + HEIGHT * share;
      const way = `M${x} ${y}V${turn}H${side + 5}q-5 0-5 5V${end - 5}q0 5 5 5H${left - 6}`;
      return arrow(way, `M${left} ${end}l-8-4.5v9z`);
    });
    return (near ? arrow(`M${x} ${y}V${y + GAP - 6}`, `M${x} ${y + GAP}l-4.5-8h9z`) : "") + further.join("");
  }

  show(key);
}
