// Answers about a row that is typed on the page, as the library gives them for the fitted model.
//
// `rowModel(parameters)` takes what `latentbits.exploring.row_parameters` gives.
import { inferDecoded } from "./inference_tools.js";
import { inferClasses, inferMap } from "./inference_classes.js";
import { inferTrees } from "./inference_trees.js";
import { inferAspects } from "./inference_shares.js";
import { inferCauses } from "./inference_causes.js";
import { inferScores, inferTraits } from "./inference_scales.js";

const INFER_KINDS = {
  classes: inferClasses, map: inferMap, trees: inferTrees, shares: inferAspects, causes: inferCauses, scores: inferScores,
  traits: inferTraits,
};

/** A fitted model that answers about rows.  `cells` are D numbers: 1, 0, or -1 for unknown.
 *
 * `answer(cells)` gives
 *   parts       Float64Array(K), the row of `model.transform` (of a map: of `predict_proba`, and `place`, its `transform`),
 *   filled      Float64Array(D), the row of `model.reconstruct`,
 *   surprising  Float64Array(D), -log P(value | the other cells), NaN for unknown cells: worked out when it is first read, as
 *               some families look at the row anew for every known cell;
 * `why(cells, j)` gives of one cell, as `model.explain` does,
 *   probability  P(cell = 1 | the other cells),
 *   shares       Float64Array(K), the part of every component in the cell,
 *   leak         the part outside the components, of families that have one,
 *   missing      the chance that a zero is a one that was lost (NaN for other cells), of models with phantoms. */
export function rowModel(parameters) {
  const p = inferDecoded(parameters), kind = INFER_KINDS[p.kind](p);
  let last = null, state = null; // the row that was looked at last

  function look(cells) {
    if (cells.length !== p.n_columns) throw new RangeError(`a row has ${p.n_columns} cells, not ${cells.length}`);
    if (last === null || last.some((cell, j) => cell !== cells[j])) {
      const row = Array.from(cells);
      for (const cell of row) if (cell !== 0 && cell !== 1 && cell !== -1) throw new RangeError(`a cell is 1, 0 or -1, not ${cell}`);
      state = kind.look(row);
      last = row;
    }
    return state;
  }

  function surprise(cells) {
    const now = look(cells);
    return Float64Array.from(cells, (cell, j) => {
      if (cell === -1) return NaN;
      const { probability } = kind.why(now, j);
      return -Math.log(cell === 1 ? probability : 1 - probability);
    });
  }

  return {
    kind: p.kind,
    nColumns: p.n_columns,
    nParts: p.n_parts,
    answer(cells) {
      const row = Array.from(cells), { parts, filled, place } = kind.answer(look(row));
      let found = null;
      const out = { parts: parts.slice(), filled, get surprising() { return (found = found ?? surprise(row)); } };
      if (place) out.place = place;
      return out;
    },
    why: (cells, j) => kind.why(look(cells), j),
  };
}
