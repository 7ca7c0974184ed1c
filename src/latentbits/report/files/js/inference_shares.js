// Aspect Bernoulli: memberships of a row on the simplex, every cell with a cause of its own.
//
// The best memberships are found by the steps of the library (EM, then projected Newton steps, with the same start and the
// same tolerance), because they are the best only up to that tolerance.  Cold columns are those whose zeros the library sums
// by polynomials.
import { INFER_EDGE, inferClip, inferSolve } from "./inference_tools.js";
import { inferRemembered } from "./inference_remembered.js";

/** Probabilities are kept this far from 0 where they are divided by; memberships of starts; steps; EM steps before Newton. */
const INFER_CELL_EDGE = 1e-12, INFER_FLOOR = 1e-10, INFER_FOLD_STEPS = 100, INFER_FIRST_EM = 3;
const INFER_TINY = 2.2250738585072014e-308;

/** Memberships away from zero. */
function inferFloored(shares) {
  const out = shares.map((share) => Math.max(share, INFER_FLOOR));
  return inferNormalised(out);
}

/** Divided by their sum, in place. */
function inferNormalised(shares) {
  let total = 0;
  for (const share of shares) total += share;
  for (let k = 0; k < shares.length; k++) shares[k] /= total;
  return shares;
}

/** The log-likelihood of rows as a function of memberships: value, gains (its slopes), curvature. */
function inferFoldTable(p) {
  const nParts = p.n_parts, { probs, hot, cold, cold_inverse: inverses, cold_logarithm: logarithms } = p;
  const at = (k, j) => probs[k * p.n_columns + j];
  // What the zeros of cold columns bend, by the constants of their polynomials.
  const bent = new Float64Array(nParts * nParts);
  for (let c = 0; c < cold.length; c++) {
    const square = inverses[3 * c] ** 2;
    for (let a = 0; a < nParts; a++) {
      for (let b = 0; b < nParts; b++) bent[a * nParts + b] += (1 - at(a, cold[c])) * (1 - at(b, cold[c])) * square;
    }
  }
  /** What every membership gives to the likelihood of the hot cells (K, H); unknown ones are as likely under all. */
  function layOut(cells) {
    const out = new Float64Array(nParts * hot.length);
    for (let k = 0; k < nParts; k++) {
      for (let h = 0; h < hot.length; h++) {
        const on = at(k, hot[h]), cell = cells[hot[h]];
        out[k * hot.length + h] = cell === 1 ? on : cell === 0 ? 1 - on : 1;
      }
    }
    return out;
  }
  function look(cells, laid, shares, inverse, gains) {
    const n = hot.length;
    inverse.fill(0);
    for (let k = 0; k < nParts; k++) {
      if (shares[k] > 0) for (let h = 0; h < n; h++) inverse[h] += shares[k] * laid[k * n + h];
    }
    let value = 0, product = 1;
    for (let h = 0; h < n; h++) {
      inverse[h] = Math.max(inverse[h], INFER_CELL_EDGE);
      product *= inverse[h];
      if (product < 1e-200) {
        value += Math.log(product);
        product = 1;
      }
      inverse[h] = 1 / inverse[h];
    }
    value += Math.log(product);
    for (let k = 0; k < nParts; k++) {
      let sum = 0;
      for (let h = 0; h < n; h++) sum += laid[k * n + h] * inverse[h];
      gains[k] = sum;
    }
    for (let c = 0; c < cold.length; c++) value += lookCold(c, cells[cold[c]], shares, gains);
    return value;
  }
  function lookCold(c, cell, shares, gains) {
    if (cell === -1) return 0;
    let on = 0;
    for (let k = 0; k < nParts; k++) on += at(k, cold[c]) * shares[k];
    if (cell === 1) {
      on = Math.max(on, INFER_CELL_EDGE);
      for (let k = 0; k < nParts; k++) gains[k] += at(k, cold[c]) / on;
      return Math.log(on);
    }
    const slope = inverses[3 * c] + on * (inverses[3 * c + 1] + on * inverses[3 * c + 2]), log = 4 * c;
    for (let k = 0; k < nParts; k++) gains[k] += (1 - at(k, cold[c])) * slope;
    return logarithms[log] + on * (logarithms[log + 1] + on * (logarithms[log + 2] + on * logarithms[log + 3]));
  }
  /** Fill the lower half of `hessian` (K, K): minus the second derivatives by the free memberships. */
  function bend(cells, laid, shares, inverse, free, hessian) {
    const n = hot.length, scaled = free.map((k) => inverse.map((value, h) => laid[k * n + h] * value));
    const ones = [];
    for (const j of cold) {
      if (cells[j] !== 1) continue;
      let on = 0;
      for (let k = 0; k < nParts; k++) on += at(k, j) * shares[k];
      on = Math.max(on, INFER_CELL_EDGE);
      ones.push(free.map((k) => at(k, j) / on));
    }
    for (let a = 0; a < free.length; a++) {
      const mine = scaled[a];
      for (let b = 0; b <= a; b++) {
        const other = scaled[b];
        let sum = 0;
        for (let h = 0; h < n; h++) sum += mine[h] * other[h];
        sum += bent[free[a] * nParts + free[b]];
        for (const parts of ones) sum += parts[a] * parts[b];
        hessian[a * nParts + b] = sum;
      }
    }
  }
  const isActive = new Uint8Array(p.n_columns);
  for (const j of [...hot, ...cold]) isActive[j] = 1;
  /** Whether some columns vary and none of them is known: the row says nothing. */
  const isBlank = (cells) => hot.length + cold.length > 0 && cells.every((cell, j) => cell === -1 || !isActive[j]);
  return { layOut, look, bend, isActive, isBlank };
}

