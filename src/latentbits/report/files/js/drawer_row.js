// All about a row.

import { blanksOf, whyCell } from "./asking.js";
import { at, hint, make, put } from "./dom.js";
import { drawerBars, drawerButton, drawerPart, drawerNames, signedText } from "./drawer_bits.js";
import { rowsByLikeness } from "./likeness.js";
import { cellTold, chanceOf, shortReason } from "./reasons.js";
import { SURPRISING, surprisesOf } from "./surprises.js";
import { fixed, valueText } from "./words.js";

const ROW_CELLS = 6, ROW_NEAREST = 8, ROW_BLANKS = 20, ROW_PART = 0.02;

export function fillRow(state, i, node) {
  put(node, rowTools(state, i), ...rowLabels(state, i), rowParts(state, i), ...rowTypical(state, i));
  put(node, ...rowBlanks(state, i), rowNearest(state, i));
}

/** To the row before and the row after in the order of the matrix, to its place there, and to "Try a row". */
function rowTools(state, i) {
  const { content } = state, order = state.rowsInOrder ? state.rowsInOrder() : [], place = order.indexOf(i);
  const step = (text, to) => {
    const button = drawerButton(text, () => state.openRow(order[to]));
    button.disabled = place < 0 || to < 0 || to >= order.length;
    return button;
  };
  const tools = make("div", null, { className: "dr-tools" });
  put(tools, step("← Previous row", place - 1), step("Next row →", place + 1));
  const showIt = () => {
    at("matrix").scrollIntoView();
    state.showCell(i, -1);
  };
  if (state.showCell) put(tools, drawerButton("Show in the table", showIt));
  const cellOf = (_, j) => (content.isBlank(i, j) ? -1 : Number(content.isOne(i, j)));
  const tryIt = () => state.tryThis(content.columns.map(cellOf), content.rowName(i));
  if (state.tryThis) put(tools, drawerButton("Put into Try a row", tryIt));
  return tools;
}

/** What a label says of row i. */
function rowLabelWords(label, i) {
  const value = label.is_number ? label.number(i) : label.code(i);
  if (Number.isNaN(value) || (!label.is_number && value < 0)) return "not known";
  return label.is_number ? String(Number(value.toPrecision(5))) : valueText(label.values[value]);
}

function rowLabels({ content }, i) {
  const words = content.labels.map((label) => label.name + ": " + rowLabelWords(label, i));
  return words.length ? [make("p", words.join(" · "), { className: "long" })] : [];
}

const ROW_PART_TITLES = {
  classes: (reading) => "Which " + reading.noun + " it is",
  shares: () => "What it is a blend of",
  causes: (reading) => "Which " + reading.nouns + " are on",
  scales: () => "Where it stands on the scales",
  map: () => "Where it is on the map",
};

function rowParts(state, i) {
  const { reading } = state, isSigned = reading.kind === "scales", title = ROW_PART_TITLES[reading.kind];
  if (reading.kind === "tree") return hint("In this model all rows are alike; it says which columns depend on each other.");
  const found = reading.parts.map((part, k) => ({ k, kind: part.kind, value: reading.value(i, k) }))
    .filter((one) => isSigned || one.value >= ROW_PART);
  if (!isSigned) found.sort((a, b) => b.value - a.value);
  const most = isSigned ? rowMost(reading, found) : 1;
  const words = (one) => (isSigned ? signedText(one.value) : Math.round(100 * one.value) + "%");
  const lines = found.map((one) => [state.nameOf(one.k), one.value, words(one), () => state.openPart(one.k)]);
  const shown = lines.length ? drawerBars(lines, most, isSigned) : hint("None of the " + reading.nouns + " is on.");
  return drawerPart(title ? title(reading) : "Its " + reading.nouns, shown);
}

/** The end of the axis: what nine of ten rows are within, or further out for a row that is. */
function rowMost(reading, found) {
  const ends = (reading.ranges ?? []).flatMap(([low, , high]) => [Math.abs(low), Math.abs(high)]);
  return Math.max(1e-9, ...ends, ...found.map((one) => Math.abs(one.value)));
}

/** How well the row fits, by its rank among all rows, and the cells that fit least. */
function rowTypical(state, i) {
  const surprises = surprisesOf(state);
  if (!surprises.has(i)) return [hint("How typical this row is cannot be worked out on the page.")];
  const known = surprises.of(i);
  const told = rowRankText(state, i, surprises);
  const cells = Array.from(known, (value, j) => [value, j]).filter(([value]) => value > SURPRISING);
  cells.sort((a, b) => b[0] - a[0]);
  const list = make("ul", null, { className: "dr-list" });
  for (const [, j] of cells.slice(0, ROW_CELLS)) put(list, rowCell(state, i, j));
  const more = cells.length > ROW_CELLS ? [hint("and " + (cells.length - ROW_CELLS) + " more surprising cells")] : [];
  const none = hint("No cell of this row is surprising.");
  return [drawerPart("How typical it is", make("p", told), ...(cells.length ? [list, ...more] : [none]))];
}

function rowRankText(state, i, surprises) {
  const sum = "Its cells surprise by " + fixed(surprises.totals()[i], 1) + " nats in all", found = surprises.rank(i);
  if (found === null) return sum + ". How that compares with other rows is being worked out.";
  const { rank, n } = found, words = rank <= 0.05 * n ? ": an unusual row." : rank > 0.5 * n ? ": a typical row." : ".";
  if (n < state.content.nRows) return sum + ", less than " + (rank - 1) + " of " + n + " rows that were looked at" + words;
  const place = rank === 1 ? ", the most of " : ", rank " + rank.toLocaleString("en") + " of ";
  return sum + place + n.toLocaleString("en") + " rows" + words;
}

function rowCell(state, i, j) {
  const { content, reading } = state, why = whyCell(content, reading, i, j);
  const text = " is " + (content.isOne(i, j) ? "1" : "0") + "; a one had the probability " + chanceOf(why.probability) + ". ";
  const name = drawerButton(content.columns[j], () => state.openColumn(j), "dr-name");
  return put(make("li"), name, make("span", text + shortReason(cellTold(state, i, j, why))));
}

function rowBlanks(state, i) {
  const { content, reading } = state, found = blanksOf(content, reading, i);
  if (!found.length) return [];
  const isKnown = found.some((one) => !Number.isNaN(one.chance)), shown = found.slice(0, ROW_BLANKS);
  const size = (chance) => (Number.isNaN(chance) ? 0 : chance);
  const bar = ({ j, chance }) => [content.columns[j], size(chance), chanceOf(chance), () => state.openColumn(j)];
  const list = isKnown
    ? drawerBars(shown.map(bar), 1, false)
    : drawerNames(shown.map(({ j }) => [content.columns[j], () => state.openColumn(j)]));
  const note = isKnown ? "Probability of a one in each:" : "The page cannot ask this model what belongs there.";
  const more = found.length > shown.length ? [hint("and " + (found.length - shown.length) + " more")] : [];
  return [drawerPart(found.length + (found.length === 1 ? " blank" : " blanks"), hint(note), list, ...more)];
}

function rowNearest(state, i) {
  const { content, reading } = state, near = rowsByLikeness(content, reading, i).slice(1, ROW_NEAREST + 1);
  const words = (b) => (reading.main(b) < 0 ? "" : "· " + state.nameOf(reading.main(b)));
  const line = (b) => [content.rowName(b), () => state.openRow(b), words(b)];
  return drawerPart("Rows most like it", drawerNames(near.map(line)));
}
