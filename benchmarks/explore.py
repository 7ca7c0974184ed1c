"""How long a comparison takes with its default budget, and that it keeps to it.

``python -m benchmarks.explore``: the embedded votes ("well under a minute"), and a sparse table of 20,000 × 500 ("some
minutes").  Seconds are of this machine, which is why they are printed, not asserted; what was told on the way says how honest
the estimate of the time left is after a tenth of the time.
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
    """Seconds, how good the estimate of them was, the longest silence, and what was done."""
    begin = time.perf_counter()
    told: list[tuple[float, float]] = []

    def tell(done: float, total: float, note: str) -> None:
        told.append((time.perf_counter() - begin, done / total if total > 0 else 0.0))

    found = latentbits.compare(X, models, progress=tell, **options)
    seconds = time.perf_counter() - begin
    estimates = [at / share / seconds for at, share in told if at > 0.1 * seconds and share > 0]
    plan = found.plan
    return {
        "seconds": round(seconds, 1),
        "estimates of the whole after a tenth": [round(min(estimates), 2), round(max(estimates), 2)],
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
