import assert from "node:assert/strict";
import { test } from "node:test";

import { circlesOf, extremesOf, namesBeside } from "../../src/latentbits/report/files/js/distances.js";
import { crossRows, quantilesOf, residualClass, stripPlaces } from "../../src/latentbits/report/files/js/labels_drawn.js";
import { byLabel, measureTold } from "../../src/latentbits/report/files/js/labels_shown.js";
import { inNames, takeNames } from "../../src/latentbits/report/files/js/names.js";
import { overlapsOf } from "../../src/latentbits/report/files/js/overlaps.js";
import { placesShown, sentenceNow } from "../../src/latentbits/report/files/js/overview.js";
import {
  barEnd, contrastColumns, nearestPart, rankedColumns, rarerColumns, relevance,
} from "../../src/latentbits/report/files/js/readings_columns.js";
import { amountTold, endsTold, introduction } from "../../src/latentbits/report/files/js/readings_words.js";
import { binned, chanceAlong, medianOf, spanOfNumbers } from "../../src/latentbits/report/files/js/scales_drawn.js";
import { shareTold, signedTold } from "../../src/latentbits/report/files/js/told.js";

const PROFILES = [[0.95, 0.3, 0.02, 0.5], [0.9, 0.05, 0.6, 0.5], [0.9, 0.1, 0.5, 0.5]];
const CONTENT = { nColumns: 4, nRows: 4, marginals: [0.92, 0.1, 0.4, 0.5], columns: ["a", "b", "c", "d"] };
const reading = (more) => ({
  nParts: 3, parts: ["class 1", "class 2", "class 10"].map((name) => ({ name, weight: 0.3, kind: "", more: [], less: [] })), noun: "class",
  nouns: "classes", kind: "classes", structure: "class", sizes: [1, 2, 3], distances: [[0, 3, 2], [3, 0, 1], [2, 1, 0]],
  profile: (k, j) => PROFILES[k][j], associations: [], family: "mixture", ...more,
});

/** A state as `state.js` makes it, as far as names go. */
function stateWith(...readings) {
  const names = readings.map((one) => one.parts.map((part) => part.name));
  return {
    content: { readings }, number: 0, nameOf: (k, number = 0) => names[number][k],
    rename: (k, name, number = 0) => { names[number][k] = name.trim() || readings[number].parts[k].name; },
  };
}

test("relevance goes from frequent to typical", () => {
  assert.equal(relevance(0.5, 0.25, 1), Math.log(0.5));
  assert.equal(relevance(0.5, 0.25, 0), Math.log(2));
  assert.ok(Math.abs(relevance(0.5, 0.25, 0.4) - (0.4 * Math.log(0.5) + 0.6 * Math.log(2))) < 1e-12);
  assert.deepEqual(rankedColumns(CONTENT, reading(), 0, 1), [0, 3, 1, 2]);
  assert.deepEqual(rankedColumns(CONTENT, reading(), 0, 0), [1, 0, 3, 2]);
  assert.ok(Number.isFinite(relevance(0, 0, 0.5)));
});

test("columns that are rarer in a part, and those that set it apart from the closest", () => {
  assert.deepEqual(rarerColumns(CONTENT, reading(), 0, 4), [2]);
  assert.equal(nearestPart(reading(), 0), 2);
  assert.equal(nearestPart(reading({ nParts: 2, distances: null }), 0), 1);
  assert.equal(nearestPart(reading({ distances: null }), 0), -1);
  assert.deepEqual(contrastColumns(CONTENT, reading(), 0, 2, 3), [2, 1]);
});

test("bars of rare columns end where they can be seen", () => {
  assert.deepEqual([barEnd([0.003, 0.008]), barEnd([0.03]), barEnd([0.9]), barEnd([])], [0.01, 0.05, 1, 0.01]);
});

