// Rows with scores on a few continuous scales: logistic PCA and the latent trait model, log odds = offset + loadings · scores.
//
// Scores and posteriors are found by the steps of the library, with the same starts and the same ends.
import { inferChance, inferFactor, inferInverse, inferSoftPlus, inferSolve } from "./inference_tools.js";
import { inferRemembered } from "./inference_remembered.js";

/** A Newton step of a row with a smaller squared decrement is taken unseen: what it gains drowns in rounding. */
const INFER_SURE = 1e-9;
/** Halvings of a step of a trait's posterior; a loss below this part of the value is rounding. */
const INFER_HALVINGS = 8, INFER_UNSEEN = 1e-12;

/** Log odds of column `j`. */
function inferOdds(p, scores, j) {
  let odds = p.offset[j];
  for (let k = 0; k < p.n_parts; k++) odds += p.loadings[k * p.n_columns + j] * scores[k];
  return odds;
}

/** Parts of the components in the size of a cell's log odds (K). */
function inferSizes(p, scores, j) {
  const out = Float64Array.from({ length: p.n_parts }, (_, k) => Math.abs(scores[k] * p.loadings[k * p.n_columns + j]));
  const total = out.reduce((sum, size) => sum + size, 0);
  return out.map((size) => (total > 0 ? size / total : 1 / p.n_parts));
}

/** The cells of a row without one of them. */
function inferHeld(cells, j) {
  const held = Array.from(cells);
  held[j] = -1;
  return held;
}

/** The best scores of a row for its known cells, by damped Newton steps from `start`. */
function inferScoreFit(p, cells, start) {
  const nParts = p.n_parts, nColumns = p.n_columns, known = Array.from(p.varying).filter((j) => cells[j] !== -1);
  const scores = start.slice(), trial = start.slice(), step = new Float64Array(nParts), slope = new Float64Array(nParts);
  const residual = new Float64Array(known.length), curve = new Float64Array(known.length);
  const hessian = new Float64Array(nParts * nParts);
  let value = -Infinity, length = 1, decrement = Infinity;
  for (let look = 0; look < p.most_steps; look++) {
    // 1. Look at the trial; shorten the step until it does not lose.
    let now = 0;
    known.forEach((j, c) => {
      const odds = inferOdds(p, trial, j), small = Math.exp(-Math.abs(odds)), inverse = 1 / (1 + small);
      residual[c] = (cells[j] === 1 ? 1 : 0) - (odds >= 0 ? inverse : small * inverse);
      curve[c] = small * inverse * inverse;
      now += (cells[j] === 1 ? odds : 0) - Math.max(odds, 0) - Math.log1p(small);
    });
    for (const score of trial) now -= 0.5 * p.ridge * score * score;
    if (look > 0 && now < value && decrement > INFER_SURE && length > 1e-12) {
      length *= 0.5;
      for (let k = 0; k < nParts; k++) trial[k] = scores[k] + length * step[k];
      continue;
    }
    // 2. Take it, and find the next Newton step unless this is the place.
    value = now;
    scores.set(trial);
    if (decrement < p.tol) break;
    for (let k = 0; k < nParts; k++) {
      const mine = k * nColumns;
      slope[k] = -p.ridge * scores[k];
      known.forEach((j, c) => { slope[k] += residual[c] * p.loadings[mine + j]; });
      for (let m = 0; m <= k; m++) {
        let sum = k === m ? p.ridge : 0;
        known.forEach((j, c) => { sum += curve[c] * p.loadings[mine + j] * p.loadings[m * nColumns + j]; });
        hessian[k * nParts + m] = sum;
      }
    }
    step.set(slope);
    inferSolve(hessian, nParts, nParts, step);
    decrement = 0;
    length = 1;
    for (let k = 0; k < nParts; k++) {
      decrement += slope[k] * step[k];
      trial[k] = scores[k] + step[k];
    }
  }
  return scores;
}

/** Logistic PCA; cells are filled at the best scores, or by the mean over remembered rows. */
export function inferScores(p) {
  const most = p.clip > 0 ? Math.log1p(-p.clip) - Math.log(p.clip) : Infinity;
  const remembered = p.fill_in !== "posterior" ? null : inferRemembered(p, (scores, slope, off) => {
    for (let j = 0; j < p.n_columns; j++) {
      slope[j] = Math.max(-most, Math.min(most, inferOdds(p, scores, j)));
      off[j] = -inferSoftPlus(slope[j]);
    }
  });
  function mean(weights, j) {
    let sum = 0;
    for (let r = 0; r < weights.length; r++) sum += weights[r] * inferChance(inferOdds(p, remembered.values(r), j));
    return sum;
  }
  return {
    look(cells) {
      const parts = inferScoreFit(p, cells, new Float64Array(p.n_parts));
      const joint = remembered === null ? null : remembered.look(cells);
      return { cells, parts, joint, weights: remembered === null ? null : remembered.weights(joint, cells, -1) };
    },
    answer({ parts, weights }) {
      const chance = (_, j) => (weights === null ? inferChance(inferOdds(p, parts, j)) : mean(weights, j));
      return { parts, filled: Float64Array.from({ length: p.n_columns }, chance) };
    },
    why({ cells, parts, joint }, j) {
      const shares = inferSizes(p, parts, j);
      if (remembered !== null) return { probability: mean(remembered.weights(joint, cells, j), j), shares };
      const scores = cells[j] === -1 ? parts : inferScoreFit(p, inferHeld(cells, j), parts);
      return { probability: inferChance(inferOdds(p, scores, j)), shares };
    },
  };
}

