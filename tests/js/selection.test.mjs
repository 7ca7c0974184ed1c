import assert from "node:assert/strict";
import { test } from "node:test";

import { countsOf, mediansOf, profileOf } from "../../src/latentbits/report/files/js/profile.js";
import { selectedCsv } from "../../src/latentbits/report/files/js/profile_csv.js";
import { selectionOf } from "../../src/latentbits/report/files/js/selection.js";

test("everybody is told of a change, in the order of listening", () => {
  const selection = selectionOf(4), told = [];
  selection.listen(() => told.push(["first", selection.count]));
  selection.listen(() => told.push(["second", selection.count]));
  selection.choose((i) => i > 1);
  assert.deepEqual([...selection.rows], [0, 0, 1, 1]);
  assert.deepEqual(told, [["first", 2], ["second", 2]]);
  assert.deepEqual([selection.faded(0), selection.faded(3)], [true, false]);
  selection.clear();
  assert.equal(selection.count, 0);
  assert.equal(selection.faded(0), false);
  assert.equal(told.length, 4);
});

test("a selection is turned around and added to", () => {
  const selection = selectionOf(4);
  selection.choose((i) => i === 1);
  selection.invert();
  assert.deepEqual([[...selection.rows], selection.count], [[1, 0, 1, 1], 3]);
  selection.choose((i) => selection.rows[i] === 1 || i === 1);
  assert.deepEqual([selection.count, selection.version], [4, 3]);
});

test("shares are of known cells, and columns that differ come first", () => {
  const cells = [[1, 1, null], [1, 0, null], [0, 1, 1]];
  const content = {
    nRows: 3, nColumns: 3, marginals: [0.1, 0.5, 0.5],
    isOne: (i, j) => cells[i][j] === 1, isBlank: (i, j) => cells[i][j] === null,
  };
  const found = profileOf(content, [1, 1, 0]);
  assert.deepEqual(found.map((r) => [r.j, r.share]), [[0, 1], [1, 0.5]]);
  assert.ok(found[0].gain > found[1].gain && Math.abs(found[1].gain) < 1e-12);
});

test("words of a label are counted among the rows and among all, those not known left out", () => {
  const codes = [0, 1, 1, 2, -1];
  assert.deepEqual(countsOf(3, (i) => codes[i], [1, 1, 1, 0, 1]), {
    nHere: 3, nAll: 4, counts: [{ k: 1, here: 2, all: 2 }, { k: 0, here: 1, all: 1 }],
  });
});

test("medians of a number among the rows and among all", () => {
  const numbers = [1, 5, NaN, 9];
  assert.deepEqual(mediansOf((i) => numbers[i], [1, 1, 1, 0]), [3, 5]);
  assert.ok(Number.isNaN(mediansOf((i) => numbers[i], [0, 0, 1, 0])[0]));
});

test("selected rows as CSV: names, labels and parts", () => {
  const selection = selectionOf(3);
  const label = (name, is_number, values) => ({
    name, is_number, values: ["x, y", "z"], code: (i) => values[i], number: (i) => values[i],
  });
  const state = {
    selection,
    content: {
      nRows: 3, rows: { number: [4, 7, 9], ids: ["one", "two", "three"] }, rowName: (i) => ["one", "two", "three"][i],
      labels: [label("word", false, [0, 1, -1]), label("size", true, [0.5, NaN, 1e6])],
    },
    reading: { noun: "class", hasMain: true, parts: [{}, {}], main: (i) => i % 2, value: (i, k) => (i + k) / 3 },
    nameOf: (k) => ["first", "second"][k],
  };
  selection.choose((i) => i < 2);
  assert.deepEqual(selectedCsv(state).split("\r\n"), [
    "row,name,word,size,class,first,second", '4,one,"x, y",0.5,first,0,0.33333', "7,two,z,,second,0.33333,0.66667", "",
  ]);
});
