// The scoreboard becomes a table to search, sort and filter; without JavaScript it is read from top to bottom.
addEventListener("load", async () => {
  const table = document.querySelector("table.scoreboard");
  if (!table || !window.datatables) return;
  if (window.MathJax?.startup) await MathJax.startup.promise; // rows of other pages are to hold formulas, too
  const { default: DataTable } = await import(window.datatables);
  // a search finds formulas and names as one types them: R², φ, G_ReLU, Csiszarik
  const greek = { sigma: "σ", varphi: "φ", varepsilon: "ε", lambda: "λ", alpha: "α", theta: "θ", mu: "μ", le: "≤", ge: "≥", ne: "≠" };
  const plain = (tex) => tex.replace(/\\([a-zA-Z]+) ?/g, (_, name) => greek[name] ?? "").replace(/\^\{?2\}?/g, "²").replace(/[{}$]/g, "");
  const folded = (words) => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  for (const { math, typesetRoot } of window.MathJax?.startup?.document?.math ?? []) typesetRoot?.setAttribute("data-tex", plain(math));
  const text = (part, without = "") => {
    const copy = part.cloneNode(true);
    if (without) copy.querySelectorAll(without).forEach((each) => each.remove());
    copy.querySelectorAll("[data-tex]").forEach((formula) => formula.replaceWith(formula.dataset.tex));
    return copy.textContent.trim();
  };
  const shown = new DataTable(table, {
    autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: "info", bottomEnd: "paging" },
    order: [],
    pageLength: 25,
  });
  // What the filters compare is read from the rows themselves, each value from its own element. DataTables would hand
  // over whole cells, without their accents: "Csiszarik" for Csiszárik, "refuted erratum" for a verdict with its link.
  const partOf = (place) => {
    const [, word, number] = place.match(/(figure|table)s? (\d+)/i) ?? []; // as Claim.part
    return word ? `${word[0].toUpperCase()}${word.slice(1).toLowerCase()} ${number}` : place.split(",")[0];
  };
  const rows = shown.rows({ order: "index" }).nodes().toArray().map((row) => {
    const verdict = row.querySelector(".verdict");
    return {
      search: folded(text(row)),
      paper: text(row.cells[0]),
      kind: text(row.cells[2]),
      verdict: text(verdict),
      class: [...verdict.classList].find((name) => name !== "verdict").replaceAll("-", " "),
      part: partOf(text(row.cells[1], "em")), // without "(ours)"
      whose: row.cells[1].querySelector("em") ? "ours" : "the papers'",
    };
  });
  const wanted = {};
  DataTable.ext.search.push((_, __, index) => Object.entries(wanted).every(([name, fits]) => fits(rows[index][name])));
  // filters live in the address, so that a link holds them and Back restores them
  const remember = (name, value) => {
    const url = new URL(location);
    value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    history.replaceState(null, "", url);
  };
  const filters = document.createElement("div");
  filters.className = "scoreboard-filters";
  const asked = new URLSearchParams(location.search);
  const add = (name, control, fitting) => {
    const key = name.toLowerCase();
    const choose = () => (control.value.trim() ? (wanted[key] = fitting(control.value)) : delete wanted[key]);
    const label = document.createElement("label");
    label.append(`${name} `, control);
    control.addEventListener("input", () => {
      remember(key, control.value);
      choose();
      shown.draw();
    });
    filters.append(label);
    control.value = asked.get(key) ?? "";
    choose();
  };
  const search = document.createElement("input");
  search.type = "search";
  // the words as they stand, as a whole: "Figure 1" is not "Figure 19"
  const long = (words) => words.replace(/\bfig\.? ?(?=\d)/gi, "figure ").replace(/\btab\.? ?(?=\d)/gi, "table ");
  add("Search", search, (words) => {
    const sought = folded(plain(long(words.trim())));
    const pattern = new RegExp(sought.replace(/[.*+?^$()|[\]\\]/g, "\\$&") + (/\d$/.test(sought) ? "(?!\\d)" : ""));
    return (row) => pattern.test(row);
  });
  for (const name of ["Paper", "Kind", "Verdict", "Class", "Part", "Whose"]) {
    const select = document.createElement("select");
    const values = new Set(rows.map((row) => row[name.toLowerCase()]));
    select.append(new Option("all", ""), ...[...values].map((value) => new Option(value)));
    add(name, select, (value) => (of) => of === value);
  }
  shown.table().container().before(filters);
  shown.draw();
  // one key from the top of the page to the table
  const skip = document.querySelector("#pst-skip-link");
  const also = skip?.cloneNode(true);
  also?.querySelector("a")?.setAttribute("href", "#statements");
  if (also?.querySelector("a")) {
    also.querySelector("a").textContent = "Skip to the table";
    also.removeAttribute("id");
    skip.after(also);
  }
});
