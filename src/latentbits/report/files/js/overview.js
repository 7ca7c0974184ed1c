// What was found, in words, and the way to the rest.

import { at, empty, folded, make, put } from "./dom.js";
import { spoken } from "./names.js";

const PLACES = [
  ["overview", "Overview"], ["components", "What rows are made of"], ["map", "Map"], ["matrix", "Cells"],
  ["try", "Try a row"], ["cells", "Worth a look"], ["families", "Families"], ["checks", "Checks"], ["methods", "Methods"],
];
// Doubts that are always open; more are folded.
const OPEN_DOUBTS = 2;
// Letters from which the first sentence is set smaller.
const LONG_SENTENCE = 170;

/** Sections that this content has. */
export function placesShown(content) {
  const without = new Set();
  if (content.comparison === null) without.add("families");
  if (!content.readings.some((reading) => reading.row_model)) without.add("try");
  return PLACES.filter(([id]) => !without.has(id));
}

/** Title and links to the sections; those that this report has not are taken away. */
export function frame(content) {
  at("title").textContent = content.name;
  const shown = placesShown(content);
  for (const [id] of PLACES) if (!shown.some(([other]) => other === id)) at(id).remove();
  for (const [id, text] of shown) put(at("nav"), make("a", text, { href: "#" + id }));
}

/** A sentence in the names that parts have now: each association in it belongs to a reading of its own. */
export function sentenceNow(state, sentence, isFirst) {
  if (isFirst) return state.content.readings.length ? spoken(state, sentence, 0) : sentence;
  const capital = (words) => words.slice(0, 1).toUpperCase() + words.slice(1);
  let text = sentence;
  state.content.readings.forEach((reading, number) => {
    for (const one of reading.associations) {
      if (!one.stated || !one.sentence) continue;
      const before = one.sentence, now = spoken(state, before, number);
      if (now !== before) text = text.replace(capital(before), () => capital(now)).replace(before, () => now);
    }
  });
  return text;
}

function doubtsOf(notes) {
  const lines = notes.map((note) => make("p", note, { className: "doubt" })), rest = lines.slice(OPEN_DOUBTS);
  const more = rest.length ? [folded(rest.length + " more doubts", put(make("div"), ...rest))] : [];
  return lines.length ? [make("h3", lines.length > 1 ? "Doubts" : "A doubt"), ...lines.slice(0, OPEN_DOUBTS), ...more] : [];
}

function factsOf(facts) {
  if (facts.length < 2) return facts.map((fact) => make("p", fact, { className: "hint" }));
  const list = make("ul", null, { className: "facts" });
  for (const fact of facts.slice(1)) put(list, make("li", fact));
  return [folded("The table: " + facts[0], list)];
}

export function overview(state) {
  const { content } = state;
  put(at("doubts"), ...doubtsOf(content.notes));
  put(at("facts"), ...factsOf(content.facts));
  let names = null;
  state.listen(() => {
    const now = JSON.stringify(state.given());
    if (now === names) return;
    names = now;
    empty(at("found"));
    content.overview.forEach((sentence, i) => {
      const text = sentenceNow(state, sentence, i === 0);
      const size = i ? "" : text.length > LONG_SENTENCE ? " first long" : " first";
      put(at("found"), make("p", text, { className: "found" + size }));
    });
  });
}
