// The map under pointers: hovering, selecting, moving, wheel and pinch. What they mean is done by `actions` of map.js.

// Pixels that a press may move and still be a click; the time in which a second one makes it a double click.
const CLICK_REACH = 5;
const TWICE_WITHIN = 230;
const POINTER_NEAR = 12;

/** Where an event happened, in the pixels that the map is laid out in. */
function placeIn({ canvas, size }, event) {
  const frame = canvas.getBoundingClientRect();
  const x = event.clientX - frame.left - canvas.clientLeft, y = event.clientY - frame.top - canvas.clientTop;
  return [x * size[0] / canvas.clientWidth, y * size[1] / canvas.clientHeight];
}

const farApart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
const middleOf = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];

/** One pointer draws, or moves the map; the draft is what is drawn. */
function beginPress(view, at) {
  const moving = view.mode === "move" || view.space;
  view.press = { from: at, last: at, moving, far: 0 };
  if (!moving) view.draft = view.mode === "box" ? { box: [at, at], path: null } : { box: null, path: [at] };
}

function movePress(view, at, actions) {
  const { press, draft } = view;
  press.far = Math.max(press.far, farApart(at, press.from));
  if (press.moving) actions.pan([at[0] - press.last[0], at[1] - press.last[1]]);
  else if (draft.box) draft.box[1] = at;
  else if (draft.path && farApart(at, draft.path[draft.path.length - 1]) > 2) draft.path.push(at);
  press.last = at;
  actions.later();
}

/** Two fingers: what was middleOf them stays middleOf them. */
function pinchMap(pointers, id, at, actions) {
  const other = [...pointers.entries()].find(([key]) => key !== id)[1], before = pointers.get(id);
  const middle = middleOf(at, other), was = middleOf(before, other);
  actions.pan([middle[0] - was[0], middle[1] - was[1]]);
  actions.zoom(farApart(at, other) / Math.max(1, farApart(before, other)), middle);
}

/** A click waits whether it becomes a double click, which zooms and opens nothing. */
function clickOrZoom(actions) {
  let waiting = 0;
  return (at, hit) => {
    if (waiting) {
      clearTimeout(waiting);
      waiting = 0;
      actions.zoom(2, at);
      return;
    }
    waiting = setTimeout(() => { waiting = 0; actions.click(hit); }, TWICE_WITHIN);
  };
}

function followPress(view, actions) {
  const { canvas } = view, pointers = new Map(), click = clickOrZoom(actions);
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    view.byKeys = false;
    pointers.set(event.pointerId, placeIn(view, event));
    actions.drop();
    if (pointers.size === 1) beginPress(view, placeIn(view, event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = placeIn(view, event);
    if (pointers.size === 2 && pointers.has(event.pointerId)) pinchMap(pointers, event.pointerId, at, actions);
    else if (view.press) movePress(view, at, actions);
    else if (!pointers.size) actions.hover(actions.near(at, POINTER_NEAR), false);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, at);
  });
  const end = (event, kept) => {
    const { press, draft } = view, at = placeIn(view, event);
    pointers.delete(event.pointerId);
    actions.drop();
    if (!kept || !press) return;
    const near = event.pointerType === "mouse" ? POINTER_NEAR : 2 * POINTER_NEAR;
    if (Math.max(press.far, farApart(at, press.from)) < CLICK_REACH) click(at, actions.near(at, near));
    else if (!press.moving) actions.select(draft.box ? { box: [draft.box[0], at], path: null } : draft, event.shiftKey);
  };
  canvas.addEventListener("pointerup", (event) => end(event, true));
  canvas.addEventListener("pointercancel", (event) => end(event, false));
  canvas.addEventListener("pointerleave", () => { if (!pointers.size) actions.hover(-1, false); });
}

/** The wheel zooms with Ctrl (or a pinchMap on a touchpad), or when the map has the focus; else the page scrolls. */
function followWheel(view, actions) {
  view.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== view.canvas) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1, by = Math.min(300, Math.max(-300, event.deltaY * lines));
    actions.zoom(Math.exp(-by * (event.ctrlKey && Math.abs(by) < 40 ? 0.012 : 0.0022)), placeIn(view, event));
  }, { passive: false });
}

export function mapPointer(view, actions) {
  followPress(view, actions);
  followWheel(view, actions);
}
