// Where rows lie: places of a map in the unit square, refined so that rows on one spot do not hide each other.

// Turning by the golden angle, points fill a disc evenly, as the seeds of a sunflower do.
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const PUSH_ROUNDS = 16;

/** Noise between -1/2 and 1/2, the same at every visit. */
function noiseOf(i, axis) {
  const v = Math.sin((i + 1) * (axis ? 78.233 : 12.9898)) * 43758.5453;
  return v - Math.floor(v) - 0.5;
}

function placeEnds(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return [0, 1];
  return high > low ? [low, high] : [low - 1, low + 1];
}

/** `to` brings a place into the unit square that all of these places fill; `spans` are their widths. */
export function mapFrame(places) {
  const [x0, x1] = placeEnds(places.map((p) => p[0])), [y0, y1] = placeEnds(places.map((p) => p[1]));
  return { spans: [x1 - x0, y1 - y0], to: ([x, y]) => [(x - x0) / (x1 - x0), (y - y0) / (y1 - y0)] };
}

/** How far rows keep from each other, in widths of the map: less where there are more of them. */
export function gapOf(n) {
  return Math.min(0.013, 0.5 / Math.sqrt(Math.max(1, n)));
}

/** The place of seed k in a sunflower, whose seeds are about `gap` from each other. */
export function seedOf(k, gap) {
  const r = 0.56 * gap * Math.sqrt(k + 0.5), angle = k * GOLDEN_ANGLE;
  return [r * Math.cos(angle), r * Math.sin(angle)];
}

/** Rows that lie within one cell of a grid: their middle, and who they are, in the order of rows. */
export function spotsOf(points, cell) {
  const spots = new Map();
  points.forEach(([x, y], i) => {
    const key = Math.round(x / cell) + " " + Math.round(y / cell), spot = spots.get(key) || { x: 0, y: 0, rows: [] };
    spot.x += x; spot.y += y;
    spot.rows.push(i);
    spots.set(key, spot);
  });
  return Array.from(spots.values(), ({ x, y, rows }) => ({ x: x / rows.length, y: y / rows.length, rows }));
}

/** How far the rows of every spot may go without entering the ground of another; those of much smaller ones give way. */
function roomsOf(spots) {
  return spots.map((a) => {
    let nearest = 1;
    for (const b of spots) {
      if (b !== a && 4 * b.rows.length >= a.rows.length) nearest = Math.min(nearest, (a.x - b.x) ** 2 + (a.y - b.y) ** 2);
    }
    return 0.45 * Math.sqrt(nearest);
  });
}

/** Rows on one spot become a sunflower around it; a row alone stays where it is. */
export function bloomed(points, gap) {
  const out = points.map((p) => [p[0], p[1]]), spots = spotsOf(points, 0.75 * gap).filter((spot) => spot.rows.length > 1);
  const rooms = roomsOf(spots);
  spots.forEach((spot, s) => spot.rows.forEach((i, k) => {
    const [dx, dy] = seedOf(k, Math.min(gap, rooms[s] / (0.56 * Math.sqrt(spot.rows.length))));
    out[i] = [spot.x + dx, spot.y + dy];
  }));
  return out;
}

/** Moves two points apart by half of what they lack; of two on one place the number tells the way. */
function pushApart(a, b, i, gap) {
  let dx = b[0] - a[0], dy = b[1] - a[1], d = Math.hypot(dx, dy);
  if (d >= gap) return;
  if (d === 0) { dx = Math.cos(i); dy = Math.sin(i); d = 1e-9; }
  const size = Math.hypot(dx, dy), by = 0.25 * (gap - d) / size;
  a[0] -= by * dx; a[1] -= by * dy;
  b[0] += by * dx; b[1] += by * dy;
}

/** Calls `act` for all pairs that may be nearer than a cell, each once, always in the same order. */
function eachNear(points, cell, act) {
  const grid = new Map(), wide = 1 << 15, keyOf = (x, y) => x * wide + y;
  const cells = points.map(([x, y]) => [Math.floor(x / cell) + 4096, Math.floor(y / cell) + 4096]);
  cells.forEach(([x, y], i) => {
    const key = keyOf(x, y), here = grid.get(key);
    if (here) here.push(i); else grid.set(key, [i]);
  });
  cells.forEach(([x, y], i) => {
    for (let dx = -1; dx <= 1; dx++) for (let dy = -1; dy <= 1; dy++) {
      for (const j of grid.get(keyOf(x + dx, y + dy)) || []) if (j > i) act(i, j);
    }
  });
}

/** Points pushApart apart until they are about `gap` from each other, none farther than `reach` from where it was. */
export function relaxed(points, gap, reach) {
  const out = points.map((p) => [p[0], p[1]]);
  for (let round = 0; round < PUSH_ROUNDS; round++) {
    eachNear(out, gap, (i, j) => pushApart(out[i], out[j], i, gap));
    out.forEach((p, i) => {
      const dx = p[0] - points[i][0], dy = p[1] - points[i][1], far = Math.hypot(dx, dy);
      if (far > reach) { p[0] = points[i][0] + dx * reach / far; p[1] = points[i][1] + dy * reach / far; }
    });
  }
  return out;
}

/** One axis: rows side by side, spread over the height, those of one spot over a little of the width, too. */
export function alongAxis(points, aspect, gap) {
  const spots = spotsOf(points, 0.005), width = spots.length < 40 ? 0.5 / spots.length : 0.008;
  const thrown = points.map(([x], i) => [x + width * noiseOf(i, 0), aspect * (0.5 + noiseOf(i, 1))]);
  return relaxed(thrown, gap, 2 * gap);
}

/** Refined places of rows in the unit square, and `to`, which brings other places of the map beside them.
 * `aspect` is the height of the map over its width. */
export function refinedPlaces(places, nAxes, aspect) {
  const frame = mapFrame(places), points = places.map(frame.to), gap = gapOf(points.length);
  const flat = (p) => [p[0], p[1] * aspect];
  const moved = nAxes < 2 ? alongAxis(points, aspect, 0.6 * gap) : relaxed(bloomed(points.map(flat), gap), gap, 6 * gap);
  const outer = mapFrame(moved.map(([x, y]) => [x, y / aspect]));
  return {
    points: moved.map(([x, y]) => outer.to([x, y / aspect])),
    to: (place) => outer.to(frame.to(place)),
    // A step on the map as a step in the unit square.
    step: ([dx, dy]) => [dx / frame.spans[0] / outer.spans[0], nAxes < 2 ? 0 : dy / frame.spans[1] / outer.spans[1]],
  };
}
