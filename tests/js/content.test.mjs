import assert from "node:assert/strict";
import { test } from "node:test";

import { bitsOf, bytesOf, contentOf, floatsOf, shortsOf } from "../../src/latentbits/report/files/js/content.js";

const base64 = (...bytes) => btoa(String.fromCharCode(...bytes));
const floats = (...values) => base64(...new Uint8Array(Float32Array.from(values).buffer));

/** A reading of two classes of nine columns and two rows. */
const CLASSES = {
  parts: [{ name: "class 1" }, { name: "class 2" }], is_loading: false, offset: null, main: base64(1, 0, 255, 255),
  values: base64(255, 0, 51, 204), profiles: floats(...Array.from({ length: 18 }, (_, i) => i / 32)),
};

/** Two rows of nine columns: ones in the first and the ninth of the second row, a blank beside it. */
function told(changes) {
  return {
    columns: Array.from({ length: 9 }, (_, j) => "c" + j),
    rows: { number: [0, 7], ids: null, ones: base64(0, 0, 1, 1), unknown: base64(0, 0, 128, 0) },
    labels: [], readings: [CLASSES], map: null,
    ...changes,
  };
}

test("bytes, and numbers of sixteen and thirty-two bits", () => {
  assert.deepEqual([...bytesOf(base64(0, 127, 128, 255))], [0, 127, 128, 255]);
  assert.deepEqual([...shortsOf(base64(1, 0, 0, 1, 255, 255))], [1, 256, 65535]);
  const found = floatsOf(floats(0.5, NaN, -2));
  assert.ok(found[0] === 0.5 && Number.isNaN(found[1]) && found[2] === -2);
});

test("rows of bits begin with a byte of their own", () => {
  const bit = bitsOf(base64(0b10000001, 1, 0b00000010, 0), 9);
  const set = [];
  for (let i = 0; i < 2; i++) for (let j = 0; j < 9; j++) if (bit(i, j)) set.push([i, j]);
  assert.deepEqual(set, [[0, 0], [0, 7], [0, 8], [1, 1]]);
  assert.equal(bitsOf(null, 9)(0, 0), false);
});

test("cells, sizes and names of rows", () => {
  const content = contentOf(told()), ids = { ...told().rows, ids: ["one", "two"], unknown: null };
  assert.deepEqual([content.nRows, content.nColumns, content.map], [2, 9, null]);
  assert.deepEqual([content.isOne(1, 0), content.isOne(1, 8), content.isOne(0, 0)], [true, true, false]);
  assert.deepEqual([content.isBlank(1, 7), content.isBlank(1, 8)], [true, false]);
  assert.equal(content.rowName(1), "row 7");
  const named = contentOf(told({ rows: ids }));
  assert.deepEqual([named.rowName(1), named.isBlank(1, 7)], ["two", false]);
});

test("labels are words or numbers, and may not be known", () => {
  const site = { name: "site", values: ["a", "b"], codes: base64(1, 0, 255, 255), numbers: null };
  const height = { name: "height", values: [], codes: null, numbers: floats(1.5, NaN) };
  const [words, numbers] = contentOf(told({ labels: [site, height] })).labels;
  assert.deepEqual([words.code(0), words.code(1), numbers.code(0)], [1, -1, -1]);
  assert.ok(numbers.number(0) === 1.5 && Number.isNaN(numbers.number(1)) && Number.isNaN(words.number(0)));
});

test("readings: shares from bytes, scores as they are, and rows that belong to nothing", () => {
  const scale = { ...CLASSES, parts: [{ name: "scale 1" }], is_loading: true, main: null, values: floats(-1.5, 2), offset: floats(0.25) };
  const [classes, scales] = contentOf(told({ readings: [CLASSES, scale] })).readings;
  assert.deepEqual([classes.value(0, 0), classes.value(1, 0), classes.profile(1, 0)], [1, 0.2, 9 / 32]);
  assert.deepEqual([classes.main(0), classes.main(1), classes.hasMain, classes.offsetOf(0)], [1, -1, true, 0]);
  assert.deepEqual([scales.value(0, 0), scales.value(1, 0), scales.main(0), scales.hasMain, scales.offsetOf(0)], [-1.5, 2, -1, false, 0.25]);
});

test("places on maps of one and two dimensions", () => {
  const places = (...values) => floats(...values);
  assert.deepEqual(contentOf(told({ map: { places: places(0.5, 1, -1, 0), n_axes: 2 } })).map.place(1), [-1, 0]);
  assert.deepEqual(contentOf(told({ map: { places: places(0.5, -1), n_axes: 1 } })).map.place(1), [-1, 0]);
});
