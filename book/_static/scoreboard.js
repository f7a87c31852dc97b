// The scoreboard becomes a table to search, sort and filter; without JavaScript it is read from top to bottom.
addEventListener("load", async () => {
  const table = document.querySelector("table.scoreboard");
  if (!table || !window.datatables) return;
  if (window.MathJax?.startup) await MathJax.startup.promise; // rows of other pages are to hold formulas, too
  const { default: DataTable } = await import(window.datatables);
  const shown = new DataTable(table, {
    autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: "info", bottomEnd: "paging" },
    order: [],
    pageLength: 25,
  });
  const filters = document.createElement("div");
  filters.className = "scoreboard-filters";
  const add = (name, control, choose) => {
    const label = document.createElement("label");
    label.append(`${name} `, control);
    control.addEventListener("input", () => choose(control.value).draw());
    filters.append(label);
  };
  const search = document.createElement("input");
  search.type = "search";
  add("Search", search, (words) => shown.search(words));
  for (const [column, name] of [[0, "Paper"], [6, "Verdict"]]) {
    const cells = shown.column(column).nodes().toArray();
    const values = [...new Set(cells.map((cell) => cell.textContent.trim()))];
    const select = document.createElement("select");
    select.append(new Option("all", ""), ...values.map((value) => new Option(value)));
    add(name, select, (value) => shown.column(column).search(value && ((text) => text.trim() === value)));
  }
  shown.table().container().before(filters);
});
