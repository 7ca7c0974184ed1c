// Draws the part of the matrix that is on the screen. Nothing here knows where rows and columns come from.

import { css } from "./dom.js";
import { COLOURS } from "./symbols.js";

/** Which of n things of one size are on the screen, as [first, one after the last]. */
export function visibleRange(scrolled, room, size, n) {
  const first = Math.max(0, Math.min(n, Math.floor(scrolled / size)));
  return [first, Math.max(first, Math.min(n, Math.ceil((scrolled + room) / size)))];
}

/** How far to scroll so that thing number `at` is on the screen as a whole. */
export function scrollTo(scrolled, room, size, at) {
  if (at * size < scrolled) return at * size;
  return Math.max(scrolled, (at + 1) * size - room);
}

/** Sizes a canvas for its place on a screen of any density. */
export function sharpen(canvas, width, height) {
  const density = window.devicePixelRatio || 1, w = Math.round(width * density), h = Math.round(height * density);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w; canvas.height = h;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(density, 0, 0, density, 0, 0);
  return ctx;
}

function mxInks() {
  return {
    one: css("--one"), zero: css("--zero"), hole: css("--hole"), pick: css("--pick"), ink: css("--ink"),
    paper: css("--paper"), line: css("--line"),
  };
}

/** Colour and strength of the stripe in a row. */
export function stripeColour(stripe, i) {
  if (stripe.kind === "groups") {
    const code = stripe.of(i);
    return code < 0 ? ["var(--line)", 1] : [COLOURS[code % COLOURS.length], 1];
  }
  if (stripe.kind === "none") return ["var(--line)", 0];
  const at = stripe.of(i);
  if (Number.isNaN(at)) return ["var(--line)", 1];
  return stripe.kind === "signed" ? [COLOURS[at < 0 ? 4 : 0], 0.08 + 0.92 * Math.abs(at)] : [COLOURS[0], 0.08 + 0.92 * at];
}

/** Lines from pairs of corners, in one stroke. */
function mxStrokeAll(ctx, colour, width, lines) {
  if (!lines.length) return;
  ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.beginPath();
  for (const [x0, y0, x1, y1] of lines) { ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); }
  ctx.stroke();
}

/** Cells of one row: rectangles of ones and blanks; hatches of blanks and crosses of the surprising ones are gathered. */
function mxDrawRow(ctx, view, i, y, span, ink, gathered) {
  const { w, h, stripeWidth, left, content, columns } = view, high = h > 4 ? h - 1 : h, wide = w > 4 ? w - 1 : w;
  const crossed = view.crossed(i), holes = [], ones = [];
  for (let b = span[0]; b < span[1]; b++) {
    const j = columns[b], x = stripeWidth + b * w - left;
    if (content.isBlank(i, j)) {
      holes.push(x);
      if (w > 4 && h > 3) gathered.hatches.push([x, y + high, x + wide, y]);
    } else if (content.isOne(i, j)) ones.push(x);
    if (crossed && crossed(j)) gathered.crosses.push([x, y, x + wide, y + high], [x + wide, y, x, y + high]);
  }
  ctx.fillStyle = ink.zero;
  ctx.fillRect(stripeWidth + span[0] * w - left, y, (span[1] - span[0]) * w - (w > 4 ? 1 : 0), high);
  ctx.fillStyle = ink.one;
  for (const x of ones) ctx.fillRect(x, y, wide, high);
  ctx.fillStyle = ink.hole;
  for (const x of holes) ctx.fillRect(x, y, wide, high);
}

/** Width of the stripe and the gap behind it. */
export function stripeSize(stripe) {
  return stripe.kind === "none" ? 2 : stripe.kind === "pattern" ? 6 * stripe.parts.length + 3 : 12;
}

function mxDrawStripe(ctx, view, i, y, ink) {
  if (view.stripe.kind === "pattern") {
    view.stripe.parts.forEach((k, n) => {
      if (!view.stripe.isOn(i, k)) return;
      ctx.fillStyle = COLOURS[k % COLOURS.length];
      ctx.fillRect(6 * n, y, 5, view.h > 4 ? view.h - 1 : view.h);
    });
    return;
  }
  const [colour, strength] = stripeColour(view.stripe, i);
  ctx.fillStyle = colour === "var(--line)" ? ink.line : colour;
  ctx.globalAlpha *= strength;
  ctx.fillRect(0, y, view.stripeWidth - 3, view.h > 4 ? view.h - 1 : view.h);
}

/** Lines between columns, so that cells of a row can be told apart. */
function mxDrawGaps(ctx, view, rowSpan, columnSpan, ink) {
  if (view.w <= 4) return;
  ctx.fillStyle = ink.paper;
  const top = rowSpan[0] * view.h - view.top, high = (rowSpan[1] - rowSpan[0]) * view.h;
  const from = view.stripeWidth - view.left - 1;
  for (let b = columnSpan[0]; b < columnSpan[1]; b++) ctx.fillRect(from + (b + 1) * view.w, top, 1, high);
}

/** Draws what of the view is on the screen: `view` has content, rows, columns, w, h, top, left, width, height, stripe,
 * stripeWidth, crossed(i) → test of a column or null, faded(i), here (row and column, places in the order). */
export function drawMatrix(ctx, view) {
  const { rows, columns, w, h, top, left, width, height, stripeWidth, here } = view, ink = mxInks();
  const rowSpan = visibleRange(top, height, h, rows.length);
  const columnSpan = visibleRange(left, width - stripeWidth, w, columns.length);
  const plain = { hatches: [], crosses: [] }, faint = { hatches: [], crosses: [] };
  ctx.clearRect(0, 0, width, height);
  for (let a = rowSpan[0]; a < rowSpan[1]; a++) {
    const i = rows[a], y = a * h - top, isFaint = view.faded(i);
    ctx.globalAlpha = isFaint ? 0.3 : 1;
    mxDrawRow(ctx, view, i, y, columnSpan, ink, isFaint ? faint : plain);
  }
  ctx.globalAlpha = 1;
  mxDrawGaps(ctx, view, rowSpan, columnSpan, ink);
  for (const [gathered, strength] of [[plain, 1], [faint, 0.3]]) {
    ctx.globalAlpha = strength;
    mxStrokeAll(ctx, ink.ink, 1, gathered.hatches);
    mxStrokeAll(ctx, ink.pick, h > 8 ? 1.6 : 1.2, gathered.crosses);
  }
  // What is scrolled to the left goes under the stripe.
  ctx.globalAlpha = 1;
  ctx.clearRect(0, 0, stripeWidth, height);
  for (let a = rowSpan[0]; a < rowSpan[1]; a++) {
    ctx.globalAlpha = 1;
    mxDrawStripe(ctx, view, rows[a], a * h - top, ink);
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = ink.pick; ctx.lineWidth = 2;
  ctx.save();
  ctx.beginPath(); ctx.rect(stripeWidth - 2, 0, width, height); ctx.clip();
  ctx.strokeRect(stripeWidth + here[1] * w - left - 1, here[0] * h - top - 1, w + 1, h + 1);
  ctx.restore();
  return { rowSpan, columnSpan };
}