/** What the rounds of a trait's posterior need: loadings by varying column (A, K), offsets, and which columns are known. */
function inferTraitTable(p) {
  const nParts = p.n_parts, varying = Array.from(p.varying);
  const loadings = new Float64Array(varying.length * nParts), offset = Float64Array.from(varying, (j) => p.offset[j]);
  varying.forEach((j, a) => { for (let k = 0; k < nParts; k++) loadings[a * nParts + k] = p.loadings[k * p.n_columns + j]; });
  /** The known columns that vary, and half the signed sum of loadings and offset over them (K + 1). */
  function tell(cells) {
    const known = [], added = new Float64Array(nParts + 1);
    varying.forEach((j, a) => {
      if (cells[j] === -1) return;
      const half = cells[j] === 1 ? 0.5 : -0.5;
      known.push(a);
      for (let k = 0; k < nParts; k++) added[k] += half * loadings[a * nParts + k];
      added[nParts] += half * offset[a];
    });
    return { known, added };
  }
  return { loadings, offset, tell };
}

/** v' C v of a column, `v` standing at place `at` of `loadings`. */
function inferSpread(loadings, at, covariance, n) {
  let sum = 0;
  for (let k = 0; k < n; k++) {
    const v = loadings[at + k];
    let mine = 0;
    for (let m = 0; m < n; m++) mine += covariance[k * n + m] * loadings[at + m];
    sum += v * mine;
  }
  return sum;
}

/** Add `weight` v v' of a column to the lower half of `matrix` (n, n). */
function inferAddSquare(loadings, at, weight, matrix, n) {
  for (let k = 0; k < n; k++) {
    const scaled = weight * loadings[at + k];
    for (let m = 0; m <= k; m++) matrix[k * n + m] += scaled * loadings[at + m];
  }
}

/** What a known cell of a row adds to its bound, slope and bend: means over the normal of its log odds. */
function inferGaussianCell(p, table, at, { mean, covariance }, sums) {
  const n = p.n_parts, { points, point_weights: weights } = p;
  let middle = table.offset[at], log = 0, slope = 0, bend = 0;
  for (let k = 0; k < n; k++) middle += table.loadings[at * n + k] * mean[k];
  const spread = Math.sqrt(Math.max(inferSpread(table.loadings, at * n, covariance, n), 0));
  for (let q = 0; q < points.length; q++) {
    const odds = middle + points[q] * spread, size = Math.abs(odds), small = Math.exp(-size), share = 1 / (1 + small);
    const half = 0.5 * share * (1 - small), weight = weights[q];
    log += weight * (0.5 * size + Math.log1p(small));
    slope += weight * (odds >= 0 ? half : -half);
    bend += weight * share * share * small;
  }
  sums.log = log;
  sums.slope = slope;
  sums.bend = bend;
}

/** A row of the bound of the best Gaussian at a posterior: its value, and slope and bend of every known cell. */
function inferGaussianCells(p, table, told, state) {
  const n = p.n_parts, { mean, covariance } = state, { known, added } = told, sums = { log: 0, slope: 0, bend: 0 };
  const slopes = new Float64Array(known.length), bends = new Float64Array(known.length);
  let value = added[n], logs = 0;
  for (let k = 0; k < n; k++) value += added[k] * mean[k];
  for (let c = 0; c < known.length; c++) {
    inferGaussianCell(p, table, known[c], state, sums);
    slopes[c] = sums.slope;
    bends[c] = sums.bend;
    logs += sums.log;
  }
  // Less the divergence of the posterior from N(0, I).
  value += 0.5 * n + inferFactor(covariance, n, new Float64Array(n * n)) - logs;
  for (let k = 0; k < n; k++) value -= 0.5 * (covariance[k * n + k] + mean[k] * mean[k]);
  return { value, slopes, bends };
}

/** N(0, I). */
function inferPrior(n) {
  const covariance = new Float64Array(n * n);
  for (let k = 0; k < n; k++) covariance[k * n + k] = 1;
  return { mean: new Float64Array(n), covariance };
}

