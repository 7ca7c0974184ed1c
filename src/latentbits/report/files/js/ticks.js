// Round places on axes, and numbers as axes and tables write them. Nothing here touches the page.

// From a thousandth to a million millions numbers are written in full; beyond that, with powers of ten.
const SMALLEST_FULL = 1e-3, LARGEST_FULL = 1e12;

/** A number with so many digits behind the point, thousands set apart, and a true minus. */
export function numberText(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const size = Math.abs(value);
  if (size >= LARGEST_FULL || (size > 0 && size < SMALLEST_FULL && digits < 4)) return powerText(value);
  const text = size.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value < 0 && /[1-9]/.test(text) ? "−" : "") + text;
}

function powerText(value) {
  const [mantissa, power] = Math.abs(value).toExponential(2).split("e");
  const digits = Array.from(String(Math.abs(power)), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return (value < 0 ? "−" : "") + Number(mantissa) + " × 10" + (power < 0 ? "⁻" : "") + digits;
}

/** A number for reading: about `significant` digits, never fewer than those before the point. */
export function shortNumber(value, significant = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const places = significant - 1 - Math.floor(Math.log10(Math.abs(value)));
  const digits = Math.max(0, Math.min(6, places)), text = numberText(value, digits);
  return text.includes(".") && !text.includes("×") ? text.replace(/\.?0+$/, "") : text;
}

/** The step of 1, 2, 2.5 or 5 times a power of ten with which at most `most` ticks lie on a span. */
function stepOf(span, most) {
  const rough = span / Math.max(1, most - 1), unit = 10 ** Math.floor(Math.log10(rough));
  return unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9));
}

/** Round ticks from `low` to `high`, at most about `most` of them, as {value, text}; texts have as many digits as needed. */
export function niceTicks(low, high, most = 6) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [];
  if (!(high > low)) return [{ value: low, text: shortNumber(low) || "0" }];
  const step = stepOf(high - low, most), first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  let digits = 0;
  while (digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-9 * step * 10 ** digits) digits++;
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const value = Number(((first + i) * step).toPrecision(12));
    return { value, text: value === 0 ? "0" : numberText(value, digits) };
  });
}

/** Texts at the ends of lines, moved apart: places as near to the wanted ones as a distance of `gap` allows, in [low, high]. */
export function spreadOut(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]), out = wanted.slice();
  const room = (high - low) / Math.max(1, wanted.length - 1), apart = Math.min(gap, room);
  let groups = order.map((i) => ({ members: [i], middle: wanted[i] }));
  // Groups that touch become one, around the mean of what its members wanted, until none do.
  for (let merged = true; merged;) {
    merged = false;
    const next = [];
    for (const group of groups) {
      const half = 0.5 * apart * (group.members.length - 1);
      group.middle = Math.max(low + half, Math.min(high - half, group.middle));
      const before = next[next.length - 1];
      const end = before ? before.middle + 0.5 * apart * (before.members.length + 1) : -Infinity;
      const touching = group.middle - half < end - 1e-9;
      if (!touching) { next.push(group); continue; }
      before.members.push(...group.members);
      before.middle = before.members.reduce((sum, i) => sum + wanted[i], 0) / before.members.length;
      merged = true;
    }
    groups = next;
  }
  for (const { members, middle } of groups) {
    members.forEach((i, place) => { out[i] = middle + apart * (place - 0.5 * (members.length - 1)); });
  }
  return out;
}
