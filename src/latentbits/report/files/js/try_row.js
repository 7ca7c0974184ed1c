// Type a row and see what the model says of it, at once: the page asks the model itself, as the library would.

import { modelFor } from "./asking.js";
import { at, empty, hint, make, put } from "./dom.js";
import { answerWords, oddCells, showFills, showOdd, showParts } from "./try_answer.js";
import { rowPicker, setWords, toSection, tryCells } from "./try_cells.js";
import { whole } from "./words.js";

// After the last change before the model is asked, and how long it may keep the page busy at a time; in milliseconds.
const TRY_PAUSE = 50, TRY_SLICE = 20;
// Known cells that are asked about one by one.
const MOST_ASKED = 60;
const FILL_ORDERS = [["likely", "most probable first"], ["changed", "most changed by this row first"]];

/** The row as the model takes it: columns that are not on the page are blank. */
export function rowOfCells(content, cells) {
  const row = Array.from({ length: content.shape[1] }, () => -1);
  content.column_numbers.forEach((place, j) => { row[place] = cells[j]; });
  return row;
}

/** Why a reading cannot be asked, and which can. */
function cannotAsk(state) {
  const { content, reading } = state, others = content.readings.map((r, n) => [r, n]).filter(([r]) => r.row_model);
  const isOther = ["switches", "local causes"].includes(reading.structure);
  const why = isOther ? "models of this family are not asked in the page" : "the model has more numbers than fit on the page";
  const line = make("p", `${reading.title}: ${why}. In Python, its file in the folder of this report answers about new rows.`);
  if (!others.length) return [line];
  const tabs = put(make("div", null, { className: "controls" }), make("span", "These readings can be asked here:"));
  for (const [other, n] of others) {
    const button = make("button", other.title, { type: "button" });
    button.addEventListener("click", () => state.show(n));
    put(tabs, button);
  }
  return [line, tabs];
}

function tryIntroduction(content) {
  const left = content.n_columns_left_out, words = "Set cells, and see what the model says of such a row. A click on a column " +
    "leads from blank to 1, to 0 and back; with the keyboard: arrows move, 1 and 0 set a cell, space or Delete makes it blank. " +
    "In blank cells stands the probability of a one.";
  const more = ` The table has ${whole(left)} more columns than the page. These stay blank here, so a row of the table that is ` +
    "filled in is known less well than it was in the fit.";
  return hint(words + (left ? more : ""));
}

function fillsHead(apply) {
  const select = make("select", null, { id: "try-order" });
  for (const [value, words] of FILL_ORDERS) put(select, make("option", words, { value }));
  select.addEventListener("change", () => apply(select.value));
  const title = make("h3", "What the blanks would be");
  return put(make("div", null, { className: "controls" }), title, put(make("label", "Order "), select));
}

/** The places of the section that do not change with the row. */
function tryFrame(state, desk) {
  const [parts, odd, fills] = ["try-parts", "try-odd", "try-fills"].map((id) => make("div", null, { id }));
  const summary = make("p", "", { id: "try-summary", role: "status", "aria-live": "polite" });
  const count = make("span", "", { className: "hint", id: "try-count" });
  const clear = make("button", "All blank", { type: "button", id: "try-clear" });
  clear.addEventListener("click", desk.clear);
  const cells = tryCells(state.content.columns, desk.set);
  const controls = put(make("div", null, { className: "controls" }), clear, rowPicker(state.content, desk.like), count);
  const left = put(make("div", null, { className: "try-left" }), controls, ...cells.nodes);
  const answer = put(make("div", null, { className: "try-answer" }), summary, parts, odd);
  const blanks = put(make("div", null, { className: "try-blanks" }), fillsHead(desk.order), fills);
  const node = put(make("div", null, { className: "try-two" }), left, answer, blanks);
  return { node, parts, odd, fills, summary, count, cells };
}

/** The known cells that are asked about one by one: of many those that the row, the cell included, expects least. Some families
 * look at the whole row again for every cell. */
