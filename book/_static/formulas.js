// Before MathJax, which is deferred, reads the page: a mark that follows a formula in a sentence stays on its line, and
// formulas that are broken for a telephone, where a row that begins with &\quad goes on with the one above it, are one
// row on a wider page.
document.addEventListener("readystatechange", () => {
  if (document.readyState !== "interactive") return;
  for (const formula of document.querySelectorAll("span.math")) {
    const text = formula.nextSibling;
    const mark = text?.nodeType === Node.TEXT_NODE && text.data.match(/^[.,;:!?)]+/);
    if (!mark) continue;
    text.splitText(mark[0].length);
    const both = document.createElement("span");
    both.style.whiteSpace = "nowrap";
    formula.before(both);
    both.append(formula, text);
  }
  if (matchMedia("(max-width: 600px)").matches) return;
  for (const formula of document.querySelectorAll("div.math"))
    for (const node of formula.childNodes)
      if (node.nodeType === Node.TEXT_NODE) node.data = node.data.replace(/\\\\\s*&\s*\\quad/g, "");
});
