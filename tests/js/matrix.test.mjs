import assert from "node:assert/strict";
import { test } from "node:test";

import { namesShown } from "../../src/latentbits/report/files/js/matrix_names.js";
import { scrollTo, stripeColour, visibleRange } from "../../src/latentbits/report/files/js/matrix_draw.js";
import {
  bestColumnKey, bestRowKey, columnPart, orderColumns, orderRows, rowKeys, stripeOf,
} from "../../src/latentbits/report/files/js/matrix_order.js";
import { cellDistance, phisOf, relatedColumns, rowsByLikeness } from "../../src/latentbits/report/files/js/likeness.js";
import { rankSample, surpriseRank } from "../../src/latentbits/report/files/js/surprises.js";
import { keyMove } from "../../src/latentbits/report/files/js/matrix_input.js";

const _ = -1; // a blank

/** Content of a table of ones, zeros and blanks. */
export function contentOfTable(table, changes) {
  const d = table[0].length, known = (j) => table.map((row) => row[j]).filter((cell) => cell !== _);
  return {
    nRows: table.length, nColumns: d, shape: [table.length, d],
    columns: Array.from({ length: d }, (__, j) => "c" + (10 - j)),
    column_numbers: Array.from({ length: d }, (__, j) => j), n_columns_left_out: 0, labels: [], map: null, readings: [],
    marginals: Array.from({ length: d }, (__, j) => known(j).reduce((sum, cell) => sum + cell, 0) / known(j).length),
    isOne: (i, j) => table[i][j] === 1, isBlank: (i, j) => table[i][j] === _, rowName: (i) => "row " + i,
    ...changes,
  };
}

/** A reading with its values (rows × parts), profiles (parts × columns) and main parts. */
export function readingOf(kind, values, profiles, changes) {
  return {
    kind, noun: "part", nouns: "parts", nParts: profiles.length, is_loading: kind === "scales",
    hasMain: false, main: () => -1, row_model: null, cells: null, offsetOf: () => 0,
    parts: profiles.map((__, k) => ({ name: "part " + (k + 1), kind: "", weight: 0.5 - 0.1 * k })),
    kept: profiles.map((__, k) => k), value: (i, k) => values[i][k], profile: (k, j) => profiles[k][j],
    ...changes,
  };
}

const TABLE = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, _, 0], [0, 1, 1, 1], [1, _, 0, 0]];
const content = contentOfTable(TABLE);
const PROFILES = [[0.9, 0.9, 0.1, 0.2], [0.1, 0.4, 0.8, 0.9]];
const classes = readingOf("classes", [[0.9, 0.1], [0, 1], [1, 0], [0.2, 0.8], [0.95, 0.05]], PROFILES, {
  hasMain: true, main: (i) => [0, 1, 0, 1, 0][i],
});
const scale = readingOf("scales", [[0.5], [-2], [1.5], [-1], [0]], [[2, 1, -1, -3]]);

test("rows go by part, and within it by how much they have of it", () => {
  assert.equal(bestRowKey(classes), "main");
  assert.deepEqual(orderRows(content, classes, "main", {}), [2, 4, 0, 1, 3]);
  assert.deepEqual(orderRows(content, classes, "part:1", {}), [1, 3, 0, 4, 2]);
  assert.deepEqual(orderRows(content, classes, "table", {}), [0, 1, 2, 3, 4]);
});

test("along a scale rows fall, and columns by signed loading, so that ones lie in two corners", () => {
  assert.equal(bestRowKey(scale), "part:0");
  assert.deepEqual(orderRows(content, scale, "part:0", {}), [2, 0, 4, 3, 1]);
  assert.deepEqual(orderColumns(content, scale, "part", "part:0"), [0, 1, 2, 3]);
  assert.equal(bestColumnKey(content, scale), "part");
  assert.equal(bestColumnKey(content, readingOf("scales", [[0]], [[2, 1, 1, 3]])), "frequency");
});

test("causes that are on order rows by the most frequent one first", () => {
  const causes = readingOf("causes", [[0, 1], [1, 0], [1, 1], [0, 0], [0, 1]], [[1, 0, 0, 0], [0, 1, 0, 0]]);
  assert.equal(bestRowKey(causes), "on");
  assert.deepEqual(orderRows(content, causes, "on", {}), [2, 1, 0, 4, 3]);
  const stripe = stripeOf(content, causes, "on", (k) => "n" + k, []);
  assert.deepEqual([stripe.kind, stripe.names, stripe.isOn(0, 0), stripe.isOn(0, 1)], ["pattern", ["n0", "n1"], false, true]);
});

test("labels and surprise order rows; what is not known comes last", () => {
  const words = { name: "site", is_number: false, values: ["a", "b"], code: (i) => [1, 0, -1, 1, 0][i] };
  const heights = { name: "height", is_number: true, number: (i) => [3, NaN, 5, 1, 4][i] };
  const labelled = { ...content, labels: [words, heights] };
  assert.deepEqual(orderRows(labelled, classes, "label:0", {}), [4, 1, 0, 3, 2]);
  assert.deepEqual(orderRows(labelled, classes, "label:1", {}), [2, 4, 0, 3, 1]);
  assert.deepEqual(orderRows(content, classes, "surprise", { totals: [1, NaN, 3, 2, 0] }), [2, 3, 0, 4, 1]);
  assert.deepEqual(stripeOf(labelled, classes, "label:0", String, []).names, ["a", "b"]);
  const ramp = stripeOf(labelled, classes, "label:1", String, []);
  assert.deepEqual([ramp.kind, ramp.of(2), ramp.of(3)], ["ramp", 1, 0]);
  assert.ok(Number.isNaN(ramp.of(1)));
});