/** The posterior that slopes and bends ask for. */
function inferGaussianAhead(p, table, told, state, now) {
  const n = p.n_parts, matrix = new Float64Array(n * n), slope = new Float64Array(n), mean = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    matrix[k * n + k] = 1;
    slope[k] = told.added[k] - state.mean[k];
  }
  told.known.forEach((a, c) => {
    inferAddSquare(table.loadings, a * n, now.bends[c], matrix, n);
    for (let k = 0; k < n; k++) slope[k] -= now.slopes[c] * table.loadings[a * n + k];
  });
  const covariance = new Float64Array(n * n);
  inferInverse(matrix, n, new Float64Array(n * n), covariance);
  for (let k = 0; k < n; k++) {
    mean[k] = state.mean[k];
    for (let m = 0; m < n; m++) mean[k] += covariance[k * n + m] * slope[m];
  }
  return { mean, covariance };
}

/** The best Gaussian posterior of a row, from the prior on. */
function inferGaussianPosterior(p, table, cells) {
  const told = table.tell(cells);
  let state = inferPrior(p.n_parts);
  let now = inferGaussianCells(p, table, told, state);
  for (let round = 0; round < p.rounds; round++) {
    const before = now.value, floor = before - INFER_UNSEEN * (1 + Math.abs(before));
    const ahead = inferGaussianAhead(p, table, told, state, now), from = state;
    for (let halving = 0, part = 1; halving < INFER_HALVINGS; halving++, part *= 0.5) {
      const along = (name) => from[name].map((value, i) => value + part * (ahead[name][i] - value));
      const trial = { mean: along("mean"), covariance: along("covariance") };
      const found = inferGaussianCells(p, table, told, trial);
      if (!(found.value >= floor)) continue;
      state = trial;
      now = found;
      break;
    }
    if (!(now.value - before >= p.tol)) break;
  }
  return state;
}

/** The posterior of a row under the bound of Jaakkola and Jordan: curvatures, then the posterior there, in turn. */
function inferParabolaPosterior(p, table, cells) {
  const n = p.n_parts, { known, added } = table.tell(cells);
  let mean = new Float64Array(n), covariance = new Float64Array(n * n), value = -Infinity;
  for (let round = 0; round < p.rounds; round++) {
    const matrix = new Float64Array(n * n), right = added.slice(0, n);
    let now = added[n];
    for (let k = 0; k < n; k++) matrix[k * n + k] = 1;
    for (const a of known) {
      const at = a * n, offset = table.offset[a];
      let middle = offset;
      for (let k = 0; k < n; k++) middle += table.loadings[at + k] * mean[k];
      const square = Math.max(inferSpread(table.loadings, at, covariance, n) + middle * middle, 0);
      const spread = Math.sqrt(square), small = Math.exp(-spread);
      const bend = spread > 1e-2 ? 0.5 * (1 - small) / ((1 + small) * spread) : 0.25 - square * (1 / 48 - square / 480);
      now += 0.5 * (bend * (square - offset * offset) - spread) - Math.log1p(small);
      inferAddSquare(table.loadings, at, bend, matrix, n);
      for (let k = 0; k < n; k++) right[k] -= bend * offset * table.loadings[at + k];
    }
    covariance = new Float64Array(n * n);
    now -= inferInverse(matrix, n, new Float64Array(n * n), covariance);
    mean = new Float64Array(n);
    for (let k = 0; k < n; k++) {
      for (let m = 0; m < n; m++) mean[k] += covariance[k * n + m] * right[m];
      now += 0.5 * right[k] * mean[k];
    }
    const gained = now - value;
    value = now;
    if (!(gained >= p.tol)) break;
  }
  return { mean, covariance };
}

/** The latent trait model under either bound; cells are filled by the mean over the posterior of the scores. */
export function inferTraits(p) {
  const table = inferTraitTable(p), n = p.n_parts;
  const posterior = p.bound === "gaussian" ? inferGaussianPosterior : inferParabolaPosterior;
  const spread = new Float64Array(n);
  function chance({ mean, covariance }, j) {
    for (let k = 0; k < n; k++) spread[k] = p.loadings[k * p.n_columns + j];
    const middle = inferOdds(p, mean, j), width = Math.sqrt(Math.max(inferSpread(spread, 0, covariance, n), 0));
    let sum = 0;
    for (let q = 0; q < p.mean_points.length; q++) sum += p.mean_weights[q] * inferChance(middle + p.mean_points[q] * width);
    return sum;
  }
  return {
    look: (cells) => ({ cells, state: posterior(p, table, cells) }),
    answer: ({ state }) => ({ parts: state.mean, filled: Float64Array.from({ length: p.n_columns }, (_, j) => chance(state, j)) }),
    why({ cells, state }, j) {
      const without = cells[j] === -1 ? state : posterior(p, table, inferHeld(cells, j));
      return { probability: chance(without, j), shares: inferSizes(p, state.mean, j) };
    },
  };
}
