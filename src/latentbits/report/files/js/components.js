// What the rows are made of: a tab for every reading, and in it the words and pictures of its kind of structure.

import { treePicture } from "./charts.js";
import { distancePicture, extremesOf } from "./distances.js";
import { at, empty, hint, make, put, scrolled } from "./dom.js";
import { labelsShown } from "./labels_shown.js";
import { namesKept, spoken } from "./names.js";
import { cardsOf, relevanceSlider } from "./readings_cards.js";
import { introduction } from "./readings_words.js";
import { table } from "./tables.js";
import { shareTold } from "./told.js";
import { fixed, listed, shorter, whole } from "./words.js";

// Where the slider stands at first: nearer to typical columns than to frequent ones.
const FIRST_LAMBDA = 0.4;
const MOST_OVERLAPS = 8;
// Least width of a wide card, in pixels (32rem).
const WIDE_CARD = 512;

function treesOf(reading) {
  if (!reading.trees.length) return [];
  const several = reading.trees.length > 1, cards = make("div", null, { className: "cards wide" });
  for (const tree of reading.trees) {
    const head = several ? [make("h4", tree.name)] : [];
    put(cards, put(make("div", null, { className: "card figure" }), ...head, treePicture(tree)));
  }
  const text = "The wider a line, the more the two columns tell about each other; dashed: one stands instead of the other. " +
    "The larger a dot, the more frequent its ones." +
    (reading.trees.some((t) => t.edges.length < t.n_edges)
      ? " The strongest pairs are shown; the table “edges” beside this file has more."
      : "");
  return [make("h3", "Which columns depend on each other" + (several ? ", by " + reading.noun : "")), hint(text), cards];
}

function modulesOf(reading) {
  if (!reading.modules.length) return [];
  const heads = [{ text: "module", n: 1 }, { text: "columns" }, { text: "nats per pair", n: 1 }];
  const rows = reading.modules.map((one) => ({
    cells: [String(one.module), shorter(one.features.join(", "), 300), fixed(one.information, 3)],
  }));
  const text = "The tree is cut where two columns tell no more about each other than chance would, and where they tell less " +
    "than a quarter as much as the middle one of the other pairs.";
  const grid = scrolled(table(make("table"), heads, rows, { name: "modules" }));
  return [make("h3", "Modules: columns that share local causes"), hint(text), grid];
}

/** Pairs of causes that are on together more or less often than by chance. */
function overlapsShown(state, view) {
  if (!view.overlaps.length) return [];
  const node = make("div"), heads = [
    { text: state.reading.noun }, { text: "and" }, { text: "both on", n: 1 }, { text: "by chance", n: 1 },
    { text: "standard errors apart", n: 1 },
  ];
  view.follow(() => {
    const rows = view.overlaps.slice(0, MOST_OVERLAPS).map((pair) => ({
      cells: [
        state.nameOf(pair.a), state.nameOf(pair.b), shareTold(pair.together), shareTold(pair.expected),
        fixed(pair.z, 1).replace("-", "−"),
      ],
      keys: [undefined, undefined, pair.together, pair.expected, pair.z],
    }));
    put(empty(node), scrolled(table(make("table"), heads, rows, { name: "overlaps" })));
  });
  const text = "Share of the rows in which both are on, beside what chance would give.";
  return [make("h3", "Which " + state.reading.nouns + " overlap"), hint(text), node];
}

function openCard(k) {
  const card = at("part-" + k);
  card.scrollIntoView({ block: "center" });
  card.focus({ preventScroll: true });
}

/** How far the parts are from each other, where there are three or more. */
function distancesShown(state, view) {
  const { reading } = state, weights = reading.parts.map((part) => part.weight);
  if (!reading.layout || reading.kind === "tree") return [];
  const node = make("div", null, { className: "figure distances" }), ends = extremesOf(reading.distances, weights);
  view.follow(() => {
    const names = reading.parts.map((_, k) => state.nameOf(k));
    put(empty(node), make("h3", "How alike the " + reading.nouns + " are"));
    put(node, distancePicture(reading.layout, weights, names, openCard));
    const pair = ([a, b]) => names[a] + " and " + names[b];
    if (ends) put(node, make("p", "Most alike: " + pair(ends[0]) + ". Most apart: " + pair(ends[1]) + ".", { className: "measure" }));
  });
  return [node];
}

