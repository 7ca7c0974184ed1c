// Tables and pictures of labels beside parts: counts with residuals, strips of quantiles, scatters, pairs of histograms.

import { picture } from "./charts.js";
import { draw, make, put, scrolled } from "./dom.js";
import { histogramPicture, spanOfNumbers } from "./scales_drawn.js";
import { niceTicks, shortNumber } from "./ticks.js";
import { shareTold } from "./told.js";
import { counted, shorter, whole } from "./words.js";

// Adjusted residuals from which a cell is coloured, and coloured more.
const CLEAR_RESIDUAL = 2, STRONG_RESIDUAL = 5;

/** How a cell of a table of counts is coloured, by its adjusted residual. */
export function residualClass(residual) {
  if (residual === null || !(Math.abs(residual) >= CLEAR_RESIDUAL)) return "";
  return (residual > 0 ? "more" : "fewer") + (Math.abs(residual) >= STRONG_RESIDUAL ? " strong" : "");
}

/** Rows of {name, counts, residuals}, from lists in the model's order; `kept` has the places of the parts that are shown. */
export function crossRows(details, kept, names) {
  return kept.map((place, k) => ({ name: names[k], counts: details.counts[place], residuals: details.residuals[place] }));
}

/** A count; with `choose` it selects the rows that it counts. */
function countCell(count, total, residual, choose = null, words = "") {
  const cell = make("td", null, { className: ("n " + residualClass(residual)).trim() });
  const number = make("span", choose === null || count === 0 ? whole(count) : null);
  if (choose !== null && count > 0) {
    const button = make("button", whole(count), { type: "button", className: "link", title: "Select these rows", "aria-label": words });
    button.addEventListener("click", choose);
    put(number, button);
  }
  put(cell, number, make("span", total ? shareTold(count / total) : "", { className: "share" }));
  const text = residual === null ? "" : (residual > 0 ? "+" : residual < 0 ? "−" : "") + Math.abs(residual).toFixed(1);
  return put(cell, make("small", text));
}

/** Parts by words: counts, shares of the part, and residuals; `choose(k, w)` selects the rows of a part with a word. */
export function crossTable(details, kept, names, words, noun, label, choose) {
  const node = make("table", null, { className: "cross", "aria-label": label }), head = put(make("tr"), make("th", noun, { scope: "col" }));
  for (const word of words) put(head, make("th", shorter(word, 32), { className: "n", scope: "col", title: word }));
  const body = make("tbody"), sum = (counts) => counts.reduce((a, b) => a + b, 0);
  crossRows(details, kept, names).forEach((row, k) => {
    const line = put(make("tr"), make("th", row.name, { scope: "row" })), total = sum(row.counts);
    row.counts.forEach((count, w) => {
      const told = "Select the rows of " + row.name + " with " + words[w] + ": " + whole(count);
      put(line, countCell(count, total, row.residuals[w], () => choose(k, w), told));
    });
    put(body, line);
  });
  const all = words.map((_, w) => sum(details.counts.map((counts) => counts[w])));
  const last = put(make("tr"), make("th", "all rows", { scope: "row" }));
  for (const count of all) put(last, countCell(count, sum(all), null));
  return scrolled(put(node, put(make("thead"), head), put(body, last)));
}

/** [q05, q25, q50, q75, q95, n] of some numbers, null of none. */
export function quantilesOf(values) {
  const sorted = [...values].sort((a, b) => a - b), last = sorted.length - 1;
  if (last < 0) return null;
  const quantile = (q) => {
    const place = q * last, low = Math.floor(place);
    return sorted[low] + (place - low) * (sorted[Math.ceil(place)] - sorted[low]);
  };
  return [0.05, 0.25, 0.5, 0.75, 0.95].map(quantile).concat(sorted.length);
}

/** Where quantiles lie between the ends of an axis, in per cent. */
export function stripPlaces(quantiles, low, high) {
  return quantiles.slice(0, 5).map((q) => 100 * (q - low) / Math.max(1e-12, high - low));
}

function strip(places, title) {
  const node = make("div", null, { className: "strip", title }), [q05, q25, q50, q75, q95] = places;
  const piece = (className, from, to) => {
    const one = make("i", null, { className });
    one.style.left = from.toFixed(2) + "%";
    if (to !== undefined) one.style.width = (to - from).toFixed(2) + "%";
    put(node, one);
  };
  piece("line", q05, q95);
  piece("box", q25, q75);
  piece("middle", q50);
  return node;
}

function stripTitle(quantiles, told) {
  const [q05, q25, q50, q75, q95] = quantiles.map(told);
  return "median " + q50 + ", half of the rows " + q25 + " to " + q75 + ", nine of ten " + q05 + " to " + q95;
}

/** Strips of {name, quantiles: [q05, q25, q50, q75, q95, n] or null}, one for every group, over one axis; `told` writes
 * their numbers. */
