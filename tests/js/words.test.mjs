import assert from "node:assert/strict";
import { test } from "node:test";

import { chanceText, counted, fixed, listed, percent, pText, sentence, shorter, valueText, whole } from "../../src/latentbits/report/files/js/words.js";

test("what is not known is written as nothing", () => {
  for (const value of [null, undefined]) {
    assert.equal(fixed(value, 2), "");
    assert.equal(percent(value), "");
  }
  assert.equal(valueText(""), "(blank)");
  assert.equal(valueText("0"), "0");
});

test("shares below a tenth have a digit more", () => {
  assert.equal(percent(0.5), "50%");
  assert.equal(percent(0.0512), "5.1%");
  assert.equal(percent(0), "0.0%");
  assert.equal(percent(1), "100%");
});

test("bytes at the ends of the scale are bounds", () => {
  assert.equal(chanceText(0), "below 0.2%");
  assert.equal(chanceText(255), "above 99.8%");
  assert.equal(chanceText(51), "20%");
  assert.equal(chanceText(1), "0.4%");
});

test("long names end in dots and have the length asked for", () => {
  assert.equal(shorter("abcdef", 6), "abcdef");
  assert.equal(shorter("abcdefg", 6), "abcde…");
  assert.equal(fixed("1.25", 1), "1.3");
});

test("counts, p-values and lists of names", () => {
  assert.deepEqual([whole(1234567), whole(0), whole(null)], ["1,234,567", "0", ""]);
  assert.deepEqual([counted(1, "row"), counted(5000, "row"), counted(2, "class", "classes")], ["1 row", "5,000 rows", "2 classes"]);
  assert.deepEqual([0.00001, 0.00044, 0.0044, 0.5, null].map(pText), ["below 0.0001", "0.0004", "0.004", "0.50", ""]);
  assert.deepEqual([listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d"], 2)], ["", "a", "a and b", "a, b and 2 more"]);
  assert.equal(sentence("latent trait"), "Latent trait");
});
