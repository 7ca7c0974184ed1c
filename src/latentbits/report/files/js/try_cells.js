// The cells of a typed row: a button for every column of the page, set to 1, to 0 or to nothing.

import { at, draw, empty, make, put } from "./dom.js";
import { percent, whole } from "./words.js";

const NEXT_STATE = new Map([[-1, 1], [1, 0], [0, -1]]);
const KEY_STATE = new Map([["1", 1], ["0", 0], [" ", -1], ["Delete", -1], ["Backspace", -1]]);
// From so many columns on there is a box to find one.
const MANY_COLUMNS = 12;
// A blank that the row makes likelier or less likely by so much is worth a colour of its own.
const SURPRISING_CHANCE = 0.1;

const stateWords = (cell) => (cell === 1 ? "1" : cell === 0 ? "0" : "blank");

/** What the button of a cell says: what it is, or the probability of a one; and whether that is a surprise. */
export function cellMark(cell, chance) {
  const known = cell !== -1, told = Number.isFinite(chance);
  const odd = known && told && (cell === 1 ? chance : 1 - chance) < SURPRISING_CHANCE;
  return { text: known ? String(cell) : told ? percent(chance) : "", odd, state: known ? (cell ? "one" : "zero") : "blank" };
}

/** Which columns a filter leaves: those whose name has its words, and of these all, those that are set, or the others. */
export function shownColumns(columns, cells, text, which) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (name) => { const low = name.toLowerCase(); return words.every((word) => low.includes(word)); };
  const wanted = (cell) => which === "all" || (which === "set") === (cell !== -1);
  return columns.map((name, j) => wanted(cells[j]) && fits(name));
}

/** Where an arrow leads among the shown buttons of a grid with `across` in a line; -1 for keys that lead nowhere. */
export function stepTo(key, place, n, across) {
  const steps = {
    ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + across, ArrowUp: place - across, Home: 0, End: n - 1,
  };
  return key in steps && steps[key] >= 0 && steps[key] < n ? steps[key] : -1;
}

function cellButton(name, j) {
  const button = make("button", null, { type: "button", className: "try-cell", "data-column": j, tabindex: -1, title: name });
  return put(button, make("span", name, { className: "name" }), make("span", "", { className: "mark" }));
}

/** Keys set the cell under the focus, or move the focus. */
function followTryKeys(grid, buttons, set) {
  const shown = () => buttons.filter((b) => !b.hidden);
  grid.addEventListener("keydown", (event) => {
    const button = event.target.closest(".try-cell");
    if (!button || event.ctrlKey || event.metaKey || event.altKey) return;
    if (KEY_STATE.has(event.key)) {
      event.preventDefault();
      set(Number(button.dataset.column), KEY_STATE.get(event.key));
      return;
    }
    const all = shown(), across = all.filter((b) => b.offsetTop === all[0].offsetTop).length;
    const next = stepTo(event.key, all.indexOf(button), all.length, across);
    if (next < 0) return;
    event.preventDefault();
    all[next].focus();
  });
  // A button takes the space bar when it is let go, too.
  grid.addEventListener("keyup", (event) => {
    if (event.key === " " && event.target.closest(".try-cell")) event.preventDefault();
  });
  // One stop of the tabulator for the whole grid: the cell that was used last.
  grid.addEventListener("focusin", (event) => {
    const button = event.target.closest(".try-cell");
    if (button) for (const b of buttons) b.tabIndex = b === button ? 0 : -1;
  });
}

function filterControls(apply) {
  const text = make("input", null, { type: "search", id: "try-filter", placeholder: "part of a name" });
  const which = make("select", null, { id: "try-which" });
  for (const [value, words] of [["all", "all columns"], ["set", "those that are set"], ["blank", "those that are blank"]]) {
    put(which, make("option", words, { value }));
  }
  text.addEventListener("input", () => apply(text.value, which.value));
  which.addEventListener("change", () => apply(text.value, which.value));
  const labels = [put(make("label", "Find a column "), text), put(make("label", "Show "), which)];
  return put(make("div", null, { className: "controls" }), ...labels);
}

/** The grid of cells; `set(j, state)` is called when somebody changes one. Gives its nodes and `show(cells, chances)`, which
 * writes what the cells are and the probability of a one in each. */
