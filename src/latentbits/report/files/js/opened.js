// What the drawer shows: {kind: "row", "column" or "part", at}, or null; for views that mark it.

const openedThings = new WeakMap();

export function openedOf(state) {
  if (!openedThings.has(state)) {
    const listeners = [];
    const opened = {
      now: null,
      row: -1, // the row that was opened last
      set: (thing) => {
        opened.now = thing;
        if (thing && thing.kind === "row") opened.row = thing.at;
        for (const listener of listeners) listener();
      },
      listen: (listener) => { listeners.push(listener); },
    };
    openedThings.set(state, opened);
  }
  return openedThings.get(state);
}
