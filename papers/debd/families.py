"""Mean test log-likelihood of all families with exact likelihoods on the twenty density-estimation benchmarks.

Every family chooses its size and options on the validation rows, by fits from one start; then several starts with these are
averaged, where the family can, and with the next larger sizes, as long as the validation rows find that better: averages bear
larger models.  The average of families is weighted by EM on the validation rows.  The test rows are looked
at once.  Results go to ``papers/debd/results/families``: one JSON per set and family, and a table.

    python -m papers.debd.families                          all families on all sets
    python -m papers.debd.families --only trees,hidden nltcs ad

Log-likelihoods of single rows, of which the average is made, are kept beside in ``papers/debd/scores`` (not committed).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from latentbits import BernoulliMixture, BinaryGTM, ChowLiuTree, DPBernoulliMixture, HiddenTree, TreeMixture
from latentbits.datasets import load_debd
from latentbits.errors import LatentBitsWarning

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text())
RESULTS, SCORES = HERE / "results" / "families", HERE / "scores"
FALLEN = 0.002  # of the log-likelihood: larger sizes that are worse by more than this end the search
MOST_ROWS = 20_000  # of the sampler's table


@dataclass(frozen=True)
class Searched:
    """How a family is searched: sizes in turn while they get better, then further options at the best size."""

    make: Any
    fixed: Mapping[str, Any] = field(default_factory=dict)
    size: str = ""
    sizes: tuple[Any, ...] = ()
    first: Mapping[str, Any] = field(default_factory=dict)  # options while the size is chosen
    further: tuple[Mapping[str, Any], ...] = ()
    final: Mapping[str, Any] = field(default_factory=dict)  # options of the last fit
    like: str = ""  # the family whose choice is taken over
    most_rows: int | None = None


ONCE = {"n_init": 1, "screen_starts": False, "random_state": 0}
AVERAGED = {"n_init": 8, "average_restarts": True}
FAMILIES: dict[str, Searched] = {
    "chow-liu": Searched(ChowLiuTree, {}, further=({"smoothing": 1.0}, {"smoothing": 3.0}, {"smoothing": 10.0})),
    "mixture": Searched(
        BernoulliMixture, {"init": "k-means++", "n_init": 2, "tol": 1e-6, "max_iter": 300, "random_state": 0}
    ),
    "averaged": Searched(
        BernoulliMixture, {"init": "k-means++", "tol": 1e-6, "max_iter": 300, **ONCE}, like="mixture", final=AVERAGED
    ),
    "dp": Searched(
        DPBernoulliMixture,
        {"n_chains": 1, "n_warmup": 60, "n_draws": 60, "random_state": 0},
        further=({}, {"learn_cells": "feature", "learn_weight_concentration": True}),
        most_rows=MOST_ROWS,
    ),
    "gtm": Searched(
        BinaryGTM, {"random_state": 0}, "latent_shape", tuple((side, side) for side in (10, 15, 20, 30, 40))
    ),
    "trees": Searched(
        TreeMixture,
        {**ONCE, "max_iter": 25},
        "n_components",
        (2, 4, 10, 20, 40),
        {"smoothing": 10.0},
        ({"smoothing": 1.0}, {"smoothing": 3.0}, {"smoothing": 30.0}),
        AVERAGED,
    ),
    "hidden": Searched(
        HiddenTree,
        {**ONCE, "max_iter": 25},
        "n_states",
        (4, 8, 16, 32),
        {"smoothing": 0.5},
        ({"smoothing": 0.1}, {"smoothing": 2.0}),
        AVERAGED,
    ),
}
# Of tables with more columns than this, trees and hidden trees try less.
WIDE = 800
LESS: dict[str, dict[str, Any]] = {
    "trees": {"sizes": (4, 10, 20), "further": ({"smoothing": 30.0},), "final": {**AVERAGED, "n_init": 4}},
    "hidden": {"sizes": (4, 8, 16), "further": ({"smoothing": 2.0},), "final": {**AVERAGED, "n_init": 4}},
}
TITLES = {
    "chow-liu": "Chow-Liu",
    "mixture": "mixture",
    "averaged": "averaged mixture",
    "dp": "DP",
    "gtm": "GTM",
    "trees": "trees",
    "hidden": "hidden tree",
}


def search_of(family: str, train: Any) -> Searched:
    """How a family is searched on a table."""
    return replace(FAMILIES[family], **(LESS.get(family, {}) if train.shape[1] > WIDE else {}))


def fitted(family: str, train: Any, options: Mapping[str, Any]) -> Any:
    """One fit; warnings of fits that were cut short are expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return FAMILIES[family].make(**{**FAMILIES[family].fixed, **options}).fit(train)