export function tryCells(columns, set) {
  const grid = make("div", null, { className: "try-grid", role: "group", "aria-label": "Cells of the row" });
  const buttons = columns.map(cellButton), none = make("p", "No column fits.", { className: "hint" });
  let cells = columns.map(() => -1), filter = ["", "all"];
  buttons.forEach((button, j) => {
    button.addEventListener("click", () => set(j, NEXT_STATE.get(cells[j])));
    put(grid, button);
  });
  if (buttons.length) buttons[0].tabIndex = 0;
  followTryKeys(grid, buttons, set);
  function sift() {
    const kept = shownColumns(columns, cells, ...filter);
    buttons.forEach((button, j) => { button.hidden = !kept[j]; });
    none.hidden = kept.some(Boolean);
    const first = buttons.find((b) => !b.hidden);
    if (first && !buttons.some((b) => !b.hidden && b.tabIndex === 0)) first.tabIndex = 0;
  }
  function show(now, chances) {
    cells = now;
    buttons.forEach((button, j) => {
      const chance = chances ? chances[j] : NaN, mark = cellMark(cells[j], chance), told = Number.isFinite(chance);
      button.className = "try-cell " + mark.state + (mark.odd ? " odd" : "");
      button.lastChild.textContent = mark.text;
      button.style.setProperty("--chance", told && cells[j] === -1 ? (100 * chance).toFixed(1) + "%" : "0%");
      if (told) button.setAttribute("data-value", String(chance));
      else button.removeAttribute("data-value");
      const beside = !told ? "" : cells[j] === -1 ? ", a one with " + mark.text : mark.odd ? ", surprising" : "";
      button.setAttribute("aria-label", columns[j] + ": " + stateWords(cells[j]) + beside);
    });
  }
  const apply = (text, which) => { filter = [text, which]; sift(); };
  const controls = columns.length > MANY_COLUMNS ? [filterControls(apply)] : [];
  none.hidden = true;
  return { nodes: [...controls, grid, none], show };
}

/** A place on a small map of the page's rows. */
export function smallMap(map, nRows, place) {
  const width = 260, height = map.n_axes > 1 ? 260 : 70, named = { role: "img", "aria-label": "Place on the map of rows" };
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "try-map", ...named });
  const step = Math.max(1, Math.ceil(nRows / 1500)), spots = [];
  for (let i = 0; i < nRows; i += step) spots.push(map.place(i));
  const ends = (axis) => {
    const all = [...spots, place].map((spot) => spot[axis] || 0);
    return [Math.min(...all), Math.max(...all)];
  };
  const across = ends(0), up = ends(1);
  const to = (value, [low, high], length) => 14 + (length - 28) * (high > low ? (value - low) / (high - low) : 0.5);
  for (const spot of spots) {
    const spotAt = { cx: to(spot[0], across, width), cy: height - to(spot[1], up, height) };
    put(svg, draw("circle", { ...spotAt, r: 2, fill: "var(--soft)", opacity: 0.45 }));
  }
  const x = to(place[0], across, width), y = height - to(place[1] || 0, up, height);
  put(svg, draw("circle", { cx: x, cy: y, r: 8, fill: "var(--pick)", stroke: "var(--ink)", "stroke-width": 1.5 }));
  return svg;
}

/** The rows of the page whose places are nearest. */
export function nearestPlaces(map, nRows, place, most) {
  const far = (i) => { const spot = map.place(i); return (spot[0] - place[0]) ** 2 + (spot[1] - (place[1] || 0)) ** 2; };
  const all = Array.from({ length: nRows }, (_, i) => [i, far(i)]).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  return all.slice(0, most).map(([i]) => i);
}

/** A box for the name of a row of the page: its names are offered while one types. */
export function rowPicker(content, pick) {
  const input = make("input", null, { type: "search", id: "try-like", list: "try-rows", autocomplete: "off" });
  const offered = make("datalist", null, { id: "try-rows" }), told = make("span", "", { className: "hint", role: "status" });
  const named = (text) => {
    const low = text.trim().toLowerCase(), found = [];
    for (let i = 0; low && i < content.nRows && found.length < 20; i++) {
      const name = content.rowName(i).toLowerCase();
      if (name === low) return [i];
      if (name.includes(low)) found.push(i);
    }
    return found;
  };
  const take = (rows) => {
    told.textContent = rows.length ? "" : "no row of the page is called so";
    if (rows.length) pick(rows[0]);
  };
  input.addEventListener("input", () => {
    const found = named(input.value);
    empty(offered);
    for (const i of found) put(offered, make("option", null, { value: content.rowName(i) }));
    if (found.length === 1 && content.rowName(found[0]) === input.value) take(found);
  });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") take(named(input.value)); });
  const go = make("button", "Fill in", { type: "button" });
  go.addEventListener("click", () => take(named(input.value)));
  input.placeholder = "name of a row";
  return put(make("span", null, { className: "try-like" }), put(make("label", "Like row "), input), offered, go, told);
}

/** Brings the section to the eye. */
export function toSection(id) {
  at(id).scrollIntoView({ block: "start" });
}

/** "3 of 16 cells set". */
export function setWords(cells) {
  return whole(cells.reduce((n, cell) => n + (cell !== -1), 0)) + " of " + whole(cells.length) + " cells set";
}
