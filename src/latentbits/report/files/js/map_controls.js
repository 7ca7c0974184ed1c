// What the map is coloured by, which group is selected, how the pointer works: the controls above and on the map.

import { empty, make, put } from "./dom.js";
import { rowGroupsOf } from "./map_colour.js";

const MAP_MODES = [
  ["lasso", "Lasso", "Draw around rows to select them"],
  ["box", "Box", "Draw a box around rows to select them"],
  ["move", "Move", "Drag the map"],
];

const labelledChoice = (text, input) => put(make("label", text + " "), input);

function toolButton(text, act, attributes) {
  const node = make("button", text, { type: "button", ...attributes });
  node.addEventListener("click", act);
  return node;
}

/** Colourings in their sections; keeps the one that is chosen, if it is still there, else takes the first. */
function fillColourings(select, colourings, chosen) {
  empty(select);
  for (const section of new Set(colourings.map((one) => one.section))) {
    const group = put(select, make("optgroup", null, { label: section })).lastChild;
    for (const one of colourings) if (one.section === section) put(group, make("option", one.name, { value: one.key }));
  }
  select.value = colourings.some((one) => one.key === chosen) ? chosen : colourings[0].key;
}

/** A list of colourings: `fill(colourings)` and `key()`; calls `changed` when another is chosen. */
export function colourChoice(changed) {
  const select = make("select", null, { id: "colour-by" });
  let chosen = "";
  select.addEventListener("change", () => { chosen = select.value; changed(); });
  return {
    node: labelledChoice("Colour and shape by", select),
    fill: (colourings) => fillColourings(select, colourings, chosen),
    key: () => select.value,
  };
}

/** A list of groups: selects the rows of the one that is chosen, and forgets it when the selection changes otherwise. */
export function groupChoice(state) {
  const select = make("select", null, { id: "group" }), { selection } = state;
  let groups = [], version = -1, choosing = false;
  select.addEventListener("change", () => {
    const group = groups[Number(select.value)];
    choosing = true;
    if (select.value === "") selection.clear();
    else selection.choose(group.test);
    choosing = false;
    version = selection.version;
  });
  return {
    node: labelledChoice("Select", select),
    fill: (colouring) => {
      groups = rowGroupsOf(colouring, state.content.nRows);
      put(empty(select), make("option", "a group…", { value: "" }));
      groups.forEach(({ text }, g) => put(select, make("option", text, { value: String(g) })));
    },
    follow: () => { if (!choosing && version !== selection.version) select.value = ""; },
  };
}

/** Three ways of the pointer, of which one is on. */
export function modeChoice(view, changed) {
  const node = make("div", null, { className: "modes", role: "group", "aria-label": "What dragging does" });
  const buttons = MAP_MODES.map(([mode, text, title]) => toolButton(text, () => choose(mode), { title, "data-mode": mode }));
  function choose(mode) {
    view.mode = mode;
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.mode === mode));
    changed();
  }
  choose(view.mode);
  return put(node, ...buttons);
}

export function zoomButtons(actions) {
  const node = make("div", null, { className: "zooms", role: "group", "aria-label": "Zoom" });
  return put(node,
    toolButton("+", () => actions.zoom(1.6), { "aria-label": "Zoom in", id: "zoom-in" }),
    toolButton("−", () => actions.zoom(1 / 1.6), { "aria-label": "Zoom out", id: "zoom-out" }),
    toolButton("Reset", () => actions.whole(), { "aria-label": "Show the whole map", id: "zoom-reset" }));
}

export function selectionButtons(state, clear) {
  return [toolButton("Invert", () => state.selection.invert(), { title: "Select the rows that are not selected" }),
    toolButton("Clear", clear, { "aria-label": "Clear selection" })];
}
