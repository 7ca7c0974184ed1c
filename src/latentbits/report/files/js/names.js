// Names that people give to parts: typed in place, kept as a small file, taken from one; and texts that speak of them.

import { make, put } from "./dom.js";
import { counted } from "./words.js";

const JSON_LINK = "data:application/json;charset=utf-8,";

/** A text in which names of parts are replaced by those they have now; what stands in “quotes” is a value of a label. */
export function inNames(text, pairs) {
  const changed = pairs.filter(([before, after]) => before !== after).sort((a, b) => b[0].length - a[0].length);
  if (!changed.length) return text;
  const now = new Map(changed), escaped = changed.map(([before]) => before.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const any = new RegExp("(^|[^\\p{L}\\p{N}_])(" + escaped.join("|") + ")(?![\\p{L}\\p{N}_])", "gu");
  const renamed = (piece) => piece.replace(any, (_, ahead, name) => ahead + now.get(name));
  return text.split(/(“[^”]*”)/).map((piece, i) => (i % 2 ? piece : renamed(piece))).join("");
}

/** A text about a reading, in the names that its parts have now. */
export function spoken(state, text, number = state.number) {
  return inNames(text, state.content.readings[number].parts.map((part, k) => [part.name, state.nameOf(k, number)]));
}

/** What was given, as the command line reads it. */
export function namesText(state) {
  return JSON.stringify(state.given(), null, 2) + "\n";
}

/** Renames by {family: {part: name}}; gives how many names were taken, and how many belong to no part here. */
export function takeNames(state, given) {
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isObject(given)) throw new TypeError("not an object of families");
  let taken = 0, unknown = 0;
  for (const [family, mine] of Object.entries(given)) {
    const number = state.content.readings.findIndex((reading) => reading.family === family);
    for (const [before, after] of isObject(mine) ? Object.entries(mine) : [[family, mine]]) {
      const k = number < 0 ? -1 : state.content.readings[number].parts.findIndex((part) => part.name === before);
      if (k < 0 || typeof after !== "string") { unknown++; continue; }
      state.rename(k, after, number);
      taken++;
    }
  }
  return { taken, unknown };
}

/** The name of part k as a heading, with a button that makes it an input. `follow` is given what brings it up to date. */
export function nameable(state, k, follow) {
  const line = make("div", null, { className: "named" }), first = state.reading.parts[k].name;
  const head = make("h4"), before = make("span", first, { className: "hint first" });
  const button = make("button", "✎ Rename", { type: "button", className: "rename" });
  put(line, head, before, button);
  follow(() => {
    head.textContent = state.nameOf(k);
    before.hidden = state.nameOf(k) === first;
    button.setAttribute("aria-label", "Rename " + state.nameOf(k));
  });
  button.addEventListener("click", () => edit(state, k, line, button));
  return line;
}

/** Enter keeps what was typed, and so does going elsewhere; Escape drops it. */
function edit(state, k, line, button) {
  const shown = Array.from(line.childNodes), now = state.nameOf(k);
  const input = make("input", null, { type: "text", "aria-label": "New name of " + now, maxlength: "60" });
  input.value = now;
  let done = false;
  const end = (keep, byKey) => {
    if (done) return;
    done = true;
    line.replaceChildren(...shown);
    if (keep && input.value.trim() !== now) state.rename(k, input.value);
    if (byKey) button.focus();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter", true);
  });
  input.addEventListener("blur", () => end(true, false));
  line.replaceChildren(input);
  input.focus();
  input.select();
}

async function load(state, input, told) {
  const file = input.files[0];
  if (!file) return;
  let text;
  try {
    const { taken, unknown } = takeNames(state, JSON.parse(await file.text()));
    text = counted(taken, "name") + " taken" + (unknown ? "; " + unknown + " belong to nothing in this report" : "");
  } catch {
    text = "This file holds no names: {family: {part: name}} is expected, as “Download the names” writes it";
  }
  told.textContent = text + ".";
  input.value = "";
}

/** Download and load, and how the command line takes the names. */
export function namesKept(state) {
  const node = make("div", null, { className: "controls names-kept" }), told = make("span", "", { role: "status" });
  const link = make("a", "Download the names", { className: "button", download: "names.json", href: "#" });
  const input = make("input", null, { type: "file", accept: ".json,application/json", id: "names-file" });
  input.addEventListener("change", () => load(state, input, told));
  const refresh = () => link.setAttribute("href", JSON_LINK + encodeURIComponent(namesText(state)));
  state.listen(refresh);
  refresh();
  const how = make("span", "Names live in this window only. Keep them with ", { className: "hint" });
  put(how, make("code", "latentbits report MODEL TABLE --names names.json"));
  return put(node, link, put(make("label", "Load names "), input), told, how);
}
