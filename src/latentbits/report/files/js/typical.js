// Rows that show best what a part is.

import { surprisesOf } from "./surprises.js";

/** Mean surprise of a known cell of row i; of rows that are not worked out, none. */
function meanSurprise(surprises, i) {
  const cells = surprises.known(i);
  if (!cells) return NaN;
  const known = cells.filter((value) => !Number.isNaN(value));
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
}

/** Rows by how much they have of part k, of equals the least surprising first; `end` -1 begins at the low end of a scale. */
export function typicalRows(state, k, end = 1) {
  const { content, reading } = state, surprises = surprisesOf(state);
  // Rows that differ by less than a step are equally good; a score has no such step but its own spread.
  const step = reading.kind === "scales" ? 1e-6 : 0.02;
  const level = (i) => Math.round(end * reading.value(i, k) / step);
  const odd = (i) => { const mean = meanSurprise(surprises, i); return Number.isNaN(mean) ? Infinity : mean; };
  const rows = Array.from({ length: content.nRows }, (_, i) => ({ i, level: level(i), odd: odd(i) }));
  rows.sort((a, b) => b.level - a.level || (a.odd === b.odd ? a.i - b.i : a.odd - b.odd));
  return rows.map((row) => row.i);
}