export function strips(groups, what, told = (q) => shortNumber(q, 4)) {
  const ends = groups.flatMap(({ quantiles }) => (quantiles === null ? [] : [quantiles[0], quantiles[4]]));
  const [first, last] = spanOfNumbers(ends), room = 0.04 * (last - first), low = first - room, high = last + room;
  const grid = make("div", null, { className: "strips" });
  for (const { name, quantiles } of groups) {
    put(grid, make("div", name, { className: "name", title: name }));
    if (quantiles === null) put(grid, make("div", "none", { className: "measure" }), make("div"));
    else put(grid, strip(stripPlaces(quantiles, low, high), stripTitle(quantiles, told)));
    if (quantiles !== null) put(grid, make("div", told(quantiles[2]), { className: "num" }));
  }
  const axis = make("div", null, { className: "axis" });
  for (const { value, text } of niceTicks(low, high, 4)) {
    const tick = make("span", text);
    tick.style.left = (100 * (value - low) / (high - low)).toFixed(2) + "%";
    put(axis, tick);
  }
  return put(grid, make("div", shorter(what, 40), { className: "name measure", title: what }), axis, make("div", "median", { className: "num measure" }));
}

const TALL_OF_SCATTER = 230, SCATTER_PAD = { left: 58, right: 12, top: 10, foot: 42 };

/** Points [x, y] in a frame with round ticks; all dots are one path, so that thousands cost little. */
export function scatterPicture(points, right, up, label, width) {
  const shown = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
  const [x0, x1] = spanOfNumbers(shown.map((p) => p[0])), [y0, y1] = spanOfNumbers(shown.map((p) => p[1]));
  const x = (v) => SCATTER_PAD.left + (width - SCATTER_PAD.left - SCATTER_PAD.right) * (v - x0) / (x1 - x0);
  const foot = TALL_OF_SCATTER - SCATTER_PAD.foot, y = (v) => foot - (foot - SCATTER_PAD.top) * (v - y0) / (y1 - y0);
  const svg = picture(width, TALL_OF_SCATTER, width, label), across = { x1: SCATTER_PAD.left, x2: width - SCATTER_PAD.right };
  for (const { value, text } of niceTicks(y0, y1, 5)) {
    put(svg, draw("line", { ...across, y1: y(value), y2: y(value), stroke: "var(--line)" }));
    put(svg, draw("text", { x: SCATTER_PAD.left - 6, y: y(value) + 4, "text-anchor": "end", class: "dim" }, text));
  }
  for (const { value, text } of niceTicks(x0, x1, 6)) {
    put(svg, draw("line", { x1: x(value), x2: x(value), y1: foot, y2: foot + 4, stroke: "var(--soft)" }));
    put(svg, draw("text", { x: x(value), y: foot + 17, "text-anchor": "middle", class: "dim" }, text));
  }
  const dots = shown.map(([a, b]) => "M" + x(a).toFixed(1) + " " + y(b).toFixed(1) + "h0").join("");
  const wide = shown.length > 1500 ? 2.5 : 4.5, opacity = 0.65;
  const round = { "stroke-width": wide, "stroke-linecap": "round", fill: "none" };
  put(svg, draw("path", { d: dots, stroke: "var(--accent)", opacity, ...round }));
  const name = { "text-anchor": "middle", class: "dim" }, middle = (SCATTER_PAD.top + foot) / 2;
  put(svg, draw("text", { x: (SCATTER_PAD.left + width) / 2, y: TALL_OF_SCATTER - 6, ...name }, shorter(right, 40)));
  return put(svg, draw("text", { x: 11, y: middle, ...name, transform: `rotate(-90 11 ${middle})` }, shorter(up, 26)));
}

/** A histogram for every {name, values}, over one axis. */
export function histograms(groups, text, width) {
  const [low, high] = spanOfNumbers(groups.flatMap((group) => [...spanOfNumbers(group.values)]));
  return groups.map(({ name, values }) => {
    const title = make("div", name + " · " + counted(values.length, "row"), { className: "told" });
    const svg = histogramPicture(values, low, high, text, "How many rows of " + name + " have how much", width);
    return put(make("div", null, { className: "figure" }), title, svg);
  });
}

/** The way in which a number rises on the map; the picture has up above. */
export function arrowPicture([right, up]) {
  const svg = picture(90, 90, 90, "The way in which it rises on the map"), size = Math.hypot(right, up) || 1;
  const [dx, dy] = [32 * right / size, -32 * up / size], [a, b] = [45 - dx, 45 - dy], [c, d] = [45 + dx, 45 + dy];
  put(svg, draw("rect", { x: 1, y: 1, width: 88, height: 88, fill: "none", stroke: "var(--line)" }));
  put(svg, draw("line", { x1: a, y1: b, x2: c, y2: d, stroke: "var(--accent)", "stroke-width": 4 }));
  const side = (way) => [c - 0.4 * dx - way * 0.25 * dy, d - 0.4 * dy + way * 0.25 * dx];
  const head = [[c, d], side(1), side(-1)].map((p) => p.join(",")).join(" ");
  return put(svg, draw("polygon", { points: head, fill: "var(--accent)" }));
}
