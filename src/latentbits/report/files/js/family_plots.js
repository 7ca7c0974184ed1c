// Pictures of families: how far each is behind the best, and how their losses change with their size.

import { picture, scale } from "./charts.js";
import { draw, make, put, textNode } from "./dom.js";
import { COLOURS } from "./symbols.js";
import { niceTicks, shortNumber, spreadOut } from "./ticks.js";
import { shorter, whole } from "./words.js";

// What a kind is called, and its colour and the dashes of its lines; families without hidden structure have neither.
const KINDS_DRAWN = {
  classes: ["classes", 0, ""], shares: ["shares of causes", 2, "7 3"], causes: ["causes, on or off", 4, "2 3"],
  scales: ["scales", 1, "9 3 2 3"], map: ["map", 3, "4 2"], tree: ["columns in pairs", 7, "1 2"],
};
const PLAIN_COLOUR = "var(--soft)";
// Beyond so many times what the families at the top need, a family is cut off.
const MOST_BEHIND = 2.5;
const LINE_HEIGHT = 26, LETTER = 6.6;

export function kindWords(kind) {
  return KINDS_DRAWN[kind] ? KINDS_DRAWN[kind][0] : "claims no hidden structure";
}

export function kindColour(kind) {
  return KINDS_DRAWN[kind] ? COLOURS[KINDS_DRAWN[kind][1]] : PLAIN_COLOUR;
}

/** Where the picture of families begins and ends, in nats behind the best: families far behind do not press the others
 * together. Rows are {above_best, se, standing}. */
export function lossRange(scored) {
  const end = (r) => r.above_best + 2 * (r.se || 0), low = Math.min(0, ...scored.map((r) => r.above_best - 2 * (r.se || 0)));
  const all = Math.max(...scored.map(end)), close = scored.filter((r) => ["best", "near", "better"].includes(r.standing));
  const second = Math.min(...scored.map((r) => r.above_best).filter((above) => above > 0), all);
  const high = MOST_BEHIND * Math.max(second, ...close.map(end), -low);
  return { low, high: all <= 1.3 * high ? all : high };
}

function lossMark(r, x, y, best) {
  const colour = kindColour(r.kind), thick = r.model === best ? 2.5 : 1;
  const line = { stroke: "currentColor", "stroke-width": r.baseline ? 1.5 : thick };
  return r.baseline
    ? draw("rect", { x: x - 5, y: y - 5, width: 10, height: 10, fill: "var(--paper)", ...line })
    : draw("circle", { cx: x, cy: y, r: r.model === best ? 7 : 6, fill: colour, ...line });
}

/** The name of a family: left of its line, or above it where there is no room. */
function lossName(r, y, frame, best) {
  const bold = r.model === best ? { "font-weight": 600 } : {}, letter = r.model === best ? 1.1 * LETTER : LETTER;
  const place = frame.above ? { x: frame.left, y: y - 9 } : { x: frame.left - 12, y: y + 4, "text-anchor": "end" };
  const room = frame.above ? frame.right - frame.left : frame.left - 12;
  return draw("text", { ...place, ...bold, class: "halo" }, shorter(r.title, Math.floor(room / letter)));
}

/** Too far behind for the picture: an arrow, and how far. */
function lossArrow(r, y, { right, words }) {
  const group = draw("g", {}), line = { fill: "none", stroke: "currentColor", "stroke-width": 1.8 };
  put(group, draw("path", { d: `M${right - 12},${y - 5}L${right - 3},${y}L${right - 12},${y + 5}`, ...line }));
  const told = shortNumber(r.above_best) + (words ? " behind" : "");
  return put(group, draw("text", { x: right - 18, y: y + 4, "text-anchor": "end", class: "halo" }, told));
}

