// What the map can be coloured by: words and parts as groups, numbers as a ramp. Plain data; nothing here draws.

import { nounsOf } from "./map_words.js";
import { shortNumber } from "./ticks.js";
import { percent, valueText } from "./words.js";

// Groups with a colour and a shape of their own.
export const OWN_COLOURS = 12;
const QUARTER_NAMES = ["lowest quarter", "second quarter", "third quarter", "highest quarter"];

function knownSorted(number, nRows) {
  const known = [];
  for (let i = 0; i < nRows; i++) if (Number.isFinite(number(i))) known.push(number(i));
  return Float64Array.from(known).sort();
}

export function quantileOf(sorted, share) {
  if (!sorted.length) return NaN;
  const at = share * (sorted.length - 1), low = Math.floor(at), rest = at - low;
  return sorted[low] + rest * (sorted[Math.min(sorted.length - 1, low + 1)] - sorted[low]);
}

/** From the least to the most; where few rows lie far out, their colour is that of the ends, so that the others differ. */
export function rangeOf(sorted) {
  if (!sorted.length) return [0, 1];
  const low = sorted[0], high = sorted[sorted.length - 1], [a, b] = [quantileOf(sorted, 0.02), quantileOf(sorted, 0.98)];
  if (!(high > low)) return [low - 0.5, low + 0.5];
  return high - low > 2.5 * (b - a) && b > a ? [a, b] : [low, high];
}

/** A colouring by numbers: `number(i)`, its range, and how a number is written. */
function byNumber(key, section, name, number, nRows, { share = false } = {}) {
  const sorted = knownSorted(number, nRows), range = share ? [0, 1] : rangeOf(sorted);
  return {
    key, section, name, kind: "numbers", number, sorted, range, share,
    text: (v) => (share ? percent(v) : shortNumber(v, 3)),
    clipped: !share && sorted.length > 0 && (sorted[0] < range[0] || sorted[sorted.length - 1] > range[1]),
  };
}

/** A colouring by groups: `code(i)` is the place of the group among the values, -1 if it is not known; `own` have colours. */
function byGroup(key, section, name, values, code, own) {
  return { key, section, name, kind: "groups", values, code, own: Math.min(OWN_COLOURS, own) };
}

function partColourings(state) {
  const { reading, content } = state, out = [], section = "What the rows are made of";
  if (reading.hasMain) {
    const names = reading.parts.map((_, k) => state.nameOf(k));
    out.push(byGroup("part", section, nounsOf(reading).main, names, reading.main, names.length));
  }
  if (["scales", "causes", "shares"].includes(reading.kind)) reading.parts.forEach((_, k) => {
    const number = (i) => reading.value(i, k), share = reading.kind !== "scales", words = nounsOf(reading).of;
    out.push(byNumber("value:" + k, section, words + state.nameOf(k), number, content.nRows, { share }));
  });
  return out;
}

function labelColouring(label, l, nRows) {
  if (label.is_number) return byNumber("label:" + l, "Labels", label.name, label.number, nRows);
  // Where there are too many words, the last stands for the rest.
  const own = label.n_values > label.values.length ? label.values.length - 1 : label.values.length;
  return byGroup("label:" + l, "Labels", label.name, label.values.map(valueText), label.code, own);
}

const totals = new WeakMap();

/** The share of ones among the known cells of every row; NaN where none is known. */
export function shareOfOnes(content) {
  if (totals.has(content)) return totals.get(content);
  const out = new Float64Array(content.nRows);
  for (let i = 0; i < content.nRows; i++) {
    let on = 0, seen = 0;
    for (let j = 0; j < content.nColumns; j++) if (!content.isBlank(i, j)) { seen += 1; on += content.isOne(i, j) ? 1 : 0; }
    out[i] = seen ? on / seen : NaN;
  }
  totals.set(content, out);
  return out;
}

function totalColouring(content) {
  const total = shareOfOnes(content);
  const colouring = byNumber("total", "Rows", "share of ones in the row", (i) => total[i], content.nRows);
  // Shares, too, but seldom from nothing to all.
  return { ...colouring, text: percent };
}

/** All that rows can be coloured by, in the order of the list; the first is the one to begin with. */
export function colouringsOf(state) {
  const { content } = state, labels = content.labels.map((label, l) => labelColouring(label, l, content.nRows));
  return [...partColourings(state), ...labels, totalColouring(content)];
}

function quarterGroups({ sorted, number, text }) {
  const cuts = [0.25, 0.5, 0.75].map((share) => quantileOf(sorted, share)), edges = [-Infinity, ...cuts, Infinity];
  return QUARTER_NAMES.map((name, q) => ({
    text: name + (q === 3 ? " (above " + text(cuts[2]) + ")" : " (up to " + text(q === 0 ? cuts[0] : cuts[q]) + ")"),
    test: (i) => number(i) > edges[q] && number(i) <= edges[q + 1],
  }));
}

/** Groups of rows that can be selected: those of the colouring, or of its numbers. */
export function rowGroupsOf(colouring, nRows) {
  const { kind, code, number } = colouring;
  const known = kind === "groups" ? (i) => code(i) >= 0 : (i) => Number.isFinite(number(i));
  let out;
  if (kind === "groups") out = colouring.values.map((text, k) => ({ text, test: (i) => code(i) === k }));
  else if (colouring.share) out = [["50% or more", (v) => v >= 0.5], ["below 50%", (v) => v < 0.5]].map(
    ([text, has]) => ({ text, test: (i) => has(number(i)) }));
  else out = quarterGroups(colouring);
  for (let i = 0; i < nRows; i++) if (!known(i)) return [...out, { text: "not known", test: (r) => !known(r) }];
  return out;
}
