// All rows by all columns of the page, and why each cell is what it is.

import { whyCell } from "./asking.js";
import { at, empty, make, put } from "./dom.js";
import { matrixControls, showLegend } from "./matrix_controls.js";
import { stripeSize } from "./matrix_draw.js";
import { followKeys, followPointer } from "./matrix_input.js";
import { bestColumnKey, bestRowKey, orderColumns, orderRows, rowKeys, stripeOf } from "./matrix_order.js";
import { layStage, matrixStage, MX_N_SIZES, showHere, showStage, startSize } from "./matrix_stage.js";
import { openedOf } from "./opened.js";
import { cellTold, reasonLines } from "./reasons.js";
import { SURPRISING, surprisesOf } from "./surprises.js";

/** The view: what is shown in which order, how large, where the cursor is (places in the order of rows and columns). */
function matrixView(state) {
  const surprises = surprisesOf(state);
  return {
    state, content: state.content, size: startSize(state.content.nColumns), rows: [], columns: [], here: [0, 0],
    stripe: { kind: "none" }, stripeWidth: 0, onlySelected: false, rowKey: null, columnKey: null, reading: null, keys: [],
    faded: state.selection.faded,
    crossed: (i) => {
      const known = surprises.known(i);
      return known && ((j) => known[j] > SURPRISING);
    },
  };
}

/** Orders by a part give way to the best ones of another reading; others stay where it has them, too. */
function mxChooseKeys(view) {
  const { state, content } = view, { reading } = state, isNew = view.reading !== reading;
  view.reading = reading;
  const has = { surprise: surprisesOf(state).isPossible(), row: openedOf(state).row };
  view.keys = rowKeys(content, reading, state.nameOf, has);
  const isThere = view.keys.some(([key]) => key === view.rowKey), isOfParts = /^(main|on|part:\d+)$/.test(view.rowKey);
  if (!isThere || (isNew && isOfParts)) view.rowKey = bestRowKey(reading);
  if (isNew && (view.columnKey === null || view.columnKey === "part" || view.columnIsBest)) {
    view.columnKey = bestColumnKey(content, reading);
    view.columnIsBest = true;
  }
}

/** Puts rows and columns in order. In another order the view begins anew; in the same one the cursor stays on its cell. */
function mxArrange(view) {
  const { state, content, here } = view, was = [view.rows[here[0]], view.columns[here[1]]];
  mxChooseKeys(view);
  const surprises = surprisesOf(state), totals = surprises.totals(), { reading, selection } = state;
  if (view.rowKey === "surprise") surprises.wantAll();
  const rows = orderRows(content, reading, view.rowKey, { totals, row: openedOf(state).row });
  view.rows = view.onlySelected && selection.count > 0 ? rows.filter((i) => selection.rows[i]) : rows;
  view.columns = orderColumns(content, reading, view.columnKey, view.rowKey);
  view.stripe = stripeOf(content, reading, view.rowKey, state.nameOf, totals);
  view.stripeWidth = stripeSize(view.stripe);
  view.nSorted = surprises.count();
  const order = [state.number, view.rowKey, view.columnKey].join();
  view.isAnew = view.order !== order;
  view.order = order;
  view.here = view.isAnew ? [0, 0] : [Math.max(0, view.rows.indexOf(was[0])), Math.max(0, view.columns.indexOf(was[1]))];
}

/** Says what the cell under the cursor is; `aloud` for screen readers, which a pointer that passes by should not disturb. */
function mxExplain(view, node, aloud) {
  const { state, content, rows, columns, here } = view;
  node.setAttribute("aria-live", aloud ? "polite" : "off");
  empty(node);
  if (!rows.length || !columns.length) {
    put(node, make("p", "No rows are shown."));
    return;
  }
  const i = rows[here[0]], j = columns[here[1]], why = whyCell(content, state.reading, i, j);
  const main = state.nameOf(state.reading.main(i));
  node.dataset.row = i;
  node.dataset.column = j;
  node.dataset.probability = why ? why.probability : "";
  node.dataset.shares = why && why.shares ? JSON.stringify(Array.from(why.shares)) : "";
  put(node, put(make("p"), make("strong", content.columns[j])), make("p", content.rowName(i) + (main ? " · " + main : "")));
  for (const line of reasonLines(cellTold(state, i, j, why))) put(node, make("p", line));
}

/** One call of `work` per frame, however often it is asked for. */
function mxPerFrame(work) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      work();
    });
  };
}

/** What can be done with the view: draw it, say what is under the cursor, put all in order again. */
function matrixActs(view, nodes, cell, legend) {
  const surprises = surprisesOf(view.state);
  const draw = () => surprises.want(showStage(view, nodes)), redraw = mxPerFrame(draw);
  const tellSoon = mxPerFrame(() => mxExplain(view, cell, false));
  const acts = {
    redraw,
    moved: (aloud) => {
      redraw();
      if (aloud) mxExplain(view, cell, true);
      else tellSoon();
    },
    lay: () => {
      layStage(view, nodes);
      draw();
    },
    refresh: () => {
      mxArrange(view);
      acts.controls.refresh();
      showLegend(view, legend);
      layStage(view, nodes);
      if (view.isAnew) showHere(view, nodes);
      draw();
      mxExplain(view, cell, false);
    },
  };
  acts.controls = matrixControls(view, MX_N_SIZES, acts.refresh);
  return acts;
}

/** Everything that changes the view from elsewhere. */
function followState(view, nodes, acts) {
  const { state } = view, surprises = surprisesOf(state);
  state.listen(acts.refresh);
  openedOf(state).listen(() => {
    if (view.rowKey === "similar") acts.refresh();
    else {
      mxArrange(view);
      acts.controls.refresh();
      acts.redraw();
    }
  });
  // Rows are put in order of surprise again only when twice as many are known, or all: they would jump all the time.
  surprises.listen(() => {
    acts.controls.progress();
    const n = surprises.count(), due = Math.min(surprises.nAll(), Math.max(50, 2 * view.nSorted));
    if (view.rowKey === "surprise" && n >= due && n > view.nSorted) acts.refresh();
    else acts.redraw();
  });
  if (typeof ResizeObserver === "function") new ResizeObserver(mxPerFrame(acts.lay)).observe(nodes.scroll.parentNode);
}

/** Sets state.rowsInOrder() (rows as they are shown) and state.showCell(i, j) (scrolls to a cell; j -1: the column stays). */
export function matrix(state) {
  const view = matrixView(state), nodes = matrixStage();
  const legend = make("div", null, { className: "legend", id: "matrix-legend" });
  const cell = make("div", null, { className: "cell", id: "matrix-cell", "aria-live": "polite" });
  const acts = matrixActs(view, nodes, cell, legend), { controls } = acts;
  const both = put(make("div", null, { className: "mx-both" }), nodes.scroll, cell);
  put(at("matrix-body"), controls.hint, controls.node, legend, both);
  nodes.scroll.addEventListener("scroll", acts.redraw, { passive: true });
  followKeys(view, nodes, acts.moved);
  followPointer(view, nodes, acts.moved);
  followState(view, nodes, acts);
  state.rowsInOrder = () => view.rows;
  state.showCell = (i, j) => {
    view.here = [Math.max(0, view.rows.indexOf(i)), j < 0 ? view.here[1] : Math.max(0, view.columns.indexOf(j))];
    showHere(view, nodes);
    acts.moved(true);
  };
}
