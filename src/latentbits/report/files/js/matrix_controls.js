// Above the matrix: in which order, how large, which rows; and what the colours mean.

import { empty, make, put, textNode } from "./dom.js";
import { stripeColour } from "./matrix_draw.js";
import { columnKeys } from "./matrix_order.js";
import { canAsk } from "./asking.js";
import { surprisesOf } from "./surprises.js";
import { shorter } from "./words.js";

/** A list to choose from; `fill(keys, now)` puts [key, words] into it where they are not there yet. */
function mxChoice(id, words, choose) {
  const select = make("select", null, { id }), label = put(make("label", words + " ", { for: id }), select);
  let was = "";
  select.addEventListener("change", () => choose(select.value));
  const fill = (keys, now) => {
    const text = JSON.stringify(keys);
    if (text !== was) {
      empty(select);
      for (const [key, name] of keys) put(select, make("option", shorter(name, 60), { value: key }));
      was = text;
    }
    select.value = now;
  };
  return { label, fill };
}

function mxSizeButtons(view, nSizes, refresh) {
  const buttons = [["Smaller", -1], ["Larger", 1]].map(([text, step]) => {
    const button = make("button", text, { type: "button", id: "matrix-" + text.toLowerCase() });
    button.addEventListener("click", () => {
      view.size = Math.max(0, Math.min(nSizes - 1, view.size + step));
      refresh();
    });
    return button;
  });
  const show = () => {
    buttons[0].disabled = view.size === 0;
    buttons[1].disabled = view.size === nSizes - 1;
  };
  return { buttons, show };
}

function mxOnlySelected(view, refresh) {
  const box = make("input", null, { type: "checkbox", id: "matrix-selected" });
  box.addEventListener("change", () => {
    view.onlySelected = box.checked;
    refresh();
  });
  const label = put(make("label"), box, textNode(" Only selected rows"));
  return { label, show: (count) => { box.disabled = count === 0 && !box.checked; } };
}

const mxCounted = (n) => n.toLocaleString("en");

function mxIntroduction(view) {
  const { content, rows, state } = view, [nRows, nColumns] = content.shape, words = [];
  if (content.nRows < nRows || content.nColumns < nColumns) {
    words.push(mxCounted(content.nRows) + " of " + mxCounted(nRows) + " rows and " + mxCounted(content.nColumns) + " of " +
      mxCounted(nColumns) + " columns are on this page.");
  }
  if (rows.length < content.nRows) words.push(mxCounted(rows.length) + " selected rows are shown.");
  words.push("Point at a cell, or move with the arrow keys, to see why it is what it is.",
    "Click a name for all about the row or column.");
  if (!surprisesOf(state).isPossible()) words.push("Surprising cells are not marked: the page cannot ask this model.");
  else if (!canAsk(content, state.reading)) words.push("Surprising cells are marked in a sample of rows and columns.");
  return words.join(" ");
}

/** How far the surprises are, while rows wait to be put in their order. */
function mxProgressText(view) {
  const surprises = surprisesOf(view.state), isWorking = view.rowKey === "surprise" && !surprises.isDone();
  if (!isWorking) return "";
  const left = surprises.left(), wait = left > 90 ? ", " + Math.round(left / 60) + " minutes left" : "";
  return "working out surprises: " + Math.floor(100 * surprises.count() / surprises.nAll()) + "%" + wait;
}

/** The controls; `refresh` is called when something is chosen. */
export function matrixControls(view, nSizes, refresh) {
  const rows = mxChoice("matrix-rows", "Rows", (key) => {
    view.rowKey = key;
    refresh();
  });
  const columns = mxChoice("matrix-columns", "Columns", (key) => {
    view.columnKey = key;
    view.columnIsBest = false;
    refresh();
  });
  const sizes = mxSizeButtons(view, nSizes, refresh), only = mxOnlySelected(view, refresh);
  const told = make("span", "", { className: "soft", role: "status", id: "matrix-progress" });
  const hint = make("p", "", { className: "hint", id: "matrix-hint" });
  const node = make("div", null, { className: "controls" });
  put(node, rows.label, columns.label, ...sizes.buttons, only.label, told);
  function progress() {
    const text = mxProgressText(view);
    if (told.textContent !== text) told.textContent = text;
  }
  function show() {
    rows.fill(view.keys, view.rowKey);
    columns.fill(columnKeys(view.state.reading), view.columnKey);
    sizes.show();
    only.show(view.state.selection.count);
    hint.textContent = mxIntroduction(view);
    progress();
  }
  return { node, hint, progress, refresh: show };
}

function mxSwatch(background, strength, text) {
  const icon = make("i", null, { className: "mx-swatch" });
  icon.style.background = background;
  icon.style.opacity = strength;
  return put(make("span"), icon, textNode(text));
}

// Groups that the legend names.
const MX_GROUPS = 12;

/** What the stripe at the left is, as parts of the legend. */
function stripeLegend(stripe) {
  const group = (k, text) => mxSwatch(stripeColour({ kind: "groups", of: () => k }, 0)[0], 1, shorter(text, 40));
  if (stripe.kind === "pattern") return stripe.names.map((name, n) => group(stripe.parts[n], name + " is on"));
  if (stripe.kind === "groups") {
    const rest = stripe.names.length - MX_GROUPS;
    const more = rest > 0 ? [make("span", "and " + rest + " more", { className: "soft" })] : [];
    return [...stripe.names.slice(0, MX_GROUPS).map((name, k) => group(k, name)), ...more];
  }
  const ends = stripe.kind === "signed" ? [[-1, "low"], [1, "high"]] : [[0.1, "low"], [1, "high"]];
  const words = shorter(stripe.words, 40);
  return ends.map(([place, text]) => mxSwatch(...stripeColour({ ...stripe, of: () => place }, 0), text + " " + words));
}

/** What is drawn how: cells, and the stripe at the left. */
export function showLegend(view, node) {
  const named = (icon, text) => put(make("span"), icon, textNode(text));
  put(empty(node), mxSwatch("var(--one)", 1, "1"), mxSwatch("var(--zero)", 1, "0"));
  if (view.content.rows.unknown) put(node, named(make("i", null, { className: "mx-swatch mx-hole" }), "blank"));
  if (surprisesOf(view.state).isPossible()) put(node, named(make("b", "×", { className: "mx-cross" }), "surprising there"));
  if (view.stripe.kind === "none") return;
  put(node, make("span", "Stripe:", { className: "soft" }), ...stripeLegend(view.stripe));
}