/** A family's line: its name, its whiskers of two standard errors, and its mark, or an arrow if it is too far behind. */
function lossLine(r, x, y, frame, best) {
  const { left, right, low, high } = frame, group = draw("g", {});
  const behind = r.model === best ? "best" : shortNumber(r.above_best) + " ± " + shortNumber(r.se) + " nats behind";
  put(group, draw("title", {}, `${r.title}: ${behind}, ${kindWords(r.kind)}`));
  put(group, draw("line", { x1: left, x2: right, y1: y, y2: y, stroke: "var(--line)" }), lossName(r, y, frame, best));
  if (r.above_best > high) return put(group, lossArrow(r, y, frame));
  const ends = { x1: x(Math.max(low, r.above_best - 2 * r.se)), x2: x(Math.min(high, r.above_best + 2 * r.se)), y1: y, y2: y };
  if (r.se) put(group, draw("line", { ...ends, stroke: "currentColor", "stroke-width": 2 }));
  return put(group, lossMark(r, x(r.above_best), y, best));
}

/** How far families are behind the best, a line each; `scored` are rows with a loss, the best first. */
export function lossPlot(scored, best, width) {
  const above = width < 480, step = above ? 40 : LINE_HEIGHT, top = above ? 34 : 24;
  const foot = top + step * scored.length - (above ? 14 : 0);
  const longest = Math.max(...scored.map((r) => r.title.length)) * LETTER + 26;
  const left = above ? 4 : Math.round(Math.min(longest, 0.5 * width)), right = width - 14, { low, high } = lossRange(scored);
  const x = scale(low, high, left + 10, right - 8), told = "How far every family is behind the best, in nats per hidden cell";
  const svg = picture(width, foot + 44, width, told + "; the table has the numbers");
  for (const tick of niceTicks(low, high, width > 620 ? 6 : 4)) {
    const zero = tick.value === 0, line = { x1: x(tick.value), x2: x(tick.value), y1: 10, y2: foot };
    put(svg, draw("line", { ...line, stroke: zero ? "currentColor" : "var(--line)", "stroke-width": zero ? 1.5 : 1 }));
    put(svg, draw("text", { x: x(tick.value), y: foot + 16, "text-anchor": "middle", class: "dim" }, tick.text));
  }
  const frame = { left, right, low, high, above, words: width > 420 };
  scored.forEach((r, i) => put(svg, lossLine(r, x, top + step * i, frame, best)));
  const middle = { x: (left + right) / 2, y: foot + 36, "text-anchor": "middle" };
  return put(svg, draw("text", middle, "nats behind the best, per hidden cell"));
}

function kindMark(shape, words) {
  return put(make("span"), put(draw("svg", { width: 14, height: 14, "aria-hidden": "true" }), shape), textNode(words));
}

/** Which colour is which kind, of the kinds that there are. */
export function kindLegend(rows) {
  const legend = make("div", null, { className: "legend" }), families = rows.filter((r) => !r.baseline && KINDS_DRAWN[r.kind]);
  for (const kind of new Set(families.map((r) => r.kind))) {
    const circle = draw("circle", { cx: 7, cy: 7, r: 5.5, fill: kindColour(kind), stroke: "currentColor" });
    put(legend, kindMark(circle, kindWords(kind)));
  }
  if (!rows.some((r) => r.baseline)) return legend;
  const square = draw("rect", { x: 2, y: 2, width: 10, height: 10, fill: "none", stroke: "currentColor", "stroke-width": 1.5 });
  return put(legend, kindMark(square, "for comparison: claims no hidden structure"));
}

/** Losses that the picture of sizes shows: the lowest of every family, and somewhat above them. */
export function capacityRange(curves) {
  const lowest = curves.map((c) => Math.min(...c.points.map((p) => p.log_loss)));
  const all = Math.max(...curves.flatMap((c) => c.points.map((p) => p.log_loss)));
  const low = Math.min(...lowest), worst = Math.max(...lowest), high = worst + 0.6 * Math.max(worst - low, 0.02 * low);
  return { low, high: Math.min(all, high), cut: all > high };
}

const wideLabel = (curve) => shorter(curve.title, 40);

