// The scoreboard becomes a table to search, sort and filter; without JavaScript it is read from top to bottom.
addEventListener("load", async () => {
  const table = document.querySelector("table.scoreboard");
  if (!table || !window.datatables) return;
  if (window.MathJax?.startup) await MathJax.startup.promise; // rows of other pages are to hold formulas, too
  const { default: DataTable } = await import(window.datatables);
  // a search finds formulas as one types them: R², φ, G_ReLU
  const greek = { sigma: "σ", varphi: "φ", varepsilon: "ε", lambda: "λ", alpha: "α", theta: "θ", mu: "µ", le: "≤", ge: "≥", ne: "≠" };
  const plain = (tex) => tex.replace(/\\([a-zA-Z]+) ?/g, (_, name) => greek[name] ?? "").replace(/\^\{?2\}?/g, "²").replace(/[{}$]/g, "");
  for (const { math, typesetRoot } of window.MathJax?.startup?.document?.math ?? []) typesetRoot?.setAttribute("data-tex", plain(math));
  table.querySelectorAll("td").forEach((cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("[data-tex]").forEach((formula) => formula.replaceWith(formula.dataset.tex));
    cell.dataset.search = copy.textContent;
  });
  const shown = new DataTable(table, {
    autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: "info", bottomEnd: "paging" },
    order: [],
    pageLength: 25,
  });
  // filters live in the address, so that a link holds them and Back restores them
  const remember = (name, value) => {
    const url = new URL(location);
    value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
    history.replaceState(null, "", url);
  };
  const filters = document.createElement("div");
  filters.className = "scoreboard-filters";
  const asked = new URLSearchParams(location.search);
  const add = (name, control, choose) => {
    const label = document.createElement("label");
    label.append(`${name} `, control);
    control.addEventListener("input", () => {
      remember(name.toLowerCase(), control.value);
      choose(control.value).draw();
    });
    filters.append(label);
    control.value = asked.get(name.toLowerCase()) ?? "";
    if (control.value) choose(control.value);
  };
  const search = document.createElement("input");
  search.type = "search";
  // the words as they stand, as a whole: "Figure 1" is not "Figure 19"
  const long = (words) => words.replace(/\bfig\.? ?(?=\d)/gi, "figure ").replace(/\btab\.? ?(?=\d)/gi, "table ");
  const whole = (words) => new RegExp(plain(long(words.trim())).replace(/[.*+?^$()|[\]\\]/g, "\\$&") + (/\d$/.test(words.trim()) ? "(?!\\d)" : ""), "i");
  add("Search", search, (words) => shown.search(words.trim() && ((text) => whole(words).test(text))));
  const choice = (name, values, choose) => {
    const select = document.createElement("select");
    select.append(new Option("all", ""), ...values.map((value) => new Option(value)));
    add(name, select, choose);
  };
  for (const [column, name] of [[0, "Paper"], [2, "Kind"], [7, "Verdict"]]) {
    const values = [...new Set(shown.column(column).nodes().toArray().map((cell) => cell.textContent.trim()))];
    choice(name, values, (value) => shown.column(column).search(value && ((text) => text.trim() === value)));
  }
  // the five classes of verdicts, as the bars above have them
  const classes = ["agrees", "undecided", "disagrees", "another setting", "no verdict"];
  const rows = shown.rows().nodes().toArray();
  let kind = "", part = "";
  const partOf = (text) => (text.replace(/(figure|table)s (?=\d)/i, "$1 ").match(/(figure|table) \d+/i) ?? [text.split(",")[0]])[0].toLowerCase(); // as Claim.part
  DataTable.ext.search.push((_, __, index) => {
    const row = rows[index];
    const inClass = !kind || row.querySelector(`.verdict.${kind.replace(" ", "-")}`);
    return inClass && (!part || partOf(row.cells[1].textContent.trim()) === part.toLowerCase());
  });
  choice("Class", classes, (value) => ((kind = value), shown));
  const parts = [...new Set(rows.map((row) => partOf(row.cells[1].textContent.trim())))];
  choice("Part", parts.map((each) => each[0].toUpperCase() + each.slice(1)), (value) => ((part = value), shown));
  choice("Whose", ["the papers'", "ours"], (value) => shown.column(1).search(value && ((text) => text.includes("(ours)") === (value === "ours"))));
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
