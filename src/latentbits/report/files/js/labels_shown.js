// What is known of the rows besides, beside the parts of the reading that is shown.

import { at, folded, hint, make, put, scrolled } from "./dom.js";
import { arrowPicture, crossTable, histograms, quantilesOf, scatterPicture, strips } from "./labels_drawn.js";
import { spoken } from "./names.js";
import { table } from "./tables.js";
import { signedTold } from "./told.js";
import { counted, listed, pText } from "./words.js";

const MEASURES = { rho: "ρ", AUC: "AUC", V: "Cramér's V", epsilon2: "ε²", R: "R" };
// Pictures of single parts; more are in the table.
const MOST_PICTURES = 12;
const CROSS_TOLD = "A click on a count selects its rows. Small numbers: standard errors by which the count is above (+) or below (−) what chance gives.";
const STRIP_TOLD = "Box: half of the rows; line: nine of ten.";

function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Strength, interval, chance and number of rows of an association. */
export function measureTold(one) {
  const ends = one.low === null || one.high === null ? "" : signedTold(one.low) + " to " + signedTold(one.high);
  const interval = ends && " (95% interval " + ends + ")";
  const p = pText(one.p), chance = p === "" ? "" : ", corrected p " + (p.startsWith("below") ? p : "= " + p);
  return MEASURES[one.measure] + " = " + signedTold(one.value) + interval + chance + ", " + counted(one.n, "row");
}

function measureLine(one, more = "") {
  return make("p", measureTold(one) + more, { className: "measure" });
}

/** Labels by name, each with its associations: [[label, [association]]], in the order of the labels. */
export function byLabel(labels, associations) {
  const own = (label) => associations.filter((one) => one.label === label.name);
  return labels.map((label) => [label, own(label)]).filter(([, found]) => found.length > 0);
}

function amountWords(reading, name) {
  return { scales: "score on " + name, shares: "share of " + name }[reading.kind] ?? "chance of " + name;
}

/** Values of a part in the rows of the page that have one word of a label. */
function valuesOf(state, k, label, word) {
  const out = [];
  for (let i = 0; i < state.content.nRows; i++) if (label.code(i) === word) out.push(state.reading.value(i, k));
  return out;
}

function ofGroups(state, label, one) {
  const { reading } = state, names = reading.parts.map((_, k) => state.nameOf(k));
  if (one.details.counts) {
    const told = reading.nouns + " against " + label.name, select = (k, w) => {
      state.selection.choose((i) => reading.main(i) === k && label.code(i) === w);
      at("map").scrollIntoView();
    };
    const grid = crossTable(one.details, reading.kept, names, label.values, reading.noun, told, select);
    return [grid, measureLine(one, ". " + CROSS_TOLD)];
  }
  const groups = names.map((name, k) => ({ name, quantiles: one.details.quantiles[reading.kept[k]] }));
  return [strips(groups, label.name), measureLine(one, ". " + STRIP_TOLD)];
}

function ofMap(one) {
  return [put(make("div", null, { className: "figure" }), arrowPicture(one.details.direction)), measureLine(one)];
}

/** Quantiles of a label's numbers in the rows of the page in which a cause is on, and in the others. */
function onAndOff(state, label, k) {
  const { content, reading } = state, on = [], off = [];
  for (let i = 0; i < content.nRows; i++) {
    if (Number.isFinite(label.number(i))) (reading.value(i, k) >= 0.5 ? on : off).push(label.number(i));
  }
  const name = state.nameOf(k);
  return [{ name: name + " on", quantiles: quantilesOf(on) }, { name: name + " off", quantiles: quantilesOf(off) }];
}

function ofPart(state, label, one, width) {
  const { content, reading } = state, k = one.part, what = amountWords(reading, state.nameOf(k));
  if (label.is_number && reading.kind === "causes") {
    return [strips(onAndOff(state, label, k), label.name), measureLine(one, ". " + STRIP_TOLD)];
  }
  if (label.is_number) {
    const points = Array.from({ length: content.nRows }, (_, i) => [reading.value(i, k), label.number(i)]);
    const svg = scatterPicture(points, what, label.name, label.name + " against the " + what, width);
    return [put(make("div", null, { className: "figure" }), svg), measureLine(one)];
  }
  if (one.details.quantiles) {
    const groups = label.values.map((name, w) => ({ name, quantiles: one.details.quantiles[w] }));
    return [strips(groups, what, signedTold), measureLine(one, ". " + STRIP_TOLD)];
  }
  const groups = label.values.map((name, w) => ({ name, values: valuesOf(state, k, label, w) }));
  return [...histograms(groups.filter((group) => group.values.length), what, width), measureLine(one)];
}

