// Where a number among the labels rises on the map.

/** The label that the map is coloured by, if it is a number that goes with places; else the one that goes with them most. */
export function arrowOf(content, colouringKey) {
  if (!content.map || typeof content.map.reading !== "number") return null;
  const found = content.readings[content.map.reading].associations.filter((one) => one.of === "map" && one.details.direction);
  const own = colouringKey.startsWith("label:") ? content.labels[Number(colouringKey.slice(6))].name : null;
  const chosen = found.find((one) => one.label === own && (one.stated || one.value >= 0.2))
    || found.filter((one) => one.stated).sort((a, b) => b.value - a.value)[0];
  return chosen ? { name: chosen.label, direction: chosen.details.direction, sentence: chosen.sentence } : null;
}

/** The ends of an arrow of this length in pixels around the middle of the canvas; its direction is one of the unit square. */
export function arrowEnds([du, dv], [width, height], length) {
  const dx = du * width, dy = -dv * height, size = Math.hypot(dx, dy);
  if (!(size > 0)) return null;
  const half = 0.5 * length / size, middle = [width / 2, height / 2];
  return { from: [middle[0] - half * dx, middle[1] - half * dy], to: [middle[0] + half * dx, middle[1] + half * dy] };
}
