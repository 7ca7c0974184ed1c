// Which columns tell of a part: ranked between frequent and typical, rarer than elsewhere, and apart from another part.

import { tellingGain } from "./matrix_order.js";

// Probabilities below are taken for this one: a column that a part hardly has is not typical of it, however rare elsewhere.
const LEAST_CHANCE = 1e-4;
// Nats that a column has to tell of a part, to be called rarer there.
const FAINT_COLUMN = 0.02;
const BAR_ENDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** How relevant a column is for a part: 1 asks for frequent columns, 0 for those that are more frequent than elsewhere. */
export function relevance(p, marginal, lambda) {
  const chance = Math.max(p, LEAST_CHANCE), share = Math.max(marginal, LEAST_CHANCE);
  return lambda * Math.log(chance) + (1 - lambda) * Math.log(chance / share);
}

/** Numbers of the columns 0 to n - 1, those with the highest value first. */
export function byValue(n, value) {
  const values = Array.from({ length: n }, (_, j) => value(j));
  return values.map((_, j) => j).sort((a, b) => values[b] - values[a] || a - b);
}

/** All columns of the page, the most relevant for part k first. */
export function rankedColumns(content, reading, k, lambda) {
  return byValue(content.nColumns, (j) => relevance(reading.profile(k, j), content.marginals[j], lambda));
}

/** Columns that part k has clearly less often than all rows have. */
export function rarerColumns(content, reading, k, most) {
  const told = (j) => tellingGain(reading.profile(k, j), content.marginals[j]);
  return byValue(content.nColumns, (j) => (reading.profile(k, j) < content.marginals[j] ? told(j) : -1))
    .slice(0, most).filter((j) => reading.profile(k, j) < content.marginals[j] && told(j) >= FAINT_COLUMN);
}

/** The part that is most like part k, -1 if there is no other. */
export function nearestPart(reading, k) {
  if (reading.nParts === 2) return 1 - k;
  if (!reading.distances) return -1;
  const others = byValue(reading.nParts, (other) => (other === k ? -Infinity : -reading.distances[k][other]));
  return others[0];
}

/** Columns in which two parts differ most, by their probabilities. */
export function contrastColumns(content, reading, k, other, most) {
  const gap = (j) => Math.abs(reading.profile(k, j) - reading.profile(other, j));
  return byValue(content.nColumns, gap).slice(0, most).filter((j) => gap(j) >= 0.1);
}

/** Columns of a scale, those with the largest loadings of either sign first. */
export function loadedColumns(content, reading, k) {
  return byValue(content.nColumns, (j) => Math.abs(reading.profile(k, j)));
}

/** Where bars end, so that rare columns are seen as well: a round number not below any of the values. */
export function barEnd(values) {
  const most = Math.max(0, ...values);
  return BAR_ENDS.find((end) => end >= most) ?? 1;
}

/** Columns whose probability rises most along a scale, then those that fall most; `change(j)` says by how much. */
export function changingColumns(content, change, most) {
  const first = (sign) => byValue(content.nColumns, (j) => sign * change(j)).slice(0, most);
  const side = (sign) => first(sign).filter((j) => sign * change(j) > 0);
  return [...side(1), ...side(-1)];
}
