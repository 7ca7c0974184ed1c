// What the page is told, decoded. Arrays travel as base64, cells as bits of bytes, eight columns to a byte.

/** What stands for nothing among numbers of sixteen bits. */
export const NOTHING = 65535;

export function bytesOf(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/** Numbers of sixteen bits, which travel as two bytes each, the lower one first. */
export function shortsOf(text) {
  const bytes = bytesOf(text);
  return new Uint16Array(bytes.buffer, 0, bytes.length >> 1);
}

/** Numbers of four bytes; what is not known is NaN. */
export function floatsOf(text) {
  const bytes = bytesOf(text), view = new DataView(bytes.buffer), out = new Float32Array(bytes.length >> 2);
  for (let i = 0; i < out.length; i++) out[i] = view.getFloat32(4 * i, true);
  return out;
}

/** Whether the bit of row i and column j is set; of nothing, none is. */
export function bitsOf(text, nColumns) {
  if (!text) return () => false;
  const bytes = bytesOf(text), stride = Math.ceil(nColumns / 8);
  return (i, j) => ((bytes[i * stride + (j >> 3)] >> (j & 7)) & 1) === 1;
}

/** A label: `code(i)` is the place of its word in row i, -1 if it is not known; `number(i)` its number. */
function labelDecoded(label) {
  const codes = label.codes === null ? null : shortsOf(label.codes), numbers = label.numbers === null ? null : floatsOf(label.numbers);
  return {
    ...label,
    code: (i) => (codes === null || codes[i] === NOTHING ? -1 : codes[i]),
    number: (i) => (numbers === null ? NaN : numbers[i]),
  };
}

/** A reading: `value(i, k)` is how much of part k is in row i, `profile(k, j)` the probability, or loading, of column j in it;
 * `main(i)` is the part that row i belongs to, or has most of, and -1 where rows belong to nothing. */
function readingDecoded(reading, nColumns) {
  const nParts = reading.parts.length, profiles = floatsOf(reading.profiles);
  const values = reading.is_loading ? floatsOf(reading.values) : bytesOf(reading.values);
  const unit = reading.is_loading ? 1 : 255, main = reading.main === null ? null : shortsOf(reading.main);
  const offset = reading.offset === null ? null : floatsOf(reading.offset);
  return {
    ...reading,
    nParts,
    value: (i, k) => values[i * nParts + k] / unit,
    profile: (k, j) => profiles[k * nColumns + j],
    offsetOf: (j) => (offset === null ? 0 : offset[j]),
    main: (i) => (main === null || main[i] === NOTHING ? -1 : main[i]),
    hasMain: main !== null,
  };
}

function mapDecoded(map) {
  if (map === null) return null;
  const places = floatsOf(map.places), n = map.n_axes;
  return { ...map, place: (i) => [places[i * n], n > 1 ? places[i * n + 1] : 0] };
}

/** The content as it came, and beside it sizes, cells, names of rows, and what travels packed. */
export function contentOf(data) {
  const nColumns = data.columns.length, nRows = data.rows.number.length;
  return {
    ...data,
    nColumns,
    nRows,
    isOne: bitsOf(data.rows.ones, nColumns),
    isBlank: bitsOf(data.rows.unknown, nColumns),
    rowName: (i) => (data.rows.ids ? data.rows.ids[i] : "row " + data.rows.number[i]),
    labels: data.labels.map(labelDecoded),
    readings: data.readings.map((reading) => readingDecoded(reading, nColumns)),
    map: mapDecoded(data.map),
  };
}
