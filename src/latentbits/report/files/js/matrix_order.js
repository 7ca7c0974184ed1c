// In which order the matrix shows rows and columns, and what the stripe beside the rows says of it.

import { rowsByLikeness } from "./likeness.js";

/** How much a probability p tells where the share of ones is m. */
export function tellingGain(p, m) {
  const inside = (x) => Math.min(1 - 1e-6, Math.max(1e-6, x)), q = inside(p), r = inside(m);
  return q * Math.log(q / r) + (1 - q) * Math.log((1 - q) / (1 - r));
}

/** Whether a part makes no ones of its own: nothing is told by its columns. */
export function isIdle(part) {
  return part.kind === "phantom" || part.kind === "disconnected";
}

const keyNumber = (key) => Number(key.split(":")[1]);

/** The order of rows that shows a reading best. */
export function bestRowKey(reading) {
  if (reading.hasMain) return "main";
  if (reading.kind === "causes") return "on";
  return reading.kind === "scales" ? "part:0" : "table";
}

/** The order of columns that shows a reading best. Where all loadings of the only scale have one sign, there is no gradient
 * but from frequent to rare. */
export function bestColumnKey(content, reading) {
  if (reading.kind === "tree") return "frequency";
  if (reading.kind !== "scales" || reading.nParts > 1) return "part";
  let up = 0;
  for (let j = 0; j < content.nColumns; j++) if (reading.profile(0, j) > 0) up += 1;
  return Math.min(up, content.nColumns - up) < 0.1 * content.nColumns ? "frequency" : "part";
}

/** Orders of rows that a person can choose, as [key, words]; `has` says whether surprise and an open row are there. */
export function rowKeys(content, reading, nameOf, has) {
  const { noun, nouns, kind, parts } = reading, keys = [];
  if (kind === "shares") keys.push(["main", "by the largest share"]);
  else if (reading.hasMain) keys.push(["main", "by " + noun]);
  if (kind === "causes") keys.push(["on", "by the " + nouns + " that are on"]);
  const of = { scales: "along ", causes: "by the chance of ", shares: "by the share of " }[kind] ?? "by ";
  if (kind !== "tree") parts.forEach((part, k) => keys.push(["part:" + k, of + nameOf(k)]));
  content.labels.forEach((label, l) => keys.push(["label:" + l, "by " + label.name]));
  if (has.surprise) keys.push(["surprise", "most surprising first"]);
  if (has.row >= 0) keys.push(["similar", "most like " + content.rowName(has.row) + " first"]);
  keys.push(["table", "as in the table"]);
  return keys;
}

export function columnKeys(reading) {
  const keys = [["frequency", "by share of ones"], ["name", "by name"], ["table", "as in the table"]];
  if (reading.kind === "tree") return keys;
  return [["part", reading.kind === "scales" ? "by loading" : "by " + reading.noun], ...keys];
}

/** A sorted copy of the numbers below n; of equals, the first comes first. */
function orderedBy(n, compare) {
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => compare(a, b) || a - b);
}

