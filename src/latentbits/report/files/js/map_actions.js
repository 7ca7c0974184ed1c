// What can be done with the map: by pointers, keys and buttons alike.

import { drawMap } from "./map_draw.js";
import { inBox, inPolygon, nearestSpot } from "./map_geometry.js";
import { laySpots } from "./map_layout.js";
import { panned, WHOLE_MAP, zoomedAt } from "./map_view.js";

/** Draws once before the next picture, however often it is asked for. */
function lazily(draw) {
  let asked = 0;
  return () => { if (!asked) asked = requestAnimationFrame(() => { asked = 0; draw(); }); };
}

const MAP_CURSORS = { lasso: "crosshair", box: "crosshair", move: "grab" };

function cursorOf({ space, hovered, mode }) {
  if (space) return "grab";
  return hovered >= 0 ? "pointer" : MAP_CURSORS[mode];
}

/** What buttons zoom to: the middle of the selected rows that are seen, else that of the canvas. */
function middleOfInterest({ spots, size }, { rows, count }) {
  let x = 0, y = 0, n = 0;
  if (count) spots.forEach((spot, i) => {
    if (rows[i] && inBox([0, 0], size, spot)) { x += spot[0]; y += spot[1]; n += 1; }
  });
  return n ? [x / n, y / n] : [size[0] / 2, size[1] / 2];
}

/** All that pointers, keys and buttons can do. */
export function mapActions(view, state, card) {
  const { selection } = state, draw = () => drawMap(view, selection), later = lazily(draw);
  const look = (sight) => { view.sight = sight; laySpots(view); card.hide(); view.hovered = -1; later(); };
  const actions = {
    later,
    near: (at_, most) => nearestSpot(view.spots, at_, most),
    hover: (i, byKeys) => {
      if (i !== view.hovered) { view.hovered = i; later(); }
      card.show(i, byKeys);
      actions.cursor();
    },
    cursor: () => { view.canvas.style.cursor = cursorOf(view); },
    zoom: (factor, where = middleOfInterest(view, selection)) => look(zoomedAt(view.sight, view.size, where, factor)),
    pan: (by) => look(panned(view.sight, view.size, by)),
    whole: () => look(WHOLE_MAP),
    drop: () => { view.press = null; view.draft = { path: null, box: null }; later(); },
    select: ({ path, box }, add) => {
      const inside = path ? (i) => inPolygon(path, view.spots[i]) : (i) => inBox(box[0], box[1], view.spots[i]);
      selection.choose((i) => (add && selection.rows[i] === 1) || inside(i));
    },
    click: (i) => { if (i >= 0) state.openRow(i); else if (selection.count) selection.clear(); },
    clear: () => { actions.drop(); actions.hover(-1, true); selection.clear(); },
  };
  return actions;
}
