// How far parts are from each other: a small picture, and the pairs that are most and least alike.

import { picture } from "./charts.js";
import { draw, put } from "./dom.js";
import { shorter } from "./words.js";

const ALIKE_WIDE = 400, ALIKE_TALL = 230, NAME_LETTER = 6.7, NAME_LINE = 14, LONGEST_NAME = 22;
// Parts below this weight are hardly there; nobody asks what they are like.
const SLIGHT = 0.01;

/** Circles {x, y, r, k} of the parts on a picture of this size. */
export function circlesOf(layout, weights, width, height) {
  const xs = layout.map((p) => p[0]), ys = layout.map((p) => p[1]), most = Math.max(1e-9, ...weights.map((w) => w ?? 0));
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // As large as the picture has room for, and the same both ways.
  const unit = Math.min(0.74 * width / Math.max(1e-9, x1 - x0), 0.74 * height / Math.max(1e-9, y1 - y0));
  // Many circles are smaller, so that they do not lie on each other.
  const crowd = Math.min(1, Math.sqrt(10 / layout.length));
  return layout.map(([x, y], k) => ({
    x: width / 2 + unit * (x - (x0 + x1) / 2),
    y: height / 2 - unit * (y - (y0 + y1) / 2),
    r: crowd * (weights[k] === null || weights[k] === undefined ? 10 : 5 + 19 * Math.sqrt(weights[k] / most)),
    k,
  }));
}

function overlap(a, b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

/** Where names can stand beside their circles without touching each other: {k, x, y, text}; others are left out. */
export function namesBeside(circles, names, width, height) {
  const around = (x, y, half, tall, k) => ({ x0: x - half, x1: x + half, y0: y - tall, y1: y + tall, k });
  const taken = circles.map((c) => around(c.x, c.y, 0.7 * c.r, 0.7 * c.r, c.k));
  const fits = (b) => b.x0 >= 0 && b.x1 <= width && b.y0 >= 0 && b.y1 <= height &&
    taken.every((other) => other.k === b.k || !overlap(b, other));
  const out = [];
  for (const c of [...circles].sort((a, b) => b.r - a.r)) {
    const text = shorter(names[c.k], LONGEST_NAME), half = text.length * NAME_LETTER / 2;
    const middles = [[c.x, c.y - c.r - 8], [c.x, c.y + c.r + 9], [c.x + c.r + 4 + half, c.y], [c.x - c.r - 4 - half, c.y]];
    const box = middles.map(([x, y]) => around(x, y, half, NAME_LINE / 2, c.k)).find(fits);
    if (!box) continue;
    taken.push({ ...box, k: -1 });
    out.push({ k: c.k, x: (box.x0 + box.x1) / 2, y: (box.y0 + box.y1) / 2 + 4, text });
  }
  return out;
}

/** The closest pair of parts and the farthest: [[a, b], [a, b]]; null where fewer than three have weight. */
export function extremesOf(distances, weights) {
  const shown = distances.map((_, k) => k).filter((k) => (weights[k] ?? 1) >= SLIGHT);
  if (shown.length < 3) return null;
  const pairs = shown.flatMap((a) => shown.filter((b) => b > a).map((b) => [a, b]));
  const sorted = pairs.sort((one, other) => distances[one[0]][one[1]] - distances[other[0]][other[1]]);
  return [sorted[0], sorted[sorted.length - 1]];
}

/** Parts as circles, larger ones with more weight; `open(k)` is called when one is chosen. */
export function distancePicture(layout, weights, names, open) {
  const circles = circlesOf(layout, weights, ALIKE_WIDE, ALIKE_TALL);
  const svg = picture(ALIKE_WIDE, ALIKE_TALL, ALIKE_WIDE, "Distances between the parts: what lies close is alike");
  svg.setAttribute("role", "group");
  for (const c of [...circles].sort((a, b) => b.r - a.r)) {
    const look = { fill: "var(--accent)", "fill-opacity": 0.35, stroke: "var(--accent)", "stroke-width": 1.5 };
    const spot = draw("circle", { cx: c.x, cy: c.y, r: c.r, ...look });
    const node = draw("a", { href: "#part-" + c.k, "aria-label": "Go to " + names[c.k], class: "spot" });
    node.addEventListener("click", (event) => { event.preventDefault(); open(c.k); });
    put(svg, put(node, put(spot, draw("title", {}, names[c.k]))));
  }
  for (const one of namesBeside(circles, names, ALIKE_WIDE, ALIKE_TALL)) {
    put(svg, draw("text", { x: one.x, y: one.y, "text-anchor": "middle", class: "small" }, one.text));
  }
  return svg;
}
