// Formulas are broken for a telephone: a row that begins with &\quad goes on with the one above it. On a wider page
// both are one row. This runs between the end of parsing and MathJax, which is deferred.
document.addEventListener("readystatechange", () => {
  if (document.readyState !== "interactive" || matchMedia("(max-width: 600px)").matches) return;
  for (const formula of document.querySelectorAll("div.math"))
    for (const node of formula.childNodes)
      if (node.nodeType === Node.TEXT_NODE) node.data = node.data.replace(/\\\\\s*&\s*\\quad/g, "");
});
