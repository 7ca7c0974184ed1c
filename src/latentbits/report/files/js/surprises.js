// How surprising every cell is, worked out a little at a time while the page is idle, and remembered.

import { canAsk, sampledCells, surpriseSteps } from "./asking.js";

/** A one that is less probable than a tenth, or a zero that is more than nine tenths. */
export const SURPRISING = -Math.log(0.1);
// Milliseconds of work between two breaths of the page.
const SURPRISE_SLICE = 10;
// To rank a row, others are looked at for about so long (milliseconds), and at least so many of them.
const RANK_TIME = 15000, RANK_ROWS = 50;

const surpriseManagers = new WeakMap();

/** The surprises of the reading that is shown, shared by all views. */
export function surprisesOf(state) {
  if (!surpriseManagers.has(state)) surpriseManagers.set(state, surpriseManager(state));
  return surpriseManagers.get(state);
}

/** What is known of one reading: `cells` and `totals` by row, `all` rows that can be known, and three lists of rows to work
 * out, one after the other: `wanted` (on the screen), `ranked` (to rank a row), and all if `wantsAll`. */
export function surpriseStore(content, reading) {
  const isAsked = canAsk(content, reading), sampled = sampledCells(reading);
  const store = {
    cells: Array.from({ length: content.nRows }, () => null), totals: new Float64Array(content.nRows).fill(NaN),
    count: 0, spent: 0,
    all: isAsked ? Array.from({ length: content.nRows }, (_, i) => i) : sampled ? sampled.rows : [],
    has: (i) => isAsked || (sampled !== null && sampled.hasRow(i)),
    wanted: [], ranked: [], sample: [], wantsAll: false, next: 0, current: null,
  };
  /** Works on row i until it is done or `until` comes; tells whether it is done. */
  store.work = (i, until) => {
    if (store.cells[i] !== null) return true;
    if (store.current === null || store.current.i !== i) store.current = { i, steps: surpriseSteps(content, reading, i) };
    const { steps } = store.current, started = performance.now();
    let isDone = steps.step();
    while (!isDone && performance.now() < until) isDone = steps.step();
    store.spent += performance.now() - started;
    if (isDone) {
      store.cells[i] = steps.out;
      store.totals[i] = steps.out.reduce((sum, value) => (Number.isNaN(value) ? sum : sum + value), 0);
      store.count += 1;
      store.current = null;
    }
    return isDone;
  };
  return store;
}

/** The next row to work out; -1 if there is none. */
function nextSurprise(store) {
  for (const list of [store.wanted, store.ranked]) {
    while (list.length && store.cells[list[0]] !== null) list.shift();
    if (list.length) return list[0];
  }
  if (!store.wantsAll) return -1;
  while (store.next < store.all.length && store.cells[store.all[store.next]] !== null) store.next += 1;
  return store.next < store.all.length ? store.all[store.next] : -1;
}

/** Rows to rank others among: all, or as many as can be worked out in the time, evenly drawn. */
export function rankSample(all, perRow) {
  const n = Math.min(all.length, Math.max(RANK_ROWS, Math.floor(RANK_TIME / Math.max(1e-3, perRow))));
  return Array.from({ length: n }, (_, k) => all[Math.floor(k * all.length / n)]);
}

/** Rows among `others` that are more surprising than row i, and one: its rank, the first being the most surprising. */
export function surpriseRank(totals, i, others) {
  let rank = 1;
  for (const other of others) if (totals[other] > totals[i]) rank += 1;
  return rank;
}

function surpriseLater(work) {
  if (typeof requestIdleCallback === "function") requestIdleCallback(work, { timeout: 200 });
  else setTimeout(work, 15);
}

function surpriseManager(state) {
  const stores = new Map(), listeners = [];
  let isRunning = false;
  function now() {
    const { reading } = state;
    if (!stores.has(reading)) stores.set(reading, surpriseStore(state.content, reading));
    return stores.get(reading);
  }
  function slice() {
    const store = now(), until = performance.now() + SURPRISE_SLICE, before = store.count;
    let i = nextSurprise(store);
    while (i >= 0 && performance.now() < until) if (store.work(i, until)) i = nextSurprise(store);
    isRunning = false;
    if (store.count > before) for (const listener of listeners) listener();
    if (i >= 0) start();
  }
  function start() {
    if (isRunning) return;
    isRunning = true;
    surpriseLater(slice);
  }
  return {
    /** Whether anything can be known of any row; of row i. */
    isPossible: () => now().all.length > 0,
    has: (i) => now().has(i),
    /** The surprises of row i by page column, or null while they are not known; the sums of rows, NaN while not known. */
    known: (i) => now().cells[i],
    totals: () => now().totals,
    count: () => now().count,
    nAll: () => now().all.length,
    isDone: () => now().count === now().all.length,
    /** Seconds until all are known, about. */
    left: () => (now().all.length - now().count) * now().spent / Math.max(1, now().count) / 1000,
    /** Work a row out at once. */
    of: (i) => {
      const store = now();
      if (store.has(i)) store.work(i, Infinity);
      return store.cells[i];
    },
    want: (rows) => {
      const store = now();
      store.wanted = rows.filter((i) => store.cells[i] === null && store.has(i));
      if (store.wanted.length) start();
    },
    wantAll: () => {
      const store = now();
      store.wantsAll = true;
      if (store.count < store.all.length) start();
    },
    /** The rank of row i among `n` rows, null until those are known; asks for them. */
    rank: (i) => {
      const store = now();
      if (!store.sample.length) store.sample = rankSample(store.all, store.spent / Math.max(1, store.count));
      store.ranked = store.sample.filter((other) => store.cells[other] === null);
      if (store.ranked.length) start();
      return store.ranked.length ? null : { rank: surpriseRank(store.totals, i, store.sample), n: store.sample.length };
    },
    listen: (listener) => { listeners.push(listener); },
  };
}
