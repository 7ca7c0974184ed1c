// Numbers and names as the page writes them; what is not known is written as nothing.

export function fixed(value, digits) {
  return value === null || value === undefined ? "" : Number(value).toFixed(digits);
}

export function percent(value) {
  return value === null || value === undefined ? "" : (100 * value).toFixed(value < 0.1 ? 1 : 0) + "%";
}

/** Probabilities of cells travel as bytes. */
export function chanceText(byte) {
  return byte === 0 ? "below 0.2%" : byte === 255 ? "above 99.8%" : percent(byte / 255);
}

export function shorter(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

/** A value of a label. */
export function valueText(value) {
  return value === "" ? "(blank)" : value;
}

/** A count, thousands set apart. */
export function whole(value) {
  return value === null || value === undefined ? "" : Math.round(value).toLocaleString("en-US");
}

/** "1 row", "2 rows", "5,000 rows". */
export function counted(n, one, several = one + "s") {
  return whole(n) + " " + (n === 1 ? one : several);
}

/** A p-value; very small ones by a bound. */
export function pText(p) {
  if (p === null || p === undefined) return "";
  return p < 1e-4 ? "below 0.0001" : p.toFixed(p < 0.001 ? 4 : p < 0.1 ? 3 : 2);
}

/** Names as a sentence has them: "a", "a and b", "a, b and 3 more". */
export function listed(names, most = Infinity) {
  const shown = names.length > most ? [...names.slice(0, most), whole(names.length - most) + " more"] : names;
  return shown.length < 2 ? shown.join("") : shown.slice(0, -1).join(", ") + " and " + shown[shown.length - 1];
}

/** A text as the beginning of a sentence. */
export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
