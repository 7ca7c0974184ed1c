"""How long a comparison takes with its default budget, and that the plan holds it there.

``python -m benchmarks.explore``: the embedded votes ("well under a minute"), and a sparse table of 20,000 × 500 ("some
minutes").  Seconds are of this machine, which is why they are printed, not asserted; their ratio to the nominal ones tells
how honest the plan is.
"""

from __future__ import annotations

import time
from typing import Any

import latentbits
from latentbits.datasets import make_noisy_or
from latentbits.evaluation.plan import default_budget


def tables(small: bool = False) -> dict[str, Any]:
    """The tables to compare families on."""
    import scipy.sparse as sp

    if small:
        return {"toy": make_noisy_or(200, 12, 2, random_state=0).data}
    wide = make_noisy_or(20_000, 500, 12, size=0.06, prior=0.08, leak=0.003, random_state=0).data
    return {"votes": latentbits.datasets.load_votes().data, "20,000 × 500": sp.csr_array(wide)}


def measure(X: Any, models: Any = "all", **options: Any) -> dict[str, Any]:
    """Seconds, nominal seconds, and what was done."""
    begin = time.perf_counter()
    found = latentbits.compare(X, models, **options)
    seconds = time.perf_counter() - begin
    plan = found.plan
    return {
        "seconds": round(seconds, 1),
        "nominal": round(plan.seconds, 1),
        "budget": default_budget(X.shape[0] * X.shape[1]),
        "rows": plan.n_rows,
        "draws": plan.n_folds,
        "best": found.best_,
        "dearest": sorted(((round(s, 1), name) for name, s in found.seconds.items()), reverse=True)[:4],
    }


def main() -> None:
    """Measure and print."""
    for name, X in tables().items():
        print(name, measure(X), flush=True)


if __name__ == "__main__":
    main()
