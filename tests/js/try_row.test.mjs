import assert from "node:assert/strict";
import { test } from "node:test";

import { amountsOf, amountsShown, answerWords, fillsOf, oddCells, rankWords } from "../../src/latentbits/report/files/js/try_answer.js";
import { cellMark, nearestPlaces, shownColumns, stepTo } from "../../src/latentbits/report/files/js/try_cells.js";
import { cellsToAsk, rowOfCells } from "../../src/latentbits/report/files/js/try_row.js";

test("columns that are not on the page stay blank", () => {
  assert.deepEqual(rowOfCells({ shape: [9, 5], column_numbers: [3, 0] }, [1, 0]), [0, -1, -1, 1, -1]);
});

test("columns are found by parts of their names, and by what they are", () => {
  const columns = ["Water project", "water", "crime"], cells = [1, -1, 0];
  assert.deepEqual(shownColumns(columns, cells, "wat", "all"), [true, true, false]);
  assert.deepEqual(shownColumns(columns, cells, "proj WATER", "all"), [true, false, false]);
  assert.deepEqual(shownColumns(columns, cells, "", "set"), [true, false, true]);
  assert.deepEqual(shownColumns(columns, cells, "", "blank"), [false, true, false]);
});

test("arrows move in the grid and stop at its ends", () => {
  assert.deepEqual(["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End", "x"].map((key) => stepTo(key, 4, 9, 3)), [5, 3, 7, 1, 0, 8, -1]);
  assert.deepEqual([stepTo("ArrowUp", 1, 9, 3), stepTo("ArrowDown", 8, 9, 3)], [-1, -1]);
});

test("a cell says what it is, or what it would be", () => {
  assert.deepEqual(cellMark(-1, 0.634), { text: "63%", odd: false, state: "blank" });
  assert.deepEqual(cellMark(1, 0.05), { text: "1", odd: true, state: "one" });
  assert.deepEqual(cellMark(0, 0.95), { text: "0", odd: true, state: "zero" });
  assert.deepEqual(cellMark(0, NaN), { text: "0", odd: false, state: "zero" });
});

test("blanks come by their probability, or by how much the row changes it", () => {
  const content = { column_numbers: [0, 1, 2, 3], marginals: [0.9, 0.02, 0.5, 0.5] }, filled = [0.95, 0.4, 0.5, 1];
  assert.deepEqual(fillsOf(content, [-1, -1, -1, 1], filled, "likely").map((one) => one.j), [0, 2, 1]);
  assert.deepEqual(fillsOf(content, [-1, -1, -1, 1], filled, "changed").map((one) => one.j), [1, 0, 2]);
});

test("surprising cells, the most surprising first", () => {
  const said = [0.05, 0.99, 0.5, 0.001].map((probability) => ({ probability }));
  assert.deepEqual(oddCells([1, 0, 1, -1], said).map((one) => one.j), [1, 0]);
  assert.deepEqual(oddCells([1, 1, 1, 1], [null, ...said.slice(1)]).map((one) => one.j), [3]);
});

test("parts are those of the page, and of many the largest, in their order", () => {
  const all = amountsOf({ kind: "classes", kept: [2, 0] }, [0.1, 0.2, 0.7]);
  assert.deepEqual(all, [{ k: 0, number: 2, value: 0.7 }, { k: 1, number: 0, value: 0.1 }]);
  assert.deepEqual(amountsOf({ kind: "map", kept: [0] }, [1]), []);
  assert.deepEqual(amountsShown([0.1, -3, 2].map((value, k) => ({ k, value })), 2).map((one) => one.k), [1, 2]);
});

test("the answer in a sentence, by kind", () => {
  const state = (kind, nouns = {}) => ({
    reading: { kind, kept: [0, 1], noun: "source", ...nouns, value: (i) => i }, content: { nRows: 4 }, nameOf: (k) => "part " + (k + 1),
  });
  const told = (kind, parts, n = 0) => answerWords(state(kind), { parts, place: [0.5, 1] }, [1], n);
  assert.equal(told("classes", [0.2, 0.8], 2), "Most likely in part 2 (80%). 2 surprising cells.");
  assert.equal(told("shares", [0.45, 0.55]), "Mostly part 2 (55%) and part 1 (45%).");
  assert.equal(told("causes", [0.2, 0.8]), "Probably on: part 2 (80%).");
  assert.equal(told("causes", [0.2, 0.1]), "Probably no source is on.");
  assert.equal(told("scales", [1.5, -1]), "On part 1 above 50% of the rows and part 2 below nearly all rows.");
  assert.equal(told("map", [0, 0]), "Its place on the map is 0.5, 1.");
  assert.match(answerWords(state("classes"), { parts: [1, 0] }, [-1], 0), /Nothing is set/);
  assert.equal(rankWords(1), "above nearly all rows");
});

test("the nearest places come first", () => {
  const map = { place: (i) => [[0, 0], [1, 1], [0.2, 0]][i] };
  assert.deepEqual(nearestPlaces(map, 3, [0.15, 0], 2), [2, 0]);
});

test("of many known cells those are asked about that the row expects least", () => {
  assert.deepEqual(cellsToAsk([1, 0, -1, 1], [0.9, 0.8, 0.5, 0.3]), [1, 3, 0]);
  assert.deepEqual(cellsToAsk([1, 0, -1, 1], [0.9, 0.8, 0.5, 0.3], 2), [1, 3]);
});
