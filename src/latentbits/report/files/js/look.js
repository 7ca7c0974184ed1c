// Cells worth a look, by what is odd about them, and what the blanks would be.

import { tenthsPlot } from "./check_plots.js";
import { at, empty, folded, hint, make, put, scrolled } from "./dom.js";
import { table } from "./tables.js";
import { linkButton } from "./try_answer.js";
import { counted, percent, whole } from "./words.js";

// Cells of a kind that are shown at first.
const FIRST_CELLS = 20;
const KINDS_OF_CELLS = [
  ["probably missing", "Zeros that are probably ones that were lost"], ["surprising one", "Surprising ones"],
  ["surprising zero", "Surprising zeros"],
];

/** What the column of reasons is called, and what is said of a cell: by the kind of the leading reading. Scales argue. */
export function reasonOf(kind, cell, name) {
  const share = percent(cell.cause_share);
  if (cell.cause === null || cell.cause === undefined) return "";
  if (kind === "scales") return `${name} argues ${cell.argues || "for"} it`;
  if (kind === "tree") return "";
  if (kind === "classes" || kind === "map") return name;
  if (cell.kind === "probably missing") return `${name} would have made it a one`;
  if (kind === "causes") return (cell.value ? "switched on by " : "would be switched on by ") + name;
  return `comes from ${name} (${share})`;
}

const REASON_HEADS = {
  classes: ["looks like", "how sure"], map: ["lies at", "how sure"], shares: ["reason", "share of the cell"],
  causes: ["reason", "share of the cell"], scales: ["reason", "share of all arguments"], tree: ["", ""],
};

const PLACE_HEADS = [{ text: "row" }, { text: "column" }, { text: "probability of a one", n: 1, key: "probability" }];
const LOST_HEAD = { text: "chance that it was lost", n: 1 };

/** Where rows of the page are, by their names. */
function placesOfRows(content) {
  const places = new Map();
  for (let i = content.nRows - 1; i >= 0; i--) places.set(content.rowName(i), i);
  return places;
}

function opened(name, place, open) {
  return place === undefined || place < 0 ? make("span", name) : linkButton(name, () => open(place));
}

/** Row and column of a cell, as buttons where the page has them. */
function cellPlaces(state, places, cell) {
  return [
    opened(cell.row, places.get(cell.row), (i) => state.openRow(i)),
    opened(cell.column, state.content.columns.indexOf(cell.column), (j) => state.openColumn(j)),
  ];
}

function oddTable(state, places, kind, cells, title) {
  const [lead] = state.content.readings, named = (name) => {
    const k = lead.parts.findIndex((part) => part.name === name);
    return k < 0 ? name : state.nameOf(k, 0);
  };
  const [why, share] = REASON_HEADS[lead.kind];
  // What else there is to say, where there is: a head, and of a cell what stands below it and what that is sorted by.
  const more = [
    ...(why ? [[{ text: why }, (c) => reasonOf(lead.kind, c, named(c.cause))]] : []),
    ...(why ? [[{ text: share, n: 1 }, (c) => percent(c.cause_share), (c) => c.cause_share ?? NaN]] : []),
    ...(cells.some((c) => c.missing !== null) ? [[LOST_HEAD, (c) => percent(c.missing), (c) => c.missing ?? NaN]] : []),
    ...(cells.some((c) => c.partner) ? [[{ text: "column that argues most for it" }, (c) => c.partner || ""]] : []),
  ];
  const heads = [...PLACE_HEADS, ...more.map(([head]) => head)];
  const rows = cells.map((c) => ({
    cells: [...cellPlaces(state, places, c), percent(c.probability), ...more.map(([, text]) => text(c))],
    keys: [undefined, undefined, c.probability, ...more.map(([, , key]) => (key ? key(c) : undefined))],
  }));
  return scrolled(table(make("table", null, { "data-kind": kind }), heads, rows, { name: title, first: FIRST_CELLS }));
}

function odd(state) {
  const cells = state.content.look, places = placesOfRows(state.content), node = empty(at("look"));
  if (!cells.length) { put(node, make("p", "No cell stands out.")); return; }
  const by = "What a row's other cells make improbable, by " + state.content.readings[0].title;
  put(node, hint(by + ". A click on a row or a column shows all about it."));
  let isFirst = true;
  for (const [kind, words] of KINDS_OF_CELLS) {
    const mine = cells.filter((c) => c.kind === kind);
    if (!mine.length) continue;
    const fold = folded(words + " (" + mine.length + ")", oddTable(state, places, kind, mine, words));
    fold.open = isFirst;
    isFirst = false;
    put(node, fold);
  }
}

/** In how many blanks a one is improbable, open, and probable, in words. */
export function blankWords(b) {
  const edges = b.edges || b.counts.map((_, i) => (i + 1) / b.counts.length), at90 = edges.map((e) => e > 0.9 + 1e-9);
  if (b.edges) return "";
  const low = b.counts[0], high = b.counts.filter((_, i) => at90[i]).reduce((sum, c) => sum + c, 0), open = b.n - low - high;
  return `${whole(low)} are below 10%, ${whole(high)} above 90%, and ${whole(open)} between.`;
}

function blanks(state) {
  const b = state.content.blanks, node = empty(at("blanks"));
  put(node, make("h3", b.n ? counted(b.n, "blank") + ", and what they would be" : "Blanks"));
  if (!b.n) { put(node, make("p", "The table has no blanks.")); return; }
  const { svg, root } = tenthsPlot(b.counts, b.edges), figure = make("div", null, { className: "figure", id: "blanks-plot" });
  const heights = root ? " Heights of bars are square roots, so that small counts are seen." : "";
  const words = "Probability of a one in every blank: " + blankWords(b) + heights;
  put(node, hint(words), put(figure, svg), hint("Filled by " + b.by + "."));
  const places = placesOfRows(state.content), listing = make("div");
  const lines = b.listed.map((c) => ({
    cells: [...cellPlaces(state, places, c), percent(c.probability)], keys: [undefined, undefined, c.probability],
  }));
  if (b.n > b.listed.length) put(listing, hint("All of them are in the table “blanks” beside this file."));
  put(listing, scrolled(table(make("table"), PLACE_HEADS, lines, { name: "surest blanks", first: FIRST_CELLS })));
  put(node, folded("The surest " + b.listed.length, listing));
}

export function look(state) {
  let shown = null;
  // Written again when a part of the leading reading gets another name.
  const follow = () => {
    const names = state.content.readings[0].parts.map((_, k) => state.nameOf(k, 0)).join("\n");
    if (names === shown) return;
    shown = names;
    odd(state);
  };
  state.listen(follow);
  follow();
  blanks(state);
}
