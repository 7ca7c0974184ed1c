import assert from "node:assert/strict";
import { test } from "node:test";

import { arrowEnds, arrowOf } from "../../src/latentbits/report/files/js/map_arrow.js";
import { colouringsOf, quantileOf, rangeOf, rowGroupsOf } from "../../src/latentbits/report/files/js/map_colour.js";
import { groupMark } from "../../src/latentbits/report/files/js/map_draw.js";
import {
  inBox, inPolygon, nearestSpot, overlapping, placedWords,
} from "../../src/latentbits/report/files/js/map_geometry.js";
import { barTicks } from "../../src/latentbits/report/files/js/map_legend.js";
import { bloomed, gapOf, refinedPlaces, relaxed, seedOf, spotsOf } from "../../src/latentbits/report/files/js/map_places.js";
import {
  boundedSight, panned, toScreen, toUnit, WHOLE_MAP, zoomedAt,
} from "../../src/latentbits/report/files/js/map_view.js";
import { partTexts, rowSentence } from "../../src/latentbits/report/files/js/map_words.js";
import { regionsByRows } from "../../src/latentbits/report/files/js/map_layout.js";
import { contrastOf, luminanceOf, rampColour, rgbOf, seenOn } from "../../src/latentbits/report/files/js/ramps.js";

const many = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

function nearestOthers(points) {
  return points.map((p, i) => Math.min(...points.map((q, j) => (i === j ? Infinity : far(p, q)))));
}

test("rows on one spot become a sunflower, no two on one place, the first ones in the middle", () => {
  const points = many(100, () => [0.5, 0.5]), out = bloomed(points, 0.01);
  assert.ok(Math.min(...nearestOthers(out)) > 0.006);
  assert.ok(Math.max(...out.map((p) => far(p, [0.5, 0.5]))) < 0.06);
  assert.ok(far(out[0], [0.5, 0.5]) < far(out[99], [0.5, 0.5]));
  assert.deepEqual(out, bloomed(points, 0.01));
  assert.ok(far(seedOf(3, 0.02), [0, 0]) > far(seedOf(0, 0.02), [0, 0]));
});

test("a row alone stays, and spots do not enter each other", () => {
  assert.deepEqual(bloomed([[0.2, 0.3], [0.8, 0.9]], 0.01), [[0.2, 0.3], [0.8, 0.9]]);
  const out = bloomed(many(2000, (i) => [i % 2, 0.5]), 0.02);
  out.forEach((p, i) => assert.ok(Math.abs(p[0] - (i % 2)) < 0.5));
  assert.deepEqual(spotsOf([[0, 0], [1, 1], [0.01, 0]], 0.1).map((s) => s.rows), [[0, 2], [1]]);
});

test("rows that nearly lie on each other are pushed apart, none too far", () => {
  const points = many(60, (i) => [0.5 + 0.004 * Math.sin(i), 0.5 + 0.004 * Math.cos(2 * i)]), gap = 0.01;
  const out = relaxed(points, gap, 0.05), mean = (v) => v.reduce((a, b) => a + b, 0) / v.length;
  assert.ok(mean(nearestOthers(out)) > 3 * mean(nearestOthers(points)));
  out.forEach((p, i) => assert.ok(far(p, points[i]) <= 0.05 + 1e-12));
});

test("places fill the unit square, whatever numbers they were, and other places stand beside them", () => {
  const { points, to, step } = refinedPlaces([[-1, 10], [1, 30], [1, 30], [0, 20]], 2, 0.72);
  for (const p of points) for (const v of p) assert.ok(v >= 0 && v <= 1);
  assert.ok(far(to([0, 20]), points[3]) < 1e-9 && points[1][1] > points[0][1]);
  assert.ok(Math.abs(step([2, 0])[0] - 1) < 0.05 && step([0, 2])[1] < 0.2);
  const alone = refinedPlaces([[3, 3]], 2, 0.72).points;
  assert.ok(alone.flat().every(Number.isFinite));
  assert.deepEqual(refinedPlaces([], 2, 0.72).points, []);
});

