// Shares and correlations as sentences tell them.

/** A share in per cent, with a digit more near the ends. */
export function shareTold(share) {
  if (share === null || share === undefined) return "";
  const near = (share > 0 && share < 0.01) || (share > 0.99 && share < 1);
  return (100 * share).toFixed(near ? 1 : 0) + "%";
}

/** A correlation: two digits, and a minus sign of the right length. */
export function signedTold(value) {
  return value === null || value === undefined ? "" : value.toFixed(2).replace("-", "−");
}
