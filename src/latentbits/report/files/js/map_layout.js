// How the map lies on its canvas: its size, the spots of rows, the places of words. The view holds all that is shown now.

import { nearestSpot } from "./map_geometry.js";
import { refinedPlaces } from "./map_places.js";
import { toScreen, WHOLE_MAP } from "./map_view.js";

// Height over width, and least height in pixels, of maps with one axis and with two.
const MAP_ASPECTS = [0.34, 0.72];
const LEAST_HEIGHTS = [180, 290];

/** Words of regions beside their places, those with most rows first; regions without rows have none. */
export function regionsByRows(regions, placeOf, points) {
  const out = regions.map((region) => ({ place: placeOf([region.x, region.y]), words: region.words, n: 0 }));
  const places = out.map((one) => one.place);
  for (const point of points) {
    const nearest = nearestSpot(places, point, Infinity);
    if (nearest >= 0) out[nearest].n += 1;
  }
  return out.filter((one) => one.n > 0).sort((a, b) => b.n - a.n);
}

export function mapViewOf(content, canvas) {
  const { map: found, nRows } = content, aspect = MAP_ASPECTS[found.n_axes - 1];
  const places = refinedPlaces(Array.from({ length: nRows }, (_, i) => found.place(i)), found.n_axes, aspect);
  // Words stand above a strip.
  const placeOf = (place) => (found.n_axes < 2 ? [places.to(place)[0], 1.06] : places.to(place));
  return {
    canvas, aspect, least: LEAST_HEIGHTS[found.n_axes - 1], places,
    regions: regionsByRows(found.regions, placeOf, places.points),
    size: [640, Math.round(640 * aspect)], density: 1, sight: WHOLE_MAP, spots: [], colouring: null, arrow: null,
    mode: "lasso", space: false, press: null, draft: { path: null, box: null }, hovered: -1, cross: null, byKeys: false,
  };
}

/** Takes the width that there is, in as many pixels as the screen has. */
export function fitSize(view) {
  const { canvas } = view, width = Math.max(200, canvas.clientWidth || 640);
  view.size = [width, Math.max(view.least, Math.round(width * view.aspect))];
  view.density = Math.max(1, window.devicePixelRatio || 1);
  canvas.width = Math.round(view.size[0] * view.density);
  canvas.height = Math.round(view.size[1] * view.density);
  canvas.style.aspectRatio = view.size[0] + " / " + view.size[1];
  if (!view.cross) view.cross = [view.size[0] / 2, view.size[1] / 2];
}

export function laySpots(view) {
  view.spots = view.places.points.map((point) => toScreen(view.sight, view.size, point));
}