def searched(family: str, name: str, train: Any, valid: Any) -> list[dict]:
    """The fits by which the validation rows choose; the best one is the choice."""
    how, fits = search_of(family, train), []
    if family == "mixture":
        best = json.loads((HERE / "results" / f"{name}.json").read_text())["chosen"]
        return [{"options": {key: best[key] for key in ("n_components", "smoothing")}, "valid": best["valid"]}]
    if how.like:
        return searched(how.like, name, train, valid)

    def tried(options: Mapping[str, Any]) -> float:
        begin = time.perf_counter()
        value = fitted(family, train, options).score(valid)
        fits.append({"options": dict(options), "valid": value, "seconds": round(time.perf_counter() - begin, 2)})
        return value

    for size in how.sizes:
        value = tried({how.size: size, **how.first})
        if value < max(fit["valid"] for fit in fits) - FALLEN * abs(value):
            break
    at_best = {} if not fits else max(fits, key=lambda fit: fit["valid"])["options"]
    for options in how.further:
        tried({**at_best, **options})
    return fits or [{"options": {}, "valid": None}]


def larger(how: Searched, chosen: Mapping[str, Any]) -> list[dict]:
    """The same options with the next larger sizes, of families whose starts are averaged."""
    if not how.sizes or not how.final:
        return []
    return [{**chosen, how.size: size} for size in how.sizes[how.sizes.index(chosen[how.size]) + 1 :]]


def one_result(family: str, name: str) -> dict:
    """The search, the last fit, and the log-likelihoods of its rows."""
    splits = load_debd(name)
    train, valid, test = splits["train"], splits["valid"], splits["test"]
    if FAMILIES[family].most_rows is not None and train.shape[0] > FAMILIES[family].most_rows:
        train = train[np.sort(np.random.default_rng(0).permutation(train.shape[0])[: FAMILIES[family].most_rows])]
    path = RESULTS / family / f"{name}.json"
    known = json.loads(path.read_text()) if path.exists() else None
    fits = known["fits"] if known is not None else searched(family, name, train, valid)
    chosen = max(fits, key=lambda fit: -np.inf if fit["valid"] is None else fit["valid"])["options"]
    last: list[dict] = []
    how = search_of(family, train)
    for options in (chosen, *larger(how, chosen)):
        begin = time.perf_counter()
        model = fitted(family, train, {**options, **how.final})
        seconds = time.perf_counter() - begin
        last.append({"options": options, "valid": model.score(valid), "seconds": round(seconds, 2)})
        if last[-1]["valid"] < max(fit["valid"] for fit in last):
            break
        chosen = options
        rows = {"valid": model.score_samples(valid), "test": model.score_samples(test)}
    SCORES.mkdir(exist_ok=True)
    np.savez_compressed(SCORES / f"{family}-{name}.npz", **rows)
    result = {
        "family": family,
        "set": name,
        "options": chosen,
        "n_rows": int(train.shape[0]),
        "valid": float(rows["valid"].mean()),
        "test": float(rows["test"].mean()),
        "seconds": round(sum(fit.get("seconds") or 0.0 for fit in (*fits, *last)), 1),
        "fits": fits,
        "last": last,
    }
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    return result


def weights_of(scores: Any) -> Any:
    """Weights (F,) of families under which validation rows (n, F) are most probable, by EM."""
    weights = np.full(scores.shape[1], 1.0 / scores.shape[1])
    for _ in range(500):
        joint = scores + np.log(weights)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        weights = np.maximum((shares / shares.sum(axis=1, keepdims=True)).mean(axis=0), 1e-12)
    return weights / weights.sum()


