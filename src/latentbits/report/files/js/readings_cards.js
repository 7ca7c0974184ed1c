// A card for every part of the reading that is shown: its name, how much of it there is, and its columns.

import { bars } from "./charts.js";
import { empty, folded, make, put } from "./dom.js";
import { nameable } from "./names.js";
import { overlapsOf } from "./overlaps.js";
import {
  barEnd, changingColumns, contrastColumns, loadedColumns, nearestPart, rankedColumns, rarerColumns,
} from "./readings_columns.js";
import { amountTold, endsTold, specialTold } from "./readings_words.js";
import { chanceAlong, histogramPicture, scaleMedians, scalePicture, scoresOf } from "./scales_drawn.js";
import { shareTold, signedTold } from "./told.js";
import { listed, percent, shorter } from "./words.js";

// Columns on a card, more at a time, columns that are rarer there, and columns of a contrast.
const CARD_COLUMNS = 12, MORE_COLUMNS = 24, RARER_COLUMNS = 4, CONTRASTS = 3;
// Of the first columns so many are sure to be shown, the others where they are no fainter than this share of the strongest.
const LEAST_COLUMNS = 3, FAINTEST = 0.1;
// Columns of each direction whose curves are drawn, rows that are named at the ends of a scale, and rank correlation with
// the row total from which a scale is the total.
const CURVES = 3, END_ROWS = 4, ROW_TOTAL = 0.9;

function columnFeatures(content, reading, k, columns) {
  return columns.map((j) => [content.columns[j], reading.profile(k, j), content.marginals[j]]);
}

/** Bars of some columns of part k, whose names open the columns. */
function columnBars(state, k, columns, kind, end) {
  const features = columnFeatures(state.content, state.reading, k, columns);
  return bars(features, kind, { end, open: (i) => state.openColumn(columns[i]) });
}

/** Of the first columns on a card those that the part has at all: faint ones come when more are asked for. */
function worthShowing(reading, k, columns, isMore) {
  if (isMore) return columns;
  const size = (j) => Math.abs(reading.profile(k, j)), most = Math.max(...columns.map(size));
  return columns.filter((j, place) => place < LEAST_COLUMNS || size(j) >= FAINTEST * most);
}

/** Columns of a card, as many as were asked for; `ranked` gives them in order, `kind` is that of the bars. */
function columnList(state, k, ranked, kind, view) {
  const node = make("div"), n = state.content.nColumns;
  let extra = 0;
  const show = () => {
    const columns = worthShowing(state.reading, k, ranked().slice(0, CARD_COLUMNS + extra), extra > 0);
    // Along a scale from its high end to its low one.
    if (kind === "loading") columns.sort((a, b) => state.reading.profile(k, b) - state.reading.profile(k, a));
    put(empty(node), columnBars(state, k, columns, kind, view.end));
    const isAll = columns.length >= n;
    if (isAll && extra === 0) return;
    const more = make("button", isAll ? "Show fewer" : "Show more", { type: "button", className: "more" });
    more.addEventListener("click", () => {
      extra = isAll ? 0 : extra + MORE_COLUMNS;
      show();
      node.querySelector("button.more").focus();
    });
    put(node, more);
    call();
  };
  const call = () => {
    const more = node.querySelector("button.more");
    if (more) more.setAttribute("aria-label", more.textContent + " columns of " + state.nameOf(k));
  };
  view.redraws.push(show);
  show();
  view.follow(call);
  return node;
}

/** Where the bars of the shown columns end, on all cards alike. */
function endOf(content, reading, lambda) {
  const values = [];
  for (let k = 0; k < reading.nParts; k++) {
    for (const j of rankedColumns(content, reading, k, lambda).slice(0, CARD_COLUMNS)) {
      values.push(reading.profile(k, j), content.marginals[j]);
    }
  }
  return barEnd(values);
}

/** Brings the cards to the place of the slider. */
export function rerank(state, view) {
  view.end = endOf(state.content, state.reading, view.lambda);
  for (const redraw of view.redraws) redraw();
}

