// Why a cell is as it is, in the words of the kind of reading.

// Shares below which a part is not worth a word, and how many parts are named.
const REASON_WORTH = 0.05, REASONS_NAMED = 3;

/** A probability in words. */
export function chanceOf(p) {
  if (Number.isNaN(p) || p === null || p === undefined) return "not known";
  if (p < 0.001) return "below 0.1%";
  if (p > 0.999) return "above 99.9%";
  return (100 * p).toFixed(p < 0.1 || p > 0.9 ? 1 : 0) + "%";
}

const reasonPercent = (p) => Math.round(100 * p) + "%";

/** What the cell of row i and page column j is, for those that speak of it; `why` comes from whyCell and may be null. */
export function cellTold(state, i, j, why) {
  const { content, reading } = state, isBlank = content.isBlank(i, j);
  return {
    isBlank,
    isOne: content.isOne(i, j),
    why,
    kind: reading.kind,
    noun: reading.noun,
    offset: reading.offsetOf(j),
    parts: reading.parts.map((part, k) => ({
      name: state.nameOf(k), kind: part.kind, value: reading.value(i, k), profile: reading.profile(k, j),
      isMain: reading.main(i) === k,
    })),
  };
}

/** What there is to say of a cell, sentence by sentence. */
export function reasonLines(cell) {
  const { why, kind } = cell;
  if (why === null) return [cell.isBlank ? "Blank." : "It is " + (cell.isOne ? "1." : "0."), ...reasonsWithoutModel(cell)];
  const reasons = (REASONS[kind] ?? reasonsOfRest)(cell);
  return [reasonValue(cell), ...reasonSurprise(cell), ...reasons, ...reasonPartner(cell), ...reasonMissing(cell)];
}

function reasonValue({ isBlank, isOne, why }) {
  const chance = chanceOf(why.probability);
  return isBlank
    ? "Blank. A one has the probability " + chance + "."
    : "It is " + (isOne ? "1" : "0") + ". By the rest of the row a one has the probability " + chance + ".";
}

function reasonSurprise({ isBlank, isOne, why }) {
  const p = isOne ? why.probability : 1 - why.probability;
  return isBlank || p >= 0.1 ? [] : ["A surprising " + (isOne ? "one." : "zero.")];
}

/** What can be said without asking the model: the profile of the row's part, where rows have one. */
function reasonsWithoutModel(cell) {
  const main = cell.parts.find((part) => part.isMain);
  const words = main && (cell.kind === "classes" || cell.kind === "map") ? reasonsOfClasses(cell) : [];
  return [...words, "The page cannot ask this model about this cell; the tables beside the report have its reasons."];
}

/** The classes, or regions, that the row is likely to be of, and how often each has the column. */
function reasonsOfClasses(cell) {
  const found = cell.parts.filter((part) => part.value > REASON_WORTH).sort((a, b) => b.value - a.value);
  const isIn = cell.kind === "map" ? "in " : "";
  return found.slice(0, REASONS_NAMED).map((part) => "Rows of " + part.name + " have it in " + chanceOf(part.profile) +
    "; this row is " + isIn + part.name + " for " + reasonPercent(part.value) + ".");
}

/** What stands behind a cell without the rows' own classes: parts with their shares, and the leak. */
function reasonShares(cell) {
  const named = cell.why.top.filter((one) => one.share > REASON_WORTH).slice(0, REASONS_NAMED);
  const words = named.map((one) => (one.part >= 0 ? cell.parts[one.part].name : one.name) + " " + reasonPercent(one.share));
  const { leak } = cell.why;
  if (leak !== null && leak > REASON_WORTH) words.push("no " + cell.noun + " (leak) " + reasonPercent(leak));
  return words.join(", ");
}

function reasonsOfShares(cell) {
  const text = reasonShares(cell);
  return text ? [(cell.isBlank ? "It would owe to " : "Owes to ") + text + "."] : [];
}

/** Sources make ones; a zero says only how sure it is that none of them did. */
function reasonsOfCauses(cell) {
  const text = reasonShares(cell);
  if (!text) return [];
  if (cell.isBlank) return ["A one would owe to " + text + "."];
  return [(cell.isOne ? "Owes to " : "What spoke for a one: ") + text + "."];
}

/** How a scale pushes the log odds of a one here: score times loading. */
export function pushes(cell) {
  const all = cell.parts.map((part, k) => ({ k, name: part.name, push: part.value * part.profile }));
  return all.sort((a, b) => Math.abs(b.push) - Math.abs(a.push));
}

/** Whether a push argues for the value of the cell; of a blank, for the likelier one. */
export function arguesFor(push, cell) {
  const isOne = cell.isBlank ? (cell.why === null ? 1 : cell.why.probability) >= 0.5 : cell.isOne;
  return isOne ? push > 0 : push < 0;
}

function reasonsOfScales(cell) {
  const all = pushes(cell), total = all.reduce((sum, one) => sum + Math.abs(one.push), 0);
  const value = cell.isBlank ? (cell.why.probability >= 0.5 ? "a one" : "a zero") : "it";
  const strong = all.filter((one) => Math.abs(one.push) > REASON_WORTH * Math.max(1, total));
  const lines = strong.slice(0, REASONS_NAMED).map((one) => {
    const often = Math.exp(Math.abs(one.push)), times = often > 100 ? "more than 100" : often.toFixed(often < 9.5 ? 1 : 0);
    return one.name + " argues " + (arguesFor(one.push, cell) ? "for " : "against ") + value + ": it " +
      (one.push > 0 ? "multiplies" : "divides") + " the odds of a one by " + times + ".";
  });
  const base = 1 / (1 + Math.exp(-cell.offset));
  const where = all.length > 1 ? "all scales" : "the scale";
  const middle = "A row in the middle of " + where + " has it with probability " + chanceOf(base) + ".";
  return [...(lines.length ? lines : ["No scale says much about it."]), middle];
}

/** Other models: the two parts that stand behind the cell most, if it was explained beforehand. */
function reasonsOfRest(cell) {
  return cell.parts.length > 1 ? reasonsOfShares(cell) : [];
}

const REASONS = {
  classes: reasonsOfClasses, map: reasonsOfClasses, shares: reasonsOfShares, causes: reasonsOfCauses, scales: reasonsOfScales,
};

function reasonPartner({ why, isBlank }) {
  return why.partner ? ["What argues most for " + (isBlank ? "the likelier" : "this") + " value: " + why.partner + "."] : [];
}

/** Of models with phantom causes: a zero may be a one that was lost. */
function reasonMissing({ why, isBlank, isOne }) {
  if (why.missing === null || isBlank || isOne) return [];
  return ["The probability that it is a one that was lost: " + chanceOf(why.missing) + "."];
}

/** The same, short, for lists. */
export function shortReason(cell) {
  const { why } = cell;
  if (why === null) return "";
  const lines = (REASONS[cell.kind] ?? reasonsOfRest)(cell);
  return lines[0] ?? "";
}
