// Mixtures of trees: within a class every column is drawn given its parent; unknown cells are summed out.
//
// Messages go up from the leaves and down from the roots, so that one walk tells log p(known cells | class) and, for every
// column, P(1 | all other known cells, class).
import { inferMemberShares, inferReasons, inferShares } from "./inference_tools.js";

/** Columns of a tree, parents before children; roots are their own parents. */
function inferDownward(parents) {
  const below = Array.from(parents, () => []), order = [];
  parents.forEach((up, d) => (up === d ? order : below[up]).push(d));
  for (let i = 0; i < order.length; i++) order.push(...below[order[i]]);
  return order;
}

/** Trees (K) with their parents (K, D) and P(1 | parent is 0, 1) (K, D, 2). */
function inferForest(logWeights, parents, onGiven, nColumns) {
  const trees = Array.from(logWeights, (_, k) => {
    const above = parents.slice(k * nColumns, (k + 1) * nColumns);
    const on = onGiven.subarray(2 * k * nColumns, 2 * (k + 1) * nColumns);
    return { above, order: inferDownward(above), logOn: on.map(Math.log), logOff: on.map((chance) => Math.log1p(-chance)) };
  });
  return { logWeights, trees, nColumns };
}

/** log(exp(a) + exp(b)); the two are never both -Infinity here. */
function inferLogSum(a, b) { return a > b ? a + Math.log1p(Math.exp(b - a)) : b + Math.log1p(Math.exp(a - b)); }

/** One class: returns log p(known cells), fills `chances` (D) with P(1 | the other known cells); messages are logarithms. */
function inferTreeWalk(tree, cells, chances) {
  const { above, order, logOn, logOff } = tree, n = order.length;
  const below = new Float64Array(2 * n); // sum of the messages of the children, for a zero and a one
  const sent = new Float64Array(2 * n), come = new Float64Array(2 * n);
  // Over the values of a column: all that are possible, off and on being the logs of two weights.
  const over = (d, off, on) => (cells[d] === 0 ? off : cells[d] === 1 ? on : inferLogSum(off, on));
  let total = 0;
  for (let i = n - 1; i >= 0; i--) {
    const d = order[i], up = above[d], zero = 2 * d, one = 2 * d + 1;
    sent[zero] = over(d, logOff[zero] + below[zero], logOn[zero] + below[one]);
    if (up === d) {
      total += sent[zero]; // the tables of a root are twice the same
      continue;
    }
    sent[one] = over(d, logOff[one] + below[zero], logOn[one] + below[one]);
    below[2 * up] += sent[zero];
    below[2 * up + 1] += sent[one];
  }
  for (const d of order) {
    const up = above[d], zero = 2 * d, one = 2 * d + 1;
    if (up === d || cells[up] !== -1) {
      const given = up !== d && cells[up] === 1 ? one : zero;
      come[zero] = logOff[given];
      come[one] = logOn[given];
    } else {
      const off = come[2 * up] + below[2 * up] - sent[zero], on = come[2 * up + 1] + below[2 * up + 1] - sent[one];
      const all = inferLogSum(off, on);
      come[zero] = inferLogSum(off + logOff[zero], on + logOff[one]) - all;
      come[one] = inferLogSum(off + logOn[zero], on + logOn[one]) - all;
    }
    chances[d] = 1 / (1 + Math.exp(come[zero] + below[zero] - come[one] - below[one]));
  }
  return total;
}

/** All classes: log p(known cells, class) (K) and P(1 | the other known cells, class) (K, D). */
function inferForestWalk(forest, cells) {
  const { logWeights, trees, nColumns } = forest;
  const logs = Float64Array.from(logWeights), chances = new Float64Array(trees.length * nColumns);
  trees.forEach((tree, k) => {
    logs[k] += inferTreeWalk(tree, cells, chances.subarray(k * nColumns, (k + 1) * nColumns));
  });
  return { logs, chances };
}

/** P(cell = 1) (D) by all trees. */
function inferForestBlend(shares, chances, nColumns) {
  const out = new Float64Array(nColumns);
  for (let k = 0; k < shares.length; k++) {
    for (let j = 0; j < nColumns; j++) out[j] += shares[k] * chances[k * nColumns + j];
  }
  return out.map((value) => Math.min(value, 1));
}

/** Trees; where several starts answer together they fill the cells, and the best of them tells the rest. */
export function inferTrees(p) {
  const forest = inferForest(p.log_weights, p.parents, p.on_given, p.n_columns);
  const members = p.member_parents
    ? inferForest(p.member_log_weights, p.member_parents, p.member_on_given, p.n_columns) : null;
  return {
    look: (cells) => ({ cells, ...inferForestWalk(forest, cells) }),
    answer({ cells, logs, chances }) {
      const parts = inferShares(logs.slice());
      if (members === null) return { parts, filled: inferForestBlend(parts, chances, p.n_columns) };
      const all = inferForestWalk(members, cells);
      const shares = inferMemberShares(all.logs, p.member_starts, p.average);
      return { parts, filled: inferForestBlend(shares, all.chances, p.n_columns) };
    },
    why({ cells, logs, chances }, j) {
      const rest = logs.slice(), on = new Float64Array(logs.length);
      for (let k = 0; k < rest.length; k++) {
        on[k] = chances[k * p.n_columns + j];
        if (cells[j] >= 0) rest[k] -= Math.log(cells[j] === 1 ? on[k] : 1 - on[k]);
      }
      return inferReasons(rest, on, cells[j]);
    },
  };
}
