// Arrays of the page and the small mathematics that all kinds of models share.

/** The numbers of a packed array: base64 of little-endian float64. */
function inferNumbers(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length), view = new DataView(bytes.buffer);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const out = new Float64Array(raw.length >> 3);
  for (let i = 0; i < out.length; i++) out[i] = view.getFloat64(8 * i, true);
  return out;
}

/** Parameters with their arrays decoded, row by row; everything else as it is. */
export function inferDecoded(parameters) {
  const out = {};
  for (const [name, value] of Object.entries(parameters)) {
    const isArray = value !== null && typeof value === "object" && "shape" in value && "data" in value;
    out[name] = isArray ? inferNumbers(value.data) : value;
  }
  return out;
}

/** A number held inside [low, high]. */
export function inferClip(x, low, high) { return x < low ? low : x > high ? high : x; }

/** Probabilities in answers stay this far from 0 and 1. */
export const INFER_EDGE = 1e-9;

/** The probability of log odds, inside (0, 1). */
export function inferChance(odds) { return inferClip(0.5 * (1 + Math.tanh(0.5 * odds)), INFER_EDGE, 1 - INFER_EDGE); }

/** log(1 + exp(x)). */
export function inferSoftPlus(x) { return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))); }

/** Turn log weights into shares that sum to one, in place; those that rounding would lose beside the largest become 0. */
export function inferShares(logs) {
  let top = -Infinity, total = 0;
  for (const value of logs) top = Math.max(top, value);
  for (let k = 0; k < logs.length; k++) {
    const share = Math.exp(logs[k] - top);
    logs[k] = share > 8.6e-17 ? share : 0;
    total += logs[k];
  }
  for (let k = 0; k < logs.length; k++) logs[k] /= total;
  return logs;
}

/** What every component of several members weighs, from log p(row, component): as all together explain the row ("joint"),
 * or each member, which begin at `starts`, with the same say ("mean"). */
export function inferMemberShares(logs, starts, average) {
  const bounds = average === "joint" ? [0, logs.length] : [...starts, logs.length];
  const n = bounds.length - 1, out = new Float64Array(logs.length);
  for (let s = 0; s < n; s++) {
    let top = -Infinity, total = 0;
    for (let b = bounds[s]; b < bounds[s + 1]; b++) top = Math.max(top, logs[b]);
    for (let b = bounds[s]; b < bounds[s + 1]; b++) total += (out[b] = Math.exp(logs[b] - top));
    for (let b = bounds[s]; b < bounds[s + 1]; b++) out[b] /= total * n;
  }
  return out;
}

/** Shares of the classes in a cell, and its probability without it: from log weights of the classes by the rest of the row,
 * the probabilities `on` of a one in every class, and the value of the cell. */
export function inferReasons(logRest, on, value) {
  const shares = new Float64Array(on.length);
  let top = -Infinity, total = 0, probability = 0, all = 0;
  for (const log of logRest) top = Math.max(top, log);
  for (let k = 0; k < on.length; k++) total += (shares[k] = Math.exp(logRest[k] - top));
  for (let k = 0; k < on.length; k++) {
    shares[k] /= total;
    probability += shares[k] * on[k];
    shares[k] *= value === 1 ? on[k] : value === 0 ? 1 - on[k] : 1;
    all += shares[k];
  }
  for (let k = 0; k < on.length; k++) shares[k] /= all;
  return { probability, shares };
}

/** Replace `vector` (n) by the solution of matrix x = vector; `matrix` has rows of length `stride`, its lower half is
 * overwritten.  False, with `vector` as it was, if the matrix is not positive definite. */
export function inferSolve(matrix, n, stride, vector) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let value = matrix[i * stride + j];
      for (let k = 0; k < j; k++) value -= matrix[i * stride + k] * matrix[j * stride + k];
      if (i !== j) matrix[i * stride + j] = value / matrix[j * stride + j];
      else if (value > 0) matrix[i * stride + i] = Math.sqrt(value);
      else return false;
    }
  }
  for (let i = 0; i < n; i++) {
    let value = vector[i];
    for (let k = 0; k < i; k++) value -= matrix[i * stride + k] * vector[k];
    vector[i] = value / matrix[i * stride + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    let value = vector[i];
    for (let k = i + 1; k < n; k++) value -= matrix[k * stride + i] * vector[k];
    vector[i] = value / matrix[i * stride + i];
  }
  return true;
}

/** Fill `inverse` (n, n) of a positive definite `matrix` (n, n); returns half the log determinant of the matrix. */
export function inferInverse(matrix, n, factor, inverse) {
  const half = inferFactor(matrix, n, factor);
  for (let c = 0; c < n; c++) {
    for (let i = 0; i < n; i++) {
      let value = i === c ? 1 : 0;
      for (let k = 0; k < i; k++) value -= factor[i * n + k] * inverse[k * n + c];
      inverse[i * n + c] = value / factor[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      let value = inverse[i * n + c];
      for (let k = i + 1; k < n; k++) value -= factor[k * n + i] * inverse[k * n + c];
      inverse[i * n + c] = value / factor[i * n + i];
    }
  }
  return half;
}

/** Fill the lower `factor` (n, n) of a positive definite `matrix`; returns half the log determinant of the matrix. */
export function inferFactor(matrix, n, factor) {
  let half = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let value = matrix[i * n + j];
      for (let k = 0; k < j; k++) value -= factor[i * n + k] * factor[j * n + k];
      factor[i * n + j] = i === j ? Math.sqrt(value) : value / factor[j * n + j];
    }
    half += Math.log(factor[i * n + i]);
  }
  return half;
}