def averaged(name: str) -> dict | None:
    """The average of the families, if the rows of all of them are at hand; else the one that is known."""
    done = [family for family in FAMILIES if read(family, name) is not None]
    found = {family: np.load(path) for family in done if (path := SCORES / f"{family}-{name}.npz").exists()}
    if len(found) < len(done):  # rows of families that were fitted elsewhere: fit them again for a new average
        return read("average", name)
    valid, test = (np.stack([rows[split] for rows in found.values()], axis=1) for split in ("valid", "test"))
    weights = weights_of(valid)
    value = np.logaddexp.reduce(test + np.log(weights), axis=1).mean()
    result = {"set": name, "test": float(value), "weights": dict(zip(found, weights.round(4).tolist()))}
    (RESULTS / "average").mkdir(exist_ok=True, parents=True)
    (RESULTS / "average" / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def read(family: str, name: str) -> dict | None:
    """A result that is there."""
    path = RESULTS / family / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def best_family(name: str) -> dict | None:
    """The family that the validation rows prefer."""
    found = [one for family in FAMILIES if (one := read(family, name)) is not None]
    return max(found, key=lambda one: one["valid"]) if found else None


def table() -> str:
    """The results as Markdown."""
    lines = [
        "# Density estimation: mean test log-likelihood per row (nats)",
        "",
        "Sizes and options chosen on the validation rows; trees, hidden trees and averaged mixtures average 8 starts",
        "(trees and hidden trees of most sets of more than 800 columns: fewer sizes, 4 starts).",
        "The DP is a chain of 60 sweeps after 60, on at most 20,000 rows. Best family: by the validation rows. Average: "
        "weighted by EM on the validation rows, of the families that are named in its file.",
        "HCLT: public logs of hidden Chow-Liu trees (Liu & Van den Broeck 2021). Bold: at or above HCLT. Written by "
        "`python -m papers.debd.families`.",
        "",
        f"| set | {' | '.join(TITLES.values())} | best family | average | HCLT | seconds in all |",
        "|---|" + "---|" * (len(TITLES) + 4),
    ]
    counts, n_sets = {"best": 0, "average": 0, "near": 0}, 0
    for name, goal in EXPECTED["hclt"].items():
        best, average = best_family(name), read("average", name)
        if best is None or average is None:
            continue
        n_sets += 1
        found = [read(family, name) for family in TITLES]
        cells = ["" if one is None else _cell(one["test"], goal) for one in found]
        seconds = sum(one["seconds"] for one in found if one is not None)
        lines.append(
            f"| {name} | {' | '.join(cells)} | {_cell(best['test'], goal)} ({TITLES[best['family']]}) | "
            f"{_cell(average['test'], goal)} | {goal:.3f} | {seconds:.0f} |"
        )
        counts["best"] += best["test"] >= goal
        counts["average"] += average["test"] >= goal
        counts["near"] += max(best["test"], average["test"]) >= goal * 1.02
    lines += [
        "",
        f"Of {n_sets} sets at or above HCLT: {counts['best']} by the best family, {counts['average']} by the average; "
        f"{counts['near']} within 2 % of it or above.",
        "",
    ]
    return "\n".join([*lines, *_prototypes()])


def _cell(value: float, goal: float) -> str:
    """A number, in bold if it reaches the goal."""
    return f"**{value:.3f}**" if value >= goal else f"{value:.3f}"


def _prototypes() -> list[str]:
    """Trees and hidden trees beside the prototypes of the specification."""
    lines = []
    for family in ("trees", "hidden"):
        done = [one for name in EXPECTED[family] if (one := read(family, name)) is not None]
        short = [one["set"] for one in done if not met(one)]
        told = f"; not: {', '.join(short)}" if short else ""
        lines += [
            f"{TITLES[family].capitalize()}: {len(done) - len(short)} of {len(done)} sets within 0.5 % of the prototype or "
            f"above it{told}.",
            "",
        ]
    return lines


def met(one: dict) -> bool:
    """Whether trees or hidden trees are within the tolerance of their prototype."""
    goal = EXPECTED[one["family"]][one["set"]]
    return one["test"] >= goal + EXPECTED["tolerance"] * goal


def main(arguments: list[str]) -> int:
    """Run the sets and write the results; what is there is not fitted again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(FAMILIES))
    parser.add_argument("sets", nargs="*")
    asked = parser.parse_args(arguments)
    for name in asked.sets or list(EXPECTED["hclt"]):
        for family in asked.only.split(","):
            known = read(family, name)
            if known is not None and "last" in known and (SCORES / f"{family}-{name}.npz").exists():
                continue
            one = one_result(family, name)
            print(name, {key: value for key, value in one.items() if key != "fits"}, flush=True)
        print(averaged(name), flush=True)
    (RESULTS / "table.md").write_text(table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