/** The projected Newton step for min -f/T + sum s, s >= 0; fills `step` (K), returns the slope of f along it. */
function inferFoldStep(shares, gains, total, prior, free, hessian, step) {
  const nParts = shares.length, n = free.length;
  const reduced = new Float64Array(n * n), vector = new Float64Array(n);
  let largest = 0, ridge = 1e-12, slope = 0;
  step.fill(0);
  for (let a = 0; a < n; a++) {
    if (prior > 0) hessian[a * nParts + a] += prior / Math.max(shares[free[a]], 1e-300) ** 2;
    largest = Math.max(largest, hessian[a * nParts + a]);
  }
  for (;;) {
    for (let a = 0; a < n; a++) {
      vector[a] = (gains[free[a]] - total) / total;
      for (let b = 0; b <= a; b++) reduced[a * n + b] = hessian[a * nParts + b] / total;
      reduced[a * n + a] += ridge * (1 + largest / total);
    }
    if (inferSolve(reduced, n, n, vector) || ridge > 1) break;
    ridge *= 100;
  }
  for (let a = 0; a < n; a++) {
    step[free[a]] = vector[a];
    slope += vector[a] * (gains[free[a]] - total);
  }
  return slope;
}

/** The memberships of a row (K), from `start`. */
function inferFold(p, table, cells, start) {
  const nParts = p.n_parts, prior = p.prior, laid = table.layOut(cells), inverse = new Float64Array(p.hot.length);
  const gains = new Float64Array(nParts), hessian = new Float64Array(nParts * nParts), step = new Float64Array(nParts);
  const shares = start.slice(), trial = start.slice(), least = prior > 0 ? 1e-14 : 0;
  let value = -Infinity, gap = Infinity, slope = 0, length = 0, emSteps = INFER_FIRST_EM, nSteps = 0;
  while (nSteps < INFER_FOLD_STEPS) {
    // 1. Value at the trial, and how far at most it is from the best.
    let now = table.look(cells, laid, trial, inverse, gains), total = 0, most = -Infinity;
    for (let k = 0; k < nParts; k++) {
      if (prior > 0) {
        now += prior * Math.log(Math.max(trial[k], 1e-300));
        gains[k] += prior / Math.max(trial[k], 1e-300);
      }
      total += gains[k] * trial[k];
      most = Math.max(most, gains[k]);
    }
    const newGap = Math.max(most - total, 0);
    // 2. A Newton step that loses is halved; near the top, where gains drown in rounding, the gap tells.
    const level = now >= value - 1e-12 * (1 + Math.abs(value)) && newGap < gap;
    if (length > 0 && !level && now < value + 1e-4 * length * slope && (length > 1e-3 || now < value)) {
      length *= 0.5;
      if (length <= 1e-10) { // back to the last good point, by EM from here on
        emSteps = INFER_FOLD_STEPS;
        length = 0;
      }
      for (let k = 0; k < nParts; k++) trial[k] = Math.max(shares[k] + length * step[k], length > 0 ? least : 1e-10);
      inferNormalised(trial);
      continue;
    }
    // 3. It is taken.
    nSteps += 1;
    shares.set(trial);
    value = now;
    gap = newGap;
    if (gap <= p.fold_tol) break;
    // 4. The next one.
    if (emSteps > 0) {
      emSteps -= 1;
      length = 0;
      for (let k = 0; k < nParts; k++) trial[k] = shares[k] * gains[k];
    } else {
      const free = [];
      for (let k = 0; k < nParts; k++) if (shares[k] > 1e-12 || gains[k] > total) free.push(k);
      table.bend(cells, laid, shares, inverse, free, hessian);
      slope = inferFoldStep(shares, gains, total, prior, free, hessian, step);
      length = 1;
      for (let k = 0; k < nParts; k++) trial[k] = Math.max(shares[k] + step[k], least);
    }
    inferNormalised(trial);
  }
  return shares;
}

