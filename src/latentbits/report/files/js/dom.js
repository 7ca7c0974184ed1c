// Nodes of the page. Everything from the table is put on it as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export function at(id) {
  return document.getElementById(id);
}

export function make(tag, text, options) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [key, value] of Object.entries(options || {})) {
    if (key === "className") node.className = value;
    else node.setAttribute(key, value);
  }
  return node;
}

export function put(parent, ...nodes) {
  for (const node of nodes) parent.appendChild(node);
  return parent;
}

export function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

export function empty(node) {
  while (node.firstChild) node.removeChild(node.firstChild);
  return node;
}

/** What the style says of a custom property, for canvases, which do not read it themselves. */
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function textNode(text) {
  return document.createTextNode(text);
}

export function hint(text) {
  return make("p", text, { className: "hint" });
}

export function scrolled(node) {
  return put(make("div", null, { className: "scroll" }), node);
}

export function folded(title, node) {
  return put(make("details"), make("summary", title), node);
}

/** Where an event happened, in the pixels of a canvas that may be shown in another size. */
export function placeOn(canvas, event) {
  const frame = canvas.getBoundingClientRect();
  return [(event.clientX - frame.left) * canvas.width / frame.width, (event.clientY - frame.top) * canvas.height / frame.height];
}
