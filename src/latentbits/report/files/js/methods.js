// What was done, how to do it again, and whom to cite.

import { at, empty, folded, make, put, scrolled } from "./dom.js";
import { table } from "./tables.js";

/** Names and values as a small table. */
function pairsTable(name, entries) {
  const rows = entries.map(([key, value]) => ({ cells: [key, Array.isArray(value) ? value.join(", ") : String(value)] }));
  return scrolled(table(make("table"), [{ text: "name" }, { text: "value" }], rows, { name }));
}

export function methods({ content }) {
  const node = empty(at("method-text")), text = put(make("div", null, { className: "prose" }));
  for (const paragraph of content.methods) put(text, make("p", paragraph));
  put(node, text, make("h3", "To repeat this run"), make("pre", content.command));
  const given = Object.entries(content.settings).filter(([, value]) => value !== null && value !== undefined);
  if (given.length) put(node, folded("Settings", pairsTable("settings", given)));
  put(node, folded("Versions", pairsTable("versions", Object.entries(content.versions))));
  const sources = content.citations.map((one) => make("li", one));
  put(node, make("h3", "Cite"), put(make("ul", null, { className: "prose" }), ...sources));
}
