// The probability of a one in a column along every scale.

import { draw, hint, make, put } from "./dom.js";
import { COLOURS } from "./symbols.js";
import { fixed } from "./words.js";

const DRAWER_CURVE = { width: 320, height: 170, pad: 26, steps: 40, most: 4 };

/** Rows in groups of one size along scale k: [mean score, share of ones in column j], blanks left out. */
export function seenShares(content, reading, j, k, nGroups = 8) {
  const rows = [], out = [];
  for (let i = 0; i < content.nRows; i++) {
    if (!content.isBlank(i, j)) rows.push([reading.value(i, k), content.isOne(i, j) ? 1 : 0]);
  }
  rows.sort((a, b) => a[0] - b[0]);
  for (let g = 0; g < nGroups; g++) {
    const mine = rows.slice(Math.floor(g * rows.length / nGroups), Math.floor((g + 1) * rows.length / nGroups));
    if (mine.length) out.push([0, 1].map((part) => mine.reduce((sum, row) => sum + row[part], 0) / mine.length));
  }
  return out;
}

/** Scores that nine of ten rows are within, on any scale. */
function drawerCurveEnds(reading) {
  const ends = reading.ranges ?? [[-2, 0, 2]];
  return [Math.min(...ends.map((one) => one[0])), Math.max(...ends.map((one) => one[2]))];
}

function drawerCurveAxes(svg, x, y, [low, high]) {
  const { width, height, pad } = DRAWER_CURVE;
  for (const p of [0, 0.5, 1]) {
    put(svg, draw("line", { x1: pad, x2: width - pad, y1: y(p), y2: y(p), stroke: "var(--line)" }));
    put(svg, draw("text", { x: pad - 4, y: y(p) + 4, "text-anchor": "end", class: "dim" }, String(p)));
  }
  for (const s of [low, high]) {
    put(svg, draw("text", { x: x(s), y: height - 8, "text-anchor": "middle", class: "dim" }, fixed(s, 1)));
  }
}

/** The curve of scale k with the other scales in their middle, and dots: the shares of ones of the rows themselves. */
function drawerCurve(svg, { content, reading }, j, k, x, y, [low, high]) {
  const stroke = COLOURS[k % COLOURS.length], points = [];
  const others = (m) => (m === k || !reading.ranges ? 0 : reading.ranges[m][1] * reading.profile(m, j));
  const base = reading.parts.reduce((sum, _, m) => sum + others(m), reading.offsetOf(j));
  for (let n = 0; n <= DRAWER_CURVE.steps; n++) {
    const s = low + (high - low) * n / DRAWER_CURVE.steps, p = 1 / (1 + Math.exp(-base - s * reading.profile(k, j)));
    points.push(fixed(x(s), 1) + "," + fixed(y(p), 1));
  }
  put(svg, draw("polyline", { points: points.join(" "), fill: "none", stroke, "stroke-width": 2.2 }));
  for (const [s, share] of seenShares(content, reading, j, k)) {
    put(svg, draw("circle", { cx: x(Math.max(low, Math.min(high, s))), cy: y(share), r: 2.6, fill: stroke }));
  }
}

/** Curves of the scales that move column j most. */
export function drawerCurves(state, j) {
  const { reading } = state, { width, height, pad, most } = DRAWER_CURVE, ends = drawerCurveEnds(reading);
  const x = (s) => pad + (width - 2 * pad) * (s - ends[0]) / (ends[1] - ends[0]);
  const y = (p) => height - pad - (height - 2 * pad) * p;
  const label = "Probability of a one along the scales";
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, style: "max-width:420px" });
  const legend = make("div", null, { className: "legend" }), strength = (k) => Math.abs(reading.profile(k, j));
  drawerCurveAxes(svg, x, y, ends);
  for (const k of reading.parts.map((_, m) => m).sort((a, b) => strength(b) - strength(a)).slice(0, most)) {
    const icon = make("i", null, { className: "mx-swatch" });
    icon.style.background = COLOURS[k % COLOURS.length];
    put(legend, put(make("span"), icon, make("span", state.nameOf(k))));
    drawerCurve(svg, state, j, k, x, y, ends);
  }
  const held = reading.nParts > 1 ? ", the other scales in their middle" : "";
  const note = "Curves: probability of a one along the scale" + held + ". Dots: share of ones among the rows there.";
  return put(make("div", null, { className: "figure" }), svg, legend, hint(note));
}
