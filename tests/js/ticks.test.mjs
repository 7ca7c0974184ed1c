import assert from "node:assert/strict";
import { test } from "node:test";

import { niceTicks, numberText, shortNumber, spreadOut } from "../../src/latentbits/report/files/js/ticks.js";

const texts = (...of) => niceTicks(...of).map((tick) => tick.text);

test("ticks are round and lie within the axis", () => {
  assert.deepEqual(texts(0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(texts(0.505, 0.521, 5), ["0.505", "0.510", "0.515", "0.520"]);
  assert.deepEqual(texts(-0.013, 0.104, 6), ["0", "0.025", "0.050", "0.075", "0.100"]);
  assert.deepEqual(texts(-3, 3, 4), ["−2", "0", "2"]);
  for (const [low, high] of [[0.123, 0.129], [3, 7e5], [-2e9, 4e9], [0, 1e-2]]) {
    const ticks = niceTicks(low, high);
    assert.ok(ticks.length >= 3 && ticks.length <= 7, `${low} to ${high}: ${ticks.length}`);
    assert.ok(ticks.every((tick) => tick.value >= low - 1e-9 && tick.value <= high * (1 + 1e-9)));
  }
});

test("numbers are full, with their thousands apart, from a thousandth to a million millions", () => {
  assert.deepEqual(texts(0, 2000000, 5), ["0", "500,000", "1,000,000", "1,500,000", "2,000,000"]);
  assert.deepEqual(texts(0, 0.004, 5), ["0", "0.001", "0.002", "0.003", "0.004"]);
  assert.ok(texts(0, 9e11).every((text) => !/[e×]/.test(text)));
  assert.equal(numberText(1144940), "1,144,940");
  assert.equal(numberText(-1234.5, 1), "−1,234.5");
  assert.equal(numberText(2e15), "2 × 10¹⁵");
  assert.equal(numberText(-0.001, 0), "0");
  assert.equal(numberText(NaN) + numberText(null), "");
});

test("an axis of one number has that number", () => {
  assert.deepEqual(niceTicks(3, 3), [{ value: 3, text: "3" }]);
  assert.deepEqual(niceTicks(NaN, 1), []);
});

test("short numbers have three digits that count", () => {
  assert.deepEqual([0.30238, 0.0012, 12.34, 1234567, 0, -0.5].map((v) => shortNumber(v)), ["0.302", "0.0012", "12.3", "1,234,567", "0", "−0.5"]);
});

test("names at the ends of lines do not lie on each other", () => {
  const places = spreadOut([10, 11, 50, 12], 15, 0, 100), sorted = [...places].sort((a, b) => a - b);
  for (let i = 1; i < 4; i++) assert.ok(sorted[i] - sorted[i - 1] >= 15 - 1e-6);
  assert.ok(places[0] < places[1] && places[1] < places[3] && places[3] < places[2]);
  assert.deepEqual(spreadOut([20, 80], 15, 0, 100), [20, 80]);
  const full = spreadOut([99, 99, 99], 60, 0, 100);
  assert.ok(full.every((y) => y >= -1e-9 && y <= 100 + 1e-9));
});