/** Which class is closest, and what sets the two apart. */
function contrast(state, k, view) {
  const { content, reading } = state, other = nearestPart(reading, k), line = make("p", null, { className: "edge" });
  if (other < 0) return [];
  const columns = contrastColumns(content, reading, k, other, CONTRASTS);
  const chance = (part, j) => percent(reading.profile(part, j));
  const told = columns.map((j) => content.columns[j] + " (" + chance(k, j) + " here, " + chance(other, j) + " there)");
  const apart = told.length ? "apart by " + listed(told) : "hardly a column sets them apart";
  view.follow(() => { line.textContent = "Closest is " + state.nameOf(other) + "; " + apart + "."; });
  return [line];
}

function rarer(state, k, view) {
  const columns = rarerColumns(state.content, state.reading, k, RARER_COLUMNS);
  if (!columns.length) return [];
  return [make("h5", "Less often than elsewhere"), columnBars(state, k, columns, "probability", view.end)];
}

function edgesOf(part) {
  if (!part.edges.length) return [];
  const text = ([above, name, one, zero]) =>
    name + " is 1 in " + percent(one) + " of its rows with " + above + ", in " + percent(zero) + " of those without";
  return [make("h5", "Strongest pairs here"), ...part.edges.map((edge) => make("p", text(edge), { className: "edge" }))];
}

/** With which other causes one is on. */
function company(state, k, view) {
  const own = view.overlaps.filter((pair) => pair.a === k || pair.b === k).slice(0, 2);
  if (!own.length) return [];
  const line = make("p", null, { className: "edge" });
  const told = ({ a, b, together, expected, z }) => (z > 0 ? "more" : "less") + " often with " +
    state.nameOf(a === k ? b : a) + " (in " + shareTold(together) + " of the rows; by chance " + shareTold(expected) + ")";
  view.follow(() => { line.textContent = "On " + listed(own.map(told)) + "."; });
  return [line];
}

/** How much of a share rows have. */
function spreadOf(state, k) {
  const values = scoresOf(state.content, state.reading, k), label = "How much of " + state.nameOf(k) + " the rows have";
  const svg = histogramPicture(values, 0, 1, "share in a row", label, 300);
  return folded("How much of it the rows have", put(make("div", null, { className: "figure" }), svg));
}

function emptyCard(state, k, view) {
  const card = make("article", null, { className: "card part", id: "part-" + k, tabindex: "-1" });
  return put(card, nameable(state, k, view.follow));
}

function partCard(state, k, view) {
  const { content, reading } = state, part = reading.parts[k], card = emptyCard(state, k, view);
  const amount = amountTold(reading, k), special = specialTold(part);
  if (amount) put(card, make("p", amount, { className: "amount" }));
  if (special) put(card, make("p", special, { className: "special" }));
  put(card, columnList(state, k, () => rankedColumns(content, reading, k, view.lambda), "probability", view));
  if (reading.kind === "classes" || reading.kind === "map") put(card, ...rarer(state, k, view), ...contrast(state, k, view));
  if (reading.kind === "causes") put(card, ...company(state, k, view));
  if (reading.kind === "shares") put(card, spreadOf(state, k));
  return put(card, ...edgesOf(part), detailsButton(state, k, view));
}

/** Opens all there is about a part, in the drawer. */
function detailsButton(state, k, view) {
  const button = make("button", "Rows and details", { type: "button", className: "more details" });
  view.follow(() => button.setAttribute("aria-label", "Rows and details of " + state.nameOf(k)));
  button.addEventListener("click", () => state.openPart(k));
  return button;
}

/** The ends of a scale over its bars, each on its side. */
function endsLine(part) {
  const [low, high] = endsTold(part), line = make("div", null, { className: "ends" });
  const side = (text) => make("span", text), none = "none in particular";
  return put(line, side("← low: " + (low || none)), side("high: " + (high || none) + " →"));
}

