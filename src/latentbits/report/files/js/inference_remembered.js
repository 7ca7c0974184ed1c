// Cells filled by the mean over remembered training rows, each weighing by how well its unknowns explain the known cells.
//
// A remembered row that is equal to the row in question does not count (one of its weight): what was fitted to a cell must
// not predict it.  Rows are told apart by 64-bit keys, as in the library.

/** The key of a row as two numbers of 32 bits, the higher first. */
function inferKey(cells) {
  const word = (value) => BigInt.asUintN(64, value);
  let key = 0n;
  for (const [salt, wanted] of [[1n, 1], [2n, -1]]) {
    key = word((key + salt) * 0xD6E8FEB86659FD93n);
    for (let j = 0; j < cells.length; j++) {
      if (cells[j] !== wanted) continue;
      key = word((key ^ BigInt(j + 1)) * 0x9E3779B97F4A7C15n);
      key ^= key >> 29n;
    }
  }
  key = word(key * 0xD1342543DE82EF95n);
  return [Number(key >> 32n), Number(key & 0xFFFFFFFFn)];
}

/** The remembered rows; `logs(values, out)` fills log odds of a one and log P(0) (2, D) of a row of unknowns (K). */
export function inferRemembered(p, logs) {
  const n = p.sample_weights.length, nColumns = p.n_columns, nParts = p.n_parts;
  const total = p.sample_weights.reduce((sum, weight) => sum + weight, 0);
  let tables = null; // made when they are first needed
  function makeTables() {
    const out = { base: new Float64Array(n), slope: new Float64Array(n * nColumns), off: new Float64Array(n * nColumns) };
    for (let r = 0; r < n; r++) {
      const slope = out.slope.subarray(r * nColumns, (r + 1) * nColumns), off = out.off.subarray(r * nColumns, (r + 1) * nColumns);
      logs(p.sample_values.subarray(r * nParts, (r + 1) * nParts), slope, off);
      out.base[r] = Math.log(p.sample_weights[r]) - Math.log(total) + off.reduce((sum, value) => sum + value, 0);
    }
    return out;
  }
  return {
    values: (r) => p.sample_values.subarray(r * nParts, (r + 1) * nParts),
    n,
    /** log p(known cells, remembered row) (R), and what is taken from that of rows equal to this one. */
    look(cells) {
      tables = tables ?? makeTables();
      const joint = Float64Array.from(tables.base), own = new Float64Array(n), key = inferKey(cells);
      for (let r = 0; r < n; r++) {
        for (let j = 0, at = r * nColumns; j < nColumns; j++, at++) {
          if (cells[j] === 1) joint[r] += tables.slope[at];
          else if (cells[j] === -1) joint[r] -= tables.off[at];
        }
        if (p.sample_keys[2 * r] === key[0] && p.sample_keys[2 * r + 1] === key[1]) {
          own[r] = Math.log(Math.max(p.sample_weights[r] - 1, 0)) - Math.log(p.sample_weights[r]);
        }
      }
      return { joint, own };
    },
    /** What every remembered row weighs (R), with cell `j` of `cells` left out unless it is negative. */
    weights({ joint, own }, cells, j) {
      const out = joint.slice();
      if (j >= 0 && cells[j] >= 0) {
        for (let r = 0; r < n; r++) out[r] -= tables.off[r * nColumns + j] + (cells[j] === 1 ? tables.slope[r * nColumns + j] : 0);
      }
      const alone = out.every((value, r) => value + own[r] === -Infinity); // nothing else is remembered
      let top = -Infinity, sum = 0;
      for (let r = 0; r < n; r++) top = Math.max(top, alone ? out[r] : (out[r] += own[r]));
      for (let r = 0; r < n; r++) sum += (out[r] = Math.exp(out[r] - top));
      for (let r = 0; r < n; r++) out[r] /= sum;
      return out;
    },
  };
}
