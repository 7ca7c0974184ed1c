// The selected rows as a table to take along.

import { csvLink, csvOf } from "./tables.js";

const fiveDigits = (v) => Number(v.toPrecision(5));

/** Heads of the table: the row, its labels, the part it belongs to, and how much of every part is in it. */
function csvHeads(state) {
  const { content, reading } = state, parts = reading.parts.map((_, k) => state.nameOf(k));
  return ["row", ...(content.rows.ids ? ["name"] : []), ...content.labels.map((label) => label.name),
    ...(reading.hasMain ? [reading.noun] : []), ...parts];
}

function labelField(label, i) {
  if (label.is_number) return fiveDigits(label.number(i));
  return label.code(i) < 0 ? "" : label.values[label.code(i)];
}

function csvRecord(state, i) {
  const { content, reading } = state;
  return [
    content.rows.number[i],
    ...(content.rows.ids ? [content.rowName(i)] : []),
    ...content.labels.map((label) => labelField(label, i)),
    ...(reading.hasMain ? [state.nameOf(reading.main(i))] : []),
    ...reading.parts.map((_, k) => fiveDigits(reading.value(i, k))),
  ];
}

/** The selected rows as CSV. */
export function selectedCsv(state) {
  const records = [];
  for (let i = 0; i < state.content.nRows; i++) if (state.selection.rows[i]) records.push(csvRecord(state, i));
  return csvOf(csvHeads(state), records);
}

export function downloadLink(state) {
  const link = csvLink(state.content.name + " selected rows", () => selectedCsv(state));
  link.textContent = "Download these rows";
  link.removeAttribute("aria-label");
  return link;
}
