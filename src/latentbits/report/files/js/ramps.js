// Colours of numbers: a ramp whose lightness changes evenly, so that it is read without telling hues apart.

// The middle and ends of matplotlib's "plasma" (public domain), a tenth apart.
const PLASMA = [
  "#0d0887", "#41049d", "#6a00a8", "#8f0da4", "#b12a90", "#cc4778", "#e16462", "#f2844b", "#fca636", "#fcce25", "#f0f921",
].map(rgbOf);

export function rgbOf(hex) {
  const full = hex.length === 4 ? "#" + Array.from(hex.slice(1), (c) => c + c).join("") : hex;
  return [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16));
}

/** How light a colour is, as WCAG has it. */
export function luminanceOf(rgb) {
  const [r, g, b] = rgb.map((v) => (v <= 10.3 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrastOf(one, other) {
  const [a, b] = [luminanceOf(one), luminanceOf(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

export function isDarkPaper(paper) {
  return luminanceOf(rgbOf(paper)) < 0.3;
}

const hexOf = (rgb) => "#" + rgb.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("");
const mixedRgb = (a, b, t) => a.map((v, c) => v + (b[c] - v) * t);

/** The colour of a share between 0 and 1. More stands out more: darker on white paper, lighter on dark. */
export function rampColour(share, dark) {
  const t = Math.min(1, Math.max(0, share)), at = dark ? 3 + 7 * t : 7.4 * (1 - t), low = Math.min(9, Math.floor(at));
  return hexOf(mixedRgb(PLASMA[low], PLASMA[low + 1], at - low));
}

/** A colour that is seen on this paper: itself, or as much lighter or darker as that takes. */
export function seenOn(colour, paper, least = 2.4) {
  const ground = rgbOf(paper), own = rgbOf(colour), end = isDarkPaper(paper) ? [255, 255, 255] : [0, 0, 0];
  for (let t = 0; t < 1; t += 0.05) {
    const tried = mixedRgb(own, end, t);
    if (contrastOf(tried, ground) >= least) return hexOf(tried);
  }
  return hexOf(end);
}
