// A link into a closed solution opens it; otherwise the page would scroll within a box that stays shut.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target?.closest(".toggle-hidden"); box; box = target.closest(".toggle-hidden")) {
    box.querySelector(".toggle-button").click();
  }
  target?.scrollIntoView();
};
window.addEventListener("load", unfold);
window.addEventListener("hashchange", unfold);
