// Okabe and Ito's colours, and shapes beside them, so that groups are told apart without colour.

export const COLOURS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9",
  "#8a7f00", "#7a5195", "#8b4513", "#b2182b", "#4d9221", "#6a3d9a",
];
export const SHAPES = [
  "circle", "square", "triangle", "diamond", "cross", "plus", "ring", "box", "down", "bar", "star", "dash",
];
const FILLED = ["circle", "square", "triangle", "diamond", "down"];

function outline(ctx, points) {
  points.forEach(([x, y], i) => i ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
  ctx.closePath();
}

function strokes(ctx, lines) {
  for (const [x0, y0, x1, y1] of lines) { ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); }
}

/** Draws one shape on a canvas, in the colours that are set. */
export function symbol(ctx, shape, x, y, r) {
  ctx.beginPath();
  if (shape === "circle" || shape === "ring") ctx.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square" || shape === "box") ctx.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === "triangle") outline(ctx, [[x, y - r], [x + r, y + r], [x - r, y + r]]);
  else if (shape === "down") outline(ctx, [[x, y + r], [x + r, y - r], [x - r, y - r]]);
  else if (shape === "diamond" || shape === "star") outline(ctx, [[x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]]);
  else if (shape === "cross") strokes(ctx, [[x - r, y - r, x + r, y + r], [x - r, y + r, x + r, y - r]]);
  else if (shape === "plus") strokes(ctx, [[x - r, y, x + r, y], [x, y - r, x, y + r]]);
  else if (shape === "bar") strokes(ctx, [[x, y - r, x, y + r]]);
  else strokes(ctx, [[x - r, y, x + r, y]]);
  if (FILLED.includes(shape)) ctx.fill(); else ctx.stroke();
}
