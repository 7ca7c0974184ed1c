// Which causes are on together, more or less often than by chance.

// From this many standard errors on it is said.
const CLEAR = 3;

/** Pairs {a, b, together, expected, z}, the clearest first: share of the rows in which both are on, and would be by chance. */
export function overlapsOf(content, reading) {
  const n = content.nRows, nParts = reading.nParts;
  const sums = new Float64Array(nParts), products = new Float64Array(nParts * nParts);
  for (let i = 0; i < n; i++) {
    for (let a = 0; a < nParts; a++) {
      const value = reading.value(i, a);
      if (value === 0) continue;
      sums[a] += value;
      for (let b = a + 1; b < nParts; b++) products[a * nParts + b] += value * reading.value(i, b);
    }
  }
  const out = [];
  for (let a = 0; a < nParts; a++) {
    for (let b = a + 1; b < nParts; b++) {
      const p = sums[a] / n, q = sums[b] / n, expected = p * q, error = Math.sqrt(p * (1 - p) * q * (1 - q) / n);
      const together = products[a * nParts + b] / n;
      if (error > 0) out.push({ a, b, together, expected, z: (together - expected) / error });
    }
  }
  return out.filter((pair) => Math.abs(pair.z) >= CLEAR).sort((one, other) => Math.abs(other.z) - Math.abs(one.z));
}
