// Pictures of how far a model can be trusted: calibration, and how sure the blanks are.

import { picture, scale } from "./charts.js";
import { draw, make, put, textNode } from "./dom.js";
import { COLOURS } from "./symbols.js";
import { niceTicks, shortNumber } from "./ticks.js";
import { percent, whole } from "./words.js";

const CHECK_DASHES = ["", "6 3", "2 3", "8 3 2 3"];
// Below this predictions are small; where most of them are, axes are stretched at zero.
const SMALL_CHANCE = 0.1;
const ROOT_TICKS = [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1];

/** The axes of a picture of calibration: plain from 0 to 1, or square roots up to what there is, if most predictions are
 * small. Curves are lists of {predicted, observed, n}. */
export function calibrationAxis(curves) {
  const points = curves.flat(), count = (some) => some.reduce((sum, p) => sum + (p.n || 1), 0);
  const small = count(points.filter((p) => p.predicted < SMALL_CHANCE));
  if (!points.length || small <= 0.5 * count(points)) return { kind: "plain", most: 1 };
  const most = Math.max(...points.flatMap((p) => [p.predicted, p.observed]));
  return { kind: "root", most: ROOT_TICKS.find((tick) => tick >= most) || 1 };
}

/** Where a probability lies on an axis, from 0 to 1. */
export function onAxis(axis, value) {
  const share = Math.min(1, Math.max(0, value / axis.most));
  return axis.kind === "root" ? Math.sqrt(share) : share;
}

/** Ticks of an axis, those that have room. */
export function axisTicks(axis) {
  if (axis.kind === "plain") return niceTicks(0, 1, 6);
  const kept = [];
  let last = Infinity;
  for (const value of ROOT_TICKS.filter((tick) => tick <= axis.most).reverse()) {
    if (last - onAxis(axis, value) <= 0.11) continue;
    last = onAxis(axis, value);
    kept.push({ value, text: shortNumber(value) });
  }
  return kept.reverse();
}

/** Points of a curve; of the first curve with two standard errors, so that one sees how far chance goes. */
function calibrationPoints(svg, points, to, size, stroke, first) {
  for (const p of points) {
    const at = { cx: to(p.predicted), cy: size - to(p.observed) };
    if (first && p.n) {
      const error = 2 * Math.sqrt(Math.max(p.predicted * (1 - p.predicted), 0.25 / p.n) / p.n);
      const ends = { x1: at.cx, x2: at.cx, y1: size - to(p.observed - error), y2: size - to(p.observed + error) };
      put(svg, draw("line", { ...ends, stroke, "stroke-width": 1, opacity: 0.6 }));
    }
    const told = `predicted ${percent(p.predicted)}, found ${percent(p.observed)}` + (p.n ? ` of ${whole(p.n)} cells` : "");
    put(svg, put(draw("circle", { ...at, r: first ? 3.5 : 2.5, fill: stroke }), draw("title", {}, told)));
  }
}

/** Predicted probability against share of ones, a curve each of {points, title}, and the legend. */
export function calibrationCurve(curves) {
  const size = 420, pad = 52, axis = calibrationAxis(curves.map((c) => c.points));
  // From the left and, turned over, from below; the same distance keeps the diagonal a diagonal.
  const place = scale(0, 1, pad, size - 14), to = (value) => place(onAxis(axis, value)), up = (value) => size - to(value);
  const svg = picture(size, size, size + 60, "Calibration: predicted probability against share of ones");
  for (const { value, text } of axisTicks(axis)) {
    put(svg, draw("line", { x1: to(value), x2: to(value), y1: up(0), y2: up(axis.most), stroke: "var(--line)" }));
    put(svg, draw("line", { x1: to(0), x2: to(axis.most), y1: up(value), y2: up(value), stroke: "var(--line)" }));
    put(svg, draw("text", { x: to(value), y: up(0) + 16, "text-anchor": "middle", class: "dim" }, text));
    put(svg, draw("text", { x: pad - 7, y: up(value) + 4, "text-anchor": "end", class: "dim" }, text));
  }
  const ideal = { x1: to(0), y1: up(0), x2: to(axis.most), y2: up(axis.most) }, middle = (up(0) + up(axis.most)) / 2;
  put(svg, draw("line", { ...ideal, stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
  const legend = make("div", null, { className: "legend" });
  curves.forEach(({ points, title }, k) => {
    const stroke = COLOURS[k % COLOURS.length], dashes = { "stroke-dasharray": CHECK_DASHES[k % 4] };
    const path = points.map((p) => to(p.predicted) + "," + up(p.observed)).join(" ");
    put(svg, draw("polyline", { points: path, fill: "none", stroke, "stroke-width": k ? 1.4 : 2.2, ...dashes }));
    calibrationPoints(svg, points, to, size, stroke, k === 0);
    const line = draw("svg", { width: 34, height: 10, "aria-hidden": "true" });
    put(line, draw("line", { x1: 0, y1: 5, x2: 34, y2: 5, stroke, "stroke-width": 2.5, ...dashes }));
    put(legend, put(make("span"), line, textNode(title)));
  });
  const below = { x: (pad + size - 14) / 2, y: up(0) + 34, "text-anchor": "middle" };
  const beside = { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` };
  put(svg, draw("text", below, "predicted probability of hidden cells"), draw("text", beside, "share of ones"));
  return { svg, legend, axis };
}

/** How many blanks lie between each two of `edges`, tenths if there are none. Where one bar would press the rest to nothing,
 * heights are square roots, which the answer says. */
export function tenthsPlot(counts, edges) {
  const n = counts.length, ends = edges || Array.from({ length: n + 1 }, (_, i) => i / n), width = 46 * n + 24;
  const some = counts.filter((c) => c > 0), most = Math.max(1, ...some), root = some.length > 1 && most > 12 * Math.min(...some);
  const share = (count) => (root ? Math.sqrt(count / most) : count / most);
  const svg = picture(width, 168, width, "How probable a one is in the blanks");
  counts.forEach((count, i) => {
    const height = count ? Math.max(1.5, 104 * share(count)) : 0, left = 12 + 46 * i;
    const bar = draw("rect", { x: left + 1, y: 126 - height, width: 44, height, fill: "var(--accent)" });
    put(svg, put(bar, draw("title", {}, `${whole(count)} blanks from ${percent(ends[i])} to ${percent(ends[i + 1])}`)));
    put(svg, draw("text", { x: left + 23, y: 121 - height, "text-anchor": "middle" }, count ? whole(count) : ""));
  });
  put(svg, draw("line", { x1: 12, x2: width - 12, y1: 126, y2: 126, stroke: "currentColor" }));
  ends.forEach((end, i) => {
    put(svg, draw("text", { x: 12 + 46 * i, y: 143, "text-anchor": "middle", class: "dim" }, shortNumber(end)));
  });
  put(svg, draw("text", { x: width / 2, y: 163, "text-anchor": "middle" }, "probability of a one"));
  return { svg, root };
}
