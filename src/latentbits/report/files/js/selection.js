// The rows that are selected, shared by all views: who draws them listens, and is told of every change.

/** `rows` has a one for every selected row, `count` says how many they are, `version` counts the changes. */
export function selectionOf(nRows) {
  const rows = new Uint8Array(nRows), listeners = [];
  const tell = () => { for (const listener of listeners) listener(); };
  const selection = {
    rows,
    count: 0,
    version: 0,
    listen: (listener) => { listeners.push(listener); },
    tell,
    /** The test may ask whether a row was selected before. */
    choose: (test) => {
      selection.count = 0;
      for (let i = 0; i < nRows; i++) { rows[i] = test(i) ? 1 : 0; selection.count += rows[i]; }
      selection.version += 1;
      tell();
    },
    clear: () => selection.choose(() => false),
    invert: () => selection.choose((i) => !rows[i]),
    // Fainter than the rest: a row that is not selected while others are.
    faded: (i) => selection.count > 0 && !rows[i],
  };
  return selection;
}
