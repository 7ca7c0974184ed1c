// What a scale does: how scores are spread, and how the probability of columns runs along it.

import { draw, make, put } from "./dom.js";
import { picture } from "./charts.js";
import { COLOURS } from "./symbols.js";
import { niceTicks } from "./ticks.js";

const SCALE_LEFT = 40, SCALE_RIGHT = 12, CURVE_STEPS = 40, N_BINS = 24;
const CURVE_LINES = ["", "7 3", "2 3", "9 3 2 3", "1 4", "5 5"];

export function medianOf(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b), n = sorted.length;
  return n === 0 ? 0 : (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
}

/** How many values lie in each of so many bins between low and high. */
export function binned(values, low, high, n) {
  const counts = Array.from({ length: n }, () => 0);
  for (const v of values) {
    if (Number.isFinite(v)) counts[Math.min(n - 1, Math.max(0, Math.floor(n * (v - low) / Math.max(1e-12, high - low))))]++;
  }
  return counts;
}

/** The probability of column j at a score on scale k, the other scales at the places they are given. */
export function chanceAlong(reading, k, j, score, others) {
  let logit = reading.offsetOf(j);
  for (let other = 0; other < reading.nParts; other++) {
    logit += reading.profile(other, j) * (other === k ? score : others[other]);
  }
  return 1 / (1 + Math.exp(-logit));
}

/** Scores of the rows of the page on scale k. */
export function scoresOf(content, reading, k) {
  return Array.from({ length: content.nRows }, (_, i) => reading.value(i, k));
}

/** Lowest and highest of some numbers, a little apart where they are one. */
export function spanOfNumbers(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  if (!(high >= low)) return [0, 1];
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
}

function bottomAxis(svg, x, y, ticks, text, width) {
  for (const { value, text: told } of ticks) {
    put(svg, draw("line", { x1: x(value), x2: x(value), y1: y, y2: y + 4, stroke: "var(--soft)" }));
    put(svg, draw("text", { x: x(value), y: y + 17, "text-anchor": "middle", class: "dim" }, told));
  }
  const middle = (SCALE_LEFT + width - SCALE_RIGHT) / 2;
  return put(svg, draw("text", { x: middle, y: y + 33, "text-anchor": "middle", class: "dim" }, text));
}

function histogramBars(svg, counts, x0, x1, top, foot) {
  const most = Math.max(1, ...counts), wide = (x1 - x0) / counts.length;
  counts.forEach((count, b) => {
    const tall = (foot - top) * count / most;
    put(svg, draw("rect", {
      x: x0 + b * wide + 0.5, y: foot - tall, width: Math.max(0.5, wide - 1), height: tall,
      fill: "var(--accent)", opacity: 0.75,
    }));
  });
}

/** How curve c is drawn: by colour and by dashes. */
function lineOf(c) {
  const dashes = CURVE_LINES[c % CURVE_LINES.length];
  return { stroke: COLOURS[c % COLOURS.length], "stroke-width": 2.3, "stroke-dasharray": dashes };
}

/** Where rows are in the middle of every scale. */
export function scaleMedians(content, reading) {
  return Array.from({ length: reading.nParts }, (_, k) => medianOf(scoresOf(content, reading, k)));
}

/** Curves of some columns along scale k, the others at their medians, and below them how many rows have which score; then the
 * legend. */
export function scalePicture(content, reading, k, columns, name, width) {
  const scores = scoresOf(content, reading, k), [low, high] = spanOfNumbers(scores), others = scaleMedians(content, reading);
  const x = (v) => SCALE_LEFT + (width - SCALE_LEFT - SCALE_RIGHT) * (v - low) / (high - low), y = (p) => 150 - 140 * p;
  const svg = picture(width, 270, width, "Probability of some columns along " + name + ", and how many rows lie where");
  for (const p of [0, 0.5, 1]) {
    put(svg, draw("line", { x1: SCALE_LEFT, x2: width - SCALE_RIGHT, y1: y(p), y2: y(p), stroke: "var(--line)" }));
    put(svg, draw("text", { x: SCALE_LEFT - 6, y: y(p) + 4, "text-anchor": "end", class: "dim" }, 100 * p + "%"));
  }
  columns.forEach((j, c) => {
    const points = Array.from({ length: CURVE_STEPS + 1 }, (_, s) => {
      const score = low + (high - low) * s / CURVE_STEPS;
      return x(score).toFixed(1) + "," + y(chanceAlong(reading, k, j, score, others)).toFixed(1);
    });
    const curve = draw("polyline", { points: points.join(" "), fill: "none", ...lineOf(c) });
    put(svg, put(curve, draw("title", {}, content.columns[j])));
  });
  histogramBars(svg, binned(scores, low, high, N_BINS), x(low), x(high), 170, 228);
  put(svg, draw("line", { x1: SCALE_LEFT, x2: width - SCALE_RIGHT, y1: 228, y2: 228, stroke: "var(--soft)" }));
  bottomAxis(svg, x, 228, niceTicks(low, high, 6), "score of the rows", width);
  return [svg, lineLegend(columns.map((j) => content.columns[j]))];
}

function lineLegend(names) {
  const legend = make("div", null, { className: "legend" });
  names.forEach((name, c) => {
    const line = draw("svg", { width: 30, height: 10, "aria-hidden": "true" });
    put(line, draw("line", { x1: 0, x2: 30, y1: 5, y2: 5, ...lineOf(c) }));
    put(legend, put(make("span"), line, make("span", name, { className: "told" })));
  });
  return legend;
}

/** How many rows have how much, as a small histogram over round ticks. */
export function histogramPicture(values, low, high, text, label, width) {
  const svg = picture(width, 110, width, label), room = width - SCALE_LEFT - SCALE_RIGHT;
  const x = (v) => SCALE_LEFT + room * (v - low) / (high - low);
  histogramBars(svg, binned(values, low, high, 20), x(low), x(high), 6, 66);
  put(svg, draw("line", { x1: SCALE_LEFT, x2: width - SCALE_RIGHT, y1: 66, y2: 66, stroke: "var(--soft)" }));
  return bottomAxis(svg, x, 66, niceTicks(low, high, 6), text, width);
}
