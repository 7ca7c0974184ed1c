// Small things that all drawers are made of.

import { make, put } from "./dom.js";
import { fixed } from "./words.js";

/** A number with its sign. */
export function signedText(value) {
  return (value > 0 ? "+" : "") + fixed(value, 2);
}

/** A button that does something. */
export function drawerButton(text, act, className = "") {
  const button = make("button", text, { type: "button", className });
  button.addEventListener("click", act);
  return button;
}

/** Names as buttons, each with words behind it: [text, act, words]. */
export function drawerNames(list) {
  const node = make("ul", null, { className: "dr-list" });
  for (const [text, act, words] of list) {
    const line = put(make("li"), drawerButton(text, act, "dr-name"));
    if (words) put(line, make("span", " " + words, { className: "soft" }));
    put(node, line);
  }
  return node;
}

/** Bars as [text, value, number as text, act or null, tick or null]: values from 0 to `most`, or, signed, from -most to most
 * with the bar beginning in the middle. */
export function drawerBars(list, most, isSigned) {
  const grid = make("div", null, { className: "bars" });
  for (const [text, value, words, act, tick] of list) {
    const bar = make("div", null, { className: "bar" + (isSigned ? " signed" : "") }), fill = make("i");
    const wide = Math.min(1, Math.abs(value) / most) * (isSigned ? 50 : 100);
    fill.style.width = wide.toFixed(1) + "%";
    if (isSigned) fill.style.left = (value < 0 ? 50 - wide : 50).toFixed(1) + "%";
    if (isSigned && value < 0) fill.className = "low";
    put(bar, fill);
    if (tick !== null && tick !== undefined) {
      const mark = make("b");
      mark.style.left = (100 * tick).toFixed(1) + "%";
      put(bar, mark);
    }
    const name = act ? drawerButton(text, act, "name dr-name") : make("div", text, { className: "name" });
    name.title = text;
    put(grid, name, bar, make("div", words, { className: "num" }));
  }
  return grid;
}

export function drawerPart(title, ...nodes) {
  return put(make("section", null, { className: "dr-part" }), make("h3", title), ...nodes);
}
