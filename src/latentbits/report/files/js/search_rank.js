// What a search finds, and in which order. Texts are compared without accents and without regard to case.

/** Text as it is compared. */
export function plainText(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** How well a text answers a question, both plain: 0 the same, 1 begins with it, 2 a word does, 3 has it, 4 not at all. */
export function searchRank(text, question) {
  if (text === question) return 0;
  if (text.startsWith(question)) return 1;
  const at = text.indexOf(question);
  if (at < 0) return 4;
  for (let from = at; from >= 0; from = text.indexOf(question, from + 1)) if (!/[\p{L}\p{N}]/u.test(text[from - 1])) return 2;
  return 3;
}

/** The best `most` of the entries {text, plain, ...}, of equals the shorter first, and how many there are in all. */
export function bestEntries(entries, question, most) {
  const found = [];
  entries.forEach((entry, n) => {
    const rank = Math.min(searchRank(entry.plain, question), entry.more ? 0.5 + searchRank(entry.more, question) : 4);
    if (rank < 4) found.push({ entry, rank, n });
  });
  found.sort((a, b) => a.rank - b.rank || a.entry.plain.length - b.entry.plain.length || a.n - b.n);
  return { best: found.slice(0, most).map((one) => one.entry), count: found.length };
}

/** All that can be found, in groups {title, entries}; an entry has a text, words beside it, and what it opens. */
export function searchGroups(state) {
  const { content } = state, isOne = content.readings.length === 1;
  const entry = (text, words, open, more = "") => ({ text, words, open, plain: plainText(text), more: plainText(more) });
  const columns = content.columns.map((name, j) => entry(name, "", { kind: "column", at: j }));
  const parts = content.readings.flatMap((reading, r) => (reading.kind === "tree" ? [] : reading.parts.map((part, k) => entry(
    state.nameOf(k, r), isOne ? "" : reading.title, { kind: "part", at: k, reading: r }, part.told ?? "",
  ))));
  const words = content.labels.filter((label) => !label.is_number);
  const values = words.flatMap((label) => label.values.map((value, code) => entry(
    label.name + ": " + (value === "" ? "(blank)" : value), "select its rows", { kind: "label", label, code }, value,
  )));
  const rows = Array.from({ length: content.nRows }, (_, i) => {
    const mine = words.filter((label) => label.code(i) >= 0).map((label) => label.values[label.code(i)]);
    return entry(content.rowName(i), mine.join(" · "), { kind: "row", at: i });
  });
  const groups = [["Columns", columns], ["Parts", parts], ["Labels", values], ["Rows", rows]];
  return groups.map(([title, entries]) => ({ title, entries }));
}
