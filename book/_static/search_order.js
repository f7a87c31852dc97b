// What a search shows first: the page whose title is what was asked for, then a term of the glossary or a function of
// that name, then headings, whether in a chapter or of the library; records come behind. A function or class that is called
// as was typed comes before its page, and attributes come behind pages. A rare word of a query counts more than one that
// most pages have.
var Scorer = (() => {
  const stems = (text) => {
    const words = splitQuery(text.toLowerCase().replace(/[_.]/g, " ")).filter((word) => !stopwords.includes(word));
    return new Set(words.filter((word) => !/^(\d+\w?|intertwine)$/.test(word)).map((word) => new Stemmer().stemWord(word)));
  };
  const share = (kind) => (/attribute|property/.test(kind) ? 0.6 : 1);
  const prepared = (query) => {
    const { docnames, titles, alltitles, objects, objnames, terms } = Search._index;
    const pages = docnames.length;
    const weight = (word) => Math.log(1 + pages / ([terms[word] ?? []].flat().length + 1));
    const asked = new Map([...stems(query)].map((word) => [word, weight(word)]));
    const sum = (weights) => weights.reduce((one, other) => one + other, 0);
    const whole = sum([...asked.values()]) || 1;
    // how much of the query a name holds, and how little else: 1 if it is the query
    const fit = (name) => {
      const words = [...stems(name)];
      const found = words.filter((word) => asked.has(word));
      return words.length ? (sum(found.map((word) => asked.get(word))) / whole) * (0.5 + (0.5 * found.length) / words.length) : 0;
    };
    const best = new Array(pages).fill(0); // of a page's headings and functions
    const note = (file, name, weight = 1) => (best[file] = Math.max(best[file], weight * fit(name)));
    Object.entries(alltitles).forEach(([name, places]) => places.forEach(([file]) => note(file, name)));
    Object.entries(objects).forEach(([of, all]) =>
      all.forEach(([file, type, , , name]) => /_book/.test(of + name) || note(file, name, share(objnames[type][2])))
    );
    return { query, fit, of: new Map(docnames.map((page, file) => [page, Math.max(40 * fit(titles[file]), 32 * best[file])])) };
  };
  let known = {};
  const late = /^(bibliography|errata|api\/shared$)/;
  return {
    score: ([page, title, anchor, description, score]) => {
      const query = new URLSearchParams(location.search).get("q") ?? "";
      if (known.query !== query) known = prepared(query);
      if (/intertwine_book/.test(title)) return score - 60;
      if (description) {
        const name = title.split(".").at(-1);
        const exact = name === query.trim() && /^Python (function|class),/.test(description) ? 10 : 0;
        return 36 * share(description) * known.fit(name) + exact + score / 10;
      }
      const proof = page.startsWith("chapters/records/") ? -12 : 0;
      if (anchor) return proof + (/^#(term|index)-/.test(anchor) ? 0.38 * score : 30 * known.fit(title.split(" > ").at(-1))); // a term or an entry of the index, a section
      return proof + known.of.get(page) + score / 5 + (late.test(page) ? -5 : page.startsWith("chapters/") ? 1 : 0);
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
})();
