// The stage of the matrix: a box that scrolls, and in it a canvas with the names of rows and columns beside it, all of the
// size of the box. What is on the screen is drawn anew for every place it is scrolled to.

import { make, put } from "./dom.js";
import { drawMatrix, scrollTo, sharpen } from "./matrix_draw.js";
import { nameLayer, namesShown } from "./matrix_names.js";
import { openedOf } from "./opened.js";

// Width and height of a cell: names of columns always have room, those of rows not. How much wider cells can become.
const MX_SIZES = [[12, 3], [12, 5], [12, 8], [14, 12], [17, 15], [22, 20], [28, 26]], MX_STRETCH = 1.8;
// Names are set at this angle; the longest that have room; the greatest height of the box.
const MX_ANGLE = 60, MX_ROW_NAME = 170, MX_COLUMN_NAME = 190, MX_HIGH = 640, MX_NARROW = 560;

export const MX_N_SIZES = MX_SIZES.length;

/** The size at which about all columns have room, within what can be read. */
export function startSize(nColumns) {
  if (window.innerWidth < 600) return 4;
  const room = Math.min(window.innerWidth, 1500) - 560;
  let size = 3;
  while (size < MX_N_SIZES - 2 && nColumns * MX_SIZES[size + 1][0] <= room) size += 1;
  return size;
}

export function matrixStage() {
  const canvas = make("canvas", null, { id: "matrix-canvas", "aria-hidden": "true" });
  const top = nameLayer("mx-top"), side = nameLayer("mx-side"), corner = make("div", null, { className: "mx-corner" });
  const box = put(make("div", null, { className: "mx-stage" }), canvas, top.layer, side.layer, corner);
  const space = put(make("div", null, { className: "mx-space" }), box);
  const scroll = put(make("div", null, {
    id: "matrix-scroll", className: "mx-scroll", tabindex: "0", role: "application", "aria-roledescription": "matrix",
    "aria-label": "Rows by columns. Arrow keys move, Enter opens the row, Shift and Enter the column.",
  }), space);
  return { canvas, top, side, corner, box, space, scroll };
}

/** Sizes of the names' places, smaller on a narrow screen, which it tells. */
function measureNames(view, nodes) {
  const { content } = view, narrow = nodes.scroll.parentNode.clientWidth < MX_NARROW;
  const longest = (names) => 22 + 6.2 * names.reduce((n, name) => Math.max(n, name.length), 0);
  if (!view.longest) {
    const some = Array.from({ length: Math.min(content.nRows, 2000) }, (_, i) => content.rowName(i));
    view.longest = { rows: longest(some), columns: longest(content.columns) };
  }
  const upright = Math.sin(MX_ANGLE * Math.PI / 180) * Math.min(MX_COLUMN_NAME, view.longest.columns) + 8;
  view.side = Math.min(view.longest.rows, narrow ? 92 : MX_ROW_NAME);
  view.head = Math.min(Math.max(60, upright), narrow ? 110 : MX_COLUMN_NAME);
  return narrow;
}

/** Sizes of everything; the room at the right is for the last names, which lean over. */
export function layStage(view, nodes) {
  const narrow = measureNames(view, nodes), { rows, columns, side, head, stripeWidth } = view, left = side + stripeWidth;
  const lean = Math.round(0.9 * head / Math.tan(MX_ANGLE * Math.PI / 180)), [w, h] = MX_SIZES[view.size];
  const free = nodes.scroll.clientWidth - left - lean - 18;
  view.h = h;
  view.w = Math.max(w, Math.floor(Math.min(MX_STRETCH * w, free / Math.max(1, columns.length))));
  const wide = left + columns.length * view.w + lean, high = head + rows.length * h + 2;
  nodes.scroll.style.height = Math.min(high + 18, MX_HIGH, Math.max(320, (narrow ? 0.65 : 0.8) * window.innerHeight)) + "px";
  const room = [nodes.scroll.clientWidth, nodes.scroll.clientHeight];
  mxSizeTo(nodes.space, Math.max(wide, room[0]), Math.max(high, room[1]));
  mxSizeTo(nodes.box, ...room);
  view.width = Math.max(10, room[0] - side);
  view.height = Math.max(10, room[1] - head);
  nodes.canvas.style.left = side + "px";
  nodes.canvas.style.top = head + "px";
  const long = Math.round((head - 14) / 0.87), letters = view.w < 14 ? 10 : 11;
  nodes.top.layer.style.cssText = `left:${left}px;height:${head}px;--long:${long}px;--letters:${letters}px`;
  nodes.side.layer.style.cssText = `top:${head}px;width:${side}px`;
  nodes.corner.style.cssText = `width:${left}px;height:${head}px`;
}

function mxSizeTo(node, width, height) {
  node.style.width = width + "px";
  node.style.height = height + "px";
}

function mxShowNames(view, nodes, { rowSpan, columnSpan }) {
  const { state, content, rows, columns, w, h, top, left, head, here } = view, { now } = openedOf(state);
  const isOpen = (kind, place) => now !== null && now.kind === kind && now.at === place;
  nodes.top.show(namesShown(columnSpan, w, here[1]).map((b) => ({
    text: content.columns[columns[b]],
    at: `translate(${(b + 0.5) * w - left}px,${head - 16}px) rotate(-${MX_ANGLE}deg)`,
    isMarked: b === here[1] || isOpen("column", columns[b]),
    isFaint: false,
    choose: () => state.openColumn(columns[b]),
  })));
  nodes.side.show(namesShown(rowSpan, h, here[0]).map((a) => ({
    text: content.rowName(rows[a]),
    at: `translate(0,${Math.max(0, (a + 0.5) * h - top - 8)}px)`,
    isMarked: a === here[0] || isOpen("row", rows[a]),
    isFaint: view.faded(rows[a]),
    choose: () => state.openRow(rows[a]),
  })));
}

/** Draws what is on the screen, and tells which rows that are. */
export function showStage(view, nodes) {
  view.top = nodes.scroll.scrollTop;
  view.left = nodes.scroll.scrollLeft;
  const spans = drawMatrix(sharpen(nodes.canvas, view.width, view.height), view);
  mxShowNames(view, nodes, spans);
  return view.rows.slice(...spans.rowSpan);
}

/** Scrolls to the cursor. */
export function showHere(view, { scroll }) {
  scroll.scrollTop = scrollTo(scroll.scrollTop, view.height, view.h, view.here[0]);
  scroll.scrollLeft = scrollTo(scroll.scrollLeft, view.width - view.stripeWidth, view.w, view.here[1]);
}
