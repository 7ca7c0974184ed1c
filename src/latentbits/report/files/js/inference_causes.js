// Noisy-or: every row has sources that are on or off; a cell is 1 if a source that is on, or the leak, switches it on.
//
// With f(u) = log(1 - exp(-u)), t = strength / q and the lift d(t) = f(leak + t) - f(leak), the posteriors of the sources and
// the weights q of the sources at every one are found in turn, from the end of a greedy search: the steps of the library, with
// its tolerances.  Few sources are gone through in all their states instead, if the model was fitted so.
import { INFER_EDGE, inferClip, inferShares } from "./inference_tools.js";

/** Sources below this posterior get no weight; those above and below parts of the largest are likely and unlikely. */
const INFER_CUT = 1e-9, INFER_LIKELY = 0.05, INFER_UNLIKELY = 1e-4;
/** Links that explain nothing; exp of minus FAR is nothing; beyond FLAT slopes of weights are level. */
const INFER_WEAK = 1e-9, INFER_FAR = 50, INFER_FLAT = 15;
/** Newton steps of the weights of a one; error of weights found by their level; ones left for the single search. */
const INFER_WEIGHT_STEPS = 12, INFER_CLOSE = 1e-9, INFER_FEW = 12;
const INFER_SMALL_LEAK = 1e-7, INFER_SMALL_LINK = 1e-5, INFER_HUGE = 1e100;
const INFER_GOING = 0, INFER_BEST = 1, INFER_HARD = 2, INFER_SMALL = 3;

/** log(1 - exp(-u)). */
function inferLogOn(u) { return u < 0.69 ? Math.log(-Math.expm1(-u)) : Math.log1p(-Math.exp(-u)); }

/** 1 / (1 + exp(-a)), 0 where it would be lost beside 1. */
function inferOnChance(a) {
  const small = Math.exp(-Math.abs(a)), kept = small > 8.6e-17 ? small : 0;
  return a >= 0 ? 1 / (1 + kept) : kept / (1 + kept);
}

/** φ(t), the slope of a weight, where the lift is d(t). */
function inferPhi(t, lift, rest, theta0) {
  if (t >= 1e-5 * Math.min(theta0, 1)) return lift - t * rest;
  return (0.5 * t * t - t * t * t / (3 * Math.tanh(0.5 * theta0))) / (4 * Math.sinh(0.5 * theta0) ** 2);
}

/** Tables over columns and sources (D * K), made once. */
function inferCauseTables(p) {
  const nParts = p.n_parts, nColumns = p.n_columns, size = nParts * nColumns;
  const out = {
    theta: new Float64Array(size), prob: new Float64Array(size), lift: new Float64Array(size), slope: new Float64Array(size),
    theta0: p.theta0, e0: p.theta0.map(Math.expm1), top: p.theta0.map((t) => -inferLogOn(t)),
    bias: p.prior.map((chance) => Math.log(chance) - Math.log1p(-chance)),
  };
  for (let j = 0; j < nColumns; j++) {
    for (let k = 0; k < nParts; k++) {
      const at = j * nParts + k, t = p.theta[k * nColumns + j];
      out.theta[at] = t;
      out.prob[at] = -Math.expm1(-t);
      out.lift[at] = Math.log1p(out.prob[at] / out.e0[j]);
      const rest = Math.exp(-t) / (out.e0[j] + out.prob[at]);
      out.slope[at] = Math.max(inferPhi(t, out.lift[at], rest, p.theta0[j]), 0);
      out.bias[k] -= t;
    }
  }
  return out;
}

/** d, φ and 1 / expm1(θ0 + t) at a strength t, put into `out`. */
function inferLift(t, theta0, top, out) {
  if (t > INFER_FAR) {
    out.d = out.phi = top;
    out.left = 0;
    return;
  }
  const e = Math.exp(-(theta0 + t)), one = e < 0.9 ? 1 - e : -Math.expm1(-(theta0 + t));
  out.left = e / one;
  out.d = t > 0.1 * theta0 ? Math.log(one) + top : Math.log1p(-Math.expm1(-t) / Math.expm1(theta0));
  out.phi = inferPhi(t, out.d, out.left, theta0);
}

