// What the selected rows have in common.

import { bars } from "./charts.js";
import { at, empty, folded, hint, make, put } from "./dom.js";
import { quantileOf } from "./map_colour.js";
import { nounsOf } from "./map_words.js";
import { downloadLink } from "./profile_csv.js";
import { numberText, shortNumber } from "./ticks.js";
import { percent, shorter, valueText, whole } from "./words.js";

// Members that are listed by name; columns, values of a label, and parts that are shown.
const MOST_MEMBERS = 200;
const PROFILE_COLUMNS = 12;
const PROFILE_VALUES = 5;
const PROFILE_PARTS = 6;

/** Columns in which the rows stand out, as {j, share, gain}, first those that tell most about them. */
export function profileOf(content, rows) {
  const { nColumns, nRows, isOne, isBlank, marginals } = content;
  const on = new Float64Array(nColumns), seen = new Float64Array(nColumns);
  for (let i = 0; i < nRows; i++) if (rows[i]) for (let j = 0; j < nColumns; j++) {
    if (isBlank(i, j)) continue;
    seen[j] += 1;
    if (isOne(i, j)) on[j] += 1;
  }
  const found = [];
  for (let j = 0; j < nColumns; j++) {
    if (!seen[j]) continue;
    const p = (on[j] + 0.5) / (seen[j] + 1), m = Math.min(1 - 1e-6, Math.max(1e-6, marginals[j]));
    found.push({ j, share: on[j] / seen[j], gain: p * Math.log(p / m) + (1 - p) * Math.log((1 - p) / (1 - m)) });
  }
  return found.sort((a, b) => b.gain - a.gain);
}

/** How often values come among the rows and among all, as {k, here, all}, the most frequent first; and how many are known. */
export function countsOf(nValues, code, rows) {
  const here = Array.from({ length: nValues }, () => 0), all = here.slice();
  let nHere = 0, nAll = 0;
  for (let i = 0; i < rows.length; i++) {
    const k = code(i);
    if (k < 0) continue;
    all[k] += 1; nAll += 1;
    if (rows[i]) { here[k] += 1; nHere += 1; }
  }
  const counts = here.map((n, k) => ({ k, here: n, all: all[k] })).filter((one) => one.here > 0);
  return { nHere, nAll, counts: counts.sort((a, b) => b.here - a.here || a.k - b.k) };
}

/** Medians of a number among the rows and among all; NaN where it is known of none. */
export function mediansOf(number, rows) {
  const here = [], all = [];
  for (let i = 0; i < rows.length; i++) {
    const v = number(i);
    if (!Number.isFinite(v)) continue;
    all.push(v);
    if (rows[i]) here.push(v);
  }
  return [here, all].map((values) => quantileOf(Float64Array.from(values).sort(), 0.5));
}

function meanPair(number, rows) {
  let here = 0, all = 0, n = 0;
  for (let i = 0; i < rows.length; i++) { all += number(i); if (rows[i]) { here += number(i); n += 1; } }
  return [here / n, all / rows.length];
}

/** Lines of counts: what, here, all. */
function countedLines(names, code, rows) {
  const { nHere, nAll, counts } = countsOf(names.length, code, rows);
  const told = (n) => whole(n) + " (" + percent(n / nHere) + ")";
  const lines = counts.slice(0, PROFILE_VALUES).map(({ k, here, all }) => [names[k], told(here), percent(all / nAll)]);
  const rest = counts.length - lines.length, n = counts.slice(PROFILE_VALUES).reduce((sum, one) => sum + one.here, 0);
  if (rest > 0) lines.push([rest + " more", told(n), ""]);
  return lines.length ? lines : [["not known of these rows", "", ""]];
}

const PROFILE_AMOUNTS = { scales: "median", causes: "mean chance", shares: "mean share" };

