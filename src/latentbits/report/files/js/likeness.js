// Which rows are like a row, and which columns go with a column.

/** Share of the cells known in both rows that differ; one half where none is. */
export function cellDistance(content, a, b) {
  let seen = 0, unlike = 0;
  for (let j = 0; j < content.nColumns; j++) {
    if (content.isBlank(a, j) || content.isBlank(b, j)) continue;
    seen += 1;
    if (content.isOne(a, j) !== content.isOne(b, j)) unlike += 1;
  }
  return seen ? unlike / seen : 0.5;
}

/** What lies between two rows by what the reading says of them: places on the map, scores in units of their spread, or
 * the roots of shares and chances. */
function valueDistance(content, reading) {
  if (reading.kind === "tree") return () => 0;
  if (reading.kind === "map" && content.map && content.readings[content.map.reading] === reading) {
    return (a, b) => Math.hypot(...content.map.place(a).map((x, axis) => x - content.map.place(b)[axis]));
  }
  const { nParts, value } = reading, isScale = reading.kind === "scales";
  const unit = Array.from({ length: nParts }, (_, k) => (isScale ? 1 / Math.max(1e-9, scoreSpread(content, reading, k)) : 1));
  const of = (i, k) => (isScale ? value(i, k) * unit[k] : Math.sqrt(value(i, k)));
  return (a, b) => {
    let sum = 0;
    for (let k = 0; k < nParts; k++) sum += (of(a, k) - of(b, k)) ** 2;
    return Math.sqrt(sum);
  };
}

function scoreSpread(content, reading, k) {
  let sum = 0, squares = 0;
  for (let i = 0; i < content.nRows; i++) { const v = reading.value(i, k); sum += v; squares += v * v; }
  return Math.sqrt(Math.max(0, squares / content.nRows - (sum / content.nRows) ** 2));
}

/** All rows by their likeness to row i, itself first. Rows whose values are about the same go by their cells. */
export function rowsByLikeness(content, reading, i) {
  const distance = valueDistance(content, reading);
  const of = (b) => [b, Math.round(distance(i, b) * 20), cellDistance(content, i, b)];
  const near = Array.from({ length: content.nRows }, (_, b) => of(b));
  near[i][1] = -1;
  return near.sort((a, b) => a[1] - b[1] || a[2] - b[2] || a[0] - b[0]).map((one) => one[0]);
}

/** Correlation of column j with every column over the rows that know both, as {j, phi, n}, if both vary. */
export function phisOf(content, j) {
  const { nRows, nColumns, isOne, isBlank } = content, found = [];
  const mine = [];
  for (let i = 0; i < nRows; i++) if (!isBlank(i, j)) mine.push([i, isOne(i, j) ? 1 : 0]);
  for (let other = 0; other < nColumns; other++) {
    if (other === j) continue;
    let n = 0, a = 0, b = 0, both = 0;
    for (const [i, on] of mine) {
      if (isBlank(i, other)) continue;
      n += 1;
      a += on;
      if (isOne(i, other)) { b += 1; both += on; }
    }
    const spread = a * (n - a) * b * (n - b);
    if (spread > 0) found.push({ j: other, phi: (n * both - a * b) / Math.sqrt(spread), n });
  }
  return found;
}

/** The `most` columns that go most with column j, and the most that go most against it. */
export function relatedColumns(content, j, most) {
  const all = phisOf(content, j).sort((a, b) => b.phi - a.phi);
  const against = all.filter((one) => one.phi < 0).sort((a, b) => a.phi - b.phi);
  return { together: all.filter((one) => one.phi > 0).slice(0, most), against: against.slice(0, most) };
}