/** An association as its sentence and its picture; a wide one has the whole line. */
function block(state, label, one, width) {
  const node = make("div", null, { className: "card label" + (one.details.counts ? " whole" : "") });
  if (one.sentence) put(node, make("h5", (one.stated ? "" : "Perhaps: ") + capital(spoken(state, one.sentence))));
  if (one.of === "part") return put(node, ...ofPart(state, label, one, width));
  return put(node, ...(one.of === "map" ? ofMap(one) : ofGroups(state, label, one)));
}

/** Associations with single parts as a table that can be sorted and taken along. */
function partTable(state, own) {
  const heads = [
    { text: "label" }, { text: state.reading.noun }, { text: "measure" }, { text: "value", n: 1 },
    { text: "95% interval", n: 1 }, { text: "corrected p", n: 1 }, { text: "rows", n: 1 },
  ];
  const rows = own.map((one) => ({
    cells: [
      one.label, state.nameOf(one.part),
      MEASURES[one.measure] + (one.details.word ? " (higher for " + one.details.word + ")" : ""), signedTold(one.value),
      one.low === null ? "" : signedTold(one.low) + " to " + signedTold(one.high), pText(one.p), one.n,
    ],
    keys: [undefined, undefined, undefined, one.value, one.low ?? NaN, one.p ?? NaN],
  }));
  return scrolled(table(make("table"), heads, rows, { name: "labels and " + state.reading.nouns }));
}

/** What is stated about a label, with pictures. */
function statedOf(state, label, own, width) {
  const grid = make("div", null, { className: "cards wide labels" });
  for (const one of own.slice(0, MOST_PICTURES)) put(grid, block(state, label, one, width));
  const rest = own.slice(MOST_PICTURES).filter((one) => one.of === "part");
  return [make("h4", label.name), grid, ...(rest.length ? [partTable(state, rest)] : [])];
}

function unsureOf(state, labels, weak, width) {
  const node = make("div"), grid = make("div", null, { className: "cards wide labels" });
  const parts = weak.filter((one) => one.of === "part");
  if (parts.length) put(node, partTable(state, parts));
  for (const [label, own] of byLabel(labels, weak.filter((one) => one.of !== "part"))) {
    for (const one of own) put(grid, block(state, label, one, width));
  }
  if (grid.childNodes.length) put(node, grid);
  return folded("Not sure, or weak (" + weak.length + ")", node);
}

/** Labels that can go with nothing. */
function silentTold(labels) {
  const names = labels.filter((label) => !label.is_telling).map((label) => "“" + label.name + "”");
  if (!names.length) return [];
  const last = names.length > 1 ? "them." : "it.";
  return [hint("The values of " + listed(names) + " do not come again, or are all the same, so that nothing can go with " + last)];
}

/** All about the labels and the reading that is shown; nothing without labels. Pictures are `width` wide. */
export function labelsShown(state, width) {
  const { reading, content } = state, node = make("div", null, { className: "labels-shown" });
  if (!content.labels.length) return node;
  // Parts that are left out of the page have no pictures.
  const shown = reading.associations.filter((one) => one.of !== "part" || one.part >= 0);
  const stated = shown.filter((one) => one.stated), weak = shown.filter((one) => !one.stated);
  put(node, make("h3", "What goes with the labels"));
  put(node, hint("Labels were not used in the fit. p-values allow for the number of all associations that were looked at."));
  if (stated.length) {
    const list = make("ul", null, { className: "stated" });
    for (const one of stated.filter((each) => each.sentence).slice(0, MOST_PICTURES)) {
      put(list, make("li", capital(spoken(state, one.sentence)) + "."));
    }
    put(node, list);
  } else put(node, make("p", "No label clearly goes with this reading."));
  for (const [label, own] of byLabel(content.labels, stated)) put(node, ...statedOf(state, label, own, width));
  if (weak.length) put(node, unsureOf(state, content.labels, weak, width));
  if (reading.n_associations > reading.associations.length) {
    const counts = reading.associations.length + " strongest of " + reading.n_associations;
    put(node, hint("The " + counts + " are here; the table “labels” beside this file has all."));
  }
  return put(node, ...silentTold(content.labels));
}