/** Greatest first, what is not known last. */
const fallingBy = (of) => (a, b) => {
  const x = of(a), y = of(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  return y - x;
};

/** Causes that are on, the most frequent one telling most. */
function onOrder(content, reading) {
  const often = orderedBy(reading.nParts, fallingBy((k) => reading.parts[k].weight ?? 0));
  return orderedBy(content.nRows, (a, b) => {
    for (const k of often) {
      const difference = (reading.value(b, k) > 0.5) - (reading.value(a, k) > 0.5);
      if (difference) return difference;
    }
    return 0;
  });
}

function labelOrder(content, reading, label) {
  if (label.is_number) return orderedBy(content.nRows, fallingBy(label.number));
  const place = (i) => (label.code(i) < 0 ? Infinity : label.code(i)), main = (i) => reading.main(i);
  return orderedBy(content.nRows, (a, b) => (place(a) === place(b) ? main(a) - main(b) : place(a) - place(b)));
}

/** Rows in the order that is called `key`; `more` has the totals of surprise and the open row. */
export function orderRows(content, reading, key, more) {
  const n = content.nRows;
  if (key === "main") {
    return orderedBy(n, (a, b) => {
      const k = reading.main(a), other = reading.main(b);
      return k - other || (k < 0 ? 0 : reading.value(b, k) - reading.value(a, k));
    });
  }
  if (key === "on") return onOrder(content, reading);
  if (key.startsWith("part:")) return orderedBy(n, fallingBy((i) => reading.value(i, keyNumber(key))));
  if (key.startsWith("label:")) return labelOrder(content, reading, content.labels[keyNumber(key)]);
  if (key === "surprise") return orderedBy(n, fallingBy((i) => more.totals[i]));
  if (key === "similar" && more.row >= 0) return rowsByLikeness(content, reading, more.row);
  return orderedBy(n, () => 0);
}

/** The part that tells most of a column among those that have it more often than others do, as {k, gain}. */
export function columnPart(content, reading, j) {
  let best = { k: -1, gain: -Infinity };
  for (let k = 0; k < reading.nParts; k++) {
    if (isIdle(reading.parts[k])) continue;
    const p = reading.profile(k, j), m = content.marginals[j];
    const gain = reading.is_loading ? Math.abs(p) : tellingGain(p, m) * (p >= m ? 1 : -1);
    if (gain > best.gain) best = { k, gain };
  }
  return best;
}

/** Columns by the part that tells most of them, and within it by lift; along the part that orders the rows, if one does. */
function partOrder(content, reading, rowKey) {
  const { nColumns: d, marginals } = content, along = rowKey.startsWith("part:") ? keyNumber(rowKey) : -1;
  if (along >= 0) {
    const own = (j) => reading.profile(along, j);
    const signed = (j) => Math.sign(own(j) - marginals[j]) * tellingGain(own(j), marginals[j]);
    return orderedBy(d, fallingBy(reading.is_loading ? own : signed));
  }
  const own = Array.from({ length: d }, (_, j) => columnPart(content, reading, j).k);
  const lift = (j) => {
    const k = Math.max(0, own[j]), p = reading.profile(k, j);
    return reading.is_loading ? p : p / Math.max(1e-6, marginals[j]);
  };
  return orderedBy(d, (a, b) => own[a] - own[b] || fallingBy(lift)(a, b));
}

/** Columns in the order that is called `key`. */
export function orderColumns(content, reading, key, rowKey) {
  const { columns, marginals, nColumns } = content;
  if (key === "part") return partOrder(content, reading, rowKey);
  if (key === "frequency") return orderedBy(nColumns, fallingBy((j) => marginals[j]));
  const byName = (a, b) => columns[a].localeCompare(columns[b], undefined, { numeric: true });
  if (key === "name") return orderedBy(nColumns, byName);
  return orderedBy(nColumns, (a, b) => content.column_numbers[a] - content.column_numbers[b]);
}

/** Numbers to places between 0 and 1 (of signed ones between -1 and 1); a few far away ones do not flatten the rest. */
function stripeRamp(n, of, isSigned, words) {
  const all = Array.from({ length: n }, (_, i) => of(i)).filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
  if (!all.length) return { kind: "none" };
  const at = (share) => all[Math.round(share * (all.length - 1))], low = at(0.02), high = at(0.98);
  if (isSigned) {
    const most = Math.max(1e-9, Math.abs(low), Math.abs(high));
    return { kind: "signed", of: (i) => Math.max(-1, Math.min(1, of(i) / most)), words };
  }
  return { kind: "ramp", of: (i) => Math.max(0, Math.min(1, (of(i) - low) / Math.max(1e-9, high - low))), words };
}

// Causes that have a stripe of their own.
const STRIPED_CAUSES = 6;

/** A narrow stripe for each of the most frequent causes: which of them are on. */
function causeStripes(reading, nameOf) {
  const often = orderedBy(reading.nParts, fallingBy((k) => reading.parts[k].weight ?? 0));
  const parts = often.filter((k) => !isIdle(reading.parts[k])).slice(0, STRIPED_CAUSES);
  return { kind: "pattern", parts, isOn: (i, k) => reading.value(i, k) > 0.5, names: parts.map((k) => nameOf(k)) };
}

/** What the stripe shows of an order of rows: {kind: "groups", of, names}, {kind: "ramp" or "signed", of, words},
 * {kind: "pattern", parts, isOn, names} or none. */
export function stripeOf(content, reading, key, nameOf, totals) {
  const n = content.nRows;
  const ofParts = () => ({ kind: "groups", of: reading.main, names: reading.parts.map((_, k) => nameOf(k)) });
  if (key === "main") return ofParts();
  if (key.startsWith("part:")) {
    const k = keyNumber(key);
    return stripeRamp(n, (i) => reading.value(i, k), reading.kind === "scales", nameOf(k));
  }
  if (key.startsWith("label:")) {
    const label = content.labels[keyNumber(key)];
    return label.is_number
      ? stripeRamp(n, label.number, false, label.name)
      : { kind: "groups", of: label.code, names: label.values.map((word) => (word === "" ? "(blank)" : word)) };
  }
  if (key === "surprise") return stripeRamp(n, (i) => totals[i], false, "surprise");
  if (reading.kind === "causes") return causeStripes(reading, nameOf);
  return reading.hasMain ? ofParts() : { kind: "none" };
}
