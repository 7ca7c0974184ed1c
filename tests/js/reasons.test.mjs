import assert from "node:assert/strict";
import { test } from "node:test";

import {
  blanksOf, canAsk, rowSurprise, sampledCells, tableRow, whyCell,
} from "../../src/latentbits/report/files/js/asking.js";
import {
  arguesFor, cellTold, chanceOf, pushes, reasonLines, shortReason,
} from "../../src/latentbits/report/files/js/reasons.js";

const base64 = (...bytes) => btoa(String.fromCharCode(...bytes));
const packed = (shape, numbers) => ({ shape, data: base64(...new Uint8Array(Float64Array.from(numbers).buffer)) });

const PROBS = [0.9, 0.8, 0.2, 0.1, 0.3, 0.7];
const CELLS = [[1, 1, 0], [1, -1, 1]];

/** Two classes over three columns; the page has the columns in another order than the table. */
function stateOf(changes, contentChanges) {
  const order = [2, 0, 1];
  const content = {
    nRows: 2, nColumns: 3, shape: [2, 3], columns: ["C", "A", "B"], column_numbers: order, n_columns_left_out: 0,
    rowName: (i) => "row " + i,
    isOne: (i, j) => CELLS[i][order[j]] === 1, isBlank: (i, j) => CELLS[i][order[j]] === -1, ...contentChanges,
  };
  const reading = {
    kind: "classes", noun: "class", nouns: "classes", kept: [0, 1], nParts: 2, cells: null,
    parts: [{ name: "class 1", kind: "" }, { name: "class 2", kind: "" }],
    value: (i, k) => [[0.97, 0.03], [0.6, 0.4]][i][k], profile: (k, j) => PROBS[3 * k + order[j]],
    offsetOf: () => 0, main: () => 0,
    row_model: {
      kind: "classes", n_parts: 2, n_columns: 3,
      log_weights: packed([2], [0.5, 0.5].map(Math.log)), probs: packed([2, 3], PROBS),
    },
    ...changes,
  };
  return { content, reading, nameOf: (k) => (k < 0 ? "" : ["workers", "class 2"][k]) };
}

test("cells of a row stand in the order of the table", () => {
  const { content } = stateOf();
  assert.deepEqual([tableRow(content, 0), tableRow(content, 1)], [[1, 1, 0], [1, -1, 1]]);
});

test("the model is asked about a cell with the rest of the row", () => {
  const { content, reading } = stateOf(), why = whyCell(content, reading, 0, 1); // column A
  // Of the rest: B is 1 and C is 0.
  const first = 0.8 * 0.8, second = 0.3 * 0.3, wanted = (first * 0.9 + second * 0.1) / (first + second);
  assert.ok(Math.abs(why.probability - wanted) < 1e-12);
  assert.ok(Math.abs(why.top[0].share - first * 0.9 / (first * 0.9 + second * 0.1)) < 1e-12);
  assert.deepEqual([why.top[0].part, why.leak, why.missing], [0, null, null]);
  assert.ok(Math.abs(rowSurprise(content, reading, 0)[1] + Math.log(wanted)) < 1e-6);
  assert.ok(Number.isNaN(rowSurprise(content, reading, 1)[2]));
  assert.deepEqual(blanksOf(content, reading, 1).map((one) => one.j), [2]);
});

test("classes say how often their rows have the column, by their names of now", () => {
  const state = stateOf(), lines = (i, j) => reasonLines(cellTold(state, i, j, whyCell(state.content, state.reading, i, j)));
  assert.deepEqual(lines(0, 1).slice(1), ["Rows of workers have it in 90%; this row is workers for 97%."]);
  assert.match(lines(1, 2)[0], /^Blank\. A one has the probability \d+%\.$/);
  assert.match(shortReason(cellTold(state, 0, 1, whyCell(state.content, state.reading, 0, 1))), /^Rows of workers/);
});

/** A cell as reasonLines takes it. */
function cell(kind, changes, why) {
  return {
    kind, noun: "cause", isBlank: false, isOne: true, offset: 0,
    parts: [1, 3].map((n) => ({ name: "cause " + n, kind: "", value: 1, profile: 1 })),
    why: {
      probability: 0.5, top: [{ part: 0, share: 0.8 }, { part: 1, share: 0.15 }],
      leak: null, missing: null, partner: "", ...why,
    },
    ...changes,
  };
}

