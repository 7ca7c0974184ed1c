// What colours and shapes of the map mean.

import { css, draw, empty, hint, make, put, textNode } from "./dom.js";
import { groupMark } from "./map_draw.js";
import { isDarkPaper, rampColour } from "./ramps.js";
import { symbol } from "./symbols.js";
import { niceTicks } from "./ticks.js";
import { percent } from "./words.js";

const RAMP_BAR = { width: 320, high: 14, pad: 26, steps: 64 };

function markIcon(mark) {
  const canvas = make("canvas", null, { width: "32", height: "32", "aria-hidden": "true", className: "mark" });
  const ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  ctx.fillStyle = ctx.strokeStyle = mark.colour; ctx.lineWidth = 1.6;
  symbol(ctx, mark.shape, 8, 8, mark.small ? 3 : 4.5);
  return canvas;
}

const markEntry = (mark, text) => put(make("span"), markIcon(mark), textNode(text));

function groupLegend(colouring, hasUnknown) {
  const node = make("div", null, { className: "legend" }), { values, own } = colouring, rest = values.length - own;
  const add = (k, text) => put(node, markEntry(groupMark(colouring, k, css("--paper"), css("--soft")), text));
  values.slice(0, own).forEach((text, k) => add(k, text));
  if (rest > 0) add(own, rest > 1 ? rest + " others" : values[own]);
  if (hasUnknown) add(-1, "not known");
  return node;
}

/** Ticks under the bar, as {at, text}: their places are shares of its length. */
export function barTicks(colouring) {
  const [low, high] = colouring.range, isShare = colouring.key === "total" || colouring.share;
  return niceTicks(low, high, 5).map(({ value, text }) => ({
    at: (value - low) / (high - low), text: isShare ? percent(value).replace(".0%", "%") : text,
  }));
}

function barLegend(colouring) {
  const { width, high, pad, steps } = RAMP_BAR, dark = isDarkPaper(css("--paper")), wide = width - 2 * pad;
  const svg = draw("svg", { viewBox: `0 0 ${width} 36`, class: "ramp", role: "img" });
  svg.setAttribute("aria-label", "Colours from " + colouring.range.map(colouring.text).join(" to "));
  for (let s = 0; s < steps; s++) {
    const fill = rampColour((s + 0.5) / steps, dark);
    put(svg, draw("rect", { x: pad + wide * s / steps, y: 0, width: wide / steps + 0.6, height: high, fill }));
  }
  for (const { at, text } of barTicks(colouring)) {
    const x = pad + wide * at;
    put(svg, draw("line", { x1: x, x2: x, y1: high, y2: high + 5, stroke: "currentColor" }));
    put(svg, draw("text", { x, y: 32, "text-anchor": "middle" }, text));
  }
  return svg;
}

/** Fills its place with the legend of a colouring. */
export function showMapLegend(node, colouring, hasUnknown) {
  empty(node);
  if (colouring.kind === "groups") { put(node, groupLegend(colouring, hasUnknown)); return; }
  put(node, put(make("div", null, { className: "ramped" }), make("span", colouring.name), barLegend(colouring)));
  const none = groupMark(colouring, -1, css("--paper"), css("--soft"));
  if (hasUnknown) put(node, put(make("div", null, { className: "legend" }), markEntry(none, "not known")));
  if (colouring.clipped) put(node, hint("A few rows lie beyond the ends of the bar; they have the colours of its ends."));
}
