"""What fits cost: the numbers behind ``Cost`` in ``latentbits/families.py``, by which comparisons keep to their budgets.

    python -m benchmarks.costs             measures, prints and writes benchmarks/results/costs.json

Every family is fitted to tables of several shapes as comparisons fit it, one thread, and asked for the hidden cells.  CPU
seconds per pass are explained by non-negative sums of what a table has (rows; ones and unknown cells; cells), by itself and
times the components.  Fits often settle before their last pass, so that what a plan takes for a fit is about the most.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares, nnls

from latentbits.data import open_source
from latentbits.data.holdout import HiddenRows
from latentbits.evaluation.candidates import Candidate, candidates_for, measure, size_text
from latentbits.evaluation.hidden_cells import predict_hidden
from latentbits.families import FIXED_PASSES, MOST_PAIRED, TableSize

RESULT = Path(__file__).parent / "results" / "costs.json"
# Rows, columns, share of ones.
TABLES = ((400, 16, 0.4), (8000, 16, 0.3), (8000, 69, 0.15), (8000, 100, 0.04), (4000, 900, 0.03), (180, 5000, 0.12),
          (450, 20000, 0.12))  # fmt: skip
SIZES: dict[Any, tuple[Any, ...]] = {True: (2, 5, 10), False: ((5, 5), (11, 11), None)}
HIDDEN = 0.1
# Above this, longer fits of the same family and table are left out.
MOST_SECONDS = 20.0


def table(n_rows: int, n_columns: int, ones: float) -> Any:
    """Rows with several of six causes, each of which switches on a tenth of the columns, and a leak."""
    rng = np.random.default_rng([n_rows, n_columns])
    causes = rng.random((n_rows, 6)) < 0.3
    strength = (rng.random((6, n_columns)) < 0.1) * rng.random((6, n_columns)) * min(0.9, 4 * ones)
    leak = max(0.01, ones - 0.18 * min(0.9, 4 * ones) / 2)
    chance = 1 - (1 - leak) * np.exp(causes @ np.log1p(-strength))
    return (rng.random((n_rows, n_columns)) < chance).astype(np.uint8)


def hidden_table(shape: tuple[int, int, float]) -> tuple[HiddenRows, TableSize]:
    """A table with the cells hidden that a comparison hides while it chooses sizes."""
    source = open_source(table(*shape))
    share = min(HIDDEN, 1e6 / (shape[0] * shape[1]))
    hidden = HiddenRows(source, np.arange(shape[0]), share, 0, 1000, hidden=(0,))
    marks = [
        block.ones.n_marked + (0 if block.unknown is None else block.unknown.n_marked)
        for block in map(hidden.block, range(hidden.n_blocks))
    ]
    return hidden, TableSize(shape[0], shape[1], sum(marks))


def measured(one: Candidate, hidden: HiddenRows, size: Any, options: Any) -> dict[str, Any]:
    """CPU seconds of a fit and of its answers."""
    begin = time.process_time()
    fitted = one.estimator(size, options, 0, 1).fit(hidden)
    between = time.process_time()
    predict_hidden(fitted, hidden, 1)
    passes = one.passes(options)
    done = getattr(fitted, "n_iter_", passes) * options.get("n_init", 1)
    return {
        "model": one.name,
        "size": size_text(size),
        "components": measure(size),
        "fit": between - begin,
        "answers": time.process_time() - between,
        "passes": min(float(done), passes) if "n_draws" not in options else passes,
        "most_passes": passes,
    }


def measure_all() -> list[dict[str, Any]]:
    """All fits."""
    out: list[dict[str, Any]] = []
    for shape in TABLES:
        hidden, facts = hidden_table(shape)
        for one in candidates_for("all"):
            sizes = [size for size in one.sizes if size in SIZES[True] or size in SIZES[False]]
            for options in (one.light, one.full):
                for size in sizes[:2] if options is one.full else sizes:
                    before = [r["fit"] for r in out if (r["model"], r["shape"]) == (one.name, shape)]
                    if before and max(before) > MOST_SECONDS:
                        continue
                    row = {"shape": shape, "marks": facts.n_marked, **measured(one, hidden, size, options)}
                    row["planned"] = one.seconds(size, options, facts)
                    out.append(row)
                    print(
                        f"{shape[0]:6d} x {shape[1]:5d} {row['model']:12s} {row['size']:6s} fit {row['fit']:7.2f} answers "
                        f"{row['answers']:6.2f} passes {row['passes']:5.0f} of {row['most_passes']:5.0f} planned "
                        f"{row['planned']:7.2f}",
                        flush=True,
                    )
    return out


FEATURES = ("per_pass", "rows", "marks", "cells", "pairs", "per_row", "per_mark", "per_cell", "per_pair",
            "per_square")  # fmt: skip


def features(row: dict[str, Any]) -> Any:
    """What the cost of a pass is made of: of the table, and of the table times the components."""
    n_rows, n_columns = row["shape"][:2]
    table = [n_rows, row["marks"], n_rows * n_columns]
    pairs = min(n_columns, MOST_PAIRED) ** 2
    one, several = (pairs * (row["model"] == name) for name in ("tree", "trees"))
    squares = n_columns * row["components"] ** 2 * (row["model"] == "hidden-tree")
    return np.array([1.0, *table, one, *(row["components"] * np.array([*table, several])), squares])


def explained(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Non-negative numbers for the features, by the logarithms of the seconds of whole fits."""
    design = np.array([(row["passes"] + FIXED_PASSES) * features(row) for row in rows])
    seconds = np.array([max(row["fit"] + row["answers"], 2e-3) for row in rows])
    scale = np.maximum(design.max(axis=0), 1e-300)
    begin, _ = nnls(design / scale / seconds[:, None], np.ones(len(seconds)))

    def off(found: Any) -> Any:
        return np.log(design / scale @ found / seconds)

    found = least_squares(off, begin + 1e-3 * begin.max(), bounds=(0, np.inf)).x
    ratio = np.exp(off(found))
    out = dict(zip(FEATURES, (float(f"{value:.2g}") for value in found / scale)))
    out["planned_by_measured_least"], out["planned_by_measured_most"] = float(ratio.min()), float(ratio.max())
    return {name: value for name, value in out.items() if 1e-20 < value < 1e20}


def main() -> None:
    """Measure, or explain what was measured (``explain``)."""
    warnings.simplefilter("ignore")
    if "explain" in sys.argv:
        rows = json.loads(RESULT.read_text())["fits"]
    else:
        for one in candidates_for("all"):  # kernels are compiled
            measured(one, hidden_table((100, 10, 0.3))[0], one.sizes[0], one.light)
        rows = measure_all()
    costs = {
        name: explained([r for r in rows if r["model"] == name]) for name in dict.fromkeys(r["model"] for r in rows)
    }
    for name, numbers in costs.items():
        print(f"{name:12s}", "  ".join(f"{key} {value:.2g}" for key, value in numbers.items()))
    RESULT.write_text(json.dumps({"costs": costs, "fits": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
