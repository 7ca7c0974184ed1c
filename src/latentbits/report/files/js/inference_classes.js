// Rows that belong to one class each: mixtures, several mixtures that answer together, and the nodes of a map.
//
// log p(row, class) = log weight + sum over ones of log p + sum over zeros of log(1 - p); unknown cells drop out.
import { inferMemberShares, inferReasons, inferShares, inferSoftPlus } from "./inference_tools.js";

/** Classes from probabilities (K, D), which are inside (0, 1). */
function inferTableOfProbs(logWeights, probs, nColumns) {
  return { logWeights, probs, nColumns, logOn: probs.map(Math.log), logOff: probs.map((p) => Math.log1p(-p)) };
}

/** The same from log odds (K, D), exact also where probabilities round to 0 or 1. */
function inferTableOfOdds(logWeights, odds, nColumns) {
  const small = odds.map((a) => Math.exp(-Math.abs(a)));
  return {
    logWeights, nColumns,
    probs: odds.map((a, i) => (a >= 0 ? 1 : small[i]) / (1 + small[i])),
    logOn: odds.map((a) => -inferSoftPlus(-a)),
    logOff: odds.map((a) => -inferSoftPlus(a)),
  };
}

/** log p(row, class) (K). */
function inferLogJoint(table, cells) {
  const { logWeights, logOn, logOff, nColumns } = table, out = new Float64Array(logWeights.length);
  for (let k = 0; k < out.length; k++) {
    let value = logWeights[k];
    for (let j = 0, at = k * nColumns; j < nColumns; j++, at++) {
      if (cells[j] === 1) value += logOn[at];
      else if (cells[j] === 0) value += logOff[at];
    }
    out[k] = value;
  }
  return out;
}

/** P(cell = 1) (D): the classes averaged as they weigh. */
function inferBlend(shares, probs, nColumns) {
  const out = new Float64Array(nColumns);
  for (let k = 0; k < shares.length; k++) {
    if (shares[k] === 0) continue;
    for (let j = 0, at = k * nColumns; j < nColumns; j++, at++) out[j] += shares[k] * probs[at];
  }
  return out;
}

/** Why a cell is as it is, by the classes. */
function inferClassReasons(table, cells, logs, j) {
  const rest = logs.slice(), on = new Float64Array(logs.length);
  for (let k = 0; k < rest.length; k++) {
    const at = k * table.nColumns + j;
    on[k] = table.probs[at];
    if (cells[j] === 1) rest[k] -= table.logOn[at];
    else if (cells[j] === 0) rest[k] -= table.logOff[at];
  }
  return inferReasons(rest, on, cells[j]);
}

/** Mixtures; where several answer together they fill the cells, and the best of them tells the rest. */
export function inferClasses(p) {
  const table = inferTableOfProbs(p.log_weights, p.probs, p.n_columns);
  const members = p.member_probs ? inferTableOfProbs(p.member_log_weights, p.member_probs, p.n_columns) : null;
  return {
    look: (cells) => ({ cells, logs: inferLogJoint(table, cells) }),
    answer({ cells, logs }) {
      const parts = inferShares(logs.slice());
      if (members === null) return { parts, filled: inferBlend(parts, table.probs, p.n_columns) };
      const shares = inferMemberShares(inferLogJoint(members, cells), p.member_starts, p.average);
      return { parts, filled: inferBlend(shares, members.probs, p.n_columns) };
    },
    why: ({ cells, logs }, j) => inferClassReasons(table, cells, logs, j),
  };
}

/** A map: `parts` are the nodes, `place` is the mean place (L) of the row. */
export function inferMap(p) {
  const nNodes = p.log_weights.length, nAxes = p.points.length / nNodes;
  const table = inferTableOfOdds(p.log_weights, p.odds ?? inferNodeOdds(p, nNodes), p.n_columns);
  return {
    look: (cells) => ({ cells, logs: inferLogJoint(table, cells) }),
    answer({ logs }) {
      const parts = inferShares(logs.slice());
      return { parts, filled: inferBlend(parts, table.probs, p.n_columns), place: inferBlend(parts, p.points, nAxes) };
    },
    why: ({ cells, logs }, j) => inferClassReasons(table, cells, logs, j),
  };
}

/** Log odds (K, D) of the nodes: features (K, M) times basis weights (D, M). */
function inferNodeOdds(p, nNodes) {
  const nFunctions = p.features.length / nNodes, out = new Float64Array(nNodes * p.n_columns);
  for (let k = 0; k < nNodes; k++) {
    for (let j = 0; j < p.n_columns; j++) {
      let value = 0;
      for (let m = 0; m < nFunctions; m++) value += p.features[k * nFunctions + m] * p.basis_weights[j * nFunctions + m];
      out[k * p.n_columns + j] = value;
    }
  }
  return out;
}
