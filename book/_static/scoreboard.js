// The scoreboard shows a row for each place of a paper, unfolds the others, searches and filters.
// Without JavaScript all rows are there, from top to bottom.
addEventListener("load", async () => {
  const table = document.querySelector("table.scoreboard");
  if (!table) return;
  if (window.MathJax?.startup) await MathJax.startup.promise;
  // a search finds formulas and names as one types them: R², φ, G_ReLU, Csiszarik
  const greek = { sigma: "σ", varphi: "φ", varepsilon: "ε", lambda: "λ", alpha: "α", theta: "θ", mu: "μ", le: "≤", ge: "≥", ne: "≠" };
  const plain = (tex) => tex.replace(/\\([a-zA-Z]+) ?/g, (_, name) => greek[name] ?? "").replace(/\^\{?2\}?/g, "²").replace(/[{}$]/g, "");
  const folded = (words) => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  for (const { math, typesetRoot } of window.MathJax?.startup?.document?.math ?? []) typesetRoot?.setAttribute("data-tex", plain(math));
  const text = (part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll(".more").forEach((each) => each.remove());
    copy.querySelectorAll("[data-tex]").forEach((formula) => formula.replaceWith(formula.dataset.tex));
    return copy.textContent.trim();
  };
  const has = (element, words) => words.find((word) => element.classList.contains(word.replaceAll(" ", "-").replace("'", "")));
  const sorts = { ordering: "orderings", number: "printed numbers" };

  let first;
  const rows = [...table.tBodies[0].rows].map((row) => {
    const [paper, place, kind] = [".paper", ".place", ".kind"].map((name) => text(row.querySelector(name)));
    const verdict = row.querySelector(".verdict");
    if (first?.paper !== paper || first?.place !== place) first = { paper, place, row, open: false };
    return {
      row,
      first,
      search: folded(text(row)),
      paper,
      place,
      setting: has(verdict, ["mathematics", "the paper's own setting", "another scale"]) ?? "no run",
      outcome: has(verdict, ["agree", "undecided", "disagree", "no verdict"]),
      verdict: text(verdict),
      sort: sorts[kind] ?? "statements on all or some",
      whose: row.cells[0].querySelector("em") ? "ours" : "the papers'",
    };
  });

  const wanted = {};
  const said = document.createElement("p");
  const show = () => {
    const asked = Object.entries(wanted);
    const fit = rows.filter((each) => asked.every(([name, fits]) => fits(each[name])));
    const shown = asked.length ? fit : rows.filter(({ row, first }) => row === first.row || first.open);
    for (const { row } of rows) row.hidden = true;
    for (const { row } of shown) row.hidden = false;
    table.classList.toggle("filtered", asked.length > 0);
    const places = new Set(shown.map(({ first }) => first)).size;
    said.textContent = asked.length
      ? `${fit.length} of ${rows.length} statements, of ${places} places`
      : `${places} places in the papers, ${rows.length} statements`;
  };

  for (const { row, first } of rows) {
    const more = row.querySelector(".more");
    if (!more) continue;
    const button = document.createElement("button");
    button.className = "more";
    button.textContent = more.textContent;
    button.ariaExpanded = "false";
    button.onclick = () => {
      first.open = !first.open;
      button.ariaExpanded = `${first.open}`;
      show();
    };
    more.replaceWith(button);
  }

  // filters live in the address, so that a link holds them
  const address = new URLSearchParams(location.search);
  const filters = document.createElement("div");
  filters.className = "scoreboard-filters";
  const add = (name, control, fitting) => {
    const key = name.toLowerCase();
    const choose = () => (control.value.trim() ? (wanted[key] = fitting(control.value)) : delete wanted[key]);
    const label = document.createElement("label");
    label.append(`${name} `, control);
    control.addEventListener("input", () => {
      const url = new URL(location);
      control.value ? url.searchParams.set(key, control.value) : url.searchParams.delete(key);
      history.replaceState(null, "", url);
      choose();
      show();
    });
    filters.append(label);
    control.value = address.get(key) ?? "";
    choose();
  };
  const box = document.createElement("input");
  box.type = "search";
  // the words as they stand, as a whole: "Figure 1" is not "Figure 19"
  const long = (words) => words.replace(/\bfig\.? ?(?=\d)/gi, "figure ").replace(/\btab\.? ?(?=\d)/gi, "table ");
  add("Search", box, (words) => {
    const sought = folded(plain(long(words.trim())));
    const pattern = new RegExp(sought.replace(/[.*+?^$()|[\]\\]/g, "\\$&") + (/\d$/.test(sought) ? "(?!\\d)" : ""));
    return (of) => pattern.test(of);
  });
  for (const name of ["Paper", "Place", "Setting", "Outcome", "Verdict", "Sort", "Whose"]) {
    const select = document.createElement("select");
    const values = new Set(rows.map((row) => row[name.toLowerCase()]));
    select.append(new Option("all", ""), ...[...values].map((value) => new Option(value)));
    add(name, select, (value) => (of) => of === value);
  }
  said.className = "scoreboard-count";
  said.setAttribute("role", "status");
  (table.closest(".pst-scrollable-table-container") ?? table).before(filters, said);
  show();

  // one key from the top of the page to the table
  const skip = document.querySelector("#pst-skip-link");
  const also = skip?.cloneNode(true);
  const link = also?.querySelector("a");
  if (!link) return;
  link.setAttribute("href", "#statements");
  link.textContent = "Skip to the table";
  also.removeAttribute("id");
  skip.after(also);
});