test("shares and causes owe to parts, and causes to the leak", () => {
  assert.deepEqual(reasonLines(cell("shares", {}, {})).slice(1), ["Owes to cause 1 80%, cause 3 15%."]);
  const leak = reasonLines(cell("causes", {}, { leak: 0.3, top: [{ part: 1, share: 0.7 }] }));
  assert.equal(leak[1], "Owes to cause 3 70%, no cause (leak) 30%.");
  assert.equal(reasonLines(cell("causes", { isOne: false }, {}))[1], "What spoke for a one: cause 1 80%, cause 3 15%.");
  const lost = reasonLines(cell("shares", { isOne: false }, { missing: 0.25 })).at(-1);
  assert.equal(lost, "The probability that it is a one that was lost: 25%.");
  assert.equal(reasonLines(cell("causes", { isBlank: true }, {}))[1], "A one would owe to cause 1 80%, cause 3 15%.");
});

test("a scale argues for or against, by the sign of score times loading and the value", () => {
  const parts = [{ name: "scale 1", value: 2, profile: 1 }, { name: "scale 2", value: -1, profile: 1 }];
  const one = cell("scales", { parts }, {}), zero = cell("scales", { parts, isOne: false }, {});
  assert.deepEqual(pushes(one).map(({ k, push }) => [k, push]), [[0, 2], [1, -1]]);
  assert.deepEqual([arguesFor(2, one), arguesFor(-1, one)], [true, false]);
  assert.deepEqual([arguesFor(2, zero), arguesFor(-1, zero)], [false, true]);
  const [, first, second] = reasonLines(one);
  assert.equal(first, "scale 1 argues for it: it multiplies the odds of a one by 7.4.");
  assert.equal(second, "scale 2 argues against it: it divides the odds of a one by 2.7.");
  assert.match(reasonLines(zero)[1], /^scale 1 argues against it/);
  for (const line of [...reasonLines(one), ...reasonLines(zero)]) assert.doesNotMatch(line, /[Oo]wes? to/);
  const blank = cell("scales", { parts, isBlank: true }, { probability: 0.2 });
  assert.match(reasonLines(blank)[1], /^scale 1 argues against a zero/);
  const far = cell("scales", { parts: [{ name: "s", value: 30, profile: 9 }] }, {});
  assert.match(reasonLines(far)[1], /by more than 100\./);
});

test("regions of a map are places", () => {
  const parts = [{ name: "region 2", value: 0.97, profile: 0.9 }];
  const lines = reasonLines(cell("map", { parts }, { top: [] }));
  assert.deepEqual(lines.slice(1), ["Rows of region 2 have it in 90%; this row is in region 2 for 97%."]);
});

test("surprises are said, and unknown reasons as well", () => {
  assert.equal(reasonLines(cell("shares", {}, { probability: 0.03 }))[1], "A surprising one.");
  assert.equal(reasonLines(cell("shares", { isOne: false }, { probability: 0.95 }))[1], "A surprising zero.");
  const lines = reasonLines({ ...cell("shares", {}, {}), why: null });
  assert.match(lines.at(-1), /cannot ask this model/);
  assert.equal(shortReason({ ...cell("shares", {}, {}), why: null }), "");
});

test("probabilities in words", () => {
  assert.deepEqual([0.0004, 0.5, 0.9999, NaN, 0.014].map(chanceOf), ["below 0.1%", "50%", "above 99.9%", "not known", "1.4%"]);
});

test("a model that cannot be asked is answered for by the cells that were explained beforehand", () => {
  const cells = {
    rows: [1], columns: [0, 1], partners: ["", "B"], partner: base64(0, 0, 1, 0), causes: ["class 1", "class 2"],
    first: base64(0, 0, 1, 0), second: base64(1, 0, 1, 0), first_share: base64(204, 255), second_share: base64(51, 0),
    probability: base64(51, 255), missing: null, leak: null,
  };
  const state = stateOf({ row_model: null, cells });
  assert.equal(canAsk(state.content, state.reading), false);
  assert.equal(whyCell(state.content, state.reading, 0, 0), null);
  const why = whyCell(state.content, state.reading, 1, 0);
  assert.deepEqual([why.probability, why.top.map((one) => [one.part, one.share])], [0.2, [[0, 0.8], [1, 0.2]]]);
  assert.equal(whyCell(state.content, state.reading, 1, 1).partner, "B");
  assert.deepEqual([sampledCells(state.reading).hasRow(0), sampledCells(state.reading).hasRow(1)], [false, true]);
  const surprise = rowSurprise(state.content, state.reading, 1);
  assert.ok(Math.abs(surprise[0] + Math.log(0.2)) < 1e-6 && surprise[1] < 0.003 && Number.isNaN(surprise[2]));
  assert.ok([...rowSurprise(state.content, state.reading, 0)].every(Number.isNaN));
});

test("columns that the page lacks keep it from asking", () => {
  const { content, reading } = stateOf({}, { n_columns_left_out: 2 });
  assert.equal(canAsk(content, reading), false);
  assert.equal(whyCell(content, reading, 0, 0), null);
});