test("maps with one axis are strips: the order stays, the height is filled", () => {
  const { points } = refinedPlaces(many(200, (i) => [i % 5, 0]), 1, 0.34);
  for (let spot = 0; spot < 4; spot++) {
    const here = points.filter((_, i) => i % 5 === spot), next = points.filter((_, i) => i % 5 === spot + 1);
    assert.ok(Math.max(...here.map((p) => p[0])) < Math.min(...next.map((p) => p[0])));
    assert.ok(Math.max(...here.map((p) => p[1])) - Math.min(...here.map((p) => p[1])) > 0.8);
  }
  assert.ok(gapOf(5000) < gapOf(50));
});

test("the map is zoomed around a point, moved, and never left", () => {
  const size = [640, 460], place = toUnit(WHOLE_MAP, size, [500, 100]), near = zoomedAt(WHOLE_MAP, size, [500, 100], 4);
  assert.equal(near.zoom, 4);
  assert.ok(far(toScreen(near, size, place), [500, 100]) < 1e-9);
  const moved = panned(near, size, [-30, 12]);
  assert.ok(far(toScreen(moved, size, place), [470, 112]) < 1e-9);
  assert.deepEqual(panned(WHOLE_MAP, size, [50, 50]), WHOLE_MAP);
  assert.deepEqual(zoomedAt(near, size, [0, 0], 0.01), WHOLE_MAP);
  assert.equal(boundedSight({ zoom: 1e9, x: 0, y: 2 }).zoom, 60);
  assert.ok(toScreen(WHOLE_MAP, size, [0, 1])[1] < toScreen(WHOLE_MAP, size, [0, 0])[1]);
});

test("what lies within a lasso, also one with a bay, and within a box", () => {
  const bay = [[0, 0], [10, 0], [10, 10], [5, 3], [0, 10]];
  const found = [[5, 2], [5, 8], [1, 5], [9, 5], [-1, 5], [11, 5]].map((p) => inPolygon(bay, p));
  assert.deepEqual(found, [true, false, true, true, false, false]);
  assert.equal(inPolygon([[0, 0]], [0, 0]), false);
  assert.deepEqual([[3, 3], [1, 4], [0, 3], [3, 6]].map((p) => inBox([1, 5], [4, 2], p)), [true, true, false, false]);
  const spots = [[0, 0], [5, 5]];
  assert.deepEqual([nearestSpot(spots, [4, 4], 3), nearestSpot(spots, [4, 4], 1), nearestSpot([], [0, 0], 9)], [1, -1, -1]);
});

test("words are placed where they have room, the first first, within the canvas", () => {
  const word = (x, y, text, width = 60) => ({ at: [x, y], lines: [text, text], widths: [width, width] });
  const out = placedWords([word(100, 100, "a"), word(102, 101, "b"), word(2, 2, "c"), word(-50, 50, "out")], [200, 200]);
  assert.deepEqual(out.map((w) => w.lines[0].text), ["a", "c"]);
  assert.equal(out[0].lines.length, 2);
  const corner = out[1];
  assert.ok(corner.x >= 30 && corner.lines[0].y >= 10);
  const crowd = placedWords(many(50, (i) => word(100 + i % 3, 100, "w" + i)), [200, 200]);
  assert.ok(crowd.length < 8 && crowd.length >= 1);
  assert.deepEqual(placedWords([word(100, 100, "a")], [200, 200], [{ left: 0, right: 200, top: 0, bottom: 200 }]), []);
  assert.equal(overlapping({ left: 0, right: 2, top: 0, bottom: 2 }, { left: 2, right: 3, top: 0, bottom: 2 }), false);
});

test("regions without rows have no words, those with most rows come first", () => {
  const regions = [{ x: 0, y: 0, words: ["few"] }, { x: 1, y: 1, words: ["many"] }, { x: 9, y: 9, words: ["none"] }];
  const out = regionsByRows(regions, (p) => p, [[0, 0], [1, 1], [1, 0.9]]);
  assert.deepEqual(out.map((r) => [r.words[0], r.n]), [["many", 2], ["few", 1]]);
  assert.deepEqual(regionsByRows([], (p) => p, [[0, 0]]), []);
});

/** Lightness as CIE has it, 0 to 100. */
function lightness(hex) {
  const y = luminanceOf(rgbOf(hex));
  return y > 216 / 24389 ? 116 * Math.cbrt(y) - 16 : y * 24389 / 27;
}

