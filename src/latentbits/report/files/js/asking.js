// What a fitted model says of the cells of a row of the page: asked of the model itself where the page has it, else taken
// from the cells that were explained beforehand.

import { bytesOf, shortsOf } from "./content.js";
import { rowModel } from "./inference.js";

const askedModels = new WeakMap(), sampledReadings = new WeakMap();

/** Whether the model of a reading can be asked about the page's rows: it needs all their cells. */
export function canAsk(content, reading) {
  return Boolean(reading.row_model) && content.n_columns_left_out === 0;
}

/** The model of a reading, made when it is first asked. */
export function modelFor(reading) {
  if (!askedModels.has(reading)) askedModels.set(reading, rowModel(reading.row_model));
  return askedModels.get(reading);
}

/** The cells of row i in the order of the table: 1, 0, and -1 for blanks. */
export function tableRow(content, i) {
  const cells = Array.from({ length: content.shape[1] }, () => -1);
  content.column_numbers.forEach((place, j) => { cells[place] = content.isBlank(i, j) ? -1 : content.isOne(i, j) ? 1 : 0; });
  return cells;
}

/** Cells that were explained beforehand, decoded; null where there are none. `why(i, j)` is null outside of them. */
export function sampledCells(reading) {
  if (!reading.cells) return null;
  if (!sampledReadings.has(reading)) sampledReadings.set(reading, sampleDecoded(reading));
  return sampledReadings.get(reading);
}

function sampleDecoded({ cells: m, parts }) {
  const bytes = (text) => (text ? bytesOf(text) : null), shorts = (text) => (text ? shortsOf(text) : null);
  const rows = new Map(m.rows.map((i, at) => [i, at])), columns = new Map(m.columns.map((j, at) => [j, at]));
  const chance = bytes(m.probability), shares = [bytes(m.first_share), bytes(m.second_share)], leak = bytes(m.leak);
  const causes = [shorts(m.first), shorts(m.second)], missing = bytes(m.missing), partner = shorts(m.partner);
  const part = m.causes.map((name) => parts.findIndex((one) => one.name === name));
  function why(i, j) {
    if (!rows.has(i) || !columns.has(j)) return null;
    const c = rows.get(i) * m.columns.length + columns.get(j), first = causes[0][c], second = causes[1][c];
    const told = [{ part: part[first], name: m.causes[first], share: shares[0][c] / 255 }];
    if (second !== first) told.push({ part: part[second], name: m.causes[second], share: shares[1][c] / 255 });
    return {
      probability: chance[c] / 255, top: told, leak: leak ? leak[c] / 255 : null, missing: missing ? missing[c] / 255 : null,
      partner: partner ? m.partners[partner[c]] : "",
    };
  }
  return { rows: m.rows, columns: m.columns, hasRow: (i) => rows.has(i), why };
}

/** What is said of the cell of row i and page column j: its probability by the rest of the row, and the parts that stand
 * behind it, strongest first, as {part (-1: not on the page), name, share}; null where nothing is known. */
export function whyCell(content, reading, i, j) {
  if (!canAsk(content, reading)) {
    const sampled = sampledCells(reading);
    return sampled && sampled.why(i, j);
  }
  const said = modelFor(reading).why(tableRow(content, i), content.column_numbers[j]);
  // Shares are of the model's parts; those of a map are its nodes, which the page does not name.
  const of = (k, part) => ({ part, name: reading.parts[part].name, share: said.shares[k] });
  const top = reading.kind === "map" ? [] : reading.kept.map(of);
  return {
    probability: said.probability,
    top: top.sort((a, b) => b.share - a.share),
    leak: said.leak ?? null,
    missing: Number.isNaN(said.missing) ? null : said.missing ?? null,
    partner: "",
    shares: said.shares,
  };
}

// Kinds of models that answer about all cells of a row at once about as fast as about one.
const ASKED_AT_ONCE = ["classes", "map", "trees"];

/** The surprise of every page column in row i: -log of the probability of what is there, NaN where it is not known. `step()`
 * works on it for a moment, as some models look at the row anew for every cell, and tells whether `out` is complete. */
export function surpriseSteps(content, reading, i) {
  const out = new Float32Array(content.nColumns).fill(NaN);
  if (!canAsk(content, reading)) {
    return { out, step: () => { surpriseSampled(content, reading, i, out); return true; } };
  }
  const model = modelFor(reading), row = tableRow(content, i), places = content.column_numbers;
  if (ASKED_AT_ONCE.includes(model.kind)) {
    const all = () => {
      const { surprising } = model.answer(row);
      out.set(places.map((place) => surprising[place]));
      return true;
    };
    return { out, step: all };
  }
  let j = 0;
  const step = () => {
    const cell = row[places[j]];
    if (cell !== -1) out[j] = surpriseOf(cell === 1, model.why(row, places[j]).probability);
    j += 1;
    return j === places.length;
  };
  return { out, step };
}

const surpriseOf = (isOne, p) => -Math.log(isOne ? p : 1 - p);

/** Fills in the surprises of cells that were explained beforehand, in the steps in which their probabilities travel. */
function surpriseSampled(content, reading, i, out) {
  const sampled = sampledCells(reading);
  if (!sampled || !sampled.hasRow(i)) return;
  for (const j of sampled.columns) {
    const p = Math.min(0.998, Math.max(0.002, sampled.why(i, j).probability));
    if (!content.isBlank(i, j)) out[j] = surpriseOf(content.isOne(i, j), p);
  }
}

/** The same at once. */
export function rowSurprise(content, reading, i) {
  const { out, step } = surpriseSteps(content, reading, i);
  while (!step());
  return out;
}

/** Probabilities of a one in the blanks of row i, as {j, chance}, the likeliest first; none where they are not known. */
export function blanksOf(content, reading, i) {
  const found = [];
  for (let j = 0; j < content.nColumns; j++) if (content.isBlank(i, j)) found.push({ j, chance: NaN });
  if (!found.length) return found;
  const filled = canAsk(content, reading) ? modelFor(reading).answer(tableRow(content, i)).filled : null;
  const sampled = sampledCells(reading);
  for (const blank of found) {
    if (filled) blank.chance = filled[content.column_numbers[blank.j]];
    else if (sampled && sampled.hasRow(i)) blank.chance = sampled.why(i, blank.j)?.probability ?? NaN;
  }
  return found.sort((a, b) => (Number.isNaN(b.chance) ? -1 : b.chance) - (Number.isNaN(a.chance) ? -1 : a.chance));
}
