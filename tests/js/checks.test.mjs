import assert from "node:assert/strict";
import { test } from "node:test";

import { axisTicks, calibrationAxis, onAxis } from "../../src/latentbits/report/files/js/check_plots.js";
import { adviceOf } from "../../src/latentbits/report/files/js/checks.js";
import { sizeNumber } from "../../src/latentbits/report/files/js/families.js";
import { capacityRange, lossRange } from "../../src/latentbits/report/files/js/family_plots.js";
import { blankWords, reasonOf } from "../../src/latentbits/report/files/js/look.js";

const point = (predicted, n, observed = predicted) => ({ predicted, observed, n });

test("axes of calibration are stretched at zero if most predictions are small", () => {
  assert.deepEqual(calibrationAxis([[point(0.05, 10), point(0.5, 11)]]), { kind: "plain", most: 1 });
  assert.deepEqual(calibrationAxis([[point(0.05, 12), point(0.5, 11)]]), { kind: "root", most: 0.5 });
  assert.deepEqual(calibrationAxis([[point(0.002, 9), point(0.011, 9, 0.004)]]), { kind: "root", most: 0.02 });
  assert.deepEqual(calibrationAxis([]), { kind: "plain", most: 1 });
});

test("a stretched axis keeps its ends, and its ticks have room", () => {
  const axis = { kind: "root", most: 0.5 }, ticks = axisTicks(axis);
  assert.deepEqual([onAxis(axis, 0), onAxis(axis, 0.5), onAxis(axis, 0.125)], [0, 1, 0.5]);
  assert.equal(ticks[ticks.length - 1].value, 0.5);
  for (let i = 1; i < ticks.length; i++) assert.ok(onAxis(axis, ticks[i].value) - onAxis(axis, ticks[i - 1].value) > 0.11);
  assert.equal(axisTicks({ kind: "plain", most: 1 }).length, 6);
});

test("families that are far behind do not press the others together", () => {
  const near = { above_best: 0.005, se: 0.005, standing: "near" }, best = { above_best: 0, se: 0, standing: "best" };
  const far = { above_best: 0.25, se: 0.01, standing: "worse" };
  assert.ok(lossRange([best, near, far]).high < 0.1);
  assert.ok(Math.abs(lossRange([best, near]).high - 0.015) < 1e-12);
  assert.ok(Math.abs(lossRange([best, near]).low + 0.005) < 1e-12);
  assert.equal(lossRange([best, far]).high, 0.27);
  assert.ok(Number.isFinite(lossRange([best]).high));
});

test("losses far above the others are cut off", () => {
  const curve = (...losses) => ({ points: losses.map((log_loss, i) => ({ size: 2 ** i, log_loss })) });
  const { low, high, cut } = capacityRange([curve(0.5, 0.4), curve(3, 0.42)]);
  assert.ok(low === 0.4 && high < 0.5 && cut);
  assert.equal(capacityRange([curve(0.42, 0.4), curve(0.43, 0.42)]).cut, false);
});

test("sizes of maps are their nodes", () => {
  assert.deepEqual(["7×7", "≤ 8", "23"].map(sizeNumber), [49, 8, 23]);
  assert.ok(Number.isNaN(sizeNumber(null)));
});

test("what to do about pairs that are left", () => {
  const pair = (q3) => ({ first: "a", second: "b", q3 });
  assert.equal(adviceOf({ pairs: [], groups: [] }, "classes"), "");
  assert.match(adviceOf({ pairs: [pair(0.95)], groups: [["a", "b"]] }, "classes"), /^a and b: nearly the same column twice; drop one of the two\.$/);
  assert.match(adviceOf({ pairs: [pair(0.3)], groups: [["a", "b"]] }, "classes"), /hidden tree, or a mixture of trees/);
  assert.match(adviceOf({ pairs: [pair(0.3)], groups: [["a", "b", "c"]] }, "classes"), /more components/);
  assert.match(adviceOf({ pairs: [pair(0.3)], groups: [["a", "b", "c"]] }, "scales"), /one scale more/);
});

test("scales argue, classes are looked like, and nothing else", () => {
  const cell = { kind: "surprising one", value: 1, cause: "x", cause_share: 0.8, argues: "against" };
  assert.equal(reasonOf("scales", cell, "scale 1"), "scale 1 argues against it");
  assert.equal(reasonOf("classes", cell, "class 3"), "class 3");
  assert.equal(reasonOf("shares", cell, "cause 2"), "comes from cause 2 (80%)");
  assert.equal(reasonOf("causes", { ...cell, value: 0 }, "source 2"), "would be switched on by source 2");
  assert.equal(reasonOf("tree", { ...cell, cause: null }, ""), "");
});

test("blanks in words", () => {
  assert.equal(blankWords({ n: 1110, counts: [1000, 0, 0, 0, 100, 0, 0, 0, 0, 10] }), "1,000 are below 10%, 10 above 90%, and 100 between.");
});