test("the ramp changes its lightness evenly, and is seen on both papers", () => {
  for (const [dark, paper, sign] of [[false, "#ffffff", -1], [true, "#14181d", 1]]) {
    const steps = many(21, (s) => lightness(rampColour(s / 20, dark)));
    const rises = steps.slice(1).map((v, s) => sign * (v - steps[s]));
    assert.ok(Math.min(...rises) > 1 && Math.max(...rises) < 5, rises.join(" "));
    for (let s = 0; s <= 20; s++) assert.ok(contrastOf(rgbOf(rampColour(s / 20, dark)), rgbOf(paper)) > 2);
  }
  assert.equal(rampColour(-1, false), rampColour(0, false));
  assert.equal(rampColour(2, true), rampColour(1, true));
});

test("colours are made to be seen", () => {
  assert.equal(seenOn("#0072b2", "#ffffff"), "#0072b2");
  assert.ok(contrastOf(rgbOf(seenOn("#6a3d9a", "#14181d")), rgbOf("#14181d")) >= 2.4);
  assert.ok(contrastOf(rgbOf(seenOn("#fff", "#fff")), rgbOf("#fff")) >= 2.4);
});

/** A state of five rows under a reading of this kind. */
function stateOfKind(kind, changes = {}) {
  const shares = [[0.8, 0.2], [0.3, 0.7], [0.05, 0.95], [0.6, 0.6], [0.1, 0.1]];
  const reading = {
    kind, noun: "part", nouns: "parts", parts: [{}, {}], nParts: 2, associations: [],
    hasMain: kind !== "scales" && kind !== "causes", main: (i) => (i === 4 ? -1 : i % 2),
    value: (i, k) => (kind === "scales" ? [-1.23, 0.01][k] : shares[i][k]),
  };
  const site = {
    name: "site", is_number: false, values: ["a", "", "other (9 values)"], n_values: 11,
    code: (i) => [0, 1, 2, -1, 0][i], number: () => NaN,
  };
  const ages = [10, 20, 30, 40, NaN];
  const age = { name: "age", is_number: true, values: [], n_values: 0, code: () => -1, number: (i) => ages[i] };
  const content = {
    nRows: 5, nColumns: 2, rowName: (i) => "r" + i, isOne: (i, j) => i > j, isBlank: (i) => i === 4,
    labels: [site, age], readings: [reading], map: { reading: 0 }, ...changes,
  };
  return { content, reading, nameOf: (k) => ["first", "second"][k] };
}

test("parts, labels and totals to colour by, as the kind of reading has them", () => {
  const keys = (kind) => colouringsOf(stateOfKind(kind)).map((one) => one.key);
  assert.deepEqual(keys("classes"), ["part", "label:0", "label:1", "total"]);
  assert.deepEqual(keys("scales"), ["value:0", "value:1", "label:0", "label:1", "total"]);
  assert.deepEqual(keys("causes"), ["value:0", "value:1", "label:0", "label:1", "total"]);
  assert.deepEqual(keys("shares"), ["part", "value:0", "value:1", "label:0", "label:1", "total"]);
  assert.deepEqual(colouringsOf(stateOfKind("causes"))[0].range, [0, 1]);
  assert.deepEqual(colouringsOf(stateOfKind("scales")).map((one) => one.name).slice(0, 2), ["first", "second"]);
  const total = colouringsOf(stateOfKind("scales")).at(-1);
  assert.deepEqual(many(5, total.number), [0, 0.5, 1, 1, NaN]);
});

test("twelve groups have colours of their own, the rest and what is not known are grey and small", () => {
  const site = colouringsOf(stateOfKind("classes"))[1];
  assert.deepEqual([site.own, site.values], [2, ["a", "(blank)", "other (9 values)"]]);
  const marks = [-1, 0, 1, 2].map((k) => groupMark(site, k, "#ffffff", "#57606a"));
  assert.deepEqual(marks.map((m) => m.shape), ["ring", "circle", "square", "circle"]);
  assert.deepEqual(marks.map((m) => m.small), [true, false, false, true]);
  assert.equal(marks[3].colour, "#57606a");
  const twenty = { ...site, values: many(20, String), own: 12 };
  assert.equal(groupMark(twenty, 11, "#ffffff", "#57606a").small, false);
  assert.equal(groupMark(twenty, 12, "#ffffff", "#57606a").small, true);
});

