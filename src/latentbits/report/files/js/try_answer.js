// What the model says of a typed row: how much of every part is in it, what its blanks would be, and what is odd about it.

import { empty, hint, make, put } from "./dom.js";
import { reasonLines } from "./reasons.js";
import { shortNumber } from "./ticks.js";
import { nearestPlaces, smallMap } from "./try_cells.js";
import { counted, listed, percent } from "./words.js";

const MOST_PARTS_SHOWN = 12, MOST_FILLS = 12, MOST_ODD = 8, NEIGHBOURS = 10;

const ANSWER_TITLES = {
  classes: (r) => "Which " + r.noun + " it belongs to", shares: (r) => "How much of every " + r.noun + " is in it",
  causes: (r) => "Which " + r.nouns + " are on", scales: () => "Where it lies", map: () => "Where it lies on the map",
  tree: () => "",
};

/** Parts of the page with their amounts in an answer, as {k, number (in the model), value}; nothing of maps and trees. */
export function amountsOf(reading, parts) {
  if (reading.kind === "map" || reading.kind === "tree") return [];
  return reading.kept.map((number, k) => ({ k, number, value: parts[number] }));
}

/** Those worth a line: of many the largest, in the order of parts. */
export function amountsShown(amounts, most = MOST_PARTS_SHOWN) {
  if (amounts.length <= most) return amounts;
  return [...amounts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, most).sort((a, b) => a.k - b.k);
}

/** The share of the page's rows that have less of part k. */
export function rankOf(content, reading, k, value) {
  let below = 0;
  for (let i = 0; i < content.nRows; i++) below += reading.value(i, k) < value;
  return content.nRows ? below / content.nRows : 0;
}

/** Blank cells as {j, chance, marginal}: the likeliest first, or those that the row changes most. */
export function fillsOf(content, cells, filled, order) {
  const found = [];
  content.column_numbers.forEach((place, j) => {
    if (cells[j] === -1) found.push({ j, chance: filled[place], marginal: content.marginals[j] });
  });
  const odds = (p) => Math.log(Math.max(p, 1e-6) / Math.max(1 - p, 1e-6));
  const rank = order === "likely" ? (one) => one.chance : (one) => Math.abs(odds(one.chance) - odds(one.marginal));
  return found.sort((a, b) => rank(b) - rank(a) || a.j - b.j);
}

/** How high a place on a scale is among the rows of the page. */
export function rankWords(share) {
  if (share > 0.995) return "above nearly all rows";
  return share < 0.005 ? "below nearly all rows" : "above " + Math.round(100 * share) + "% of the rows";
}

function scaleBar(reading, k, value) {
  const [low, , high] = reading.ranges ? reading.ranges[k] : [-2, 0, 2];
  const most = 1.1 * Math.max(...[low, high, value, 1e-6].map(Math.abs)), to = (v) => 50 + 50 * v / most;
  const bar = make("div", null, { className: "bar signed" }), fill = make("i"), band = make("u");
  band.style.left = to(low) + "%";
  band.style.width = to(high) - to(low) + "%";
  fill.style.left = Math.min(50, to(value)) + "%";
  fill.style.width = Math.abs(to(value) - 50) + "%";
  return put(bar, band, fill, make("s"));
}

function shareBar(value) {
  const bar = make("div", null, { className: "bar" }), fill = make("i");
  fill.style.width = 100 * value + "%";
  return put(bar, fill);
}

/** A part: its name and what tells it apart, a bar, and the number. */
function partLine(state, { k, number, value }) {
  const { content, reading } = state, part = reading.parts[k], isScale = reading.kind === "scales";
  const line = make("div", null, { className: "try-part", "data-part": number, "data-value": String(value) });
  const bar = isScale ? scaleBar(reading, k, value) : shareBar(value), text = isScale ? shortNumber(value) : percent(value);
  const name = make("div", state.nameOf(k), { className: "part-name" });
  put(line, name, bar, make("div", text || "0", { className: "num" }));
  if (!isScale) return put(line, make("div", part.told, { className: "part-told", title: part.told }));
  put(name, make("span", " " + rankWords(rankOf(content, reading, k, value))));
  const low = make("span", "low: " + listed(part.less.slice(0, 3))), high = make("span", "high: " + listed(part.more.slice(0, 3)));
  return put(line, put(make("div", null, { className: "ends" }), low, high));
}

/** The place on the map, and the rows around it. */
function mapAnswer(state, place) {
  const { content, reading } = state, out = [];
  const isShown = content.map && content.readings[content.map.reading] === reading;
  const line = make("p", "Place: " + place.map((v) => shortNumber(v, 3) || "0").join(", "), { className: "try-place" });
  place.forEach((v, i) => line.setAttribute("data-axis" + i, String(v)));
  out.push(line);
  if (!isShown) return out;
  const near = nearestPlaces(content.map, content.nRows, place, NEIGHBOURS), counts = new Map();
  for (const i of near) counts.set(reading.main(i), (counts.get(reading.main(i)) || 0) + 1);
  const [top, n] = [...counts].sort((a, b) => b[1] - a[1])[0];
  out.push(smallMap(content.map, content.nRows, place));
  if (top >= 0) out.push(make("p", `${n} of the ${near.length} rows nearest to it are in ${state.nameOf(top)}.`));
  const rows = put(make("p", "Nearest rows: ", { className: "long" }));
  near.slice(0, 5).forEach((i) => put(rows, linkButton(content.rowName(i), () => state.openRow(i))));
  return [...out, rows];
}

export function linkButton(text, open) {
  const button = make("button", text, { type: "button", className: "open-link" });
  button.addEventListener("click", open);
  return button;
}