export function cellsToAsk(cells, chances, most = MOST_ASKED) {
  const own = (j) => (cells[j] === 1 ? chances[j] : 1 - chances[j]);
  return cells.map((_, j) => j).filter((j) => cells[j] !== -1).sort((a, b) => own(a) - own(b)).slice(0, most);
}

/** Asks about columns one after the other, a few at a time, and tells what is said of each; a later row stops it. */
function askCells(model, row, content, columns, isStale, done) {
  const said = content.columns.map(() => null);
  let next = 0;
  function slice() {
    if (isStale()) return;
    const started = performance.now();
    for (; next < columns.length && performance.now() - started < TRY_SLICE; next++) {
      said[columns[next]] = model.why(row, content.column_numbers[columns[next]]);
    }
    if (next < columns.length) setTimeout(slice, 0);
    else done(said);
  }
  slice();
}

/** The section: what is typed, and what is said of it. */
export function tryRow(state) {
  const { content } = state, node = at("try-body");
  let cells = content.columns.map(() => -1), order = "likely", timer = null, turn = 0, from = "", shown = null, last = null;

  const desk = {
    set: (j, value) => { cells = cells.map((cell, at) => (at === j ? value : cell)); from = ""; later(); },
    clear: () => { cells = cells.map(() => -1); from = ""; later(); },
    like: (i) => {
      const cellOf = (_, j) => (content.isBlank(i, j) ? -1 : Number(content.isOne(i, j)));
      fillIn(content.columns.map(cellOf), content.rowName(i));
    },
    order: (value) => { order = value; if (last) showFills(frame.fills, state, cells, last.answer.filled, order); },
  };
  const frame = tryFrame(state, desk);

  function fillIn(values, name) {
    cells = Array.from(values, (v) => (v === 1 || v === 0 ? v : -1));
    from = name;
    later();
  }

  function later() {
    turn += 1;
    frame.cells.show(cells, null);
    frame.count.textContent = setWords(cells) + (from ? ", like " + from : "");
    node.setAttribute("data-busy", "true");
    clearTimeout(timer);
    timer = setTimeout(ask, TRY_PAUSE);
  }

  function ask() {
    if (!state.reading.row_model) return;
    const mine = (turn += 1), model = modelFor(state.reading), row = rowOfCells(content, cells), answer = model.answer(row);
    last = { answer, said: [] };
    showParts(frame.parts, state, answer);
    showFills(frame.fills, state, cells, answer.filled, order);
    const chances = content.column_numbers.map((place) => answer.filled[place]);
    frame.cells.show(cells, chances.map((chance, j) => (cells[j] === -1 ? chance : NaN)));
    const asked = cellsToAsk(cells, chances);
    askCells(model, row, content, asked, () => mine !== turn, (said) => finish(answer, said));
  }

  function finish(answer, said) {
    last = { answer, said };
    showOdd(frame.odd, state, cells, answer.parts, said);
    const chance = (place, j) => (cells[j] === -1 ? answer.filled[place] : said[j]?.probability ?? NaN);
    frame.cells.show(cells, content.column_numbers.map(chance));
    frame.summary.textContent = answerWords(state, answer, cells, oddCells(cells, said, Infinity).length);
    node.removeAttribute("data-busy");
  }

  /** Another reading is asked anew; new names are written, and selections change nothing here. */
  function follow() {
    const names = state.reading.parts.map((_, k) => state.nameOf(k)).join("\n"), now = state.number + "\n" + names;
    if (now === shown) return;
    const isNew = shown === null || !shown.startsWith(state.number + "\n");
    shown = now;
    if (isNew) {
      turn += 1;
      const asked = () => [hint("Asked: " + state.reading.title + "."), tryIntroduction(content), frame.node];
      put(empty(node), ...(state.reading.row_model ? asked() : cannotAsk(state)));
      last = null;
      if (state.reading.row_model) later();
    } else if (last && last.said.length) {
      showParts(frame.parts, state, last.answer);
      finish(last.answer, last.said);
    }
  }

  state.tryThis = (values, name = "") => { fillIn(values, name); toSection("try"); };
  state.listen(follow);
  follow();
}