/** Room for the weights of a row's ones: contenders of one after the other, with weights and credits. */
function inferWeightRoom(nOnes, nParts) {
  const size = nOnes * nParts + 1;
  return {
    first: new Int32Array(nOnes + 1), contenders: new Int32Array(size), q: new Float64Array(size), credit: new Float64Array(size),
    gain: new Float64Array(Math.max(size, nParts)), give: new Float64Array(Math.max(size, nParts)),
    candidates: new Int32Array(nParts + 1), chances: new Float64Array(nParts), lift: { d: 0, phi: 0, left: 0 },
  };
}

/** Sources whose posteriors count, likely ones first; fills `candidates` and `chances` of the room. */
function inferCandidates(m, room) {
  const { candidates, chances } = room, nParts = m.length;
  let most = 0, n = 0, less = 0, least = 0;
  for (let k = 0; k < nParts; k++) {
    most = Math.max(most, m[k]);
    chances[k] = m[k] > INFER_CUT ? m[k] : 0;
  }
  const likely = Math.max(INFER_LIKELY * most, INFER_CUT), unlikely = Math.max(INFER_UNLIKELY * most, INFER_CUT);
  for (let k = 0; k < nParts; k++) if (m[k] > likely) candidates[n++] = k;
  const nLikely = n;
  for (let k = 0; k < nParts; k++) if (m[k] > unlikely && m[k] <= likely) candidates[n++] = k;
  const nMore = n;
  for (let k = 0; k < nParts; k++) if (m[k] > INFER_CUT && m[k] <= unlikely) candidates[n++] = k;
  for (let c = nLikely; c < nMore; c++) less = Math.max(less, m[candidates[c]]);
  for (let c = nMore; c < n; c++) least = Math.max(least, m[candidates[c]]);
  return { nLikely, nMore, nAll: n, less: Math.max(less, least), least };
}

/** Sources that have weight at a one, put among the contenders from `start` on; returns their number. */
function inferContend(tables, j, counts, m, start, room) {
  const at = j * m.length;
  let most = 0, n = 0;
  for (let k = 0; k < m.length; k++) most = Math.max(most, room.chances[k] * tables.slope[at + k]);
  if (most === 0) return 0;
  const limit = most / tables.top[j];
  const nCandidates = counts.least > limit ? counts.nAll : counts.less > limit ? counts.nMore : counts.nLikely;
  for (let c = 0; c < nCandidates; c++) {
    const k = room.candidates[c];
    if (m[k] > limit && tables.theta[at + k] > INFER_WEAK) room.contenders[start + n++] = k;
  }
  return n;
}

/** Weights in proportion to m θ, from which the best ones are looked for. */
function inferFirstWeights(tables, j, start, n, m, room) {
  const { contenders, q } = room, at = j * m.length;
  let total = 0;
  for (let c = start; c < start + n; c++) total += (q[c] = Math.max(m[contenders[c]] * tables.theta[at + contenders[c]], 1e-300));
  for (let c = start; c < start + n; c++) q[c] = Math.max(q[c] / total, 1e-12);
}

/** One Newton step of the weights of a one from gains and inverse bends (0: none); no weight changes more than five-fold. */
function inferWeightStep(start, end, q, gain, give, level, shift) {
  let total = 0;
  for (let c = start; c < end; c++) {
    const change = gain[c - shift] - level;
    if (give[c - shift] > 0) q[c] = Math.min(Math.max(q[c] + change * give[c - shift], 0.2 * q[c]), 5 * q[c]);
    else q[c] = Math.max(q[c] * (change > 0 ? 5 : 0.2), 1e-300);
    total += q[c];
  }
  for (let c = start; c < end; c++) q[c] /= total;
}

