import assert from "node:assert/strict";
import { test } from "node:test";

import { scale } from "../../src/latentbits/report/files/js/charts.js";

test("a scale runs from end to end, and of one number only", () => {
  const x = scale(2, 4, 100, 300);
  assert.deepEqual([x(2), x(3), x(4)], [100, 200, 300]);
  assert.equal(scale(2, 2, 100, 300)(2), 100);
});
