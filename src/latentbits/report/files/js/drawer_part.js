// All about a part: the rows that show best what it is.

import { at, hint, make, put } from "./dom.js";
import { drawerBars, drawerButton, drawerPart, drawerNames, signedText } from "./drawer_bits.js";
import { surprisesOf } from "./surprises.js";
import { typicalRows } from "./typical.js";
import { percent, valueText } from "./words.js";

const PART_TYPICAL = 12, PART_CANDIDATES = 200, PART_COLUMNS = 10;

export function fillPart(state, k, node) {
  const { reading } = state, part = reading.parts[k];
  if (part.told) put(node, make("p", part.told, { className: "long" }));
  put(node, partTools(state, k), ...partRows(state, k), partColumns(state, k));
}

function partTools(state, k) {
  const { reading } = state, tools = make("div", null, { className: "dr-tools" });
  put(tools, drawerButton("Show all " + reading.nouns, () => at("components").scrollIntoView()));
  const choose = (words, test) => put(tools, drawerButton(words, () => state.selection.choose(test)));
  if (reading.hasMain) choose("Select its rows", (i) => reading.main(i) === k);
  else if (reading.kind === "causes") choose("Select rows that have it", (i) => reading.value(i, k) > 0.5);
  return tools;
}

/** Typical rows; of a scale those of both ends. Their surprises are asked for: they tell apart rows with the same value. */
function partRows(state, k) {
  const { reading, content } = state, isScale = reading.kind === "scales";
  const ends = isScale ? [[1, "Highest rows"], [-1, "Lowest rows"]] : [[1, "Typical rows"]];
  const line = (i) => [content.rowName(i), () => state.openRow(i), partRowWords(state, i, k)];
  return ends.map(([end, title]) => {
    const rows = typicalRows(state, k, end);
    if (!isScale) surprisesOf(state).want(rows.slice(0, PART_CANDIDATES));
    return drawerPart(title, drawerNames(rows.slice(0, PART_TYPICAL).map(line)));
  });
}

function partRowWords(state, i, k) {
  const { reading, content } = state, value = reading.value(i, k);
  const amount = reading.kind === "scales" ? signedText(value) : Math.round(100 * value) + "%";
  const label = content.labels.find((one) => !one.is_number && one.is_telling && one.code(i) >= 0);
  return amount + (label ? " · " + valueText(label.values[label.code(i)]) : "");
}

function partColumns(state, k) {
  const { reading, content } = state, isSigned = reading.is_loading;
  const features = reading.parts[k].features.slice(0, PART_COLUMNS);
  const most = isSigned ? Math.max(1e-9, ...features.map((one) => Math.abs(one[1]))) : 1;
  const lines = features.map(([name, value, marginal]) => {
    const j = content.columns.indexOf(name), words = isSigned ? signedText(value) : percent(value);
    return [name, value, words, j < 0 ? null : () => state.openColumn(j), isSigned ? null : marginal];
  });
  const note = isSigned
    ? "Loadings: columns that the scale moves most."
    : "The columns that tell most of it; the tick is the share in all rows.";
  return drawerPart("What it is made of", hint(note), drawerBars(lines, most, isSigned));
}
