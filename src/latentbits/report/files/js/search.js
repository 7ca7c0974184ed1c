// Finds rows, columns, parts and words of labels: a box in the head of the page, with a list below it.

import { at, empty, make, put } from "./dom.js";
import { bestEntries, plainText, searchGroups } from "./search_rank.js";

// Answers of a group that are listed.
const SEARCH_LISTED = 6;

/** Opens what was chosen. */
function searchOpen(state, { kind, at: place, reading, label, code }) {
  if (kind === "row") state.openRow(place);
  else if (kind === "column") state.openColumn(place);
  else if (kind === "part") {
    if (state.number !== reading) state.show(reading);
    at("components").scrollIntoView();
    state.openPart(place);
  } else {
    state.selection.choose((i) => label.code(i) === code);
    at("matrix").scrollIntoView();
  }
}

function searchNodes() {
  const input = make("input", null, {
    type: "search", id: "search-box", role: "combobox", "aria-expanded": "false", "aria-controls": "search-list",
    "aria-autocomplete": "list", "aria-label": "Search rows, columns, parts and labels",
    placeholder: "Search rows and columns ( / )", autocomplete: "off", spellcheck: "false",
  });
  const list = make("div", null, { id: "search-list", role: "listbox", "aria-label": "Found" });
  list.hidden = true;
  return { input, list, told: make("span", "", { className: "unseen", role: "status" }) };
}

function searchOption(entry, n, choose) {
  const option = make("div", null, { role: "option", id: "search-" + n, "aria-selected": "false" });
  put(option, make("span", entry.text));
  if (entry.words) put(option, make("span", entry.words, { className: "soft" }));
  // Before the box loses the focus.
  option.addEventListener("pointerdown", (event) => { event.preventDefault(); });
  option.addEventListener("click", () => choose(entry));
  return option;
}

/** The list of what was found; gives the options, in their order, as {node, entry}. */
function searchList(list, groups, question, choose) {
  const options = [];
  empty(list);
  let count = 0;
  for (const [g, group] of groups.entries()) {
    const { best, count: mine } = bestEntries(group.entries, question, SEARCH_LISTED);
    if (!best.length) continue;
    count += mine;
    const id = "search-group-" + g, node = make("div", null, { role: "group", "aria-labelledby": id });
    put(node, make("div", group.title, { id, className: "search-group" }));
    for (const entry of best) {
      const option = searchOption(entry, options.length, choose);
      options.push({ node: option, entry });
      put(node, option);
    }
    const rest = mine - best.length;
    if (rest > 0) put(node, make("div", "and " + rest.toLocaleString("en") + " more", { className: "search-more" }));
    put(list, node);
  }
  if (!options.length) put(list, make("div", "Nothing is called like this.", { className: "search-more" }));
  return { options, count };
}

export function search(state) {
  const { input, list, told } = searchNodes();
  let groups = null, options = [], place = -1;
  put(empty(at("search")), input, list, told);
  // Names of parts can change.
  state.listen(() => { groups = null; });

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }
  function choose(entry) {
    close();
    input.value = "";
    searchOpen(state, entry.open);
  }
  function mark(to) {
    options[place]?.node.setAttribute("aria-selected", "false");
    place = to;
    if (place < 0) { input.removeAttribute("aria-activedescendant"); return; }
    options[place].node.setAttribute("aria-selected", "true");
    options[place].node.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[place].node.id);
  }
  function find() {
    const question = plainText(input.value.trim());
    if (!question) { close(); return; }
    groups = groups ?? searchGroups(state);
    const found = searchList(list, groups, question, choose);
    ({ options } = found);
    place = -1;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    told.textContent = found.count + " found";
    mark(options.length ? 0 : -1);
  }
  const step = (by) => {
    if (list.hidden) find();
    else if (options.length) mark((place + by + options.length) % options.length);
  };
  const keys = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: () => { if (!list.hidden && place >= 0) choose(options[place].entry); },
    Escape: () => { if (list.hidden) input.value = ""; close(); },
  };
  input.addEventListener("input", find);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  followSlash(input);
}

/** The key "/" goes to the box, unless something is being typed. */
function followSlash(input) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
