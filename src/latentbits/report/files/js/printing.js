// Canvases take their colours from the style when they are drawn, so that another scheme or paper needs another drawing; and
// paper shows what the screen folds away.

/** Opens all folds, and gives what closes them again. */
function openFolds() {
  const folds = Array.from(document.querySelectorAll("details:not([open])"));
  for (const fold of folds) fold.open = true;
  return folds;
}

/** Calls `redraw` whenever the colours change: with the scheme of the screen, before printing and after it. */
export function followColours(redraw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is light, whatever the screen is; what was folded is folded again afterwards. Browsers may begin twice.
  const folds = [];
  window.addEventListener("beforeprint", () => {
    folds.push(...openFolds());
    document.documentElement.classList.add("printing");
    redraw();
  });
  window.addEventListener("afterprint", () => {
    for (const fold of folds.splice(0)) fold.open = false;
    document.documentElement.classList.remove("printing");
    redraw();
  });
}
