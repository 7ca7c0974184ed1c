// The map under keys: a cross that moves, the corners of a box, zoom. What they mean is done by `actions` of map.js.

const CROSS_MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const CROSS_NEAR = 16;

/** Moves the cross; at the border of the canvas the map moves instead. */
function moveCross(view, [right, down], step, actions) {
  const wanted = [view.cross[0] + step * right, view.cross[1] + step * down];
  const kept = wanted.map((v, axis) => Math.min(view.size[axis] - 12, Math.max(12, v)));
  const rest = [kept[0] - wanted[0], kept[1] - wanted[1]];
  view.cross = kept;
  if (rest[0] || rest[1]) actions.pan(rest);
  if (view.draft.box) view.draft = { box: [view.draft.box[0], kept], path: null };
}

/** The first call sets a corner of the box, the second the opposite one. */
function setCorner(view, add, actions) {
  const { box } = view.draft;
  actions.drop();
  if (box) actions.select({ box: [box[0], view.cross], path: null }, add);
  else view.draft = { box: [view.cross, view.cross], path: null };
}

/** What a key does, or nothing. */
function deedOf(event, view, actions) {
  const { key } = event, at = view.cross;
  if (CROSS_MOVES[key]) return () => moveCross(view, CROSS_MOVES[key], event.shiftKey ? 40 : 10, actions);
  const deeds = {
    Enter: () => setCorner(view, event.shiftKey, actions),
    Escape: () => actions.clear(),
    "+": () => actions.zoom(1.5, at), "=": () => actions.zoom(1.5, at),
    "-": () => actions.zoom(1 / 1.5, at), "0": () => actions.whole(),
    o: () => { const i = actions.near(view.cross, CROSS_NEAR); if (i >= 0) actions.click(i); },
    " ": () => { view.space = true; actions.cursor(); },
  };
  return Object.hasOwn(deeds, key) ? deeds[key] : null;
}

export function mapKeys(view, actions) {
  view.canvas.addEventListener("keydown", (event) => {
    const deed = event.ctrlKey || event.metaKey || event.altKey ? null : deedOf(event, view, actions);
    if (!deed) return;
    event.preventDefault();
    if (event.key !== " ") view.byKeys = true;
    deed();
    if (view.byKeys) actions.hover(actions.near(view.cross, CROSS_NEAR), true);
    actions.later();
  });
  const release = () => { view.space = false; actions.cursor(); };
  view.canvas.addEventListener("keyup", (event) => { if (event.key === " ") release(); });
  view.canvas.addEventListener("focus", actions.later);
  view.canvas.addEventListener("blur", () => { release(); actions.later(); });
}
