// What a reference leads to, shown beside it while the pointer or the focus rests there: an equation, a theorem, a
// figure, a citation, a term, a function. Pages are read from this site; where that is not allowed, as from a file on
// a disk, only references within the page have a preview.
document.addEventListener("DOMContentLoaded", () => {
  if (!matchMedia("(hover: hover)").matches) return;
  const card = Object.assign(document.createElement("div"), { className: "preview bd-article", hidden: true });
  card.inert = true; // it is to be seen; the link leads to the same
  document.body.append(card);
  const here = location.href.split("#")[0];
  const pages = new Map([[here, Promise.resolve(document)]]);
  const load = (url) => fetch(url).then((answer) => answer.text()).then((text) => new DOMParser().parseFromString(text, "text/html"));
  let wanted = null;

  const part = (page, id) => {
    const found = page.getElementById(id);
    const whole = found?.closest("figure, div.math, div.proof, div.citation");
    if (whole) return [whole];
    if (found?.tagName === "DT") return [found, found.nextElementSibling?.querySelector("p") ?? found.nextElementSibling];
    return [];
  };

  const show = async (link) => {
    wanted = link;
    const [url, id] = link.href.split("#");
    if (!pages.has(url)) pages.set(url, load(url).catch(() => null));
    const page = await pages.get(url);
    const found = page ? part(page, decodeURIComponent(id)).filter(Boolean) : [];
    if (wanted !== link || !found.length) return;
    card.replaceChildren(...found.map((each) => document.importNode(each, true)));
    card.querySelectorAll("[id]").forEach((each) => each.removeAttribute("id"));
    card.querySelectorAll(".headerlink, .viewcode-link").forEach((each) => each.remove());
    card.querySelectorAll("[src]").forEach((each) => (each.src = new URL(each.getAttribute("src"), url)));
    card.hidden = false;
    await window.MathJax?.typesetPromise?.([card]);
    const at = link.getBoundingClientRect();
    const below = at.bottom + card.offsetHeight + 8 < innerHeight;
    card.style.left = `${Math.max(8, Math.min(at.left, innerWidth - card.offsetWidth - 8))}px`;
    card.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - card.offsetHeight - 6)}px`;
  };
  const hide = () => { wanted = null; card.hidden = true; };

  document.querySelectorAll(".bd-article a.internal[href*='#']:not(.headerlink)").forEach((link) => {
    let soon = 0;
    link.addEventListener("pointerenter", () => (soon = setTimeout(show, 250, link)));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    ["pointerleave", "blur", "click"].forEach((end) => link.addEventListener(end, () => { clearTimeout(soon); hide(); }));
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { passive: true });
});