/** Best weights at a one, by `steps` Newton steps at most, then by their level. */
function inferShareCell(tables, j, start, n, m, steps, tol, room) {
  const { contenders, q, credit, gain, give, lift } = room, at = j * m.length, end = start + n;
  const theta0 = tables.theta0[j], top = tables.top[j];
  let value = -1;
  for (let step = 0; step <= steps; step++) {
    let now = 0, largest = 0, mean = 0, pull = 0, gives = 0;
    for (let c = start; c < end; c++) {
      const own = m[contenders[c]], t = tables.theta[at + contenders[c]] / q[c];
      inferLift(t, theta0, top, lift);
      credit[c] = q[c] * lift.d;
      const bend = t < INFER_FLAT ? own * t * t * lift.left * (1 + lift.left) / q[c] : 0;
      gain[c - start] = own * lift.phi;
      give[c - start] = bend > 0 ? 1 / bend : 0;
      now += own * credit[c];
      largest = Math.max(largest, gain[c - start]);
      mean += q[c] * gain[c - start];
      if (bend > 0) {
        pull += gain[c - start] / bend;
        gives += 1 / bend;
      }
    }
    if (largest - mean <= tol) return;
    if (now < value || step === steps || gives === 0) break;
    value = now;
    inferWeightStep(start, end, q, gain, give, pull / gives, start);
  }
  inferFillUp(tables, j, start, n, m, room);
  for (let c = start; c < end; c++) {
    inferLift(tables.theta[at + contenders[c]] / Math.max(q[c], 1e-300), theta0, top, lift);
    credit[c] = q[c] * lift.d;
  }
}

/** The t ≥ `least` at which φ(t) is `wanted`: Newton steps inside a bracket. */
function inferStrengthAt(wanted, least, theta0, top, guess, lift) {
  let low = least, high = INFER_FAR, t = Math.min(Math.max(least, guess), INFER_FAR);
  for (let step = 0; step < 100; step++) {
    inferLift(t, theta0, top, lift);
    const { phi, left } = lift, bend = t * left * (1 + left);
    if (phi < wanted) low = t;
    else high = t;
    let next;
    if (wanted > 0.5 * top) {
      next = t + (Math.log(Math.max(top - phi, 1e-300)) - Math.log(top - wanted)) * (top - phi) / Math.max(bend, 1e-300);
    } else {
      const by = Math.log(wanted / Math.max(phi, 1e-300)) * phi / Math.max(t * bend, 1e-300);
      next = t * Math.exp(Math.min(Math.max(by, -5), 5));
    }
    if (!(low < next && next < high)) next = 0.5 * (low + high);
    if (Math.abs(next - t) <= INFER_CLOSE * t) return next;
    t = next;
  }
  return t;
}

/** Best weights by their level: all with weight have the same slope m φ(θ/q), and the weights sum to one. */
function inferFillUp(tables, j, start, n, m, room) {
  const { contenders, q, credit: strengths, lift } = room, at = j * m.length, end = start + n;
  const theta0 = tables.theta0[j], top = tables.top[j];
  let low = 0, high = 0;
  for (let c = start; c < end; c++) {
    inferLift(tables.theta[at + contenders[c]], theta0, top, lift);
    low = Math.max(low, m[contenders[c]] * lift.phi);
    high = Math.max(high, m[contenders[c]] * top);
    strengths[c] = 1;
  }
  let level = 0.5 * (low + high), found = { total: 0, change: 0 };
  for (let step = 0; step < 100; step++) {
    found = inferWeightsAt(level, tables, j, start, n, m, room);
    if (found.total > 1) low = level;
    else high = level;
    if (Math.abs(found.total - 1) <= INFER_CLOSE || high - low <= 1e-15 * high) break;
    const next = found.change < 0 ? level - (found.total - 1) / found.change : low;
    level = low < next && next < high ? next : 0.5 * (low + high);
  }
  let total = found.total;
  if (Math.abs(total - 1) > INFER_CLOSE) {
    // A source whose slope is level however small its weight takes what the others leave.
    total = inferWeightsAt(high, tables, j, start, n, m, room).total;
    let best = start, most = -1;
    for (let c = start; c < end; c++) {
      if (q[c] === 0 && m[contenders[c]] > most) {
        best = c;
        most = m[contenders[c]];
      }
    }
    if (most > 0 && total < 1) {
      q[best] = 1 - total;
      total = 1;
    }
  }
  for (let c = start; c < end; c++) q[c] /= total;
}

/** Fill the weights at which slopes are `level`; returns their sum and its derivative. */
function inferWeightsAt(level, tables, j, start, n, m, room) {
  const { contenders, q, credit: strengths, lift } = room, at = j * m.length, theta0 = tables.theta0[j], top = tables.top[j];
  let total = 0, change = 0;
  for (let c = start; c < start + n; c++) {
    const own = m[contenders[c]], strength = tables.theta[at + contenders[c]];
    q[c] = 0;
    if (own * top > level) {
      const t = inferStrengthAt(level / own, strength, theta0, top, strengths[c], lift);
      strengths[c] = t;
      q[c] = strength / t;
      inferLift(t, theta0, top, lift);
      change -= q[c] / (own * Math.max(t * t * lift.left * (1 + lift.left), 1e-300));
    }
    total += q[c];
  }
  return { total, change };
}