/** How much of every part is in the row. */
export function showParts(node, state, answer) {
  const { reading } = state, all = amountsOf(reading, answer.parts), shown = amountsShown(all);
  put(empty(node), make("h3", ANSWER_TITLES[reading.kind](reading)));
  if (answer.place && reading.kind === "map") put(node, ...mapAnswer(state, Array.from(answer.place)));
  else if (reading.kind === "tree") put(node, hint("In this model columns answer for each other: see what the blanks would be."));
  for (const one of shown) put(node, partLine(state, one));
  if (shown.length < all.length) put(node, hint("The largest " + shown.length + " of " + all.length + "."));
}

/** What the blanks would be: the first of them, as bars with a tick at the share of ones overall. */
export function showFills(node, state, cells, filled, order) {
  const { content } = state, all = fillsOf(content, cells, filled, order), grid = make("div", null, { className: "bars" });
  for (const { j, chance, marginal } of all.slice(0, MOST_FILLS)) {
    const bar = shareBar(chance), tick = make("b", null, { title: "share of ones overall: " + percent(marginal) });
    tick.style.left = 100 * marginal + "%";
    const name = make("div", null, { className: "name", title: content.columns[j] });
    const number = make("div", percent(chance), { className: "num", "data-fill": j, "data-value": String(chance) });
    put(grid, put(name, linkButton(content.columns[j], () => state.openColumn(j))), put(bar, tick), number);
  }
  const shown = all.length > MOST_FILLS ? "The first " + MOST_FILLS + " of " + all.length + " blank columns. " : "";
  put(empty(node), grid, hint(all.length ? shown + "The tick is the share of ones overall." : "No cell is blank."));
}

const byShare = (a, b) => b.share - a.share;

/** A typed cell, for the words of reasons; `said` is what the model says of it. */
function typedCell(state, parts, j, cell, said) {
  const { reading } = state, asShares = reading.kind === "map" ? [] : reading.kept;
  const top = asShares.map((number, part) => ({ part, name: state.nameOf(part), share: said.shares[number] }));
  const lost = said.missing === undefined || Number.isNaN(said.missing) ? null : said.missing;
  return {
    isBlank: false, isOne: cell === 1, kind: reading.kind, noun: reading.noun, offset: reading.offsetOf(j),
    why: { probability: said.probability, top: top.sort(byShare), leak: said.leak ?? null, missing: lost, partner: "" },
    parts: reading.parts.map((part, k) => ({
      name: state.nameOf(k), kind: part.kind, profile: reading.profile(k, j), isMain: false,
      value: reading.kind === "map" ? 0 : parts[reading.kept[k]],
    })),
  };
}

/** The cells that the rest of the row makes least probable; `said` is what the model says of every known cell, by column. */
export function oddCells(cells, said, most = MOST_ODD) {
  const found = [];
  cells.forEach((cell, j) => {
    if (cell === -1 || !said[j]) return;
    const own = cell === 1 ? said[j].probability : 1 - said[j].probability;
    if (own < 0.1) found.push({ j, cell, own });
  });
  return found.sort((a, b) => a.own - b.own).slice(0, most);
}

export function showOdd(node, state, cells, parts, said) {
  const found = oddCells(cells, said);
  const nKnown = cells.filter((cell) => cell !== -1).length, nAsked = said.filter(Boolean).length;
  put(empty(node), make("h3", "What is surprising"));
  if (nAsked < nKnown) put(node, hint(`Of ${nKnown} known cells the ${nAsked} that the row expects least were looked at.`));
  if (!found.length) {
    put(node, hint(nKnown ? "No cell: each is at least a tenth probable by the rest of the row." : "Set some cells first."));
    return;
  }
  const list = make("ul", null, { className: "try-odd" });
  for (const { j, cell } of found) {
    const lines = reasonLines(typedCell(state, parts, j, cell, said[j]));
    const item = make("li", null, { "data-odd": j, "data-value": String(said[j].probability) });
    put(list, put(item, linkButton(state.content.columns[j], () => state.openColumn(j)), make("span", lines.join(" "))));
  }
  put(node, list);
}

/** The answer in one sentence, for those who listen. */
export function answerWords(state, answer, cells, nOdd) {
  if (!cells.some((cell) => cell !== -1)) return "Nothing is set yet: this is what the model expects of any row.";
  const { reading } = state, all = amountsOf(reading, answer.parts);
  const odd = nOdd ? " " + counted(nOdd, "surprising cell") + "." : "";
  const place = Array.from(answer.place || [], (v) => shortNumber(v, 2));
  if (!all.length) return (reading.kind === "map" ? "Its place on the map is " + place.join(", ") + "." : "") + odd;
  const named = (one) => state.nameOf(one.k) + " (" + percent(one.value) + ")";
  const sorted = [...all].sort((a, b) => b.value - a.value);
  if (reading.kind === "classes") return "Most likely in " + named(sorted[0]) + "." + odd;
  const large = sorted.filter((one, i) => i === 0 || one.value >= 0.2).slice(0, 3);
  if (reading.kind === "shares") return "Mostly " + listed(large.map(named)) + "." + odd;
  if (reading.kind === "causes") {
    const on = sorted.filter((one) => one.value >= 0.5);
    return (on.length ? "Probably on: " + listed(on.map(named), 4) : "Probably no " + reading.noun + " is on") + "." + odd;
  }
  const rank = (one) => state.nameOf(one.k) + " " + rankWords(rankOf(state.content, reading, one.k, one.value));
  return "On " + listed(amountsShown(all, 3).map(rank)) + "." + odd;
}
