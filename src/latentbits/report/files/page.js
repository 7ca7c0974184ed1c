"use strict";
(function () {
  const data = JSON.parse(document.getElementById("content").textContent);
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  // Okabe and Ito's colours, and shapes beside them, so that groups are told apart without colour.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a7f00", "#7a5195", "#999999", "#b2182b", "#4d9221", "#6a3d9a"];
  const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "plus", "ring", "box", "down", "bar", "star", "dash"];

  // ---- small tools: everything from the table is put on the page as text, never as markup
  function make(tag, text, options) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    if (options) for (const key of Object.keys(options)) {
      if (key === "className") node.className = options[key];
      else node.setAttribute(key, options[key]);
    }
    return node;
  }
  function put(parent, ...nodes) { for (const node of nodes) parent.appendChild(node); return parent; }
  function draw(tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const key of Object.keys(attributes)) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function empty(node) { while (node.firstChild) node.removeChild(node.firstChild); return node; }
  function fixed(value, digits) { return value === null || value === undefined ? "" : Number(value).toFixed(digits); }
  function percent(value) { return value === null || value === undefined ? "" : (100 * value).toFixed(value < 0.1 ? 1 : 0) + "%"; }
  // Probabilities of cells travel as bytes.
  function chanceText(byte) { return byte === 0 ? "below 0.2%" : byte === 255 ? "above 99.8%" : percent(byte / 255); }
  function unpack(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }
  function words(text) { const b = unpack(text); return new Uint16Array(b.buffer, 0, b.length >> 1); }
  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function table(node, heads, rows) {
    const head = put(make("thead"), put(make("tr"), ...heads.map((h) => make("th", h.text, h.n ? { className: "n", scope: "col" } : { scope: "col" }))));
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr", null, row.className ? { className: row.className } : undefined);
      row.cells.forEach((cell, i) => put(line, make("td", cell, heads[i].n ? { className: "n" } : { className: "long" })));
      put(body, line);
    }
    return put(empty(node), head, body);
  }
  function shorter(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

  const nColumns = data.columns.length, nRows = data.rows.number.length;
  const ones = unpack(data.rows.ones), unknown = data.rows.unknown ? unpack(data.rows.unknown) : null;
  const stride = Math.ceil(nColumns / 8);
  const bit = (bits, i, j) => bits !== null && ((bits[i * stride + (j >> 3)] >> (j & 7)) & 1) === 1;
  const rowName = (i) => data.rows.ids ? data.rows.ids[i] : "row " + data.rows.number[i];

  // ---- the frame
  at("title").textContent = data.name;
  const SECTIONS = [["overview", "Overview"], ["families", "Families"], ["components", "Components"], ["map", "Map"], ["matrix", "Cells"], ["cells", "Worth a look"], ["checks", "Checks"], ["methods", "Methods"]];
  for (const [id, text] of SECTIONS) if (id !== "families" || data.comparison !== null) put(at("nav"), make("a", text, { href: "#" + id }));

  // ---- overview
  at("headline").textContent = data.headline;
  if (!data.headline) at("headline").remove();
  at("verdict").textContent = data.verdict;
  for (const line of data.facts) put(at("facts"), make("li", line));
  for (const note of data.notes) put(at("doubts"), make("p", note, { className: "doubt" }));

  // ---- families
  if (data.comparison === null) at("families").remove();
  else (function families() {
    const rows = data.comparison.rows, plan = data.comparison.plan;
    at("families-hint").textContent = "Log-loss of cells that no model saw, in nats per cell; smaller is better. The bars are two standard errors of the difference to the best family, paired cell by cell: each difference has its own, so that a larger one can be less sure. Squares claim no hidden structure.";
    const scored = rows.filter((r) => r.log_loss !== undefined);
    const width = Math.max(300, Math.min(760, at("family-plot").clientWidth || 760)), left = Math.round(Math.min(250, 0.45 * width)), height = 26 * scored.length + 46, right = 22;
    const low = Math.min(...scored.map((r) => r.log_loss - 2 * (r.se || 0))), high = Math.max(...scored.map((r) => r.log_loss + 2 * (r.se || 0)));
    const x = (v) => left + (width - left - right) * (v - low) / Math.max(1e-9, high - low);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, style: `max-width:${width}px`, role: "img", "aria-label": "Log-loss of every family; the table below has the numbers" });
    scored.forEach((r, i) => {
      const y = 22 + 26 * i;
      put(svg, draw("line", { x1: left, x2: width - right, y1: y, y2: y, stroke: "var(--line)", "stroke-width": 1 }));
      put(svg, draw("text", { x: left - 10, y: y + 4, "text-anchor": "end" }, shorter(r.title, Math.floor(left / 7.6))));
      if (r.se) put(svg, draw("line", { x1: x(r.log_loss - 2 * r.se), x2: x(r.log_loss + 2 * r.se), y1: y, y2: y, stroke: "currentColor", "stroke-width": 2 }));
      if (r.baseline) put(svg, draw("rect", { x: x(r.log_loss) - 5, y: y - 5, width: 10, height: 10, fill: "var(--hole)", stroke: "currentColor" }));
      else put(svg, draw("circle", { cx: x(r.log_loss), cy: y, r: 6, fill: r.model === data.comparison.best ? "var(--pick)" : "var(--accent)", stroke: "currentColor" }));
    });
    const ticks = width > 500 ? 4 : 2;
    for (let t = 0; t <= ticks; t++) {
      const v = low + (high - low) * t / ticks;
      put(svg, draw("text", { x: x(v), y: height - 8, "text-anchor": "middle", class: "dim" }, v.toFixed(3)));
    }
    put(at("family-plot"), svg);
    const heads = [{ text: "family" }, { text: "size", n: 1 }, { text: "log-loss", n: 1 }, { text: "above best", n: 1 }, { text: "AUC", n: 1 }, { text: "Brier", n: 1 }, { text: "calibration error", n: 1 }, { text: "held-out rows, nats", n: 1 }, { text: "kind" }, { text: "note" }];
    table(at("family-table"), heads, rows.map((r) => ({
      className: (r.baseline ? "base " : "") + (r.model === data.comparison.best ? "best" : ""),
      cells: r.log_loss === undefined ? [r.title, r.size, "", "", "", "", "", "", "", "not fitted: " + r.note] :
        [r.title, r.size === null ? "" : r.size, fixed(r.log_loss, 4), r.model === data.comparison.best ? "best" : fixed(r.above_best, 4) + " ± " + fixed(r.se, 4), fixed(r.auc, 3), fixed(r.brier, 4), fixed(r.calibration_error, 3), r.row_log_likelihood === null ? "" : fixed(r.row_log_likelihood, 3), r.row_kind === "none" ? "" : r.row_kind, r.note],
    })));
    if (plan.held) at("families-hint").textContent += " Log-likelihoods of " + plan.held + " held-out rows stand beside; lower bounds are not ranked.";
    capacity(data.comparison.sizes);
  })();

  // Loss against size, a line per family; the scale of sizes doubles from tick to tick.
  function capacity(curves) {
    if (!curves.length) return;
    const width = Math.max(300, Math.min(760, at("family-plot").clientWidth || 760)), height = 300, left = 62, right = 18, top = 14, foot = 44;
    const points = curves.flatMap((c) => c.points), sizes = points.map((p) => Math.log2(p.size)), losses = points.map((p) => p.log_loss);
    const low = Math.min(...losses), high = Math.max(...losses), first = Math.floor(Math.min(...sizes)), last = Math.ceil(Math.max(...sizes));
    const x = (v) => left + (width - left - right) * (Math.log2(v) - first) / Math.max(1, last - first);
    const y = (v) => top + (height - top - foot) * (high - v) / Math.max(1e-9, high - low);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, style: `max-width:${width}px`, role: "img", "aria-label": "Log-loss of the families against their size" });
    for (let t = 0; t <= 4; t++) {
      const v = low + (high - low) * t / 4;
      put(svg, draw("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), stroke: "var(--line)" }), draw("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end", class: "dim" }, v.toFixed(3)));
    }
    const step = Math.ceil((last - first + 1) / 9);
    for (let k = first; k <= last; k += step) put(svg, draw("text", { x: x(2 ** k), y: height - 24, "text-anchor": "middle", class: "dim" }, String(2 ** k)));
    put(svg, draw("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "dim" }, "components (nodes of maps)"));
    const legend = make("div", null, { className: "legend" });
    curves.forEach((curve, k) => {
      const colour = COLOURS[k % COLOURS.length], dash = k < COLOURS.length ? "none" : "5 4";
      put(svg, draw("polyline", { points: curve.points.map((p) => x(p.size) + "," + y(p.log_loss)).join(" "), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
      for (const p of curve.points) put(svg, draw("circle", { cx: x(p.size), cy: y(p.log_loss), r: 3, fill: colour }));
      const entry = make("span"), mark = make("i");
      mark.style.cssText = `display:inline-block;width:14px;height:${k < COLOURS.length ? 4 : 2}px;background:${colour}`;
      put(legend, put(entry, mark, document.createTextNode(curve.title)));
    });
    put(at("family-sizes"), make("h3", "Loss against size"), make("p", "What the search saw on cells hidden for it. A line that still falls at its right end is of a family that would gain from more time.", { className: "hint" }), svg, legend);
  }

  // ---- components
  function bars(features, kind) {
    const grid = make("div", null, { className: "bars" });
    const most = kind === "loading" ? Math.max(1e-9, ...features.map((f) => Math.abs(f[1]))) : 1;
    for (const [name, value, marginal] of features) {
      const bar = make("div", null, { className: "bar" });
      const fill = make("i");
      fill.style.width = (100 * Math.abs(value) / most).toFixed(1) + "%";
      put(bar, fill);
      if (kind !== "loading") {
        const tick = make("b", null, { title: "share of ones overall: " + percent(marginal) });
        tick.style.left = (100 * marginal).toFixed(1) + "%";
        put(bar, tick);
      }
      put(grid, make("div", name, { className: "name", title: name }), bar, make("div", kind === "loading" ? fixed(value, 2) : percent(value), { className: "num" }));
    }
    return grid;
  }
  function treeOf(tree, several) {
    const xs = tree.nodes.map((n) => n[1]), ys = tree.nodes.map((n) => n[2]);
    const low = [Math.min(...xs), Math.min(...ys)], span = Math.max(Math.max(...xs) - low[0], Math.max(...ys) - low[1], 1e-9);
    const width = 640, height = 60 + 560 * (Math.max(...ys) - low[1]) / span;
    const x = (n) => 40 + 560 * (n[1] - low[0]) / span, y = (n) => 30 + 560 * (n[2] - low[1]) / span;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Columns that depend on each other, as a tree; the table “edges” has the numbers" });
    for (const [a, b, strength, together] of tree.edges) {
      const line = { x1: x(tree.nodes[a]), y1: y(tree.nodes[a]), x2: x(tree.nodes[b]), y2: y(tree.nodes[b]), stroke: together ? "var(--accent)" : "var(--pick)", "stroke-width": 0.8 + 5 * Math.min(1, strength / 0.3) };
      put(svg, put(draw("line", together ? line : { ...line, "stroke-dasharray": "6 4" }), draw("title", {}, tree.nodes[a][0] + " and " + tree.nodes[b][0] + ": " + fixed(strength, 3) + " nats")));
    }
    for (const node of tree.nodes) put(svg, put(draw("circle", { cx: x(node), cy: y(node), r: 3 + 6 * Math.sqrt(node[3]), fill: "var(--panel)", stroke: "currentColor" }), draw("title", {}, node[0] + ": " + percent(node[3]) + " ones")));
    if (tree.nodes.length <= 40) for (const node of tree.nodes) put(svg, draw("text", { x: x(node), y: y(node) - 9, "text-anchor": "middle", class: "small" }, shorter(node[0], 14)));
    return put(make("div", null, { className: "card figure" }), ...(several ? [make("h3", tree.name)] : []), svg);
  }
  function showModel(number) {
    const model = data.models[number], node = empty(at("model"));
    put(node, make("p", "In this model " + model.story + ". " + (model.components[0] && model.components[0].value === "loading" ? "Bars are loadings: how a step along the scale changes the log odds of a cell." : "Bars are probabilities of a one within the " + model.noun + "; the tick is the share of ones overall.") + (data.shape[1] > 12 ? " The twelve columns that stand out most are shown; the table “components” beside this file has all." : ""), { className: "hint" }));
    if (model.pairs) put(node, make("p", model.pairs));
    if (data.finding === "nothing") put(node, make("p", "No family predicts better than independent columns here: take what follows for chance.", { className: "doubt" }));
    const cards = make("div", null, { className: "cards" });
    for (const [place, part] of model.components.entries()) {
      let share = part.weight === null || part.weight === undefined ? "" : " · " + percent(part.weight);
      if (number === 0 && data.components[place] === part.name) share += " · strongest in " + data.sizes[place] + " rows";
      const card = put(make("div", null, { className: "card" }), make("h3", part.name + (part.kind ? " (" + part.kind + ")" : "") + share), bars(part.features, part.value));
      if (part.edges) put(card, make("p", "Strongest pairs here", { className: "hint" }));
      for (const [above, name, one, zero] of part.edges || []) put(card, make("p", name + " is 1 in " + percent(one) + " of the rows with " + above + ", in " + percent(zero) + " of those without", { className: "edge" }));
      put(cards, card);
    }
    put(node, cards);
    if (model.trees.length) put(node, make("h3", model.trees.length > 1 ? "Which columns depend on each other, by " + model.noun : "Which columns depend on each other"), make("p", "The wider a line, the more the two columns tell about each other; dashed: one stands instead of the other. The larger a dot, the more frequent its ones." + (model.trees.some((t) => t.edges.length < t.n_edges) ? " The strongest pairs are shown; the table “edges” beside this file has more." : ""), { className: "hint" }), put(make("div", null, { className: "cards wide" }), ...model.trees.map((one) => treeOf(one, model.trees.length > 1))));
    if (model.modules.length) {
      const grid = make("table");
      table(grid, [{ text: "module", n: 1 }, { text: "columns" }, { text: "nats per pair", n: 1 }], model.modules.map((one) => ({ cells: [String(one.module), shorter(one.features.join(", "), 300), fixed(one.information, 3)] })));
      put(node, make("h3", "Modules: columns that share local causes"), make("p", "The tree is cut where two columns tell no more about each other than chance would, and where they tell less than a quarter as much as the middle one of the other pairs.", { className: "hint" }), put(make("div", null, { className: "scroll" }), grid));
    }
    if (number === 0) for (const name of Object.keys(data.cross)) {
      const cross = data.cross[name];
      put(node, make("h3", "Against " + name + " (not used in the fit)"));
      const grid = make("table");
      const heads = [{ text: model.noun }, ...cross.values.map((v) => ({ text: shorter(v === "" ? "(blank)" : v, 40), n: 1 }))];
      table(grid, heads, cross.counts.map((counts, k) => ({ cells: [data.components[k], ...counts.map(String)] })));
      put(node, put(make("div", null, { className: "scroll" }), grid));
      if (cross.n_values > cross.values.length) put(node, make("p", "The " + cross.values.length + " most frequent of " + cross.n_values + " values are shown.", { className: "hint" }));
    }
    for (const [i, tab] of Array.from(at("models").children).entries()) tab.setAttribute("aria-selected", String(i === number));
  }
  data.models.forEach((model, i) => {
    const tab = make("button", model.title + (data.comparison === null ? "" : i > 0 ? " (best with several causes)" : data.comparison.chosen === data.comparison.best ? " (best)" : " (easiest to read of the best)"), { type: "button", role: "tab", "aria-selected": "false" });
    tab.addEventListener("click", () => showModel(i));
    put(at("models"), tab);
  });
  if (data.models.length) showModel(0);

  // ---- selection, shared by all views
  let selected = new Uint8Array(nRows), nSelected = 0;
  const listeners = [];
  function select(test) {
    nSelected = 0;
    for (let i = 0; i < nRows; i++) { selected[i] = test(i) ? 1 : 0; nSelected += selected[i]; }
    for (const listener of listeners) listener();
  }
  function profileOfSelection() {
    const on = new Float64Array(nColumns), seen = new Float64Array(nColumns);
    for (let i = 0; i < nRows; i++) if (selected[i]) for (let j = 0; j < nColumns; j++) {
      if (bit(unknown, i, j)) continue;
      seen[j] += 1;
      if (bit(ones, i, j)) on[j] += 1;
    }
    const rows = [];
    for (let j = 0; j < nColumns; j++) {
      if (!seen[j]) continue;
      const p = (on[j] + 0.5) / (seen[j] + 1), m = Math.min(1 - 1e-6, Math.max(1e-6, data.marginals[j]));
      rows.push({ j, share: on[j] / seen[j], gain: p * Math.log(p / m) + (1 - p) * Math.log((1 - p) / (1 - m)) });
    }
    return rows.sort((a, b) => b.gain - a.gain);
  }
  function showSelection() {
    const node = empty(at("selection"));
    put(node, make("h3", nSelected ? nSelected + " of " + nRows + " rows selected" : "Nothing selected"));
    if (!nSelected) { put(node, make("p", "Select rows to see what they have in common.", { className: "hint" })); return; }
    put(node, make("p", "What stands out in them: share of ones here; the tick is the share overall.", { className: "hint" }));
    put(node, bars(profileOfSelection().slice(0, 12).map((r) => [data.columns[r.j], r.share, data.marginals[r.j]]), "probability"));
    const groups = [[data.models.length ? data.models[0].noun : "component", { values: data.components, codes: data.rows.main }], ...Object.entries(data.rows.labels)];
    for (const [name, level] of groups) {
      const counts = level.values.map(() => 0);
      for (let i = 0; i < nRows; i++) if (selected[i]) counts[level.codes[i]] += 1;
      const parts = level.values.map((v, k) => [v, counts[k]]).filter((p) => p[1]).sort((a, b) => b[1] - a[1]).slice(0, 6);
      put(node, put(make("p", null, { className: "long" }), make("strong", name + ": "), document.createTextNode(parts.map((p) => (p[0] === "" ? "(blank)" : p[0]) + " (" + p[1] + ")").join(", "))));
    }
    const members = [];
    for (let i = 0; i < nRows && members.length < 200; i++) if (selected[i]) members.push(rowName(i));
    put(node, put(make("details"), make("summary", "Members" + (nSelected > members.length ? " (the first " + members.length + ")" : "")), make("p", members.join(", "), { className: "long" })));
  }
  listeners.push(showSelection);

  // ---- map
  let colouring = null;
  const hasMap = data.rows.map !== null;
  function symbol(ctx, shape, x, y, r) {
    ctx.beginPath();
    if (shape === "circle" || shape === "ring") ctx.arc(x, y, r, 0, 2 * Math.PI);
    else if (shape === "square" || shape === "box") ctx.rect(x - r, y - r, 2 * r, 2 * r);
    else if (shape === "triangle") { ctx.moveTo(x, y - r); ctx.lineTo(x + r, y + r); ctx.lineTo(x - r, y + r); ctx.closePath(); }
    else if (shape === "down") { ctx.moveTo(x, y + r); ctx.lineTo(x + r, y - r); ctx.lineTo(x - r, y - r); ctx.closePath(); }
    else if (shape === "diamond" || shape === "star") { ctx.moveTo(x, y - 1.3 * r); ctx.lineTo(x + 1.3 * r, y); ctx.lineTo(x, y + 1.3 * r); ctx.lineTo(x - 1.3 * r, y); ctx.closePath(); }
    else if (shape === "cross") { ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r); }
    else if (shape === "plus") { ctx.moveTo(x - r, y); ctx.lineTo(x + r, y); ctx.moveTo(x, y - r); ctx.lineTo(x, y + r); }
    else if (shape === "bar") { ctx.moveTo(x, y - r); ctx.lineTo(x, y + r); }
    else { ctx.moveTo(x - r, y); ctx.lineTo(x + r, y); }
    if (["circle", "square", "triangle", "diamond", "down"].includes(shape)) ctx.fill(); else ctx.stroke();
  }
  const mapCanvas = at("map-canvas");
  mapCanvas.width = Math.max(300, Math.min(640, mapCanvas.parentNode.clientWidth || 640));
  mapCanvas.height = Math.round(0.8 * mapCanvas.width);
  const box = { from: null, to: null, cross: [mapCanvas.width / 2, mapCanvas.height / 2], corner: false };
  const jitter = (i, k) => { const v = Math.sin((i + 1) * (k ? 78.233 : 12.9898)) * 43758.5453; return v - Math.floor(v) - 0.5; };
  let spots = [], byKeys = false;
  if (hasMap) {
    const xs = data.rows.map.map((p) => p[0]), ys = data.rows.map.map((p) => p.length > 1 ? p[1] : 0);
    const span = (v) => { const a = Math.min(...v), b = Math.max(...v); return b > a ? [a, b] : [a - 1, b + 1]; };
    const [x0, x1] = span(xs), [y0, y1] = span(ys);
    const toX = (v) => 26 + (mapCanvas.width - 52) * (v - x0) / (x1 - x0), toY = (v) => mapCanvas.height - 26 - (mapCanvas.height - 52) * (v - y0) / (y1 - y0);
    // Rows with the same cells lie on one spot; a little noise shows how many they are.
    spots = xs.map((v, i) => [toX(v) + 9 * jitter(i, 0), toY(ys[i]) + 9 * jitter(i, 1)]);
    data.regions.forEach((r) => { r.at = [toX(r.x), toY(r.y)]; });
  }
  function showMap() {
    const ctx = mapCanvas.getContext("2d");
    ctx.clearRect(0, 0, mapCanvas.width, mapCanvas.height);
    const level = colouring(), r = nRows > 2000 ? 2 : 3.2;
    ctx.lineWidth = 1.4;
    for (let pass = 0; pass < 2; pass++) for (let i = 0; i < nRows; i++) {
      if ((nSelected > 0 && selected[i] === 1) !== (pass === 1)) continue;
      const k = level.codes[i] % COLOURS.length;
      ctx.globalAlpha = nSelected && !selected[i] ? 0.15 : 0.85;
      ctx.fillStyle = ctx.strokeStyle = COLOURS[k];
      symbol(ctx, SHAPES[k], spots[i][0], spots[i][1], r);
    }
    ctx.globalAlpha = 1;
    if (!nSelected && !box.from) {
      ctx.font = "12px system-ui, sans-serif";
      ctx.textAlign = "center";
      for (const region of data.regions) region.words.slice(0, 2).forEach((word, n) => {
        const text = shorter(word, 24), half = ctx.measureText(text).width / 2 + 4, x = Math.min(mapCanvas.width - half, Math.max(half, region.at[0])), y = Math.min(mapCanvas.height - 20, Math.max(20, region.at[1])) + 14 * n;
        ctx.lineWidth = 3.5; ctx.strokeStyle = css("--paper"); ctx.strokeText(text, x, y);
        ctx.fillStyle = css("--ink"); ctx.fillText(text, x, y);
      });
    }
    if (box.from && box.to) {
      ctx.strokeStyle = css("--pick"); ctx.lineWidth = 1.5; ctx.setLineDash([5, 4]);
      ctx.strokeRect(box.from[0], box.from[1], box.to[0] - box.from[0], box.to[1] - box.from[1]);
      ctx.setLineDash([]);
    }
    if (byKeys && document.activeElement === mapCanvas) {
      ctx.strokeStyle = css("--ink"); ctx.lineWidth = 1;
      ctx.beginPath(); ctx.moveTo(box.cross[0] - 8, box.cross[1]); ctx.lineTo(box.cross[0] + 8, box.cross[1]); ctx.moveTo(box.cross[0], box.cross[1] - 8); ctx.lineTo(box.cross[0], box.cross[1] + 8); ctx.stroke();
    }
  }
  function selectBox() {
    const [xa, xb] = [Math.min(box.from[0], box.to[0]), Math.max(box.from[0], box.to[0])], [ya, yb] = [Math.min(box.from[1], box.to[1]), Math.max(box.from[1], box.to[1])];
    select((i) => spots[i][0] >= xa && spots[i][0] <= xb && spots[i][1] >= ya && spots[i][1] <= yb);
  }
  function clearSelection() { box.from = box.to = null; box.corner = false; at("group").value = ""; select(() => false); }
  function showLegend() {
    const level = colouring(), node = empty(at("legend"));
    level.values.slice(0, 12).forEach((value, k) => {
      const icon = make("canvas", null, { width: "14", height: "14", "aria-hidden": "true" });
      icon.style.border = "0";
      const ctx = icon.getContext("2d");
      ctx.fillStyle = ctx.strokeStyle = COLOURS[k % COLOURS.length]; ctx.lineWidth = 1.6;
      symbol(ctx, SHAPES[k % SHAPES.length], 7, 7, 4);
      put(node, put(make("span"), icon, document.createTextNode(value === "" ? "(blank)" : value)));
    });
    if (level.values.length > 12) put(node, make("span", "colours and shapes repeat after twelve"));
  }
  (function mapControls() {
    const levels = [[data.models.length ? data.models[0].noun + " of the model" : "component", { values: data.components, codes: data.rows.main }], ...Object.entries(data.rows.labels)];
    const by = make("select", null, { id: "colour-by" }), group = make("select", null, { id: "group" });
    levels.forEach(([name], i) => put(by, make("option", name, { value: String(i) })));
    colouring = () => levels[Number(by.value)][1];
    const options = () => {
      empty(group);
      put(group, make("option", "a group…", { value: "" }));
      colouring().values.forEach((v, k) => put(group, make("option", v === "" ? "(blank)" : v, { value: String(k) })));
    };
    by.addEventListener("change", () => { options(); showLegend(); if (hasMap) showMap(); });
    group.addEventListener("change", () => { box.from = box.to = null; box.corner = false; const k = group.value; const level = colouring(); select((i) => k !== "" && level.codes[i] === Number(k)); });
    const clear = make("button", "Clear selection", { type: "button" });
    clear.addEventListener("click", clearSelection);
    put(at("map-controls"), put(make("label", "Colour and shape by "), by), put(make("label", "Select "), group), clear);
    options();
    showLegend();
  })();
  if (!hasMap) mapCanvas.replaceWith(make("p", "There is no map of these rows.", { className: "hint" }));
  else {
    const place = (event) => {
      const frame = mapCanvas.getBoundingClientRect();
      return [(event.clientX - frame.left) * mapCanvas.width / frame.width, (event.clientY - frame.top) * mapCanvas.height / frame.height];
    };
    let dragging = false;
    mapCanvas.addEventListener("pointerdown", (event) => { dragging = true; byKeys = false; box.from = box.to = place(event); mapCanvas.setPointerCapture(event.pointerId); });
    mapCanvas.addEventListener("pointermove", (event) => { if (dragging) { box.to = place(event); showMap(); } });
    mapCanvas.addEventListener("pointerup", (event) => {
      if (!dragging) return;
      dragging = false;
      box.to = place(event);
      if (Math.abs(box.to[0] - box.from[0]) + Math.abs(box.to[1] - box.from[1]) < 6) clearSelection(); else selectBox();
    });
    mapCanvas.addEventListener("pointercancel", () => { dragging = false; clearSelection(); });
    mapCanvas.addEventListener("keydown", (event) => {
      byKeys = true;
      const step = event.shiftKey ? 40 : 10, moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      if (moves[event.key]) {
        box.cross = [Math.min(mapCanvas.width, Math.max(0, box.cross[0] + moves[event.key][0])), Math.min(mapCanvas.height, Math.max(0, box.cross[1] + moves[event.key][1]))];
        if (box.corner) box.to = box.cross;
      } else if (event.key === "Enter" || event.key === " ") {
        if (!box.corner) { box.from = box.to = box.cross; box.corner = true; } else { box.to = box.cross; box.corner = false; selectBox(); }
      } else if (event.key === "Escape") clearSelection();
      else return;
      event.preventDefault();
      showMap();
    });
    mapCanvas.addEventListener("focus", showMap);
    mapCanvas.addEventListener("blur", showMap);
    listeners.push(showMap);
  }

  // ---- matrix
  (function matrix() {
    const m = data.matrix, canvas = at("matrix-canvas"), n = m.rows.length, d = m.columns.length;
    const first = words(m.first), second = words(m.second), firstShare = unpack(m.first_share), secondShare = unpack(m.second_share), chance = unpack(m.probability);
    const missing = m.missing ? unpack(m.missing) : null, leak = m.leak ? unpack(m.leak) : null, partner = m.partner ? words(m.partner) : null;
    const w = Math.max(5, Math.min(22, Math.floor(760 / d))), h = Math.max(4, Math.min(16, Math.floor(620 / n))), top = d <= 60 ? 130 : 0, left = 10;
    canvas.width = d * w + left + (top ? 70 : 2); canvas.height = n * h + top + 2;
    canvas.style.maxWidth = "none";
    let here = [0, 0];
    at("matrix-hint").textContent = (n < data.shape[0] || d < data.shape[1] ? n + " of " + data.shape[0] + " rows and " + d + " of " + data.shape[1] + " columns are shown (rows evenly drawn, the columns that vary most). " : "") + "Rows are ordered by " + (data.models.length ? data.models[0].noun : "component") + "; the stripe at the left has its colours. Point at a cell, or move with the arrow keys, to see why it is what it is.";
    const legend = [["--one", "1"], ["--zero", "0"], ["--hole", "blank"]];
    for (const [colour, text] of legend) {
      const icon = make("i");
      icon.style.cssText = "display:inline-block;width:14px;height:14px;border:1px solid var(--line);background:var(" + colour + ")";
      put(at("matrix-legend"), put(make("span"), icon, document.createTextNode(text)));
    }
    put(at("matrix-legend"), make("span", "crossed: unexpected there"));
    function show() {
      const ctx = canvas.getContext("2d");
      ctx.clearRect(0, 0, canvas.width, canvas.height);
      const one = css("--one"), zero = css("--zero"), hole = css("--hole"), pick = css("--pick"), ink = css("--ink");
      if (top) {
        ctx.fillStyle = ink; ctx.font = "11px system-ui, sans-serif"; ctx.textAlign = "left";
        for (let j = 0; j < d; j++) { ctx.save(); ctx.translate(left + (j + 0.75) * w, top - 5); ctx.rotate(-Math.PI / 3); ctx.fillText(shorter(data.columns[m.columns[j]], 20), 0, 0); ctx.restore(); }
      }
      for (let i = 0; i < n; i++) {
        const row = m.rows[i], y = top + i * h;
        ctx.globalAlpha = 1;
        ctx.fillStyle = COLOURS[data.rows.main[row] % COLOURS.length];
        ctx.fillRect(0, y, left - 3, h);
        ctx.globalAlpha = nSelected && !selected[row] ? 0.3 : 1;
        for (let j = 0; j < d; j++) {
          const column = m.columns[j], x = left + j * w, isOne = bit(ones, row, column), isHole = bit(unknown, row, column), p = chance[i * d + j] / 255;
          ctx.fillStyle = isHole ? hole : isOne ? one : zero;
          ctx.fillRect(x, y, w - 1, h - (h > 5 ? 1 : 0));
          if (isHole && w > 6) { ctx.strokeStyle = ink; ctx.lineWidth = 1; ctx.beginPath(); ctx.moveTo(x, y + h - 1); ctx.lineTo(x + w - 1, y); ctx.stroke(); }
          if (!isHole && (isOne ? p < 0.1 : p > 0.9)) { ctx.strokeStyle = pick; ctx.lineWidth = 1.5; ctx.beginPath(); ctx.moveTo(x, y); ctx.lineTo(x + w - 1, y + h - 1); ctx.moveTo(x + w - 1, y); ctx.lineTo(x, y + h - 1); ctx.stroke(); }
        }
      }
      ctx.globalAlpha = 1;
      ctx.strokeStyle = pick; ctx.lineWidth = 2;
      ctx.strokeRect(left + here[1] * w - 1, top + here[0] * h - 1, w + 1, h + 1);
    }
    function explain() {
      const [i, j] = here, row = m.rows[i], column = m.columns[j], c = i * d + j, node = empty(at("cell"));
      const isOne = bit(ones, row, column), isHole = bit(unknown, row, column), p = chance[c] / 255;
      put(node, put(make("p"), make("strong", data.columns[column])));
      put(node, make("p", rowName(row) + " · " + data.components[data.rows.main[row]]));
      put(node, make("p", isHole ? "blank; a one with probability " + chanceText(chance[c]) : "is " + (isOne ? "1" : "0") + "; the rest of the row gives a one the probability " + chanceText(chance[c])));
      if (!isHole && (isOne ? p < 0.1 : p > 0.9)) put(node, make("p", isOne ? "A surprising one." : "A surprising zero."));
      let why = m.causes[first[c]] + " " + percent(firstShare[c] / 255);
      if (second[c] !== first[c] && secondShare[c] > 12) why += ", " + m.causes[second[c]] + " " + percent(secondShare[c] / 255);
      if (leak && leak[c] > 12) why += ", none of them (leak) " + percent(leak[c] / 255);
      put(node, make("p", (isHole ? "Would owe to: " : "Owes to: ") + why));
      if (partner && m.partners[partner[c]]) put(node, make("p", (isHole ? "What argues most for the likelier value: " : "What argues most for this value: ") + m.partners[partner[c]]));
      if (missing && !isOne && !isHole) put(node, make("p", "Probability that it is a one that was lost: " + percent(missing[c] / 255)));
    }
    function move(i, j) { here = [Math.min(n - 1, Math.max(0, i)), Math.min(d - 1, Math.max(0, j))]; show(); explain(); }
    canvas.addEventListener("pointermove", (event) => {
      const frame = canvas.getBoundingClientRect(), x = (event.clientX - frame.left) * canvas.width / frame.width - left, y = (event.clientY - frame.top) * canvas.height / frame.height - top;
      if (x < 0 || y < 0) return;
      const i = Math.floor(y / h), j = Math.floor(x / w);
      if (i !== here[0] || j !== here[1]) move(i, j);
    });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      if (!steps[event.key]) return;
      event.preventDefault();
      move(here[0] + steps[event.key][0], here[1] + steps[event.key][1]);
    });
    listeners.push(show);
    move(0, 0);
  })();

  // ---- cells worth a look
  (function look() {
    const kinds = [["probably missing", "Zeros that are probably missing ones"], ["surprising one", "Surprising ones"], ["surprising zero", "Surprising zeros"]];
    for (const [kind, title] of kinds) {
      const rows = data.look.filter((c) => c.kind === kind);
      if (!rows.length) continue;
      const grid = make("table"), fold = put(make("details"), make("summary", title + " (" + rows.length + ")"), put(make("div", null, { className: "scroll" }), grid));
      table(grid, [{ text: "row" }, { text: "column" }, { text: "probability of a one", n: 1 }, { text: "owes to" }, { text: "share", n: 1 }], rows.map((c) => ({ cells: [c.row, c.column, percent(c.probability), c.cause, percent(c.cause_share)] })));
      put(at("look"), fold);
    }
    if (!data.look.length) put(at("look"), make("p", "No cell stands out."));
    const b = data.blanks;
    if (!b.n) { put(at("blanks"), make("p", "The table has no blanks.")); return; }
    put(at("blanks"), make("h3", b.n + " blanks"));
    const most = Math.max(...b.counts), svg = draw("svg", { viewBox: "0 0 420 130", style: "max-width:420px", role: "img", "aria-label": "How probable the model finds a one in the blanks" });
    b.counts.forEach((count, i) => {
      const height = 80 * count / most;
      put(svg, draw("rect", { x: 10 + 40 * i, y: 100 - height, width: 36, height, fill: "var(--accent)" }), draw("text", { x: 28 + 40 * i, y: 96 - height, "text-anchor": "middle" }, String(count)));
      put(svg, draw("text", { x: 10 + 40 * i, y: 116, "text-anchor": "middle", class: "dim" }, (i / 10).toFixed(1)));
    });
    put(svg, draw("text", { x: 410, y: 116, "text-anchor": "middle", class: "dim" }, "1.0"));
    put(at("blanks"), put(make("div", null, { className: "figure" }), svg), make("p", "Probability of a one in the blanks, by " + b.by + ". All of them are in the table “blanks” beside this file.", { className: "hint" }));
    const grid = make("table");
    table(grid, [{ text: "row" }, { text: "column" }, { text: "probability of a one", n: 1 }], b.listed.map((c) => ({ cells: [c.row, c.column, percent(c.probability)] })));
    put(at("blanks"), put(make("details"), make("summary", "The surest " + b.listed.length), put(make("div", null, { className: "scroll" }), grid)));
  })();

  // ---- checks
  (function checks() {
    if (data.comparison === null) at("calibration").parentNode.remove();
    else calibration();
    const grid = make("table");
    table(grid, [{ text: "columns" }, { text: "" }, { text: "Q3", n: 1 }, { text: "rows", n: 1 }], data.pairs.map((p) => ({ cells: [p.first, p.second, fixed(p.q3, 2), String(p.n)] })));
    put(at("pairs"), make("p", "Correlation of what the model leaves over; beyond ±0.2 a pair has something in common that the model does not know.", { className: "hint" }), put(make("div", null, { className: "scroll" }), grid));
    fits();
  })();
  function calibration() {
    const names = Object.keys(data.comparison.curves), size = 380, pad = 42;
    const to = (v) => pad + (size - 2 * pad) * v;
    const svg = draw("svg", { viewBox: `0 0 ${size} ${size}`, style: `max-width:${size + 60}px`, role: "img", "aria-label": "Calibration: predicted probability against share of ones" });
    put(svg, draw("rect", { x: pad, y: pad, width: size - 2 * pad, height: size - 2 * pad, fill: "none", stroke: "var(--line)" }), draw("line", { x1: to(0), y1: size - to(0), x2: to(1), y2: size - to(1), stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
    const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
    const key = make("div", null, { className: "legend" });
    names.forEach((name, k) => {
      const points = data.comparison.curves[name].map((p) => to(p.predicted) + "," + (size - to(p.observed))).join(" ");
      put(svg, draw("polyline", { points, fill: "none", stroke: COLOURS[k], "stroke-width": 2.2, "stroke-dasharray": DASHES[k % 4] }));
      for (const p of data.comparison.curves[name]) put(svg, draw("circle", { cx: to(p.predicted), cy: size - to(p.observed), r: 2.5, fill: COLOURS[k] }));
      const line = draw("svg", { width: 34, height: 10, "aria-hidden": "true" });
      put(line, draw("line", { x1: 0, y1: 5, x2: 34, y2: 5, stroke: COLOURS[k], "stroke-width": 2.5, "stroke-dasharray": DASHES[k % 4] }));
      const row = data.comparison.rows.find((r) => r.model === name);
      put(key, put(make("span"), line, document.createTextNode(row.title + ": calibration error " + fixed(row.calibration_error, 3))));
    });
    for (const t of [0, 0.5, 1]) put(svg, draw("text", { x: to(t), y: size - 24, "text-anchor": "middle", class: "dim" }, String(t)), draw("text", { x: 32, y: size - to(t) + 4, "text-anchor": "end", class: "dim" }, String(t)));
    put(svg, draw("text", { x: size / 2, y: size - 6, "text-anchor": "middle" }, "predicted probability of hidden cells"), draw("text", { x: 12, y: size / 2 - 60, "text-anchor": "middle", transform: `rotate(-90 12 ${size / 2 - 60})` }, "share of ones"));
    put(at("calibration"), svg, key);
  }
  function fits() {
    for (const model of data.models) {
      put(at("fits"), make("h3", model.title), make("pre", model.summary));
      for (const [title, rows] of [["Starts", model.restarts], ["Chains", model.diagnostics]]) {
        if (!rows.length) continue;
        const fields = Object.keys(rows[0]), sheet = make("table");
        table(sheet, fields.map((f) => ({ text: f })), rows.map((r) => ({ cells: fields.map((f) => r[f] === null || r[f] === undefined ? "" : String(r[f])) })));
        put(at("fits"), put(make("details"), make("summary", title + " (" + rows.length + ")"), put(make("div", null, { className: "scroll" }), sheet)));
      }
    }
  }

  // ---- methods
  (function methods() {
    const node = at("method-text");
    for (const text of data.methods) put(node, make("p", text));
    put(node, make("h3", "To repeat this run"), make("pre", data.command));
    const settings = Object.entries(data.settings).filter((e) => e[1] !== null).map((e) => e[0] + " = " + e[1]).join(", ");
    put(node, make("p", "Settings: " + settings + ".", { className: "long" }));
    put(node, make("p", "Versions: " + Object.entries(data.versions).map((e) => e[0] + " " + e[1]).join(", ") + "."));
    put(node, make("h3", "Cite"), put(make("ul"), ...data.citations.map((text) => make("li", text))));
  })();

  for (const listener of listeners) listener();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const listener of listeners) listener(); });
  // Paper is light, whatever the screen is; what was folded is folded again afterwards.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    for (const fold of folded) fold.open = true;
    document.documentElement.classList.add("printing");
    for (const listener of listeners) listener();
  });
  window.addEventListener("afterprint", () => {
    for (const fold of folded) fold.open = false;
    document.documentElement.classList.remove("printing");
    for (const listener of listeners) listener();
  });
  document.documentElement.setAttribute("data-ready", "true");
})();
