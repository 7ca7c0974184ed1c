// All about a row, a column or a part, in a drawer beside the page. Others open it through the state.

import { fillColumn } from "./drawer_column.js";
import { drawerFrame } from "./drawer_frame.js";
import { fillPart } from "./drawer_part.js";
import { fillRow } from "./drawer_row.js";
import { openedOf } from "./opened.js";
import { surprisesOf } from "./surprises.js";

const DRAWER_FILLS = { row: fillRow, column: fillColumn, part: fillPart };

const DRAWER_TITLES = {
  row: ({ content }, { at: i }) => content.rowName(i),
  column: ({ content }, { at: j }) => content.columns[j],
  part: (state, { at: k, reading }) => state.nameOf(k, reading),
};

/** Sets state.openRow(i), state.openColumn(j) (places on the page), state.openPart(k) (of the reading that is shown), and
 * state.closeDrawer(). */
export function drawers(state) {
  const opened = openedOf(state), surprises = surprisesOf(state);
  const frame = drawerFrame({
    title: (thing) => DRAWER_TITLES[thing.kind](state, thing),
    fill: (thing, node) => DRAWER_FILLS[thing.kind](state, thing.at, node),
    changed: (thing) => opened.set(thing),
  });
  state.openRow = (i) => frame.open({ kind: "row", at: i });
  state.openColumn = (j) => frame.open({ kind: "column", at: j });
  state.openPart = (k) => { if (k >= 0) frame.open({ kind: "part", at: k, reading: state.number }); };
  state.closeDrawer = frame.close;
  state.listen(() => {
    // Another reading has other parts.
    frame.drop((thing) => thing.kind === "part" && thing.reading !== state.number);
    frame.refresh();
  });
  let waits = false;
  surprises.listen(() => {
    if (waits || opened.now === null || opened.now.kind === "column") return;
    waits = true;
    // Not more often than one can read.
    setTimeout(() => { waits = false; frame.refresh(); }, surprises.isDone() ? 0 : 1000);
  });
}
