// What part of the map is seen: zoom, and the place in the middle, as {zoom, x, y} in the unit square.

export const WHOLE_MAP = { zoom: 1, x: 0.5, y: 0.5 };
export const MOST_ZOOM = 60;
// Pixels around the map, so that rows at its border are whole.
const MAP_PAD = 24;

/** Nothing but the map is seen: the middle stays so far from its border. */
export function boundedSight({ zoom, x, y }) {
  const near = Math.min(MOST_ZOOM, Math.max(1, zoom)), half = 0.5 / near;
  const within = (v) => Math.min(1 - half, Math.max(half, v));
  return { zoom: near, x: within(x), y: within(y) };
}

const reachOf = (sight, [width, height]) => [sight.zoom * (width - 2 * MAP_PAD), sight.zoom * (height - 2 * MAP_PAD)];

/** A place in the unit square as pixels; the second axis runs upwards. */
export function toScreen(sight, size, [u, v]) {
  const [wide, high] = reachOf(sight, size);
  return [size[0] / 2 + (u - sight.x) * wide, size[1] / 2 - (v - sight.y) * high];
}

/** Pixels as a place in the unit square. */
export function toUnit(sight, size, [x, y]) {
  const [wide, high] = reachOf(sight, size);
  return [sight.x + (x - size[0] / 2) / wide, sight.y - (y - size[1] / 2) / high];
}

/** Nearer by a factor; what lies at these pixels stays there. */
export function zoomedAt(sight, size, at, factor) {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, sight.zoom * factor)), before = toUnit(sight, size, at);
  const after = toUnit({ ...sight, zoom }, size, at);
  return boundedSight({ zoom, x: sight.x + before[0] - after[0], y: sight.y + before[1] - after[1] });
}

/** Moved by so many pixels. */
export function panned(sight, size, [dx, dy]) {
  const [wide, high] = reachOf(sight, size);
  return boundedSight({ zoom: sight.zoom, x: sight.x - dx / wide, y: sight.y + dy / high });
}
