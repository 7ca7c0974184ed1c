// How well each family predicts hidden cells: a picture, the verdict in words, how losses change with size, and the numbers.

import { at, folded, hint, make, put, scrolled } from "./dom.js";
import { capacityCurve, kindLegend, kindWords, lossPlot, lossRange } from "./family_plots.js";
import { table } from "./tables.js";
import { counted, fixed, listed, sentence } from "./words.js";

const WHAT_SIZES_ARE = "What the search saw on cells that were hidden for it. A line that still falls at its right end belongs " +
  "to a family that would gain from more components, or more time.";
const ROW_SCORES = "held-out rows: the log-likelihood of whole rows that no model saw, in nats per row; higher is better. " +
  "Exact ones and estimates are ranked apart, lower bounds not at all.";

const HOW_TO_READ = "Some cells were hidden, and every family had to predict them. The further right, the worse. Whiskers are " +
  "two standard errors of the difference to the best: a family whose whisker reaches the line predicts as well as can be told.";
// Pixels that a picture of families may take.
const NARROWEST = 300, WIDEST = 760, WIDEST_SIZES = 1000;

const FAMILY_HEADS = [
  { text: "family" }, { text: "kind" }, { text: "size", n: 1 },
  { text: "log-loss", n: 1, title: "nats per hidden cell; smaller is better" },
  { text: "behind the best", n: 1, key: "above_best", title: "difference in log-loss, with its standard error" },
  { text: "AUC", n: 1, title: "how often a hidden one gets a higher probability than a hidden zero" },
  { text: "Brier", n: 1, title: "mean squared error of probabilities; smaller is better" },
  { text: "calibration error", n: 1, title: "how far predicted probabilities are from shares of ones, on average" },
  { text: "held-out rows", n: 1, title: ROW_SCORES },
];

/** Sizes are texts such as "4", "≤ 8" or "7×7"; maps are sorted by their nodes. */
export function sizeNumber(text) {
  const numbers = (String(text ?? "").match(/\d+/g) || []).map(Number);
  return numbers.length ? numbers.reduce((product, n) => product * n, 1) : NaN;
}

function roomIn(node, most) {
  return Math.max(NARROWEST, Math.min(most, node.clientWidth || most));
}

/** The title of a family, and below it what is to be said of its fits. */
function titleCell(r) {
  const edge = r.at_edge ? "still improving at its largest size" : "";
  const time = r.ended === "time" ? "its search ran out of time" : "";
  const told = [edge, time, r.note].filter(Boolean).join("; ");
  const cell = put(make("div"), make("div", r.title));
  return told ? put(cell, make("div", told, { className: "under" })) : cell;
}

function familyRow(r, best) {
  const isScored = r.log_loss !== null && r.log_loss !== undefined;
  const above = !isScored ? r.standing : r.model === best ? "best" : fixed(r.above_best, 4) + " ± " + fixed(r.se, 4);
  const rowScore = r.row_log_likelihood === null || r.row_kind === "none" ? "" : fixed(r.row_log_likelihood, 3);
  const rowKind = rowScore && r.row_kind !== "exact" ? make("span", r.row_kind, { className: "under" }) : null;
  const cells = [
    titleCell(r), r.kind && !r.baseline ? kindWords(r.kind) : "", r.size ?? "", isScored ? fixed(r.log_loss, 4) : "", above,
    fixed(r.auc, 3), fixed(r.brier, 4), fixed(r.calibration_error, 3),
    rowKind ? put(make("div", rowScore), make("br"), rowKind) : rowScore,
  ];
  const number = (value) => value ?? NaN;
  const keys = [
    r.title, undefined, r.size === null ? NaN : sizeNumber(r.size), number(r.log_loss), number(r.above_best), number(r.auc),
    number(r.brier), number(r.calibration_error), number(rowScore ? r.row_log_likelihood : null),
  ];
  return { className: (r.baseline ? "base " : "") + (r.model === best ? "best" : ""), cells, keys };
}

/** What the picture shows and what it rests on. */
function reading(comparison, scored) {
  const { plan, rows, best } = comparison, top = rows.find((r) => r.model === best), { high } = lossRange(scored);
  const node = put(make("div", null, { className: "beside" }), make("h3", "How to read it"), make("p", HOW_TO_READ));
  const also = scored.filter((r) => r.standing === "near" && !r.baseline).map((r) => r.title);
  const others = also.length ? `; ${listed(also, 4)} cannot be told from it.` : "; no other family's whisker reaches the line.";
  put(node, make("p", sentence(top.title) + " is best" + others));
  const arrows = "Arrows: too far behind for this picture, by the number at the arrow.";
  if (scored.some((r) => r.above_best > high)) put(node, hint(arrows));
  const facts = [
    counted(plan.rows, "row") + " to fit to", top.n_cells ? counted(top.n_cells, "hidden cell") + " to predict" : "",
    counted(top.n_draws || plan.folds, "draw") + " of hidden cells",
    plan.held ? counted(plan.held, "row") + " held out altogether" : "",
    counted(plan.fits, "fit") + " in the search for sizes",
  ];
  put(node, make("h3", "What it rests on"));
  const few = (top.n_draws || plan.folds) < 2 ? "One draw: fits to other cells could change close orders." : "";
  put(node, put(make("ul", null, { className: "plain" }), ...facts.filter(Boolean).map((text) => make("li", text))));
  return few ? put(node, hint(few)) : node;
}

/** Loss against size, a line per family; drawn when it is opened, as only then its width is known. */
function sizes(comparison, body) {
  const kinds = new Map(comparison.rows.map((r) => [r.model, r.kind]));
  const curves = comparison.sizes.map((curve) => ({ ...curve, kind: kinds.get(curve.model) || "" }));
  if (!curves.length) return;
  const { svg, cut, names } = capacityCurve(curves, roomIn(body, WIDEST_SIZES));
  const figure = put(make("div", null, { className: "figure", id: "family-sizes" }), svg);
  const more = cut ? " Losses far above the others are cut off." : "";
  put(body, make("h3", "Loss against size"), hint(WHAT_SIZES_ARE + more), figure);
  if (names.length) put(body, hint(names.join(", ") + "."));
}

export function families({ content }) {
  // Reports on one model have no comparison, and the frame may have taken the section away already.
  if (content.comparison === null) { at("families")?.remove(); return; }
  const { comparison } = content, { rows, best, plan } = comparison, body = at("families-body");
  const scored = rows.filter((r) => r.log_loss !== null && r.log_loss !== undefined);
  const figure = make("div", null, { className: "figure", id: "family-plot" });
  put(body, put(make("div", null, { className: "two families" }), figure, reading(comparison, scored)));
  put(figure, lossPlot(scored, best, roomIn(figure, WIDEST)), kindLegend(scored));
  if (content.verdict) put(body, folded("In words", make("p", content.verdict, { className: "verdict", id: "verdict" })));
  sizes(comparison, body);
  const grid = make("table", null, { id: "family-table" });
  table(grid, FAMILY_HEADS, rows.map((r) => familyRow(r, best)), { name: "families" });
  const words = "Of hidden cells; point at a head to see what it means." + (plan.held ? " Last, " + ROW_SCORES : "");
  put(body, make("h3", "All numbers"), hint(words), scrolled(grid));
}