/** Chance that a zero is a one that was lost to a phantom, at memberships `own` and probabilities `on` (K) of the cell. */
function inferLost(own, on, phantoms) {
  const shares = inferFloored(own);
  let one = 0, content = 0, kept = 0, explained = 0;
  for (let k = 0; k < on.length; k++) {
    one += shares[k] * on[k];
    if (phantoms.includes(k)) explained += shares[k] * (1 - on[k]);
    else {
      content += shares[k];
      kept += shares[k] * on[k];
    }
  }
  explained /= Math.max(1 - one, INFER_TINY);
  return explained * (content > 0 ? kept / content : 0);
}

/** Aspect Bernoulli; cells are filled at the best memberships, or at their mean over remembered rows. */
export function inferAspects(p) {
  const table = inferFoldTable(p), nParts = p.n_parts, nColumns = p.n_columns;
  const even = new Float64Array(nParts).fill(1 / nParts);
  const edge = Math.max(p.clip ?? 0, INFER_CELL_EDGE);
  const remembered = p.fill_in !== "posterior" ? null : inferRemembered(p, (shares, slope, off) => {
    for (let j = 0; j < nColumns; j++) {
      let on = 0;
      for (let k = 0; k < nParts; k++) on += shares[k] * p.probs[k * nColumns + j];
      on = inferClip(on, edge, 1 - edge);
      off[j] = Math.log1p(-on);
      slope[j] = Math.log(on) - off[j];
    }
  });
  const fold = (cells, start) => (table.isBlank(cells) ? even.slice() : inferFold(p, table, cells, start));
  function mean(joint, cells, j) {
    const weights = remembered.weights(joint, cells, j), out = new Float64Array(nParts);
    weights.forEach((weight, r) => remembered.values(r).forEach((share, k) => { out[k] += weight * share; }));
    return out;
  }
  const chance = (shares, j) => {
    let on = 0;
    for (let k = 0; k < nParts; k++) on += shares[k] * p.probs[k * nColumns + j];
    return inferClip(on, INFER_EDGE, 1 - INFER_EDGE);
  };
  return {
    look(cells) {
      const parts = fold(cells, even);
      const joint = remembered === null ? null : remembered.look(cells);
      return { cells, parts, joint, shares: remembered === null ? parts : mean(joint, cells, -1) };
    },
    answer: ({ parts, shares }) => ({ parts, filled: Float64Array.from({ length: nColumns }, (_, j) => chance(shares, j)) }),
    why({ cells, joint, shares }, j) {
      const on = Float64Array.from({ length: nParts }, (_, k) => p.probs[k * nColumns + j]);
      const parts = shares.map((share, k) => share * Math.max(cells[j] === -1 ? 1 : cells[j] === 1 ? on[k] : 1 - on[k], INFER_TINY));
      const total = Math.max(parts.reduce((sum, part) => sum + part, 0), INFER_TINY);
      let own = shares;
      if (cells[j] !== -1 && table.isActive[j]) {
        if (remembered !== null) own = mean(joint, cells, j);
        else {
          const held = Array.from(cells);
          held[j] = -1;
          own = fold(held, inferFloored(shares));
        }
      }
      const out = { probability: chance(own, j), shares: parts.map((part) => part / total) };
      if (p.phantoms.length) out.missing = cells[j] === 0 ? inferLost(shares, on, p.phantoms) : NaN;
      return out;
    },
  };
}
