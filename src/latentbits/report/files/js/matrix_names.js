// Names of the rows and columns that are on the screen, as buttons that are used over and over.

import { make, put } from "./dom.js";

// Pixels that a name needs to be read.
const NAME_ROOM = 11;

/** A layer of buttons; `show(list)` puts one for every {text, at (CSS), isMarked, isFaint, choose} and hides the rest. */
export function nameLayer(className) {
  const layer = make("div", null, { className }), buttons = [], chosen = [];
  function button(n) {
    while (buttons.length <= n) {
      const place = buttons.length, node = make("button", null, { type: "button", tabindex: "-1" });
      node.addEventListener("click", () => chosen[place]());
      buttons.push(node);
      put(layer, node);
    }
    return buttons[n];
  }
  function show(list) {
    list.forEach((one, n) => {
      const node = button(n);
      if (node.textContent !== one.text) { node.textContent = one.text; node.title = one.text; }
      node.style.transform = one.at;
      node.className = (one.isMarked ? "marked" : "") + (one.isFaint ? " faint" : "");
      node.hidden = false;
      chosen[n] = one.choose;
    });
    for (let n = list.length; n < buttons.length; n++) buttons[n].hidden = true;
  }
  return { layer, show };
}

/** Every how many names are shown where things are smaller than names; `marked` is shown instead of its neighbours. */
export function namesShown(span, size, marked) {
  const step = Math.max(1, Math.ceil(NAME_ROOM / size)), out = [];
  for (let n = Math.ceil(span[0] / step) * step; n < span[1]; n += step) {
    if (n === marked || Math.abs(n - marked) >= step) out.push(n);
  }
  if (step > 1 && marked >= span[0] && marked < span[1] && !out.includes(marked)) out.push(marked);
  return out;
}
