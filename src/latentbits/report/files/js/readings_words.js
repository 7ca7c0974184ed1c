// What is said of a reading: an introduction for its kind of structure, and of every part how much of it there is.

import { shareTold } from "./told.js";
import { counted } from "./words.js";

const SPECIAL_PARTS = {
  phantom: "Explains zeros only: where a row has much of it, ones may have gone missing.",
  "on-phantom": "Explains ones only: where a row has much of it, ones may be there by mistake.",
  blank: "Rows that are almost empty.",
  dead: "No row has any of it.",
  weak: "Hardly explains anything.",
};

/** One or two short sentences on how to read the cards. */
export function introduction(reading) {
  const { noun, nouns } = reading, tick = "the tick is the share in all rows";
  const chance = " Bars are the probability of a one in the " + noun + "; " + tick + ".";
  const pairs = reading.structure === "paired classes" ? ", and within it columns go in pairs." : ".";
  if (reading.structure === "switches") {
    return "Every row is a pattern of hidden switches. They work together, so that one of them can hardly be read alone; bars " +
      "are the probability of a one with that switch alone, and " + tick + ".";
  }
  if (reading.structure === "local causes") {
    return "Columns have local hidden causes that hang together as a tree. The " + nouns + " are those of the cause at its top." +
      chance;
  }
  return {
    classes: "Every row belongs to one " + noun + pairs + chance,
    shares: "Every row is a blend: its shares of the " + nouns + " add up to one. Bars are the probability of a one in a row " +
      "that is all of that " + noun + "; " + tick + ".",
    causes: "A row can have several " + nouns + " or none, and each that is on switches cells on. Bars are the probability " +
      "that the " + noun + " alone makes a one; " + tick + ".",
    scales: "Every row has a number on each scale; nothing belongs to a scale. A bar to the right means more ones toward the " +
      "high end, a bar to the left more toward the low end.",
    map: "Every row has a place on the map below, and rows that lie close are alike. The regions divide the map." + chance,
    tree: "Nothing is hidden here: columns depend on each other in pairs, along a tree.",
  }[reading.kind];
}

/** What is special about a part; empty for most. */
export function specialTold(part) {
  return SPECIAL_PARTS[part.kind] ?? "";
}

/** How much of the table a part has; nothing for scales, which have all rows. */
export function amountTold(reading, k) {
  const { weight } = reading.parts[k], share = weight === null || weight === undefined ? "" : shareTold(weight);
  const size = reading.sizes === null ? null : reading.sizes[k];
  if (reading.kind === "causes") return share && "on in " + share + " of the rows";
  const rows = size === null ? "" : counted(size, "row");
  if (reading.kind === "shares") return share + " of all" + (rows && " · the largest share in " + rows);
  if (reading.kind === "classes" || reading.kind === "map") {
    return [share && share + " of the rows", rows].filter(Boolean).join(" · ");
  }
  return "";
}

/** The ends of a scale, named by the columns that lie there. */
export function endsTold(part) {
  const end = (own, other) => (own.length ? "more of " + own.join(", ") : other.length ? "fewer of these" : "");
  return [end(part.less, part.more), end(part.more, part.less)];
}
