// Shapes on the map, in pixels: what lies within a lasso or a box, what lies nearest, and where words have room.

const WORD_LINE = 14;

/** Whether a point lies within a polygon, by the number of sides that a ray to the right crosses. */
export function inPolygon(polygon, [x, y]) {
  let inside = false;
  for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
    const [xa, ya] = polygon[a], [xb, yb] = polygon[b];
    if ((ya > y) !== (yb > y) && x < xa + (xb - xa) * (y - ya) / (yb - ya)) inside = !inside;
  }
  return inside;
}

/** Whether a point lies within the box between two corners, or on its border. */
export function inBox(one, other, [x, y]) {
  return (x - one[0]) * (x - other[0]) <= 0 && (y - one[1]) * (y - other[1]) <= 0;
}

/** The number of the spot nearest to a point, if one is nearer than `most`; else -1. */
export function nearestSpot(spots, [x, y], most) {
  let best = -1, least = most * most;
  for (let i = 0; i < spots.length; i++) {
    const d = (spots[i][0] - x) ** 2 + (spots[i][1] - y) ** 2;
    if (d < least) { least = d; best = i; }
  }
  return best;
}

export function overlapping(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** The box that so many lines take around a place, moved so that it lies in the canvas. */
function boxOf([x, y], widths, size) {
  const half = Math.max(...widths) / 2 + 4, high = WORD_LINE * widths.length / 2 + 1;
  const middle = Math.min(size[0] - half, Math.max(half, x)), level = Math.min(size[1] - high, Math.max(high, y));
  return { left: middle - half, right: middle + half, top: level - high, bottom: level + high, x: middle };
}

/** Words where they have room, those that come first before the others; what has none is left out.
 * `words` are [{at, lines, widths}]; `taken` are boxes that stay free. Where all lines find no room, the first may. */
export function placedWords(words, size, taken = []) {
  const boxes = [...taken], out = [];
  for (const { at, lines, widths } of words) {
    if (!lines.length || at[0] < 0 || at[1] < 0 || at[0] > size[0] || at[1] > size[1]) continue;
    const tries = [];
    for (let n = lines.length; n > 0; n -= Math.max(1, n - 1)) for (const up of [0, -0.6, 0.6]) {
      tries.push({ n, box: boxOf([at[0], at[1] + up * WORD_LINE * n], widths.slice(0, n), size) });
    }
    const found = tries.find(({ box }) => !boxes.some((other) => overlapping(box, other)));
    if (!found) continue;
    boxes.push(found.box);
    const { n, box } = found;
    out.push({ x: box.x, lines: lines.slice(0, n).map((text, k) => ({ text, y: box.top + WORD_LINE * (k + 0.85) })) });
  }
  return out;
}