/** Rows at the ends of a scale, which open when they are chosen. */
function endRows(state, k) {
  const { content, reading } = state, scores = scoresOf(content, reading, k);
  const order = scores.map((_, i) => i).sort((a, b) => scores[a] - scores[b] || a - b), node = make("div");
  const side = (text, rows) => {
    const line = make("p", text, { className: "edge" });
    for (const i of rows) {
      const button = make("button", shorter(content.rowName(i), 30), { type: "button", className: "link" });
      button.addEventListener("click", () => state.openRow(i));
      put(line, button);
    }
    put(node, line);
  };
  if (order.length >= 2 * END_ROWS) {
    side("Lowest rows: ", order.slice(0, END_ROWS));
    side("Highest rows: ", order.slice(-END_ROWS).reverse());
  }
  return node;
}

function reliabilityTold(reliability) {
  return "Reliability " + reliability.toFixed(2) + ": this share of the spread of the scores is sure, the rest is doubt.";
}

/** Of a scale that orders rows by how many ones they have; empty for others. */
function totalTold(total) {
  if (!(Math.abs(total) >= ROW_TOTAL)) return "";
  const way = total > 0 ? "high" : "low";
  return "This is the row total (ρ = " + signedTold(total) + "): rows at its " + way + " end have more ones of every kind.";
}

function scaleCard(state, k, view) {
  const { content, reading } = state, part = reading.parts[k], card = emptyCard(state, k, view);
  const total = reading.totals ? totalTold(reading.totals[k]) : "";
  if (total) put(card, make("p", total, { className: "special" }));
  const columns = loadedColumns(content, reading, k), figure = make("div", null, { className: "figure" });
  const others = scaleMedians(content, reading), [low, , high] = reading.ranges[k];
  const chance = (j, score) => chanceAlong(reading, k, j, score, others);
  const curved = changingColumns(content, (j) => chance(j, high) - chance(j, low), CURVES);
  put(card, endsLine(part), columnList(state, k, () => columns, "loading", view));
  put(figure, ...scalePicture(content, reading, k, curved, state.nameOf(k), view.width));
  put(card, make("h5", "Probability of a one along the scale"), figure, endRows(state, k));
  if (reading.reliability) put(card, make("p", reliabilityTold(reading.reliability[k]), { className: "measure" }));
  return put(card, detailsButton(state, k, view));
}

/** The cards of all parts; `view` has the place of the slider, and collects what is to be drawn anew. */
export function cardsOf(state, view) {
  const { content, reading } = state, isScale = reading.kind === "scales";
  view.overlaps = reading.kind === "causes" && reading.structure !== "switches" ? overlapsOf(content, reading) : [];
  view.end = isScale ? 1 : endOf(content, reading, view.lambda);
  const shape = isScale ? " wide" : [2, 4].includes(reading.nParts) ? " even" : "";
  const node = make("div", null, { className: "cards parts" + shape });
  for (let k = 0; k < reading.nParts; k++) put(node, (isScale ? scaleCard : partCard)(state, k, view));
  return node;
}

/** A switch of the screen between frequent and typical columns. */
export function relevanceSlider(state, view) {
  const node = make("div", null, { className: "controls relevance" });
  const label = make("label", "Columns on the cards: ", { for: "relevance" });
  const slider = make("input", null, { type: "range", id: "relevance", min: "0", max: "1", step: "0.05" });
  const told = make("output", null, { for: "relevance", "aria-live": "polite" });
  slider.value = String(1 - view.lambda);
  const tell = () => {
    const { lambda } = view;
    const words = lambda >= 0.75 ? "frequent ones first" : lambda <= 0.25 ? "typical ones first" : "frequent and typical";
    const end = view.end < 1 ? "; bars end at " + percent(view.end) : "";
    told.textContent = words + " (λ = " + view.lambda.toFixed(2) + ")" + end;
    slider.setAttribute("aria-valuetext", words + ", λ " + view.lambda.toFixed(2));
  };
  slider.addEventListener("input", () => {
    view.lambda = Number((1 - Number(slider.value)).toFixed(2));
    rerank(state, view);
    tell();
  });
  tell();
  return put(node, label, make("span", "frequent"), slider, make("span", "typical"), told);
}