/** Best weights of all ones that several sources share: Newton steps of all at a time, the last few and the hard ones singly. */
function inferShareCells(tables, ones, shared, m, tol, room) {
  const { first, contenders, q, credit, gain, give } = room, { theta, theta0, e0 } = tables, nParts = m.length;
  const nPairs = first[ones.length], states = [], values = new Float64Array(shared.length).fill(-1);
  shared.forEach((o, s) => {
    const j = ones[o], least = INFER_SMALL_LINK * Math.min(theta0[j], 1);
    states[s] = theta0[j] <= INFER_SMALL_LEAK ? INFER_SMALL : INFER_GOING;
    for (let c = first[o]; c < first[o + 1]; c++) if (theta[j * nParts + contenders[c]] < least) states[s] = INFER_SMALL;
  });
  for (let step = 0; step <= INFER_WEIGHT_STEPS; step++) {
    let going = 0;
    shared.forEach((o, s) => {
      if (states[s] !== INFER_GOING) return;
      const j = ones[o], leaking = 1 / e0[j], fading = 1 / (1 + e0[j]), start = first[o], end = first[o + 1];
      let now = 0, largest = 0, mean = 0, pull = 0, gives = 0;
      for (let c = start; c < end; c++) {
        const own = m[contenders[c]], t = theta[j * nParts + contenders[c]] / q[c];
        let small = Math.exp(-t);
        if (!(small > 8.6e-17)) small = 0;
        const faded = fading * small, rest = faded / (1 - faded), d = Math.log1p((1 - small) * leaking);
        credit[c] = q[c] * d;
        gain[c] = own * (d - t * rest);
        const bend = t < INFER_FLAT ? own * t * t * rest * (1 + rest) : 0;
        give[c] = bend > 0 ? q[c] / bend : 0;
        now += own * credit[c];
        largest = Math.max(largest, gain[c]);
        mean += q[c] * gain[c];
        pull += gain[c] * give[c];
        gives += give[c];
      }
      if (largest - mean <= tol) states[s] = INFER_BEST;
      else if (now < values[s] || step === INFER_WEIGHT_STEPS || gives === 0) states[s] = INFER_HARD;
      else {
        inferWeightStep(start, end, q, gain, give, pull / gives, 0);
        going += end - start;
      }
      values[s] = now;
    });
    if (INFER_FEW * going < nPairs) break;
  }
  shared.forEach((o, s) => {
    if (states[s] === INFER_BEST) return;
    const n = first[o + 1] - first[o];
    if (states[s] === INFER_SMALL) inferFirstWeights(tables, ones[o], first[o], n, m, room);
    inferShareCell(tables, ones[o], first[o], n, m, states[s] === INFER_HARD ? 0 : INFER_WEIGHT_STEPS, tol, room);
  });
}

/** Find the weights of the ones for posteriors `m`; their credit is added to `odds` (K). */
function inferWeighOnes(tables, ones, m, tol, odds, room) {
  const { first, contenders, credit } = room, counts = inferCandidates(m, room), shared = [];
  let place = 0;
  ones.forEach((j, o) => {
    first[o] = place;
    const n = inferContend(tables, j, counts, m, place, room);
    if (n === 1) odds[contenders[place]] += tables.lift[j * m.length + contenders[place]];
    else if (n > 1) {
      inferFirstWeights(tables, j, place, n, m, room);
      shared.push(o);
      place += n;
    }
  });
  first[ones.length] = place;
  if (shared.length === 0) return;
  inferShareCells(tables, ones, shared, m, tol, room);
  for (let c = 0; c < place; c++) odds[contenders[c]] += credit[c];
}

/** What every source adds to log P(x, s) if it is on, the others being as `on` says; `grown` is expm1(u) at the ones. */
function inferFlipGains(tables, ones, base, on, grown, gains) {
  const nParts = base.length;
  for (let k = 0; k < nParts; k++) {
    let log = 0, product = 1;
    for (let o = 0; o < ones.length; o++) {
      const j = ones[o], link = tables.prob[j * nParts + k];
      const without = on[k] ? Math.max(grown[o] * (1 - link) - link, tables.e0[j]) : grown[o];
      product *= 1 + link / without;
      if (product > 1e200) {
        log += Math.log(product);
        product = 1;
      }
    }
    gains[k] = base[k] + (log + Math.log(product));
  }
}

