// Tables that are sorted by their heads and taken along as CSV.
//
//   table(node, heads, rows, options?)   fills the <table> element it is given, and gives it back; called again, it begins anew
//     heads    [{text, n, key, title}]   n: numbers, set to the right, first sorted from the largest;
//                                        key: the column's name in the CSV (else `text`); title: what it means, by hovering
//     rows     [{cells, keys, className}]
//              cells: texts, numbers or nodes (buttons, bars); null is written as nothing
//              keys:  for sorting and for the CSV, by column, where the cell is no plain value ([undefined, 0.123])
//     options  {name, first}             name: what the table is called, for screen readers and as the name of the file;
//                                        first: rows that are shown before "Show all" (60)
// Wide tables go into `scrolled` of dom.js. Below a table stand "CSV" (all of its rows, in the order shown) and "Show all".

import { empty, make, put } from "./dom.js";
import { whole } from "./words.js";

const FIRST_ROWS = 60;
const WORD_ORDER = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function cellText(cell) {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? cell.textContent : String(cell);
}

/** The value of a cell: its key if it has one, else what it says. */
function valueOf(row, i) {
  const key = row.keys && row.keys[i];
  return key === undefined ? cellText(row.cells[i]) : key;
}

/** What a cell is sorted by: of numbers the first that its text has; NaN or "" is not known. */
export function sortKey(value, isNumber) {
  if (value === null || value === undefined) return isNumber ? NaN : "";
  if (!isNumber || typeof value === "number") return value;
  const found = String(value).replace(/(\d),(?=\d{3})/g, "$1").replace("−", "-").match(/-?\d*\.?\d+(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : NaN;
}

const isUnknown = (key) => key === "" || (typeof key === "number" && Number.isNaN(key));

/** Places of keys in their order; equal ones stay as they were, and what is not known comes last, either way. */
export function orderOf(keys, falling) {
  const sign = falling ? -1 : 1;
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : WORD_ORDER.compare(String(a), String(b));
  return keys.map((_, i) => i).sort((a, b) => {
    if (isUnknown(keys[a]) || isUnknown(keys[b])) return isUnknown(keys[a]) - isUnknown(keys[b]) || a - b;
    return sign * compare(keys[a], keys[b]) || a - b;
  });
}

/** A field of a CSV, in quotes where it needs them. */
export function csvField(value) {
  const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** Lines of a CSV, heads first, ended as RFC 4180 has it. */
export function csvOf(heads, records) {
  return [heads, ...records].map((fields) => fields.map(csvField).join(",") + "\r\n").join("");
}

/** A link to a text; it is written when somebody is about to follow the link. */
export function csvLink(name, text) {
  const link = make("a", "CSV", { className: "csv", href: "#", download: fileName(name) });
  link.setAttribute("aria-label", "Download " + name + " as CSV");
  const write = () => link.setAttribute("href", "data:text/csv;charset=utf-8," + encodeURIComponent("\ufeff" + text()));
  for (const event of ["pointerenter", "pointerdown", "focus", "click"]) link.addEventListener(event, write);
  return link;
}

function fileName(name) {
  return (name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "table") + ".csv";
}

/** The heads, each a button that sorts. */
function headLine(heads, sorting, sort) {
  const line = make("tr");
  heads.forEach((head, i) => {
    const way = sorting.column !== i ? "none" : sorting.falling ? "descending" : "ascending";
    const button = make("button", head.text, { type: "button", className: "sort" });
    if (head.title) button.title = head.title;
    button.addEventListener("click", () => sort(i));
    put(button, make("span", way === "none" ? "" : sorting.falling ? " ▼" : " ▲", { "aria-hidden": "true" }));
    const cell = make("th", null, { scope: "col", "aria-sort": way, ...(head.n ? { className: "n" } : {}) });
    put(line, head.text ? put(cell, button) : cell);
  });
  return line;
}

function bodyLine(heads, row) {
  const line = make("tr", null, row.className ? { className: row.className } : undefined);
  row.cells.forEach((cell, i) => {
    const place = make("td", null, { className: heads[i].n ? "n" : "long" });
    if (cell !== null && typeof cell === "object") put(place, cell);
    else place.textContent = cellText(cell);
    put(line, place);
  });
  return line;
}

/** From as it was to the first way, the other way, and back. */
function turned(sorting, heads, i) {
  const first = Boolean(heads[i].n);
  if (sorting.column !== i) return { column: i, falling: first };
  return sorting.falling === first ? { column: i, falling: !first } : { column: -1, falling: false };
}

export function table(node, heads, rows, options = {}) {
  const name = options.name || "table", most = options.first || FIRST_ROWS, lines = [];
  const head = make("thead"), body = make("tbody"), tools = make("caption");
  let sorting = { column: -1, falling: false }, order = rows.map((_, i) => i), all = rows.length <= most;
  const fields = () => order.map((r) => heads.map((_, i) => valueOf(rows[r], i)));
  const link = csvLink(name, () => csvOf(heads.map((h) => h.key || h.text), fields()));
  const more = make("button", "Show all " + whole(rows.length) + " rows", { type: "button" });

  function sort(i) {
    sorting = turned(sorting, heads, i);
    const keys = sorting.column < 0 ? [] : rows.map((row) => sortKey(valueOf(row, i), heads[i].n));
    order = sorting.column < 0 ? rows.map((_, r) => r) : orderOf(keys, sorting.falling);
    show();
    head.querySelectorAll("th")[i].querySelector("button").focus();
  }

  function show() {
    put(empty(head), headLine(heads, sorting, sort));
    empty(body);
    for (const r of all ? order : order.slice(0, most)) put(body, (lines[r] = lines[r] || bodyLine(heads, rows[r])));
  }

  more.addEventListener("click", () => { all = true; more.remove(); show(); link.focus(); });
  if (!all) put(tools, more);
  node.setAttribute("aria-label", name);
  show();
  return put(empty(node), put(tools, link), head, body);
}
