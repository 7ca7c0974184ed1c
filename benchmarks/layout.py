"""Where a dense tile becomes cheaper than index lists: the density at which the two cross, for several K.

python -m benchmarks.layout
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import best_of
from latentbits.data.block import ListMarks, TileMarks
from latentbits.engine.sweep import one_blas_thread


def crossing(n_components: int, n_rows: int = 4096, n_columns: int = 128) -> float:
    """The lowest density at which both products together are quicker with a tile."""
    rng = np.random.default_rng(0)
    right, left = rng.random((n_columns, n_components)), rng.random((n_rows, n_components))
    for density in np.arange(0.04, 0.6, 0.02):
        tile = TileMarks((rng.random((n_rows, n_columns)) < density).view(np.uint8))
        lists = ListMarks(*tile.lists(), n_columns)
        both = {
            name: lambda marks=marks: (marks.dot(right), marks.t_dot(left))
            for name, marks in (("tile", tile), ("lists", lists))
        }
        with one_blas_thread():
            times = best_of(both, 7)
        if times["tile"] < times["lists"]:
            return float(density)
    return 1.0


def main() -> None:
    """Print the crossing for several numbers of components."""
    for n_components in (2, 5, 10, 20, 50, 100):
        print(f"K={n_components:4d}: a tile wins from density {crossing(n_components):.2f}")


if __name__ == "__main__":
    main()