/** Climb log P(x, s) from s = 0 by the best single flip; returns the gains (K) at the end. */
function inferGreedy(tables, ones, base) {
  const nParts = base.length, on = new Uint8Array(nParts), gains = Float64Array.from(base);
  const grown = Float64Array.from(ones, (j) => tables.e0[j]);
  for (const j of ones) for (let k = 0; k < nParts; k++) gains[k] += tables.lift[j * nParts + k];
  for (let flip = 0; flip < 4 * (4 * Math.ceil(nParts / 4)); flip++) {
    let best = -1, most = 1e-9;
    for (let k = 0; k < nParts; k++) {
      const gain = on[k] ? -gains[k] : gains[k];
      if (gain > most) {
        best = k;
        most = gain;
      }
    }
    if (best < 0) break;
    ones.forEach((j, o) => {
      const link = tables.prob[j * nParts + best];
      if (on[best]) grown[o] = Math.max(grown[o] * (1 - link) - link, tables.e0[j]);
      else grown[o] = Math.min((grown[o] + link) / (1 - link), INFER_HUGE);
    });
    on[best] = 1 - on[best];
    inferFlipGains(tables, ones, base, on, grown, gains);
  }
  return gains;
}

/** Posteriors (K) and log odds (K) of the sources of a row. */
function inferSources(p, tables, cells) {
  const nParts = p.n_parts, base = Float64Array.from(tables.bias), ones = [];
  for (let j = 0; j < cells.length; j++) {
    if (cells[j] === 1) ones.push(j);
    if (cells[j] !== 0) for (let k = 0; k < nParts; k++) base[k] += tables.theta[j * nParts + k];
  }
  if (ones.length === 0) return { odds: base, shares: base.map(inferOnChance) };
  const m = inferGreedy(tables, ones, base).map(inferOnChance), odds = new Float64Array(nParts);
  const room = inferWeightRoom(ones.length, nParts);
  for (let round = 0; round < p.rounds; round++) {
    odds.set(base);
    inferWeighOnes(tables, ones, m, p.cell_tol, odds, room);
    let change = 0;
    for (let k = 0; k < nParts; k++) {
      const share = inferOnChance(odds[k]);
      change = Math.max(change, Math.abs(share - m[k]));
      m[k] = share;
    }
    if (change <= p.tol) break;
  }
  return { odds, shares: m };
}

/** What a one adds to the log odds of the sources (K), at posteriors `m`. */
function inferCredit(tables, j, m, tol) {
  const out = new Float64Array(m.length), room = inferWeightRoom(1, m.length);
  const n = inferContend(tables, j, inferCandidates(m, room), m, 0, room);
  if (n === 1) out[room.contenders[0]] = tables.lift[j * m.length + room.contenders[0]];
  else if (n > 1) {
    inferFirstWeights(tables, j, 0, n, m, room);
    inferShareCell(tables, j, 0, n, m, INFER_WEIGHT_STEPS, tol, room);
    for (let c = 0; c < n; c++) out[room.contenders[c]] = room.credit[c];
  }
  return out;
}

/** Noisy-or by the bound; `leak` is the part of causes outside the sources. */
function inferBoundCauses(p) {
  const tables = inferCauseTables(p), nParts = p.n_parts;
  function chance(shares, j) {
    let kept = Math.exp(-p.theta0[j]);
    for (let k = 0; k < nParts; k++) if (shares[k] > 1e-12) kept *= 1 - shares[k] * tables.prob[j * nParts + k];
    return inferClip(1 - kept, INFER_EDGE, 1 - INFER_EDGE);
  }
  return {
    look: (cells) => ({ cells, ...inferSources(p, tables, cells) }),
    answer: ({ shares }) => ({ parts: shares, filled: Float64Array.from({ length: p.n_columns }, (_, j) => chance(shares, j)) }),
    why({ cells, odds, shares: own }, j) {
      const theta = tables.theta.subarray(j * nParts, (j + 1) * nParts), isOne = cells[j] === 1;
      // 1. Posteriors of the sources without the cell, and what follows for it.
      const change = isOne ? inferCredit(tables, j, own, p.cell_tol) : theta.map((t) => (cells[j] === 0 ? -t : 0));
      const without = odds.map((value, k) => 1 / (1 + Math.exp(-inferClip(value - change[k], -700, 700))));
      const off = without.map((share, k) => -Math.log1p(-Math.min(share * -Math.expm1(-theta[k]), 1 - 1e-15)));
      const surprise = p.theta0[j] + off.reduce((sum, value) => sum + value, 0);
      // 2. Parts of the sources: in the strength behind a one, in the surprise of a zero.
      const strength = off.map((value, k) => (isOne ? own[k] * theta[k] : cells[j] === -1 ? without[k] * theta[k] : value));
      const total = Math.max(p.theta0[j] + strength.reduce((sum, value) => sum + value, 0), 1e-300);
      return {
        probability: inferClip(-Math.expm1(-surprise), INFER_EDGE, 1 - INFER_EDGE),
        shares: strength.map((value) => value / total),
        leak: p.theta0[j] / total,
      };
    },
  };
}

