// What all instruments share: their controls, which mouse, touch and keyboard move, and when they draw.
const Controls = (() => {
  function element(parent, kind, attributes = {}, text = "") {
    const drawing = parent?.closest("svg") || kind === "svg";
    const space = `http://www.w3.org/${drawing ? "2000/svg" : "1999/xhtml"}`;
    const made = document.createElementNS(space, kind);
    set(made, attributes);
    if (text) made.textContent = text;
    parent?.append(made);
    return made;
  }

  function set(made, attributes) {
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  }

  // Markup from a template. What is put in is text, in which `<` begins no element; false is nothing, and an
  // array holds markup.
  const escaped = (text) => `${text}`.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const put = (value) => (Array.isArray(value) ? value.join("") : value === false ? "" : escaped(value));
  const markup = ({ raw }, ...values) => String.raw({ raw }, ...values.map(put));

  function fill(part, text) {  // with markup, unless it shows that already: a page is slow to lay out
    if (part.filled !== text) part.innerHTML = text;
    part.filled = text;
  }

  // Where an instrument stands: without this script its still picture is seen, with it the instrument, in
  // print again the picture. What fails while it is built leaves the picture.
  function start(id, build, data) {
    const root = document.getElementById(id), working = element(root, "div", { class: "working" });
    try {
      build(working, data);
      root.classList.add("started");
    } catch (error) {
      working.remove();
      console.error(error);
    }
  }

  // Results and controls, side by side; in a narrow window the results come first.
  function columns(parent) {
    const both = element(parent, "div", { class: "columns" });
    return { results: element(both, "div"), controls: element(both, "div") };
  }

  function panel(parent, alt, viewBox, said = "") {  // a drawing, and words below it
    const figure = element(parent, "figure");
    const svg = element(figure, "svg", { viewBox, role: "img", "aria-label": alt, fill: "currentColor" });
    return { svg, caption: element(figure, "figcaption", {}, said) };
  }

  const circle = (x, y, r, look) => `<circle cx="${x}" cy="${y}" r="${r}" ${look}/>`;
  const text = (x, y, said, size, anchor = "middle", look = "") =>  // an svg with a font size has another em
    `<text x="${x}" y="${y}" font-size="${size}" text-anchor="${anchor}" ${look}>${said}</text>`;

  // 8 × 8 squares, as strong as the shares say, to a sixteenth: a path for each strength, since a square for
  // each pixel takes browsers long.
  function image(x, y, size, shares, fill = "currentColor") {
    const paths = Array(17).fill(""), side = size + 0.1;
    shares.forEach((share, k) => {
      const strength = Math.round(16 * Math.max(0, Math.min(1, share)));
      paths[strength] += `M${x + size * (k % 8)} ${y + size * (k >> 3)}h${side}v${side}h-${side}z`;
    });
    return paths.map((d, k) => (k && d ? `<path fill="${fill}" fill-opacity="${k / 16}" d="${d}"/>` : ""))
      .join("");
  }

  // `text` says the value in words, with its unit: beside the slider and to a screen reader.
  function slider(parent, { label, min, max, step, value, text = (v) => `${v}`, moved }) {
    const box = element(parent, "label", { class: "slider" });
    box.innerHTML = markup`<span>${label}</span><input type="range" min="${min}" max="${max}" step="${step}">`
      + '<span class="said"></span>';
    const [, input, said] = box.children;
    const show = (to) => {
      input.value = to;
      said.textContent = text(+input.value);
      input.setAttribute("aria-valuetext", said.textContent);
    };
    show(value);
    input.addEventListener("input", () => {
      show(input.value);
      moved(+input.value);
    });
    return { box, input, show, value: () => +input.value };
  }

  // `options` are pairs of a value and a text; one of them is chosen.
  function choice(parent, { label, options, value, chosen }) {
    const box = element(parent, "fieldset", { class: "choice" });
    const name = `${parent.closest(".widget")?.id} ${label}`;
    const one = ([, text], k) =>
      markup`<label><input type="radio" name="${name}" value="${k}"><span>${text}</span></label>`;
    box.innerHTML = markup`<legend>${label}</legend>${options.map(one)}`;
    box.addEventListener("change", ({ target }) => chosen(options[target.value][0]));
    const inputs = box.querySelectorAll("input");
    const show = (to) => options.forEach(([each], k) => { inputs[k].checked = each === to; });
    show(value);
    return { show };
  }

  function button(parent, text, pressed) {
    const made = element(parent, "button", { type: "button" }, text);
    made.addEventListener("click", pressed);
    return made;
  }

  function buttons(parent, all) {  // from texts to what happens
    const row = element(parent, "p", { class: "buttons" });
    for (const [text, pressed] of Object.entries(all)) button(row, text, pressed);
  }

  // `moved` gets the events of a pointer, from where it is pressed on the target until it is let go.
  function drag(target, moved) {
    target.addEventListener("pointerdown", (event) => {
      target.setPointerCapture(event.pointerId);
      moved(event);
    });
    target.addEventListener("pointermove", (event) => {
      if (target.hasPointerCapture(event.pointerId)) moved(event);
    });
  }

  function inside(svg, { clientX, clientY }) {  // where an event is, in the units of the drawing
    return new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
  }

  function fold(parent, title) {  // what a reader needs later
    const box = element(parent, "details");
    element(box, "summary", {}, title);
    return box;
  }

  // A screen reader is told of a change when the reader has paused, not at each step of a slider.
  function announcer(parent) {
    const region = element(parent, "p", { class: "announced", "aria-live": "polite" });
    let timer = 0;
    return (text) => {
      clearTimeout(timer);
      timer = setTimeout(() => { region.textContent = text; }, 500);
    };
  }

  // A function that asks for a drawing: however often it is called, there is one drawing a frame. A change of
  // the theme asks, too, since colours that were read from the page are then others.
  function drawing(draw) {
    let asked = 0;
    const ask = () => {
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        draw();
      });
    };
    const watched = { attributes: true, attributeFilter: ["data-theme"] };
    new MutationObserver(ask).observe(document.documentElement, watched);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
    return ask;
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;  // a reader wants no motion
  const number = (value, digits = 0) => {  // with a true minus, and no minus at 0
    const text = value.toFixed(digits);
    return text.replace("-", +text === 0 ? "" : "−");
  };
  const percent = (share, digits = 0) => `${number(100 * share, digits)} %`;

  return { element, set, markup, fill, start, columns, panel, circle, text, image, slider, choice, button,
    buttons, drag, inside, fold, announcer, drawing, still, number, percent };
})();
