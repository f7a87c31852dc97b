// The symmetry explorer of explorer.py: a network in the colours of its hidden spaces, which light up.
function explorer(root, data) {
  const { element, choice } = Controls, { views, colours } = data, whole = (n) => n.toLocaleString("en");
  const [HEIGHT, GAP, LETTER] = [26, 14, 6.7];  // of a row, below it, and of a letter at most
  const GREY = "#8a8a8a";
  for (const view of Object.values(views)) for (const part of ["rows", "values", "spaces"])
    view[part] = view[part].map((k) => data[part][k]);
  let key = data.first, chosen = -1, hovered = -1, change = "", marks = [];
  let block = data.switches.length ? data.first : "";

  const choices = element(root, "div", { class: "choices" });
  const both = element(root, "div", { class: "explorer" });
  const scrolled = { class: "graph", tabindex: 0, role: "group", "aria-label": "the graph of the network" };
  const graph = element(both, "div", scrolled), side = element(both, "div", { class: "side" });
  const total = element(side, "p", { class: "total" }), list = element(side, "div",
    { class: "spaces", role: "radiogroup", "aria-label": "hidden spaces" });
  const told = element(side, "div", { class: "told" }), announce = Controls.announcer(side);

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
    list.replaceChildren();
    element(element(list, "p", {}, `${spaces.length} hidden spaces`), "span", {}, "dimension");
    const item = (k, background, name, size = "") => {
      const label = element(list, "label");
      const input = element(label, "input", { type: "radio", name: `${root.parentNode.id} space` });
      input.checked = k === chosen;
      input.addEventListener("change", () => choose(k));
      hover(label, k);
      element(label, "i", { style: `background: ${background}` });
      element(label, "b", {}, name);
      element(label, "span", {}, size);
      return label;
    };
    item(-1, `linear-gradient(90deg, ${colours.slice(0, 4).join(", ")})`, "all of them");
    spaces.forEach((space, k) => {
      const label = item(k, colours[k], space.name, space.dimension ? whole(space.dimension) : "finite");
      const times = space.times > 1 ? `, in each of ${space.times} blocks` : "";
      element(label, "span", { class: "group" }, space.group + times);
      const share = Math.max(0.5, 100 * space.dimension / (dimension || 1));
      const style = `background: ${colours[k]}; width: ${share}%`;
      if (space.dimension) element(label, "div", { class: "bar", style });
    });
    if (stays.length) item(spaces.length, GREY, "what does not move");
  }

  function hover(made, k) {
    const rest = (at) => (event) => {
      if (event.pointerType !== "mouse") return;  // a finger chooses
      hovered = at;
      light();
    };
    made.addEventListener("pointerenter", rest(k));
    made.addEventListener("pointerleave", rest(-1));
  }

  function choose(k) {
    [chosen, hovered, change] = [k, -1, ""];
    light();
    const places = marks.filter(({ spaces, row }) => row !== undefined && spaces.includes(k));
    const seen = ({ row }) => row > graph.scrollTop && row < graph.scrollTop + graph.clientHeight - HEIGHT;
    if (places.length && !places.some(seen)) graph.scrollTo({ top: places[0].row - 60, behavior: "smooth" });
    announce(describe(k));
  }

  // --- what is lit: the space under the pointer, else the one that is chosen, else all ---
  function light() {
    const lit = hovered >= 0 ? hovered : chosen;
    for (const { made, spaces } of marks) {
      const on = lit < 0 || spaces.includes(lit) || (lit === views[key].spaces.length && !spaces.length);
      made.setAttribute("opacity", on ? 1 : 0.18);
    }
    tell(lit);
  }

  function tell(k) {
    const { title, dimension, parameters, spaces, stays, fold } = views[key], space = spaces[k];
    total.textContent = `${title}. Linear changes of the weights that leave the function unchanged: `
      + `dimension ${whole(dimension)}${change} of ${whole(parameters)} weights.`;
    told.replaceChildren();
    const line = (text) => element(told, "p", {}, text);
    const weights = (title, rows) => {
      if (!rows.length) return;
      line(title);
      const items = element(told, "ul");
      for (const [name, shape, axis, part] of rows) {
        const one = element(items, "li", {}, `${name}  `);
        shape.forEach((n, j) => {
          if (j) one.append(" × ");
          element(one, j === axis ? "strong" : "span", {}, `${n}`);
        });
        if (part) one.append(` (${part})`);
      }
    };
    if (space) {
      line(describe(k));
      for (const [title, side] of data.sides) weights(title, space[side] || []);
    } else if (k === spaces.length) {
      for (const [reason, names] of stays) line(`${reason}: ${names.join(", ")}`);
    } else {
      line("Each colour is a hidden space: what has this colour moves together. Choose one, or point at it.");
      if (fold) line(`The block in the frame stands for ${fold[2]}.`);
    }
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
  function drawGraph({ rows, values, fold, spaces }) {
    marks = [];
    const lines = values.flatMap(([start, ends, on]) => (on.length ? on : [-1]).map((space) => ({
      space, start, near: ends.includes(start + 1), far: ends.filter((end) => end > start + 1), lane: -1,
    })));
    const { lanes, arriving } = route(lines), left = 10 + 11 * lanes;
    const width = 20 + LETTER * Math.max(...rows.map((row) => row.label.length));
    const top = (k) => 6 + k * (HEIGHT + GAP), size = [left + width + (fold ? 40 : 4), top(rows.length)];
    graph.replaceChildren();
    const said = `A network of ${rows.length} rows in the colours of ${spaces.length} hidden spaces`;
    const box = { viewBox: `0 0 ${size.join(" ")}`, width: size[0], role: "img", "aria-label": said };
    const svg = element(graph, "svg", box);
    if (fold) {
      const [first, period, times] = fold, height = period * (HEIGHT + GAP);
      const frame = { x: 1, y: top(first) - GAP / 2, width: size[0] - 2, height, rx: 8, fill: "none" };
      element(svg, "rect", { ...frame, stroke: GREY, "stroke-dasharray": "4 4" });
      element(svg, "text", { x: size[0] - 6, y: top(first) + 10, "text-anchor": "end" }, `× ${times}`);
    }
    const mark = (on, row) => {
      const made = element(svg, "g"), there = on.filter((space) => space >= 0);
      marks.push({ made, spaces: there, row });
      if (there.length === 1) hover(made, there[0]);
      if (there.length) {  // a box has several spaces, of which each click chooses the next
        made.classList.add("one");
        const next = () => there[(there.indexOf(chosen) + 1) % there.length];
        made.addEventListener("click", () => list.querySelectorAll("input")[next() + 1].click());
      }
      return made;
    };
    for (const line of lines) drawValue(mark([line.space]), line, arriving, left, top);
    rows.forEach(({ label, reads, writes }, k) => {
      const y = top(k), enters = (line) => line.far.includes(k) || (line.near && line.start === k - 1);
      const passing = lines.filter((line) => line.start === k || enters(line)).map((line) => line.space);
      const box = mark([...new Set([...reads, ...writes, ...passing])], y);
      element(box, "title", {}, label);
      const paper = { fill: "var(--pst-color-background, #fff)", stroke: GREY };
      element(box, "rect", { x: left, y, width, height: HEIGHT, rx: 3, ...paper });
      element(box, "text", { x: left + 8, y: y + 17 }, label);
      [[reads, y], [writes, y + HEIGHT - 4]].forEach(([side, at]) => side.forEach((space, j) => {
        const band = { x: left + j * width / side.length, y: at, width: width / side.length, height: 4 };
        element(mark([space]), "rect", { ...band, fill: colours[space] });
      }));
    });
  }

  // A lane for each line that is read further down, short ones next to the boxes, a place for each among
  // those that leave its row, and the lanes that arrive at each row.
  function route(lines) {
    const taken = [], end = (line) => line.far[line.far.length - 1], leaving = {}, arriving = {};
    const far = lines.filter((line) => line.far.length).sort((a, b) => end(a) - a.start - end(b) + b.start);
    for (const line of far) {
      const free = (lane) => lane.every((other) => line.start >= end(other) || other.start >= end(line));
      line.lane = taken.findIndex(free);
      if (line.lane < 0) line.lane = taken.push([]) - 1;
      taken[line.lane].push(line);
    }
    for (const line of [...lines].sort((a, b) => b.lane - a.lane)) {
      line.place = leaving[line.start] = (leaving[line.start] ?? -1) + 1;
      for (const row of line.far) (arriving[row] ||= []).unshift(line.lane);
    }
    return { lanes: taken.length, arriving };
  }

  function drawValue(made, { space, start, near, far, lane, place }, arriving, left, top) {
    const colour = space < 0 ? GREY : colours[space], x = left + 14 + 9 * place, y = top(start) + HEIGHT;
    const arrow = (way, head) => {
      element(made, "path", { d: way, fill: "none", stroke: colour, "stroke-width": 3.5 });
      element(made, "path", { d: head, fill: colour });
    };
    if (near) arrow(`M${x} ${y}V${y + GAP - 6}`, `M${x} ${y + GAP}l-4.5-8h9z`);
    for (const row of far) {
      const turn = y + 3 + 4 * Math.min(place, 2), side = left - 11 * (lane + 1);
      const end = top(row) + HEIGHT * (arriving[row].indexOf(lane) + 1) / (arriving[row].length + 1);
      const way = `M${x} ${y}V${turn}H${side + 5}q-5 0-5 5V${end - 5}q0 5 5 5H${left - 6}`;
      arrow(way, `M${left} ${end}l-8-4.5v9z`);
    }
  }

  show(key);
}
