// All about a column.

import { hint, make, put } from "./dom.js";
import { drawerBars, drawerButton, drawerPart, drawerNames, signedText } from "./drawer_bits.js";
import { drawerCurves } from "./drawer_curves.js";
import { relatedColumns } from "./likeness.js";
import { columnPart, isIdle } from "./matrix_order.js";
import { fixed, percent } from "./words.js";

const COLUMN_ROWS = 50, COLUMN_RELATED = 8, COLUMN_PHI = 0.05, COLUMN_PARTS = 16;

export function fillColumn(state, j, node) {
  const { content } = state, blanks = content.blank_shares[j];
  const shares = "Ones in " + percent(content.marginals[j]) + " of the known cells; " +
    (blanks ? percent(blanks) + " of all cells are blank." : "no blanks.");
  put(node, make("p", shares), ...columnParts(state, j), columnRelated(state, j));
  put(node, ...columnPairs(state, content.columns[j]), columnRows(state, j));
}

/** Which parts have it, or which scales move it. */
function columnParts(state, j) {
  if (state.reading.kind === "tree") return [];
  return [state.reading.kind === "scales" ? columnScales(state, j) : columnProfile(state, j)];
}

const columnInRows = (noun) => "Ones in the rows of each " + noun;
const COLUMN_WORDS = {
  classes: columnInRows,
  map: columnInRows,
  shares: (noun) => "Probability of a one where a cell owes to the " + noun,
  causes: (noun) => "Probability that each " + noun + " alone makes a one when it is on",
};

function columnProfile(state, j) {
  const { reading, content } = state, { profile } = reading;
  const order = reading.parts.map((_, k) => k).filter((k) => !isIdle(reading.parts[k]));
  order.sort((a, b) => profile(b, j) - profile(a, j));
  const line = (k) => [state.nameOf(k), profile(k, j), percent(profile(k, j)), () => state.openPart(k), content.marginals[j]];
  const note = (COLUMN_WORDS[reading.kind] ?? columnInRows)(reading.noun) + "; the tick is the share in all rows.";
  const most = columnPart(content, reading, j), title = "Which " + reading.nouns + " have it";
  const told = most.k < 0 || most.gain <= 0 ? [] : [make("p", "It tells most about " + state.nameOf(most.k) + ".")];
  return drawerPart(title, hint(note), drawerBars(order.slice(0, COLUMN_PARTS).map(line), 1, false), ...told);
}

function columnScales(state, j) {
  const { reading } = state, loadings = reading.parts.map((_, k) => reading.profile(k, j));
  const lines = loadings.map((loading, k) => [state.nameOf(k), loading, signedText(loading), () => state.openPart(k)]);
  const note = "Loadings: how many log odds of a one a step along the scale adds.";
  const bars = drawerBars(lines, Math.max(1e-9, ...loadings.map(Math.abs)), true);
  return drawerPart("Which scales move it", hint(note), bars, drawerCurves(state, j));
}

function columnRelated(state, j) {
  const { content } = state, { together, against } = relatedColumns(content, j, COLUMN_RELATED), nodes = [];
  for (const [title, found] of [["Go together with it", together], ["Go against it", against]]) {
    const lines = found.filter((one) => Math.abs(one.phi) >= COLUMN_PHI)
      .map((one) => [content.columns[one.j], one.phi, signedText(one.phi), () => state.openColumn(one.j)]);
    if (lines.length) nodes.push(make("h4", title), drawerBars(lines, 1, true));
  }
  const note = "Correlation (phi) over rows that know both columns, of " + content.nRows.toLocaleString("en") + " here.";
  if (!nodes.length) return drawerPart("Related columns", hint("No other column goes with it or against it."));
  return drawerPart("Related columns", hint(note), ...nodes);
}

/** Pairs with this column that the leading model leaves unexplained. */
function columnPairs(state, name) {
  const pairs = (state.content.leftovers?.pairs ?? []).filter((pair) => pair.first === name || pair.second === name);
  const lines = pairs.map((pair) => {
    const other = pair.first === name ? pair.second : pair.first, place = state.content.columns.indexOf(other);
    const words = "both are 1 in " + pair.together + " rows; the model expects " + fixed(pair.expected, 1);
    return [other, () => { if (place >= 0) state.openColumn(place); }, words];
  });
  return lines.length ? [drawerPart("Pairs that the model leaves unexplained", drawerNames(lines))] : [];
}

function columnRows(state, j) {
  const { content } = state, order = state.rowsInOrder ? state.rowsInOrder() : [];
  const all = order.length === content.nRows ? order : Array.from({ length: content.nRows }, (_, i) => i);
  const isIn = (i) => !content.isBlank(i, j) && content.isOne(i, j), has = all.filter(isIn);
  const names = make("p", null, { className: "dr-names" });
  for (const i of has.slice(0, COLUMN_ROWS)) put(names, drawerButton(content.rowName(i), () => state.openRow(i), "dr-name"));
  const choose = drawerButton("Select these rows", () => state.selection.choose(isIn));
  choose.id = "drawer-select";
  const title = "Who has it: " + has.length.toLocaleString("en") + " of " + content.nRows.toLocaleString("en") + " rows";
  const note = has.length > COLUMN_ROWS ? [hint("The first " + COLUMN_ROWS + ", in the order of the matrix:")] : [];
  return drawerPart(title, choose, ...note, names);
}
