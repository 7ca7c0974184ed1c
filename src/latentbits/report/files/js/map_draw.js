// Draws the map: spots, an arrow, words of regions, and what is being selected.

import { arrowEnds } from "./map_arrow.js";
import { placedWords } from "./map_geometry.js";
import { gapOf } from "./map_places.js";
import { toScreen } from "./map_view.js";
import { css } from "./dom.js";
import { isDarkPaper, rampColour, seenOn } from "./ramps.js";
import { COLOURS, SHAPES, symbol } from "./symbols.js";
import { shorter } from "./words.js";

const MAP_FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
// Words of a region that are written; on narrow maps the first only.
const REGION_WORDS = 2;
const NARROW_MAP = 480;

/** The mark of group k: a colour and a shape, or the grey one of the rest. */
export function groupMark(colouring, k, paper, soft) {
  if (k < 0) return { colour: soft, shape: "ring", small: true };
  if (k >= colouring.own) return { colour: soft, shape: "circle", small: true };
  return { colour: seenOn(COLOURS[k], paper), shape: SHAPES[k], small: false };
}

/** The mark of every row under a colouring, in the colours of the paper of now. */
export function marksOf(colouring) {
  const paper = css("--paper"), soft = css("--soft"), dark = isDarkPaper(paper), none = groupMark(colouring, -1, paper, soft);
  if (colouring.kind === "groups") {
    const marks = colouring.values.map((_, k) => groupMark(colouring, k, paper, soft));
    return (i) => marks[colouring.code(i)] || none;
  }
  const [low, high] = colouring.range;
  const steps = Array.from({ length: 101 }, (_, s) => ({ colour: rampColour(s / 100, dark), shape: "circle", small: false }));
  return (i) => {
    const v = colouring.number(i);
    return Number.isFinite(v) ? steps[Math.round(100 * Math.min(1, Math.max(0, (v - low) / (high - low))))] : none;
  };
}

/** Half of what rows keep from each other, within bounds; growing a little with the zoom. */
function spotSize({ spots, size, sight }) {
  const half = 0.42 * gapOf(spots.length) * size[0];
  return Math.min(3.4, Math.max(1.7, half)) * Math.min(2, sight.zoom ** 0.35);
}

function drawSpots(ctx, view, selection) {
  const { spots, size } = view, mark = marksOf(view.colouring), r = spotSize(view);
  ctx.lineWidth = 1.4;
  // Selected rows come last, on top of the others.
  for (let pass = 0; pass < 2; pass++) for (let i = 0; i < spots.length; i++) {
    const [x, y] = spots[i];
    if (x < -9 || y < -9 || x > size[0] + 9 || y > size[1] + 9) continue;
    if ((selection.count > 0 && selection.rows[i] === 1) !== (pass === 1)) continue;
    const { colour, shape, small } = mark(i);
    ctx.globalAlpha = selection.faded(i) ? 0.16 : 0.85;
    ctx.fillStyle = ctx.strokeStyle = colour;
    symbol(ctx, shape, x, y, small ? 0.7 * r : r);
  }
  ctx.globalAlpha = 1;
}

function haloed(ctx, text, x, y, colour) {
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = css("--paper"); ctx.strokeText(text, x, y);
  ctx.fillStyle = colour; ctx.fillText(text, x, y);
}

function drawHead(ctx, from, to) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  ctx.beginPath();
  for (const turn of [2.65, 0, -2.65]) {
    const at = turn === 0 ? to : [to[0] + 11 * Math.cos(angle + turn), to[1] + 11 * Math.sin(angle + turn)];
    ctx.lineTo(at[0], at[1]);
  }
  ctx.stroke();
}

/** An arrow with the name of its label; gives back the boxes that it takes. */
function drawArrow(ctx, view) {
  const ends = view.arrow && arrowEnds(view.places.step(view.arrow.direction), view.size, 0.42 * Math.min(...view.size));
  if (!ends) return [];
  const { from, to } = ends, text = shorter(view.arrow.name, 22) + " rises", half = ctx.measureText(text).width / 2 + 4;
  for (const [colour, width] of [[css("--paper"), 6], [css("--accent"), 2.5]]) {
    ctx.strokeStyle = colour; ctx.lineWidth = width;
    ctx.beginPath(); ctx.moveTo(from[0], from[1]); ctx.lineTo(to[0], to[1]); ctx.stroke();
    drawHead(ctx, from, to);
  }
  const x = Math.min(view.size[0] - half, Math.max(half, to[0])), y = to[1] + (to[1] > from[1] ? 18 : -10);
  haloed(ctx, text, x, y, css("--accent"));
  return [{ left: x - half, right: x + half, top: y - 12, bottom: y + 4 }];
}

/** Words of the regions, those with most rows first. */
function drawRegions(ctx, view, taken) {
  const most = view.size[0] < NARROW_MAP ? 1 : REGION_WORDS;
  const words = view.regions.map(({ place, words: all }) => {
    const lines = all.slice(0, most).map((word) => shorter(word, 32));
    return { at: toScreen(view.sight, view.size, place), lines, widths: lines.map((line) => ctx.measureText(line).width) };
  });
  for (const word of placedWords(words, view.size, taken)) {
    for (const line of word.lines) haloed(ctx, line.text, word.x, line.y, css("--ink"));
  }
}

function drawDraft(ctx, { path, box }) {
  ctx.strokeStyle = css("--pick"); ctx.lineWidth = 1.5; ctx.setLineDash([5, 4]);
  if (box) ctx.strokeRect(box[0][0], box[0][1], box[1][0] - box[0][0], box[1][1] - box[0][1]);
  if (path) {
    ctx.beginPath();
    path.forEach(([x, y], k) => (k ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
    ctx.closePath(); ctx.stroke();
    ctx.globalAlpha = 0.08; ctx.fillStyle = css("--pick"); ctx.fill(); ctx.globalAlpha = 1;
  }
  ctx.setLineDash([]);
}

function drawCross(ctx, [x, y]) {
  for (const [colour, width] of [[css("--paper"), 4], [css("--ink"), 1.5]]) {
    ctx.strokeStyle = colour; ctx.lineWidth = width;
    ctx.beginPath(); ctx.moveTo(x - 10, y); ctx.lineTo(x + 10, y); ctx.moveTo(x, y - 10); ctx.lineTo(x, y + 10); ctx.stroke();
  }
}

function drawHovered(ctx, [x, y]) {
  ctx.strokeStyle = css("--ink"); ctx.lineWidth = 2;
  ctx.beginPath(); ctx.arc(x, y, 8, 0, 2 * Math.PI); ctx.stroke();
}

export function drawMap(view, selection) {
  if (view.colouring === null) return;
  const { canvas, size, density } = view, ctx = canvas.getContext("2d");
  ctx.setTransform(density, 0, 0, density, 0, 0);
  ctx.clearRect(0, 0, size[0], size[1]);
  ctx.font = MAP_FONT; ctx.textAlign = "center"; ctx.lineJoin = ctx.lineCap = "round";
  drawSpots(ctx, view, selection);
  const drafting = view.draft.path || view.draft.box;
  if (!drafting && !selection.count) drawRegions(ctx, view, drawArrow(ctx, view));
  if (drafting) drawDraft(ctx, view.draft);
  if (view.hovered >= 0) drawHovered(ctx, view.spots[view.hovered]);
  if (view.byKeys && document.activeElement === canvas) drawCross(ctx, view.cross);
}
