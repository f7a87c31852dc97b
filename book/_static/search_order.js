// What a search shows first: chapters, then the glossary, then the library; what only makes the book comes last.
var Scorer = {
  score: ([page, title, , , score]) => {
    if (/intertwine_book/.test(title)) return score - 60;
    if (page.startsWith("api/")) return score - 30;
    return score + (page.startsWith("chapters/") ? 20 : page === "glossary" ? 15 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