test("columns go by the part that has them more often than others do, then by lift; by frequency and name", () => {
  assert.deepEqual([0, 1, 2, 3].map((j) => columnPart(content, classes, j).k), [0, 0, 1, 1]);
  assert.deepEqual(orderColumns(content, classes, "part", "main"), [0, 1, 3, 2]);
  assert.deepEqual(orderColumns(content, classes, "frequency", "main"), [1, 0, 2, 3]);
  assert.deepEqual(orderColumns(content, classes, "name", "main"), [3, 2, 1, 0]);
  assert.deepEqual(orderColumns({ ...content, column_numbers: [7, 2, 9, 4] }, classes, "table", "main"), [1, 3, 0, 2]);
});

test("orders on offer are those that the reading and the page have", () => {
  const keys = (reading, has) => rowKeys(content, reading, String, has).map(([key]) => key);
  assert.deepEqual(keys(classes, { surprise: true, row: 3 }), ["main", "part:0", "part:1", "surprise", "similar", "table"]);
  assert.deepEqual(keys(scale, { surprise: false, row: -1 }), ["part:0", "table"]);
  assert.deepEqual(keys({ ...scale, kind: "tree" }, { surprise: false, row: -1 }), ["table"]);
});

test("a ramp of scores has two sides", () => {
  const stripe = stripeOf(content, scale, "part:0", () => "ability", []);
  assert.deepEqual([stripe.kind, stripe.of(1), stripe.words], ["signed", -1, "ability"]);
  assert.ok(stripe.of(2) > 0 && stripeColour(stripe, 2)[0] !== stripeColour(stripe, 1)[0]);
  assert.equal(stripeColour({ kind: "groups", of: () => -1 }, 0)[0], "var(--line)");
});

test("likeness goes by values, then by cells", () => {
  assert.equal(cellDistance(content, 0, 2), 0);
  assert.equal(cellDistance(content, 0, 1), 1);
  assert.equal(cellDistance(contentOfTable([[1, _], [_, 1]]), 0, 1), 0.5);
  assert.deepEqual(rowsByLikeness(content, classes, 0).slice(0, 3), [0, 4, 2]);
  assert.deepEqual(rowsByLikeness(content, scale, 1), [1, 3, 4, 0, 2]);
  assert.deepEqual(rowsByLikeness(content, { ...classes, kind: "tree" }, 3).slice(0, 2), [3, 1]);
});

test("phi is the correlation over rows that know both columns", () => {
  const found = phisOf(content, 0);
  assert.deepEqual(found.map((one) => [one.j, one.n]), [[1, 4], [2, 4], [3, 5]]);
  assert.ok(Math.abs(found[0].phi - (4 * 2 - 2 * 3) / Math.sqrt(2 * 2 * 3 * 1)) < 1e-12);
  assert.equal(found[1].phi, -1);
  assert.deepEqual(phisOf(contentOfTable([[1, 1], [0, 1]]), 0), []); // a column that does not vary goes with none
  const { together, against } = relatedColumns(content, 0, 1);
  assert.deepEqual([together.map((one) => one.j), against.map((one) => one.j)], [[1], [2]]);
});

test("only what is on the screen is drawn", () => {
  assert.deepEqual(visibleRange(0, 100, 10, 1000), [0, 10]);
  assert.deepEqual(visibleRange(95, 100, 10, 1000), [9, 20]);
  assert.deepEqual(visibleRange(9950, 100, 10, 1000), [995, 1000]);
  assert.deepEqual(visibleRange(0, 100, 10, 3), [0, 3]);
  assert.deepEqual([scrollTo(50, 100, 10, 2), scrollTo(50, 100, 10, 9), scrollTo(50, 100, 10, 20)], [20, 50, 110]);
});

test("where things are smaller than names, some names are left out, never the one of the cursor", () => {
  assert.deepEqual(namesShown([3, 7], 20, 5), [3, 4, 5, 6]);
  assert.deepEqual(namesShown([0, 12], 4, 7), [0, 3, 7]);
  assert.deepEqual(namesShown([0, 6], 4, 99), [0, 3]);
});

test("keys move within the matrix", () => {
  const to = (key, from, more) => keyMove({ key, ...more }, from, 50, 9, 10);
  assert.deepEqual([to("ArrowUp", [0, 3]), to("ArrowRight", [4, 8]), to("ArrowDown", [4, 8])], [[0, 3], [4, 8], [5, 8]]);
  assert.deepEqual([to("Home", [4, 5]), to("End", [4, 5]), to("End", [4, 5], { ctrlKey: true })], [[4, 0], [4, 8], [49, 8]]);
  assert.deepEqual([to("PageDown", [45, 1]), to("PageUp", [5, 1]), to("x", [0, 0])], [[49, 1], [0, 1], null]);
});

test("the most surprising row has rank one", () => {
  assert.deepEqual([0, 1, 2].map((i) => surpriseRank([3, 9, NaN, 3], i, [0, 1, 2, 3])), [2, 1, 1]);
  assert.deepEqual(rankSample([4, 5, 6], 1), [4, 5, 6]);
  const all = Array.from({ length: 1000 }, (__, i) => i), some = rankSample(all, 100);
  assert.deepEqual([some.length, some[0], some[75], rankSample(all, 1e9).length], [150, 0, 500, 50]);
});
