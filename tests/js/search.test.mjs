import assert from "node:assert/strict";
import { test } from "node:test";

import { bestEntries, plainText, searchGroups, searchRank } from "../../src/latentbits/report/files/js/search_rank.js";
import { seenShares } from "../../src/latentbits/report/files/js/drawer_curves.js";
import { typicalRows } from "../../src/latentbits/report/files/js/typical.js";

test("texts are compared without accents and case", () => {
  assert.equal(plainText("Ünïcödé ÉTÉ"), "unicode ete");
});

test("the same comes before what begins so, then words, then parts of words", () => {
  const rank = (text) => searchRank(text, "aid");
  assert.deepEqual(["aid", "aid to all", "el salvador aid", "el_salvador_aid", "braided", "other"].map(rank), [0, 1, 2, 2, 3, 4]);
});

test("of equals the shorter comes first; other words count less", () => {
  const entry = (text, more = "") => ({ text, plain: plainText(text), more: plainText(more) });
  const entries = [entry("row 12"), entry("row 1"), entry("class 1", "aid, crime"), entry("aid")];
  assert.deepEqual(bestEntries(entries, "row 1", 9).best.map((one) => one.text), ["row 1", "row 12"]);
  const found = bestEntries(entries, "aid", 1);
  assert.deepEqual([found.best.map((one) => one.text), found.count], [["aid"], 2]);
});

/** Three rows, one label, one reading of two parts. */
function state() {
  const label = { name: "kind", is_number: false, values: ["red", "blue"], code: (i) => [0, 1, -1][i] };
  const reading = {
    title: "A mixture", kind: "classes", row_model: null, cells: null,
    parts: [{ name: "class 1", told: "crime" }, { name: "class 2", told: "aid" }],
    value: (i, k) => [[1, 0], [0.99, 0.01], [0.2, 0.8]][i][k], hasMain: true,
  };
  const content = {
    nRows: 3, columns: ["crime", "aid"], labels: [label], readings: [reading], n_columns_left_out: 0,
    rowName: (i) => "row " + i,
    isBlank: (i, j) => i === 2 && j === 0, isOne: (i) => i > 0,
  };
  return { content, reading, nameOf: (k) => reading.parts[k].name };
}

test("columns, parts, words of labels and rows can be found", () => {
  const groups = searchGroups(state());
  const best = (group, question) => bestEntries(group.entries, question, 9).best.map((one) => one.text);
  const found = (question) => groups.map((group) => [group.title, best(group, question)]).filter(([, list]) => list.length);
  assert.deepEqual(found("aid"), [["Columns", ["aid"]], ["Parts", ["class 2"]]]);
  assert.deepEqual(found("red"), [["Labels", ["kind: red"]]]);
  assert.deepEqual(found("row 2"), [["Rows", ["row 2"]]]);
  assert.equal(groups[3].entries[0].words, "red");
});

test("typical rows have most of a part, at the low end of a scale least", () => {
  assert.deepEqual(typicalRows(state(), 0), [0, 1, 2]);
  const scales = state();
  scales.reading.kind = "scales";
  assert.deepEqual(typicalRows(scales, 0, -1), [2, 1, 0]);
});

test("shares of ones along a scale leave blanks out", () => {
  const { content, reading } = state();
  const groups = seenShares(content, reading, 0, 0, 2);
  assert.deepEqual(groups, [[reading.value(1, 0), 1], [1, 0]]);
});