test("the probability along a scale is that of the model, the other scales where they are put", () => {
  const scales = { nParts: 2, offsetOf: () => -1, profile: (k) => [2, 0.5][k] };
  assert.ok(Math.abs(chanceAlong(scales, 0, 0, 1.5, [9, 2]) - 1 / (1 + Math.exp(-(-1 + 3 + 1)))) < 1e-12);
});

test("medians, spans and bins pass over what is not known", () => {
  assert.equal(medianOf([3, NaN, 1, 2]), 2);
  assert.equal(medianOf([]), 0);
  assert.deepEqual(spanOfNumbers([NaN, 2, 5]), [2, 5]);
  assert.deepEqual(spanOfNumbers([2, 2]), [1.5, 2.5]);
  assert.deepEqual(spanOfNumbers([]), [0, 1]);
  assert.deepEqual(binned([0, 0.1, 0.5, 1, NaN], 0, 1, 2), [2, 2]);
});

test("introductions are of the kind, and nothing but a class is called one", () => {
  assert.match(introduction(reading({ kind: "scales", noun: "scale", nouns: "scales" })), /nothing belongs to a scale/);
  assert.match(introduction(reading({ kind: "causes", structure: "switches", noun: "switch", nouns: "switches" })), /can hardly be read alone/);
  for (const kind of ["shares", "causes", "scales", "map", "tree"]) {
    assert.doesNotMatch(introduction(reading({ kind, noun: "part", nouns: "parts", structure: "" })), /class/);
  }
  assert.equal(amountTold(reading(), 1), "30% of the rows · 2 rows");
  assert.equal(amountTold(reading({ kind: "causes", sizes: null }), 1), "on in 30% of the rows");
  assert.equal(amountTold(reading({ kind: "scales", sizes: null }), 1), "");
});

test("the ends of a scale", () => {
  assert.deepEqual(endsTold({ more: ["a", "b"], less: ["c"] }), ["more of c", "more of a, b"]);
  assert.deepEqual(endsTold({ more: ["a"], less: [] }), ["fewer of these", "more of a"]);
  assert.deepEqual(endsTold({ more: [], less: [] }), ["", ""]);
});

test("causes that are on together more often than by chance", () => {
  const values = [];
  for (let i = 0; i < 200; i++) values.push([i % 2, i % 2, (i >> 1) % 2]);
  const found = overlapsOf({ nRows: 200 }, { nParts: 3, value: (i, k) => values[i][k] });
  assert.deepEqual(found.map(({ a, b, together, expected }) => [a, b, together, expected]), [[0, 1, 0.5, 0.25]]);
  assert.ok(found[0].z > 10);
});

test("names in texts: whole words only, values of labels stay", () => {
  const pairs = [["class 1", "early $& birds"], ["class 10", "owls"], ["class 2", "class 2"]];
  assert.equal(inNames("class 1 and class 10, not class 11; “class 1” (class 1)", pairs),
    "early $& birds and owls, not class 11; “class 1” (early $& birds)");
  assert.equal(inNames("class 1 and class 2", [["class 1", "class 2"], ["class 2", "class 1"]]), "class 2 and class 1");
});

test("names are taken from a file, and what belongs to nothing is counted", () => {
  const state = stateWith(reading());
  assert.deepEqual(takeNames(state, { mixture: { "class 2": "owls", nobody: "x", "class 1": 5 }, other: { a: "b" } }), { taken: 1, unknown: 3 });
  assert.equal(state.nameOf(1), "owls");
  for (const wrong of [null, [], "text", 7]) assert.throws(() => takeNames(state, wrong));
});

test("sentences of the overview follow the names of the reading that they are about", () => {
  const first = reading(), other = reading({
    family: "aspect", associations: [{ stated: true, sentence: "the share of class 1 is higher for a “b”" }],
  });
  const state = stateWith(first, other);
  state.rename(0, "larks", 1);
  assert.equal(sentenceNow(state, "The rows fall into class 1.", true), "The rows fall into class 1.");
  assert.equal(sentenceNow(state, "The share of class 1 is higher for a “b”.", false), "The share of larks is higher for a “b”.");
});

