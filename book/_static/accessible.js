// Names for screen readers where the theme's own differ from what is shown, or are missing.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("summary[aria-label='Toggle hidden content']").forEach((x) => x.removeAttribute("aria-label"));
  document.querySelectorAll("button.search-button__button").forEach((x) => x.setAttribute("aria-label", x.innerText.trim() || "Search"));
  document.querySelectorAll(".toctree-toggle").forEach((x) => x.closest("summary")?.setAttribute("aria-label", "Show the pages of this section"));
  document.querySelectorAll(".tag_output_scroll .cell_output, .pst-scrollable-table-container, #fig-chapters > :first-child").forEach((x) => (x.tabIndex = 0)); // scrolls by keys, too
  document.querySelectorAll(".citation-list[role=list]").forEach((x) => x.removeAttribute("role")); // its children are no items
  const moving = document.querySelector(".bd-article .widget[id]"), skip = document.querySelector("#pst-skip-link > a");
  if (moving && skip) { // its controls are two stops of the Tab key away, whatever stands before them
    const link = skip.cloneNode();
    link.href = "#" + moving.id;
    link.textContent = "Skip to the first figure that moves";
    skip.after(link);
  }
});
// A formula that is too long for the screen scrolls, by keys, too; any other is no stop of the Tab key.
window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(() => {
  for (const formula of document.querySelectorAll(".bd-article mjx-container")) {
    if (formula.scrollWidth <= formula.closest("p, li, dd, td, figcaption, div").clientWidth + 1) continue;
    const box = formula.closest("div.math, span.math") ?? formula;
    box.classList.add("scrolls");
    box.tabIndex = 0;
  }
}));
