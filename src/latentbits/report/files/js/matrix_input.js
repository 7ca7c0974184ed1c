// Keys and pointer on the matrix. A pointer moves the cursor as it passes, keys move it step by step.

import { showHere } from "./matrix_stage.js";

const MX_MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Where a key leads from a place in a matrix of n rows and d columns with `page` rows on the screen; null for other keys. */
export function keyMove(event, [row, column], n, d, page) {
  const inside = (a, b) => [Math.max(0, Math.min(n - 1, a)), Math.max(0, Math.min(d - 1, b))];
  const isWide = event.ctrlKey || event.metaKey, step = MX_MOVES[event.key];
  if (step) return inside(row + step[0], column + step[1]);
  if (event.key === "Home") return isWide ? [0, 0] : inside(row, 0);
  if (event.key === "End") return isWide ? inside(n, d) : inside(row, d);
  if (event.key === "PageDown") return inside(row + page, column);
  return event.key === "PageUp" ? inside(row - page, column) : null;
}

/** `moved(aloud)` is called whenever the cursor is somewhere else; aloud if a key did it. */
export function followKeys(view, nodes, moved) {
  nodes.scroll.addEventListener("keydown", (event) => {
    if (event.target !== nodes.scroll || !view.rows.length) return;
    if (event.key === "Enter") {
      event.preventDefault();
      if (event.shiftKey) view.state.openColumn(view.columns[view.here[1]]);
      else view.state.openRow(view.rows[view.here[0]]);
      return;
    }
    const page = Math.max(1, Math.floor(view.height / view.h) - 1);
    const to = keyMove(event, view.here, view.rows.length, view.columns.length, page);
    if (to === null) return;
    event.preventDefault();
    view.here = to;
    showHere(view, nodes);
    moved(true);
  });
}

/** The cell at a place of the screen, as places in the order; null outside. */
function cellAt(view, nodes, event) {
  const frame = nodes.canvas.getBoundingClientRect(), from = frame.left + view.stripeWidth;
  if (event.clientX < from || event.clientY < frame.top) return null;
  const a = Math.floor((event.clientY - frame.top + view.top) / view.h);
  const b = Math.floor((event.clientX - from + view.left) / view.w);
  return a < view.rows.length && b < view.columns.length ? [a, b] : null;
}

export function followPointer(view, nodes, moved) {
  const go = (event) => {
    const to = cellAt(view, nodes, event);
    if (to === null || (to[0] === view.here[0] && to[1] === view.here[1])) return;
    view.here = to;
    moved(false);
  };
  nodes.scroll.addEventListener("pointermove", go);
  // A finger does not pass by.
  nodes.canvas.addEventListener("click", go);
  nodes.canvas.addEventListener("dblclick", (event) => {
    const to = cellAt(view, nodes, event);
    if (to !== null) view.state.openRow(view.rows[to[0]]);
  });
}
