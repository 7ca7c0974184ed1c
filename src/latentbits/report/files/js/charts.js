// Drawings from plain data: nothing here knows the page or its content.

import { putBreaking } from "./breaks.js";
import { draw, make, put } from "./dom.js";
import { fixed, percent, shorter } from "./words.js";

/** A picture that shrinks with the window; `most` is its greatest width. */
export function picture(width, height, most, label) {
  const size = { viewBox: `0 0 ${width} ${height}` };
  if (most !== null) size.style = `max-width:${most}px`;
  return draw("svg", { ...size, role: "img", "aria-label": label });
}

/** Numbers from `low` to `high` to pixels from `from` to `to`. */
export function scale(low, high, from, to) {
  return (v) => from + (to - from) * (v - low) / Math.max(1e-9, high - low);
}

/** The name of a column; a button where something opens. */
function barName(name, open) {
  const words = putBreaking(make("span"), name);
  if (!open) return put(make("div", null, { className: "name", title: name }), words);
  const button = put(make("button", null, { type: "button", className: "name", title: name }), words);
  button.addEventListener("click", open);
  return button;
}

/** A bar from the left end to the value, and a tick at the share in all rows. */
function chanceBar(value, marginal, end) {
  const bar = make("div", null, { className: "bar" }), fill = make("i");
  fill.style.width = (100 * Math.min(1, value / end)).toFixed(1) + "%";
  const tick = make("b", null, { title: "share of ones overall: " + percent(marginal) });
  tick.style.left = (100 * Math.min(1, marginal / end)).toFixed(1) + "%";
  return put(bar, fill, tick);
}

/** A bar from the middle: to the right where a loading is positive, to the left where it is negative. */
function signedBar(value, end) {
  const bar = make("div", null, { className: "bar signed" });
  const fill = make("i", null, { className: value < 0 ? "down" : "up" });
  const half = 50 * Math.min(1, Math.abs(value) / end);
  fill.style.width = half.toFixed(1) + "%";
  fill.style.left = (value < 0 ? 50 - half : 50).toFixed(1) + "%";
  return put(bar, fill);
}

/** Features as [name, value, share overall], a bar each: of probabilities with a tick at the share, of loadings ("loading")
 * to both sides of a middle line. `end` is the value at which bars end, `open(i)` is called when the name of bar i is chosen. */
export function bars(features, kind, { end = 1, open = null } = {}) {
  const grid = make("div", null, { className: "bars" }), isLoading = kind === "loading";
  const most = isLoading ? Math.max(1e-9, ...features.map((f) => Math.abs(f[1]))) : end;
  features.forEach(([name, value, marginal], i) => {
    const number = make("div", isLoading ? fixed(value, 2).replace("-", "−") : percent(value), { className: "num" });
    const bar = isLoading ? signedBar(value, most) : chanceBar(value, marginal, most);
    put(grid, barName(name, open && (() => open(i))), bar, number);
  });
  return grid;
}

/** Columns that depend on each other, as a tree. */
export function treePicture(tree) {
  const xs = tree.nodes.map((n) => n[1]), ys = tree.nodes.map((n) => n[2]);
  const low = [Math.min(...xs), Math.min(...ys)], span = Math.max(Math.max(...xs) - low[0], Math.max(...ys) - low[1], 1e-9);
  const x = (n) => 40 + 560 * (n[1] - low[0]) / span, y = (n) => 30 + 560 * (n[2] - low[1]) / span;
  const height = 60 + 560 * (Math.max(...ys) - low[1]) / span;
  const svg = picture(640, height, null, "Columns that depend on each other, as a tree; the table “edges” has the numbers");
  svg.setAttribute("class", "tree");
  for (const [a, b, strength, together] of tree.edges) {
    const [one, other] = [tree.nodes[a], tree.nodes[b]], thick = 0.8 + 5 * Math.min(1, strength / 0.3);
    const stroke = together ? "var(--accent)" : "var(--pick)";
    const line = { x1: x(one), y1: y(one), x2: x(other), y2: y(other), stroke, "stroke-width": thick };
    const title = draw("title", {}, one[0] + " and " + other[0] + ": " + fixed(strength, 3) + " nats");
    put(svg, put(draw("line", together ? line : { ...line, "stroke-dasharray": "6 4" }), title));
  }
  for (const node of tree.nodes) {
    const size = { cx: x(node), cy: y(node), r: 3 + 6 * Math.sqrt(node[3]) };
    const dot = draw("circle", { ...size, fill: "var(--panel)", stroke: "currentColor" });
    put(svg, put(dot, draw("title", {}, node[0] + ": " + percent(node[3]) + " ones")));
  }
  // More names than these would lie on each other.
  if (tree.nodes.length <= 40) for (const node of tree.nodes) {
    put(svg, draw("text", { x: x(node), y: y(node) - 9, "text-anchor": "middle", class: "small" }, shorter(node[0], 14)));
  }
  return svg;
}
