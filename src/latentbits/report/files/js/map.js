// The section of the map of rows: puts its parts on the page and together.

import { at, empty, folded, hint, make, put } from "./dom.js";
import { mapActions } from "./map_actions.js";
import { arrowOf } from "./map_arrow.js";
import { rowCard } from "./map_card.js";
import { colouringsOf } from "./map_colour.js";
import { colourChoice, groupChoice, modeChoice, selectionButtons, zoomButtons } from "./map_controls.js";
import { drawMap } from "./map_draw.js";
import { mapKeys } from "./map_keys.js";
import { fitSize, laySpots, mapViewOf } from "./map_layout.js";
import { showMapLegend } from "./map_legend.js";
import { mapPointer } from "./map_pointer.js";

const MAP_HINT = "Draw around rows to select them. Rest on a row to see who it is; click to open it.";
const MAP_HELP = [
  ["Select", "draw around rows (Lasso) or drag a box (Box); with Shift they are added. A click beside all rows clears."],
  ["Look closer", "+ and −, a double click, two fingers, or the wheel: with Ctrl, or after a click on the map."],
  ["Move", "drag with Move, or hold Space and drag."],
  ["Keys", "arrows move a cross (faster with Shift), Enter sets the two corners of a box, o opens the row under the cross, "
    + "+ and − zoom, 0 shows all, Escape clears."],
];

/** Fills lists and legend anew where the reading, names of parts, or colours of the paper are others. */
function mapColours(state, legend, changed) {
  const by = colourChoice(changed), group = groupChoice(state);
  let told = "", shown = "", all = [];
  const current = () => all.find((one) => one.key === by.key());
  const follow = () => {
    const now = JSON.stringify([state.number, state.reading.parts.map((_, k) => state.nameOf(k))]);
    if (now !== told) { told = now; shown = ""; all = colouringsOf(state); by.fill(all); }
    const found = current(), look = found.key + getComputedStyle(document.documentElement).getPropertyValue("--paper");
    if (look !== shown) {
      group.fill(found);
      showMapLegend(legend, found, unknownIn(found, state.content.nRows));
      shown = look;
    }
    group.follow();
    return found;
  };
  return { nodes: [by.node, group.node], follow };
}

function unknownIn(colouring, nRows) {
  for (let i = 0; i < nRows; i++) {
    if (colouring.kind === "groups" ? colouring.code(i) < 0 : !Number.isFinite(colouring.number(i))) return true;
  }
  return false;
}

/** All ways to work with the map, folded where there is little room. */
function mapHelp() {
  const list = make("dl", null, { id: "map-hint" });
  for (const [name, text] of MAP_HELP) put(list, make("dt", name), make("dd", text));
  const fold = folded("How to work with the map", list);
  fold.open = window.innerWidth > 860;
  return fold;
}

function frameOfMap(canvas, note) {
  return put(make("div", null, { className: "map-frame" }), canvas, note);
}

/** Without a map groups can still be selected. */
function withoutMap(state, place, bar, legend) {
  const choice = mapColours(state, legend, () => choice.follow());
  put(bar, ...choice.nodes, ...selectionButtons(state, () => state.selection.clear()));
  put(place, hint("There is no map of these rows. Groups of them can be selected."), bar, legend);
  state.listen(choice.follow);
}

function withMap(state, place, bar, legend) {
  const canvas = make("canvas", null, {
    id: "map-canvas", tabindex: "0", role: "application", "aria-roledescription": "map", "aria-describedby": "map-hint",
    "aria-label": "Map of " + state.content.nRows + " rows: rows that are alike lie near each other",
  });
  const live = make("p", null, { id: "map-live", className: "heard", "aria-live": "polite" });
  const view = mapViewOf(state.content, canvas), card = rowCard(view, state, live), actions = mapActions(view, state, card);
  const follow = () => {
    view.colouring = choice.follow();
    view.arrow = arrowOf(state.content, view.colouring.key);
    card.hide();
    drawMap(view, state.selection);
  };
  const choice = mapColours(state, legend, follow);
  const tools = put(make("div", null, { className: "controls map-tools" }), modeChoice(view, actions.cursor),
    ...selectionButtons(state, actions.clear), zoomButtons(actions));
  put(bar, ...choice.nodes);
  put(place, bar, tools, frameOfMap(canvas, card.node), hint(MAP_HINT), legend, live);
  put(empty(at("map-help")), mapHelp());
  mapPointer(view, actions);
  mapKeys(view, actions);
  const refit = () => { fitSize(view); laySpots(view); };
  refit();
  new ResizeObserver(() => {
    if (canvas.clientWidth === view.size[0] && view.density === Math.max(1, window.devicePixelRatio || 1)) return;
    refit(); card.hide(); drawMap(view, state.selection);
  }).observe(canvas);
  state.listen(follow);
}

export function map(state) {
  const place = empty(at("map-place")), bar = make("div", null, { className: "controls", id: "map-controls" });
  const legend = make("div", null, { id: "legend" });
  if (state.content.map === null) withoutMap(state, place, bar, legend);
  else withMap(state, place, bar, legend);
}
