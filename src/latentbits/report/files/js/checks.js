// How far the model can be trusted: calibration, what it leaves unexplained, how its fits went.

import { calibrationCurve } from "./check_plots.js";
import { at, empty, folded, hint, make, put, scrolled } from "./dom.js";
import { table } from "./tables.js";
import { shortNumber } from "./ticks.js";
import { linkButton } from "./try_answer.js";
import { counted, fixed, pText, shorter, whole } from "./words.js";

// Columns of a group that are named before "and so on"; two columns that nearly always agree are near-duplicates.
const MOST_OF_GROUP = 12, NEAR_DUPLICATE = 0.8;

const CALIBRATION = "Of all cells that were given a probability, that share should be ones: points should lie on the dashed " +
  "line. Bars are two standard errors; a point that is further away than its bar is more than chance.";

function calibration(comparison) {
  const curves = Object.entries(comparison.curves).map(([name, points]) => {
    const row = comparison.rows.find((r) => r.model === name);
    return { points, title: row.title + ": calibration error " + fixed(row.calibration_error, 3) };
  });
  if (!curves.length) return [];
  const { svg, legend, axis } = calibrationCurve(curves);
  const stretched = axis.kind === "root" ? " Most predictions are below 0.1, so both axes are stretched there (square roots)" +
    (axis.most < 1 ? ` and end at ${axis.most}.` : ".") : "";
  const words = put(make("div", null, { className: "beside" }), hint(CALIBRATION + stretched), legend);
  const figure = put(make("div", null, { className: "figure", id: "calibration", "data-axis": axis.kind }), svg);
  return [make("h3", "Are its probabilities right?"), put(make("div", null, { className: "two checks" }), figure, words)];
}

/** What to do about pairs that are left. */
export function adviceOf(left, kind) {
  if (!left.pairs.length) return "";
  const twins = left.pairs.filter((pair) => pair.q3 >= NEAR_DUPLICATE), advice = [];
  if (twins.length) {
    const names = twins.slice(0, 3).map((pair) => `${pair.first} and ${pair.second}`);
    advice.push(`${names.join("; ")}: nearly the same column twice; drop one of the two.`);
  }
  if (twins.length === left.pairs.length) return advice.join(" ");
  if (left.groups.some((group) => group.length > 2)) {
    const more = kind === "scales" ? "one scale more." : "more components.";
    advice.push("Groups of columns have something of their own: try " + more);
  }
  if (left.groups.some((group) => group.length === 2) || !left.groups.length) {
    advice.push("For single pairs: a hidden tree, or a mixture of trees, which tie columns to each other directly.");
  }
  return advice.join(" ");
}

/** A column by its name; a button if the page has it. */
function columnNode(state, name) {
  const j = state.content.columns.indexOf(name);
  return j < 0 ? make("span", name) : linkButton(name, () => state.openColumn(j));
}

function groupsOf(state, groups) {
  const list = make("ul");
  for (const group of groups) {
    const item = make("li");
    group.slice(0, MOST_OF_GROUP).forEach((name, i) => put(item, make("span", i ? ", " : ""), columnNode(state, name)));
    if (group.length > MOST_OF_GROUP) put(item, make("span", ` and ${whole(group.length - MOST_OF_GROUP)} more`));
    put(list, item);
  }
  return [make("h4", "These columns go together more than the model says"), list];
}

const PAIR_HEADS = [
  { text: "column" }, { text: "and" }, { text: "Q3", n: 1, title: "correlation of what the model leaves over" },
  { text: "p", n: 1, title: "adjusted for the number of pairs looked at" }, { text: "rows with both", n: 1, key: "together" },
  { text: "expected by the model", n: 1, key: "expected" }, { text: "rows with both known", n: 1, key: "n" },
];

function pairTable(state, pairs) {
  const rows = pairs.map((p) => ({
    cells: [
      columnNode(state, p.first), columnNode(state, p.second), fixed(p.q3, 2), pText(p.p), whole(p.together),
      p.expected < 10 ? fixed(p.expected, 1) : whole(p.expected), whole(p.n),
    ],
    keys: [undefined, undefined, p.q3, p.p, p.together, p.expected, p.n],
  }));
  return scrolled(table(make("table", null, { id: "pairs" }), PAIR_HEADS, rows, { name: "pairs left unexplained" }));
}

function leftoversOf(state) {
  const left = state.content.leftovers, [first] = state.content.readings, nodes = [make("h3", "Is something left unexplained?")];
  const looked = counted(left.n_looked_at, "pair") + " of columns looked at";
  const none = `No pair of columns is left unexplained beyond chance (${looked}).`;
  if (!left.pairs.length) return [...nodes, make("p", none, { id: "no-pairs" })];
  const shown = left.pairs.length < left.n_sure ? ` The ${left.pairs.length} strongest of ${whole(left.n_sure)} are listed.` : "";
  const go = left.n_sure === 1 ? "goes" : "go", pairs = counted(left.n_sure, "pair") + " of columns still";
  nodes.push(make("p", `By ${first.title}, ${pairs} ${go} together more, or less, than chance allows (${looked}).${shown}`));
  if (left.groups.length) nodes.push(...groupsOf(state, left.groups));
  nodes.push(make("p", "What to do: " + adviceOf(left, first.kind), { className: "advice" }), make("h4", "Pair by pair"));
  nodes.push(hint("Q3 is the correlation of what the model leaves over; below zero the two go together less than it says."));
  return [...nodes, pairTable(state, left.pairs)];
}

/** Records with the same fields as a table. */
function sheet(name, records) {
  const has = (f) => records.some((r) => r[f] !== null && r[f] !== undefined && r[f] !== "");
  const fields = Object.keys(records[0]).filter(has);
  const isNumber = (f) => records.every((r) => r[f] === null || typeof r[f] === "number");
  const heads = fields.map((f) => ({ text: f.replaceAll("_", " "), key: f, n: isNumber(f) }));
  const text = (value) => (typeof value === "number" ? shortNumber(value, 5) : String(value ?? ""));
  const key = (value, f) => value ?? (isNumber(f) ? NaN : "");
  const rows = records.map((r) => ({ cells: fields.map((f) => text(r[f])), keys: fields.map((f) => key(r[f], f)) }));
  return scrolled(table(make("table"), heads, rows, { name }));
}

function fits(readings) {
  const all = make("div");
  for (const { title, summary, restarts, diagnostics } of readings) {
    const node = put(make("div"), make("pre", summary));
    if (restarts.length) put(node, make("h4", counted(restarts.length, "start")), sheet(title + " starts", restarts));
    if (diagnostics.length) put(node, make("h4", "Chains"), sheet(title + " chains", diagnostics));
    put(all, folded(shorter(title, 90), node));
  }
  return [make("h3", "How the fits went"), all];
}

export function checks(state) {
  const { content } = state, nodes = content.comparison === null ? [] : calibration(content.comparison);
  put(empty(at("checks-body")), ...nodes, ...leftoversOf(state), ...fits(content.readings));
}
