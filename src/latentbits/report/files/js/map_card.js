// The card of the row that the pointer or the cross is on.

import { empty, make, put } from "./dom.js";
import { labelTexts, partTexts, rowSentence } from "./map_words.js";
import { shorter } from "./words.js";

const CARD_LABELS = 5;
// Time to go from a spot to its card, in milliseconds.
const CARD_STAY = 350;

function fillCard(card, state, i) {
  const open = make("button", "Open", { type: "button", className: "link" });
  open.setAttribute("aria-label", "Open " + state.content.rowName(i));
  open.addEventListener("click", () => state.openRow(i));
  put(empty(card), make("strong", shorter(state.content.rowName(i), 60)));
  for (const text of partTexts(state, i)) put(card, make("div", text));
  for (const [name, text] of labelTexts(state.content, i).slice(0, CARD_LABELS)) {
    put(card, make("div", shorter(name, 30) + ": " + shorter(text, 40), { className: "soft" }));
  }
  put(card, open);
}

/** Beside the spot, on the side that has room. */
function placeCard(card, [x, y], [width, height]) {
  const wide = card.offsetWidth, high = card.offsetHeight;
  const left = x + 14 + wide <= width ? x + 14 : Math.max(0, x - 14 - wide);
  card.style.left = left + "px";
  card.style.top = Math.max(0, Math.min(height - high, y - high / 2)) + "px";
}

/** `show(i, byKeys)` shows the card of a row, or, of -1, takes it away a little later, so that the pointer can reach it. */
export function rowCard(view, state, live) {
  const card = make("div", null, { className: "row-card", hidden: "" });
  let shown = -1, leaving = 0;
  const hide = () => { shown = -1; card.hidden = true; };
  const show = (i, byKeys) => {
    clearTimeout(leaving);
    if (i < 0) {
      if (byKeys) { hide(); live.textContent = ""; } else leaving = setTimeout(hide, CARD_STAY);
      return;
    }
    if (i !== shown) fillCard(card, state, i);
    shown = i;
    card.hidden = false;
    placeCard(card, view.spots[i], view.size);
    if (byKeys) live.textContent = rowSentence(state, i);
  };
  card.addEventListener("pointerenter", () => clearTimeout(leaving));
  card.addEventListener("pointerleave", () => show(-1, false));
  return { node: card, show, hide };
}
