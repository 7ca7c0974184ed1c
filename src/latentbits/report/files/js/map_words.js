// A row in words, for its card on the map and for those who do not see it.

import { numberText, shortNumber } from "./ticks.js";
import { percent, valueText } from "./words.js";

const CARD_PARTS = 4;

/** What colourings by parts are called: the main part, and the amount of one. */
export function nounsOf(reading) {
  if (reading.kind === "shares") return { main: "largest " + reading.noun, of: "share of " };
  if (reading.kind === "causes") return { main: reading.noun, of: "chance of " };
  return { main: reading.noun, of: "" };
}

function partAmounts(state, i, least) {
  const { reading } = state, found = reading.parts.map((_, k) => [k, reading.value(i, k)]).filter(([, v]) => v >= least);
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, CARD_PARTS);
}

/** What the reading that is shown says of a row, a text for every part that matters. */
export function partTexts(state, i) {
  const { reading } = state, share = ([k, v]) => state.nameOf(k) + " " + percent(v);
  if (reading.kind === "scales") {
    return reading.parts.slice(0, CARD_PARTS).map((_, k) => state.nameOf(k) + " " + numberText(reading.value(i, k), 1));
  }
  if (reading.kind === "causes") {
    const on = partAmounts(state, i, 0.5).map(share);
    return on.length ? on : ["no " + reading.noun + " is likely on"];
  }
  if (reading.kind === "shares") return partAmounts(state, i, 0.1).map(share);
  const k = reading.main(i);
  return k < 0 ? [] : [state.nameOf(k) + (reading.kind === "classes" ? " " + percent(reading.value(i, k)) : "")];
}

/** Labels of a row that are known, as [name, text]. */
export function labelTexts(content, i) {
  return content.labels.map((label) => {
    const code = label.code(i), number = label.number(i);
    return [label.name, label.is_number ? shortNumber(number, 4) : code < 0 ? "" : valueText(label.values[code])];
  }).filter(([, text]) => text !== "");
}

/** All of it in one sentence. */
export function rowSentence(state, i) {
  const labels = labelTexts(state.content, i).slice(0, CARD_PARTS).map(([name, text]) => name + ": " + text);
  return [state.content.rowName(i), ...partTexts(state, i), ...labels].join(", ") + ".";
}
