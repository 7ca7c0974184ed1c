// What all views share: the reading that is shown, the names of its parts, the rows that are selected, and what is opened.

import { selectionOf } from "./selection.js";

/** Views listen, and are told whenever the reading, a name or the selection changes. */
export function stateOf(content) {
  const listeners = [], selection = selectionOf(content.nRows);
  const names = content.readings.map((reading) => reading.parts.map((part) => part.name));
  const tell = () => { for (const listener of listeners) listener(); };
  const state = {
    content,
    selection,
    number: 0,
    get reading() { return content.readings[state.number]; },
    show: (number) => { state.number = number; tell(); },
    /** The name of part k of the reading that is shown, or of another. */
    nameOf: (k, number = state.number) => (k < 0 ? "" : names[number][k]),
    /** An empty name brings back the first one. */
    rename: (k, name, number = state.number) => {
      names[number][k] = name.trim() || content.readings[number].parts[k].name;
      tell();
    },
    /** What people named, as the command line takes it: {family: {part: name}}. */
    given: () => Object.fromEntries(content.readings.map((reading, r) => [reading.family, Object.fromEntries(
      reading.parts.map((part, k) => [part.name, names[r][k]]).filter(([before, after]) => before !== after),
    )]).filter(([, mine]) => Object.keys(mine).length > 0)),
    listen: (listener) => { listeners.push(listener); },
    tell,
    // Set by the drawers: show all about a row, or a column.
    openRow: () => {},
    openColumn: () => {},
  };
  selection.listen(tell);
  return state;
}
