// The drawer itself: where the focus goes, the way back, and what closes it.

import { at, empty, make, put } from "./dom.js";

/** `content` has title(thing), fill(thing, node) and changed(thing or null); things have a kind and a place. */
export function drawerFrame(content) {
  const aside = at("drawer"), parts = drawerNodes(), stack = [];
  put(empty(aside), parts.head, parts.body);
  aside.setAttribute("aria-labelledby", "drawer-title");
  let from = null; // what had the focus before
  const now = () => stack[stack.length - 1] ?? null;

  function fill() {
    parts.title.textContent = content.title(now());
    parts.back.hidden = stack.length < 2;
    content.fill(now(), empty(parts.body));
  }
  function show() {
    aside.hidden = false;
    document.body.classList.add("with-drawer");
    fill();
    aside.scrollTop = 0;
    content.changed(now());
    parts.title.focus({ preventScroll: true });
  }
  function close() {
    if (aside.hidden) return;
    stack.length = 0;
    aside.hidden = true;
    document.body.classList.remove("with-drawer");
    content.changed(null);
    const back = from && from.isConnected && !from.hidden ? from : at("main");
    from = null;
    back.focus({ preventScroll: true });
  }
  function back() {
    stack.pop();
    if (stack.length) show(); else close();
  }
  /** Fills it anew; the focus stays on the button where it was. */
  function refresh() {
    if (aside.hidden) return;
    const scrolled = aside.scrollTop, place = drawerButtons(parts.body).indexOf(document.activeElement);
    const folds = Array.from(parts.body.querySelectorAll("details"), (one) => one.open);
    fill();
    parts.body.querySelectorAll("details").forEach((one, n) => { if (folds[n]) one.open = true; });
    aside.scrollTop = scrolled;
    if (place >= 0) (drawerButtons(parts.body)[place] ?? parts.title).focus({ preventScroll: true });
  }

  parts.close.addEventListener("click", close);
  parts.back.addEventListener("click", back);
  aside.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } });
  return {
    open: (thing) => {
      if (aside.hidden || !aside.contains(document.activeElement)) from = document.activeElement;
      const last = now();
      if (last === null || last.kind !== thing.kind || last.at !== thing.at) stack.push(thing);
      show();
    },
    close,
    refresh,
    drop: (test) => {
      if (!stack.some(test)) return;
      stack.splice(0, stack.length, ...stack.filter((thing) => !test(thing)));
      if (!stack.length) close(); else content.changed(now());
    },
  };
}

function drawerButtons(node) {
  return Array.from(node.querySelectorAll("button, summary"));
}

function drawerNodes() {
  const title = make("h2", "", { id: "drawer-title", tabindex: "-1" });
  const back = make("button", "← Back", { type: "button", id: "drawer-back" });
  const close = make("button", "Close", { type: "button", id: "drawer-close" });
  const tools = put(make("div", null, { className: "drawer-tools" }), back, close);
  const head = put(make("div", null, { className: "drawer-head" }), title, tools);
  return { title, back, close, head, body: make("div", null, { id: "drawer-body" }) };
}