test("groups that can be selected: words, halves of chances, quarters of numbers, and what is not known", () => {
  const state = stateOfKind("causes"), all = colouringsOf(state), rows = (group) => many(5, (i) => i).filter(group.test);
  const find = (key) => rowGroupsOf(all.find((one) => one.key === key), 5);
  assert.deepEqual(find("label:0").map((g) => g.text), ["a", "(blank)", "other (9 values)", "not known"]);
  assert.deepEqual(find("label:0").map(rows), [[0, 4], [1], [2], [3]]);
  assert.deepEqual(find("value:0").map((g) => [g.text, rows(g)]), [["50% or more", [0, 3]], ["below 50%", [1, 2, 4]]]);
  const quarters = find("label:1");
  assert.deepEqual(quarters.map(rows), [[0], [1], [2], [3], [4]]);
  assert.equal(quarters[0].text, "lowest quarter (up to 17.5)");
});

test("the range of a ramp leaves out a few far ones", () => {
  const even = Float64Array.from(many(101, (i) => i)), tailed = Float64Array.from([...many(100, (i) => i), 1e6]);
  assert.deepEqual(rangeOf(even), [0, 100]);
  assert.deepEqual(rangeOf(tailed), [2, 98]);
  assert.deepEqual(rangeOf(Float64Array.from([7, 7])), [6.5, 7.5]);
  assert.deepEqual(rangeOf(new Float64Array(0)), [0, 1]);
  assert.equal(quantileOf(even, 0.5), 50);
});

test("ticks of the legend are round, full numbers at their places", () => {
  const texts = (colouring) => barTicks(colouring).map((tick) => tick.text);
  assert.deepEqual(texts({ key: "label:0", range: [0, 2e6] }), ["0", "500,000", "1,000,000", "1,500,000", "2,000,000"]);
  assert.deepEqual(texts({ key: "value:0", share: true, range: [0, 1] }), ["0%", "25%", "50%", "75%", "100%"]);
  for (const { at } of barTicks({ key: "label:0", range: [3.3, 17.2] })) assert.ok(at >= 0 && at <= 1);
});

test("a row in words, by kind of reading", () => {
  assert.deepEqual(partTexts(stateOfKind("scales"), 0), ["first −1.2", "second 0.0"]);
  assert.deepEqual(partTexts(stateOfKind("classes"), 0), ["first 80%"]);
  assert.deepEqual(partTexts(stateOfKind("classes"), 4), []);
  assert.deepEqual(partTexts(stateOfKind("causes"), 1), ["second 70%"]);
  assert.deepEqual(partTexts(stateOfKind("causes"), 4), ["no part is likely on"]);
  assert.deepEqual(partTexts(stateOfKind("shares"), 2), ["second 95%"]);
  assert.equal(rowSentence(stateOfKind("scales"), 1), "r1, first −1.2, second 0.0, site: (blank), age: 20.");
});

test("the arrow is of the label that the map is coloured by, or of the one that goes with places most", () => {
  const along = (label, value, stated, direction) => ({ label, of: "map", value, stated, details: { direction } });
  const associations = [along("age", 0.3, false, [1, 0]), along("rain", 0.5, true, [0, 1]), along("heat", 0.7, true, [1, 1])];
  const labels = ["age", "rain", "heat"].map((name) => ({ name }));
  const content = { map: { reading: 0 }, readings: [{ associations }], labels };
  assert.deepEqual(["part", "label:0", "label:1"].map((key) => arrowOf(content, key).name), ["heat", "age", "rain"]);
  assert.equal(arrowOf({ ...content, map: { reading: null } }, "part"), null);
  assert.equal(arrowOf({ ...content, readings: [{ associations: [] }] }, "part"), null);
  const { from, to } = arrowEnds([0, 1], [200, 100], 40);
  assert.deepEqual([from, to], [[100, 70], [100, 30]]);
  assert.equal(arrowEnds([0, 0], [200, 100], 40), null);
});