/** Places and scales of the picture of sizes. */
function sizesFrame(curves, width) {
  const wide = width > 560, left = 56, top = 12, foot = 44, height = Math.max(320, 60 + 17 * curves.length);
  const room = wide ? Math.min(262, LETTER * Math.max(...curves.map((c) => wideLabel(c).length))) : 16;
  const right = width - 22 - room, logs = curves.flatMap((c) => c.points.map((p) => Math.log2(p.size)));
  const first = Math.floor(Math.min(...logs)), last = Math.max(first + 1, Math.ceil(Math.max(...logs) - 0.2));
  const range = capacityRange(curves), x = scale(first, Math.max(last, ...logs), left + 6, right);
  const y = scale(range.low, range.high, height - foot - 8, top + 6);
  return { wide, left, right, top, foot, height, first, last, x, y, ...range };
}

function sizesAxes(svg, { left, right, foot, height, first, last, x, y, low, high }) {
  for (const tick of niceTicks(low, high, 6)) {
    put(svg, draw("line", { x1: left, x2: right + 6, y1: y(tick.value), y2: y(tick.value), stroke: "var(--line)" }));
    put(svg, draw("text", { x: left - 8, y: y(tick.value) + 4, "text-anchor": "end", class: "dim" }, tick.text));
  }
  const step = Math.ceil((last - first + 1) * 40 / (right - left)), below = { "text-anchor": "middle", class: "dim" };
  for (let k = first; k <= last; k += step) put(svg, draw("text", { x: x(k), y: height - foot + 18, ...below }, whole(2 ** k)));
  const middle = { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" };
  put(svg, draw("text", middle, "components (of maps: nodes)"));
}

/** The line of a family, and a dot for every size. */
function sizesLine(curve, { x, y }) {
  const stroke = kindColour(curve.kind), dashes = (KINDS_DRAWN[curve.kind] || ["", 0, ""])[2] || "none", group = draw("g", {});
  const line = curve.points.map((p) => x(Math.log2(p.size)) + "," + y(p.log_loss)).join(" ");
  put(group, draw("polyline", { points: line, fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dashes }));
  for (const p of curve.points) {
    const dot = draw("circle", { cx: x(Math.log2(p.size)), cy: y(p.log_loss), r: 3, fill: stroke });
    put(group, put(dot, draw("title", {}, `${curve.title}, ${whole(p.size)} components: ${p.log_loss.toFixed(4)}`)));
  }
  return group;
}

/** Names at the ends of lines, moved apart, each with a thin line to its own. */
function sizesNames(svg, curves, { wide, right, top, foot, height, x, y }) {
  const ends = curves.map((c) => c.points[c.points.length - 1]), wanted = ends.map((p) => Math.max(top + 6, y(p.log_loss)));
  const places = spreadOut(wanted, 15, top + 6, height - foot);
  curves.forEach((curve, k) => {
    const line = { x1: x(Math.log2(ends[k].size)) + 4, y1: wanted[k], x2: right + 10, y2: places[k], opacity: 0.45 };
    put(svg, draw("line", { ...line, stroke: kindColour(curve.kind), "stroke-width": 1 }));
    put(svg, draw("text", { x: right + 13, y: places[k] + 4, class: "small" }, wide ? wideLabel(curve) : String(k + 1)));
  });
}

/** Loss against size, a line per family of {title, kind, points}, with its name at its end; in narrow pictures a number, which
 * `names` tells. `cut`: some losses are above the picture. */
export function capacityCurve(curves, width) {
  const frame = sizesFrame(curves, width), { left, right, top, foot, height } = frame;
  const svg = picture(width, height, width, "Loss of the families against their size");
  const window = draw("rect", { x: left, y: top, width: right - left + 8, height: height - top - foot });
  put(svg, put(draw("clipPath", { id: "sizes-frame" }), window));
  sizesAxes(svg, frame);
  sizesNames(svg, curves, frame);
  put(svg, put(draw("g", { "clip-path": "url(#sizes-frame)" }), ...curves.map((curve) => sizesLine(curve, frame))));
  return { svg, cut: frame.cut, names: frame.wide ? [] : curves.map((c, k) => `${k + 1} ${c.title}`) };
}