test("sections are those that the content has", () => {
  const ids = (content) => placesShown(content).map(([id]) => id);
  assert.ok(!ids({ comparison: null, readings: [{ row_model: null }] }).some((id) => id === "families" || id === "try"));
  assert.equal(ids({ comparison: {}, readings: [{ row_model: null }, { row_model: {} }] }).length, 9);
});

test("circles lie within the picture, names neither outside nor on each other", () => {
  const layout = Array.from({ length: 12 }, (_, k) => [Math.cos(k), Math.sin(2 * k)]), names = layout.map((_, k) => "a rather long name " + k);
  const circles = circlesOf(layout, layout.map((_, k) => 1 / (k + 1)), 400, 230);
  for (const c of circles) assert.ok(c.x > c.r && c.x < 400 - c.r && c.y > c.r && c.y < 230 - c.r);
  const placed = namesBeside(circles, names, 400, 230);
  assert.ok(placed.length > 4);
  for (const a of placed) for (const b of placed) {
    assert.ok(a === b || Math.abs(a.y - b.y) >= 13.9 || Math.abs(a.x - b.x) >= 20 * 6.7);
  }
  const same = circlesOf([[0, 0], [0, 0], [0, 0]], [null, null, null], 400, 230);  // parts that are all alike
  assert.ok(same.every((c) => Number.isFinite(c.x) && Number.isFinite(c.y)));
});

test("the most alike and the most apart, among parts with weight", () => {
  const distances = [[0, 5, 2, 0], [5, 0, 4, 9], [2, 4, 0, 9], [0, 9, 9, 0]];
  assert.deepEqual(extremesOf(distances, [0.5, 0.3, 0.2, 0.001]), [[0, 2], [0, 1]]);
  assert.equal(extremesOf(distances, [0.9, 0.1, 0, 0]), null);
});

test("counts come in the model's order, cards in their own", () => {
  const rows = crossRows({ counts: [[1], [2], [3]], residuals: [[0.1], [0.2], [0.3]] }, [2, 0], ["third", "first"]);
  assert.deepEqual(rows, [{ name: "third", counts: [3], residuals: [0.3] }, { name: "first", counts: [1], residuals: [0.1] }]);
  assert.deepEqual([1.9, 2, -5, null].map(residualClass), ["", "more", "fewer strong", ""]);
});

test("quantiles and their places", () => {
  assert.deepEqual(quantilesOf([4, 1, 3, 2, 5]), [1.2, 2, 3, 4, 4.8, 5]);
  assert.equal(quantilesOf([]), null);
  assert.deepEqual(stripPlaces([0, 5, 10, 10, 10, 99], 0, 10), [0, 50, 100, 100, 100]);
});

test("associations by label, and how sure they are", () => {
  const one = { label: "b", measure: "rho", value: -0.9, low: -0.92, high: -0.88, p: 1e-9, n: 1000 };
  assert.deepEqual(byLabel([{ name: "a" }, { name: "b" }], [one]), [[{ name: "b" }, [one]]]);
  assert.equal(measureTold(one), "ρ = −0.90 (95% interval −0.92 to −0.88), corrected p below 0.0001, 1,000 rows");
  assert.equal(measureTold({ ...one, measure: "V", value: 0.5, low: null, high: null, p: 0.04 }), "Cramér's V = 0.50, corrected p = 0.040, 1,000 rows");
});

test("shares and signs", () => {
  assert.deepEqual([0, 0.004, 0.42, 0.999, 1, null].map(shareTold), ["0%", "0.4%", "42%", "99.9%", "100%", ""]);
  assert.deepEqual([-0.9, 0.25, null].map(signedTold), ["−0.90", "0.25", ""]);
});