/** Noisy-or through all states of the sources. */
function inferExactCauses(p) {
  const nParts = p.n_parts, nColumns = p.n_columns, nStates = 2 ** nParts;
  const prior = new Float64Array(nStates), sums = new Float64Array(nStates * nColumns); // by column
  for (let s = 0; s < nStates; s++) {
    for (let k = 0; k < nParts; k++) prior[s] += (s >> k) & 1 ? Math.log(p.prior[k]) : Math.log1p(-p.prior[k]);
    for (let j = 0; j < nColumns; j++) {
      let u = p.theta0[j];
      for (let k = 0; k < nParts; k++) if ((s >> k) & 1) u += p.theta[k * nColumns + j];
      sums[j * nStates + s] = u;
    }
  }
  const on = sums.map((u) => -Math.expm1(-u));
  /** Posteriors (K) of the sources from those of the states. */
  function sourcesOf(states) {
    const out = new Float64Array(nParts);
    states.forEach((weight, s) => { for (let k = 0; k < nParts; k++) if ((s >> k) & 1) out[k] += weight; });
    return out;
  }
  return {
    look(cells) {
      const states = Float64Array.from(prior);
      for (let j = 0; j < nColumns; j++) {
        const at = j * nStates;
        if (cells[j] === 1) for (let s = 0; s < nStates; s++) states[s] += inferLogOn(sums[at + s]);
        else if (cells[j] === 0) for (let s = 0; s < nStates; s++) states[s] -= sums[at + s];
      }
      return { cells, states: inferShares(states) };
    },
    answer({ states }) {
      const filled = Float64Array.from({ length: nColumns }, (_, j) => {
        let sum = 0;
        for (let s = 0; s < nStates; s++) sum += states[s] * on[j * nStates + s];
        return inferClip(sum, INFER_EDGE, 1 - INFER_EDGE);
      });
      return { parts: sourcesOf(states), filled };
    },
    why({ cells, states }, j) {
      const at = j * nStates, rest = states.slice(), part = new Float64Array(nStates), shares = new Float64Array(nParts);
      let total = 0, probability = 0, leak = 1;
      for (let s = 0; s < nStates; s++) {
        const cell = cells[j] === 1 ? on[at + s] : cells[j] === 0 ? Math.exp(-sums[at + s]) : 1;
        total += (rest[s] /= Math.max(cell, 1e-300));
        part[s] = states[s] / sums[at + s];
      }
      for (let s = 0; s < nStates; s++) probability += (rest[s] /= total) * on[at + s];
      // Of a one the expected part of every source in its strength; of others in the strength to be expected.
      const without = sourcesOf(cells[j] === 1 ? part : rest);
      let strength = cells[j] === 1 ? 1 : p.theta0[j];
      for (let k = 0; k < nParts; k++) {
        shares[k] = without[k] * p.theta[k * nColumns + j];
        if (cells[j] !== 1) strength += shares[k];
      }
      for (let k = 0; k < nParts; k++) leak -= (shares[k] /= strength);
      return { probability: inferClip(probability, INFER_EDGE, 1 - INFER_EDGE), shares, leak: Math.max(leak, 0) };
    },
  };
}

/** Noisy-or component analysis. */
export function inferCauses(p) { return p.exact ? inferExactCauses(p) : inferBoundCauses(p); }