/** What is not on the page. */
function leftOut(content, reading) {
  const told = [];
  if (reading.n_parts_left_out) told.push(whole(reading.n_parts_left_out) + " smaller " + reading.nouns);
  if (content.n_columns_left_out) told.push(whole(content.n_columns_left_out) + " columns that vary less");
  return told.length ? [hint(listed(told) + " are not on this page; the table “components” beside this file has all.")] : [];
}

/** Everything about the reading that is shown. */
function panelOf(state, view) {
  const { content, reading } = state, text = make("div", null, { className: "about" }), isTree = reading.kind === "tree";
  put(text, put(make("p", introduction(reading), { className: "introduction" })));
  if (reading.kind === "map") put(text, put(make("p"), make("a", "Go to the map", { href: "#map" })));
  if (reading.pairs) put(text, make("p", reading.pairs));
  if (content.finding === "nothing") {
    const doubt = "No family predicts better than independent columns here: take what follows for chance.";
    put(text, make("p", doubt, { className: "doubt" }));
  }
  const cards = isTree ? [] : [cardsOf(state, view)];
  if (!isTree && reading.kind !== "scales" && reading.nParts) put(text, relevanceSlider(state, view));
  const top = put(make("div", null, { className: "reading-top" }), text, ...distancesShown(state, view));
  const nodes = [top, ...leftOut(content, reading), ...cards];
  nodes.push(...overlapsShown(state, view), ...treesOf(reading), ...modulesOf(reading));
  const labels = make("div");
  view.follow(() => put(empty(labels), labelsShown(state, view.width)));
  return [...nodes, labels];
}

/** Arrows, Home and End go from tab to tab, as readers of screens expect it. */
function followArrows(state, tabs) {
  at("readings").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], n = tabs.length;
    const next = step ? (state.number + step + n) % n : event.key === "Home" ? 0 : event.key === "End" ? n - 1 : -1;
    if (next < 0) return;
    event.preventDefault();
    state.show(next);
    tabs[next].focus();
  });
}

function tabsOf(state) {
  const tabs = state.content.readings.map((reading, number) => {
    const tab = make("button", null, { type: "button", role: "tab", id: "reading-" + number, "aria-controls": "reading" });
    put(tab, make("strong", reading.title), make("span", "", { className: "gist" }));
    if (reading.standing) put(tab, make("small", reading.standing));
    tab.addEventListener("click", () => state.show(number));
    return tab;
  });
  put(at("readings"), ...tabs);
  followArrows(state, tabs);
  return tabs;
}

function showTabs(state, tabs) {
  tabs.forEach((tab, number) => {
    const isShown = number === state.number;
    tab.setAttribute("aria-selected", String(isShown));
    tab.setAttribute("tabindex", isShown ? "0" : "-1");
    tab.querySelector(".gist").textContent = spoken(state, state.content.readings[number].gist, number);
  });
  at("reading").setAttribute("aria-labelledby", "reading-" + state.number);
}

/** How wide a picture is on a wide card: as wide as its place, so that its letters keep their size. */
function pictureWidth() {
  const all = at("reading").clientWidth || 1100, columns = Math.max(1, Math.floor((all + 16) / (WIDE_CARD + 16)));
  return Math.round(Math.max(260, Math.min(620, (all - 16 * (columns - 1)) / columns - 30)));
}

/** What the panel remembers: the slider, what to draw anew when it moves, and what to write anew when names change. */
function viewOf(lambda) {
  const followers = [];
  return {
    lambda,
    redraws: [],
    overlaps: [],
    end: 1,
    width: pictureWidth(),
    followers,
    follow: (update) => { followers.push(update); update(); },
  };
}

export function components(state) {
  if (!state.content.readings.length) { put(at("reading"), hint("No model of this table has parts to show.")); return; }
  const tabs = tabsOf(state);
  let shown = -1, names = "", view = viewOf(FIRST_LAMBDA);
  put(at("names"), namesKept(state));
  const refresh = () => {
    const now = JSON.stringify(state.given());
    if (shown !== state.number) {
      view = viewOf(view.lambda);
      put(empty(at("reading")), ...panelOf(state, view));
    } else if (now !== names) for (const follow of view.followers) follow();
    if (shown !== state.number || now !== names) showTabs(state, tabs);
    [shown, names] = [state.number, now];
  };
  state.listen(refresh);
}
