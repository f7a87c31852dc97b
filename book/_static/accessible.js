// Names for screen readers where the theme's own differ from what is shown, or are missing.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("summary[aria-label='Toggle hidden content']").forEach((x) => x.removeAttribute("aria-label"));
  document.querySelectorAll("button.search-button__button").forEach((x) => x.setAttribute("aria-label", x.innerText.trim() || "Search"));
  document.querySelectorAll(".toctree-toggle").forEach((x) => x.closest("summary")?.setAttribute("aria-label", "Show the pages of this section"));
  document.querySelectorAll(".tag_output_scroll .cell_output, .pst-scrollable-table-container, #fig-chapters > :first-child").forEach((x) => (x.tabIndex = 0)); // scrolls by keys, too
  document.querySelectorAll(".citation-list[role=list]").forEach((x) => x.removeAttribute("role")); // its children are no items
});
