// The symmetry explorer of explorer.py: a network in the colours of its hidden spaces, which light up.
function explorer(root, data) {
  const { element, choice } = Controls, whole = (n) => n.toLocaleString("en");
  const [HEIGHT, GAP, LETTER] = [24, 16, 6.7];  // of a row, below it, and of a letter at most
  const GREY = "#8a8a8a";
  const views = {};
  for (const [key, { rows, values, spaces, ...rest }] of Object.entries(data.views)) {
    const found = { rows: rows.map((k) => data.rows[k]), spaces: spaces.map((k) => data.spaces[k]) };
    views[key] = { ...rest, ...found, values: values.map((k) => data.values[k]) };
  }
  let key = data.first, chosen = -1, hovered = -1, before = null, marks = [];
  let block = data.switches.length ? data.first : "";

  const choices = element(root, "div", { class: "choices" });
  const both = element(root, "div", { class: "explorer" });
  const scrolled = { class: "graph", tabindex: 0, role: "group", "aria-label": "the graph of the network" };
  const graph = element(both, "div", scrolled), side = element(both, "div", { class: "side" });
  const total = element(side, "p", { class: "total" }), list = element(side, "fieldset", { class: "spaces" });
  const told = element(side, "div", { class: "told" }), announce = Controls.announcer(side);

  // A network is chosen, or the switches of a block are set; then all is drawn anew.
  const options = data.public.map((each) => [each, each]);
  if (block) options.unshift(["block", "a block of yours"]);
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
    const isBlock = (name) => !data.public.includes(name);
    before = isBlock(key) && isBlock(next) && key !== next ? views[key].dimension : null;
    const role = views[key].spaces[chosen]?.role;
    key = next;
    chosen = role === undefined ? -1 : views[key].spaces.findIndex((space) => space.role === role);
    hovered = -1;
    switches.hidden = key !== block;
    drawGraph(views[key]);
    drawList(views[key]);
    light();
    announce(`${total.textContent} ${describe(chosen)}`);
  }

  // --- the list of spaces ---
  function drawList({ spaces, dimension, parameters, stays }) {
    const sign = dimension > before ? "+" : dimension < before ? "−" : "±";
    const change = before === null ? "" : ` (${sign}${whole(Math.abs(dimension - before))} by this switch)`;
    total.textContent = `The group has dimension ${whole(dimension)}${change}; the network has `
      + `${whole(parameters)} parameters.`;
    list.replaceChildren();
    element(list, "legend", {}, "hidden spaces");
    const item = (k, colour, name, size, group) => {
      const label = element(list, "label"), name_ = `${root.parentNode.id} space`;
      const input = element(label, "input", { type: "radio", name: name_ });
      input.checked = k === chosen;
      input.addEventListener("change", () => choose(k));
      hover(label, k);
      element(label, "i", { style: `background: ${colour}` });
      element(label, "b", {}, name);
      element(label, "span", {}, size);
      if (group) element(label, "span", { class: "group" }, group);
      return label;
    };
    item(-1, "linear-gradient(90deg, " + data.colours.slice(0, 4).join(", ") + ")", "all of them", "");
    spaces.forEach((space, k) => {
      const times = space.times > 1 ? `, in each of ${space.times} blocks` : "";
      const label = item(k, data.colours[k], space.role, whole(space.dimension), space.group + times);
      const share = Math.max(0.5, 100 * space.dimension / (dimension || 1));
      const style = `background: ${data.colours[k]}; width: ${share}%`;
      if (space.dimension) element(label, "div", { class: "bar", style });
    });
    if (stays.length) item(spaces.length, GREY, "what does not move", "");
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
    chosen = k;
    hovered = -1;
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
    const { spaces, stays, fold } = views[key], space = spaces[k];
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
      weights("Multiplied by an element:", space.writers);
      weights("Multiplied by its inverse:", space.readers);
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
    const { role, group, units, times, dimension, why } = space;
    const size = whole(dimension) + (times > 1 ? ` in ${times} blocks together` : "");
    return `${role}: ${group} moves ${units} units, dimension ${size}. Why: ${why.join(", ")}.`;
  }

  // --- the graph: a row for each node, values as arrows; one that is read later runs left of the boxes ---
  function drawGraph({ rows, values, fold, spaces }) {
    marks = [];
    const lines = values.flatMap(([start, ends, on]) => (on.length ? on : [-1]).map((space) => ({
      space, start, near: ends.includes(start + 1), far: ends.filter((end) => end > start + 1),
    })));
    const lanes = route(lines), left = 10 + 11 * lanes;
    const width = 20 + LETTER * Math.max(...rows.map((row) => row.label.length));
    const top = (k) => 6 + k * (HEIGHT + GAP), size = [left + width + (fold ? 40 : 4), top(rows.length)];
    graph.replaceChildren();
    const said = `A network of ${rows.length} rows in the colours of ${spaces.length} hidden spaces`;
    const box = { viewBox: `0 0 ${size.join(" ")}`, width: size[0], role: "img", "aria-label": said };
    const svg = element(graph, "svg", box);
    if (fold) {
      const [first, period, times] = fold, high = period * (HEIGHT + GAP);
      const frame = { x: 1, y: top(first) - GAP / 2, width: size[0] - 2, height: high, rx: 8, fill: "none" };
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
    drawValues(lines, left, top, mark);
    rows.forEach(({ label, reads, writes }, k) => {
      const y = top(k), enters = (line) => line.far.includes(k) || (line.near && line.start === k - 1);
      const passing = lines.filter((line) => line.start === k || enters(line)).map((line) => line.space);
      const box = mark([...new Set([...reads, ...writes, ...passing])], y);
      element(box, "title", {}, label);
      const paper = { fill: "var(--pst-color-background, #fff)", stroke: GREY };
      element(box, "rect", { x: left, y, width, height: HEIGHT, rx: 3, ...paper });
      element(box, "text", { x: left + 8, y: y + 16.5 }, label);
      [[reads, y], [writes, y + HEIGHT - 4]].forEach(([side, at]) => side.forEach((space, j) => {
        const band = { x: left + j * width / side.length, y: at, width: width / side.length, height: 4 };
        element(mark([space]), "rect", { ...band, fill: data.colours[space] });
      }));
    });
  }

  function route(lines) {  // a lane for each line that is read further down, short ones next to the boxes
    const taken = [], end = (line) => line.far[line.far.length - 1];
    const far = lines.filter((line) => line.far.length).sort((a, b) => end(a) - a.start - end(b) + b.start);
    for (const line of far) {
      const free = (lane) => lane.every((other) => line.start >= end(other) || other.start >= end(line));
      let lane = taken.findIndex(free);
      if (lane < 0) lane = taken.push([]) - 1;
      taken[lane].push(line);
      line.lane = lane;
    }
    const leaving = {};
    for (const line of [...lines].sort((a, b) => (b.lane ?? -1) - (a.lane ?? -1))) {
      line.place = leaving[line.start] = (leaving[line.start] ?? -1) + 1;
    }
    return taken.length;
  }

  function drawValues(lines, left, top, mark) {
    const arriving = {};
    for (const line of [...lines].sort((a, b) => (a.lane ?? -1) - (b.lane ?? -1))) {
      for (const row of line.far) (arriving[row] ||= []).push(line.lane);
    }
    for (const line of lines) {
      const colour = line.space < 0 ? GREY : data.colours[line.space], made = mark([line.space]);
      const x = left + 14 + 9 * line.place, y = top(line.start) + HEIGHT, lane = left - 11 * (line.lane + 1);
      const arrow = (way, head) => {
        element(made, "path", { d: way, fill: "none", stroke: colour, "stroke-width": 3.5 });
        element(made, "path", { d: head, fill: colour });
      };
      if (line.near) arrow(`M${x} ${y}V${y + GAP - 6}`, `M${x} ${y + GAP}l-4.5-8h9z`);
      for (const row of line.far) {
        const turn = y + 3 + 4 * Math.min(line.place, 2);
        const share = (arriving[row].indexOf(line.lane) + 1) / (arriving[row].length + 1);
        const end = top(row) + HEIGHT * share;
        const way = `M${x} ${y}V${turn}H${lane + 5}q-5 0-5 5V${end - 5}q0 5 5 5H${left - 6}`;
        arrow(way, `M${left} ${end}l-8-4.5v9z`);
      }
    }
  }

  show(key);
}
