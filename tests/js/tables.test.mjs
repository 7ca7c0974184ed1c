import assert from "node:assert/strict";
import { test } from "node:test";

import { csvField, csvOf, orderOf, sortKey } from "../../src/latentbits/report/files/js/tables.js";

test("fields are quoted where they need it", () => {
  assert.equal(csvField("plain"), "plain");
  assert.equal(csvField('a "b", c'), '"a ""b"", c"');
  assert.equal(csvField("two\nlines"), '"two\nlines"');
  assert.equal(csvField(" edge"), '" edge"');
  assert.equal(csvField(0.1234567890123), "0.1234567890123");
  assert.deepEqual([null, undefined, NaN].map(csvField), ["", "", ""]);
  assert.equal(csvOf(["a", "b,c"], [[1, null]]), 'a,"b,c"\r\n1,\r\n');
});

test("numbers are read from what is written", () => {
  const read = (text) => sortKey(text, true);
  assert.deepEqual(["1,234.5", "5.1%", "−0.3", "-0.3", "0.0089 ± 0.0107", "≤ 8", ".5"].map(read), [1234.5, 5.1, -0.3, -0.3, 0.0089, 8, 0.5]);
  assert.ok(Number.isNaN(read("")) && Number.isNaN(read("best")) && Number.isNaN(read(null)));
  assert.equal(sortKey("row 2", false), "row 2");
});

test("what is not known comes last, either way, and equals keep their order", () => {
  assert.deepEqual(orderOf([3, NaN, 1, 2], false), [2, 3, 0, 1]);
  assert.deepEqual(orderOf([3, NaN, 1, 2], true), [0, 3, 2, 1]);
  assert.deepEqual(orderOf(["b", "", "a", "b"], false), [2, 0, 3, 1]);
  assert.deepEqual(orderOf(["b", "", "a", "b"], true), [0, 3, 2, 1]);
  assert.deepEqual(orderOf(["row 10", "Row 2", "row 1"], false), [2, 1, 0]);
});