/** What the reading that is shown says of the rows: {title, lines}. */
function profileOfParts(state, rows) {
  const { reading } = state, names = reading.parts.map((_, k) => state.nameOf(k));
  if (!reading.nParts) return [];
  if (PROFILE_AMOUNTS[reading.kind]) {
    const isScale = reading.kind === "scales", title = PROFILE_AMOUNTS[reading.kind];
    const written = isScale ? (v) => numberText(v, 1) : percent;
    const found = names.map((name, k) => {
      const number = (i) => reading.value(i, k);
      return { name, pair: isScale ? mediansOf(number, rows) : meanPair(number, rows) };
    });
    if (!isScale) found.sort((a, b) => b.pair[0] - a.pair[0]);
    const lines = found.slice(0, PROFILE_PARTS).map(({ name, pair }) => [name, ...pair.map((v) => written(v))]);
    return [{ title: reading.nouns + " (" + title + ")", lines }];
  }
  return reading.hasMain ? [{ title: nounsOf(reading).main, lines: countedLines(names, reading.main, rows) }] : [];
}

function profileOfLabels(content, rows) {
  return content.labels.map((label) => {
    if (!label.is_number) return { title: label.name, lines: countedLines(label.values.map(valueText), label.code, rows) };
    const [here, all] = mediansOf(label.number, rows);
    return { title: label.name, lines: [["median", shortNumber(here, 4) || "not known", shortNumber(all, 4)]] };
  });
}

function comparedTable(groups) {
  const table = make("table", null, { className: "compared" }), head = make("tr");
  put(head, make("td"));
  for (const text of ["selected", "all rows"]) put(head, make("th", text, { className: "n", scope: "col" }));
  put(table, put(make("thead"), head));
  for (const { title, lines } of groups) {
    const body = put(make("tbody"), put(make("tr"), make("th", title, { colspan: "3", scope: "rowgroup" })));
    for (const [name, here, all] of lines) {
      const [one, other] = [here, all].map((text) => make("td", text, { className: "n" }));
      put(body, put(make("tr"), make("td", shorter(name, 60)), one, other));
    }
    put(table, body);
  }
  return table;
}

function memberList(state) {
  const { content, selection } = state, list = make("div", null, { className: "members" });
  let n = 0;
  for (let i = 0; i < content.nRows && n < MOST_MEMBERS; i++) if (selection.rows[i]) {
    const open = make("button", shorter(content.rowName(i), 80), { type: "button", className: "link" });
    open.addEventListener("click", () => state.openRow(i));
    put(list, open);
    n += 1;
  }
  return folded("Members" + (selection.count > n ? " (the first " + n + ")" : ""), list);
}

function showProfile(state, node) {
  const { content, selection } = state, isOpen = node.querySelector("details[open]") !== null;
  empty(node);
  if (!selection.count) {
    put(node, hint("Select rows, on the map or as a group, to see what they have in common."));
    return;
  }
  const strongest = profileOf(content, selection.rows).slice(0, PROFILE_COLUMNS);
  put(node, hint("What stands out in them: share of ones here; the tick is the share overall."));
  const features = strongest.map((r) => [content.columns[r.j], r.share, content.marginals[r.j]]);
  put(node, bars(features, "probability", { open: (n) => state.openColumn(strongest[n].j) }));
  const groups = [...profileOfParts(state, selection.rows), ...profileOfLabels(content, selection.rows)];
  if (groups.length) put(node, comparedTable(groups));
  const named = memberList(state);
  named.open = isOpen;
  put(node, named, downloadLink(state));
}

export function profile(state) {
  const head = make("h3", "", { "aria-live": "polite", id: "n-selected" }), body = make("div");
  put(empty(at("selection")), head, body);
  let told = "";
  state.listen(() => {
    const { selection, content, reading } = state;
    const now = JSON.stringify([selection.version, state.number, reading.parts.map((_, k) => state.nameOf(k))]);
    if (now === told) return;
    told = now;
    const found = whole(selection.count) + " of " + whole(content.nRows) + " rows selected";
    const text = selection.count ? found : "Nothing selected";
    if (head.textContent !== text) head.textContent = text;
    at("selection").classList.toggle("none", !selection.count);
    showProfile(state, body);
  });
}
