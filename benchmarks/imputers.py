"""A league of imputers: what they say about cells of 0/1 tables that were hidden from them.

    python -m benchmarks.imputers [--only NAME,NAME] [--tables NAME,NAME] [--hiding NAME,NAME] [--again] [--small]

Writes ``benchmarks/results/imputers.json`` after every run of an imputer, and ``imputers.md`` from it.  What stands in the
first is not run again unless ``--again`` is given, a table has changed, or a package was missing.  ``--small`` plays one
small table and prints.

Every imputer gets the same table with NaN at unknown and at hidden cells, one thread and :data:`LIMIT` seconds in a process
of its own, and says P(cell = 1); probabilities are kept :data:`CLIP` from 0 and 1, the same for all.  Imputers that ask the
user for a setting on which their answers hang (neighbours, penalty, shrinkage) choose it by cells that they hide themselves,
and that time counts.  Rivals come from scikit-learn and the extra ``bench``; soft-impute needs an environment of its own
(the extra ``bench-soft``), because its package does not work with scikit-learn 1.8 or later.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.imputing import IMPUTERS, OURS
from latentbits import datasets
from latentbits.evaluation import scores
from latentbits.evaluation.hidden_cells import CLIP, log_losses

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
LIMIT = 300.0  # seconds for an imputer and a table
STARTING = 60.0  # seconds more for a process to import what it needs
MOST_ROWS, MOST_COLUMNS = 2000, 150


# Tables


def survey() -> Any:
    """Ten questions with one answer out of four each, asked of four kinds of people; every answer is a column."""
    return datasets.make_choices(MOST_ROWS, 10, 4, 4, random_state=0).data


def archived(name: str) -> Any:
    """The table ``X`` of a prepared file."""
    with np.load(datasets.fetch(name)) as parts:
        return parts["X"]


def newsgroups() -> Any:
    """Posts × words."""
    from benchmarks.whole_fits import sparse

    return sparse("newsgroups_w100").toarray()


TABLES: dict[str, Callable[[], Any]] = {
    "votes": lambda: datasets.load_votes().data,
    "zoo": lambda: datasets.load_zoo().data,
    "symptoms": lambda: datasets.load_diabetes_symptoms().data,
    "spect_heart": lambda: datasets.load_spect_heart().data,
    "plants_genera": lambda: datasets.load_plants().data,
    "survey": survey,
    "nltcs": lambda: datasets.load_debd("nltcs")["train"],
    "citations": lambda: archived("citations"),
    "newsgroups_w100": newsgroups,
    "dna": lambda: datasets.load_debd("dna")["train"],
}
SMALL: dict[str, Callable[[], Any]] = {
    "toy": lambda: datasets.make_mixture(90, 6, 2, unknown=0.02, random_state=0).data
}


def table_of(name: str) -> np.ndarray:
    """At most :data:`MOST_ROWS` rows, drawn, with the columns that vary most, both in the order of the file."""
    X = np.asarray((TABLES | SMALL)[name](), dtype=float)
    if len(X) > MOST_ROWS:
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])]
    varying = np.sort(np.argsort(-np.nanvar(X, axis=0), kind="stable")[:MOST_COLUMNS])
    return X[:, varying]


# Hiding


def at_random(X: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """Cells that are hidden whatever they and others hold."""
    return rng.random(X.shape) < share


def blocks(X: np.ndarray, rng: np.random.Generator, share: float = 0.1) -> np.ndarray:
    """A tenth of the rows, one after another, in a fifth of the columns, the most correlated with one of them; until the
    share is reached."""
    n_rows, n_columns = X.shape
    height, width = max(1, n_rows // 10), max(2, n_columns // 5)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    centred = filled - filled.mean(axis=0)
    centred /= np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-12)
    likeness = np.abs(centred.T @ centred)
    np.fill_diagonal(likeness, 2.0)
    hidden = np.zeros(X.shape, dtype=bool)
    while hidden.mean() < share:
        first = rng.integers(n_rows - height + 1)
        related = np.argsort(-likeness[rng.integers(n_columns)], kind="stable")[:width]
        hidden[first : first + height, related] = True
    return hidden


def ones_more_often(X: np.ndarray, rng: np.random.Generator, share: float = 0.1) -> np.ndarray:
    """Ones are hidden three times as often as zeros."""
    zero = share / (1 + 2 * np.nanmean(X))
    return rng.random(X.shape) < np.where(X == 1, 3 * zero, zero)


HIDINGS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "10 %": lambda X, rng: at_random(X, rng, 0.1),
    "30 %": lambda X, rng: at_random(X, rng, 0.3),
    "blocks": blocks,
    "ones": ones_more_often,
}
ABOUT = {
    "10 %": "a tenth of the cells at random",
    "30 %": "three tenths of the cells at random",
    "blocks": "neighbouring rows in related columns, a tenth of the cells",
    "ones": "ones three times as often as zeros, a tenth of the cells",
}
# Tables whose cells are hidden in every way; those of the others only at random.
EVERY_WAY = ("votes", "plants_genera", "nltcs", "toy")


class Question(NamedTuple):
    """A table with hidden cells, and what they hold."""

    seen: np.ndarray  # (N, D) 0, 1, NaN
    rows: np.ndarray  # (m,) of the hidden cells
    columns: np.ndarray  # (m,)
    values: np.ndarray  # (m,) 0 or 1

    def about(self) -> dict[str, Any]:
        """What of it is needed to compare answers, and a seal of all."""
        seal = 0
        for part in (
            np.nan_to_num(self.seen, nan=2).astype(np.int8),
            self.rows.astype(np.int64),
            self.values.astype(np.int8),
        ):
            seal = zlib.crc32(np.ascontiguousarray(part).tobytes(), seal)
        counts = np.unique(self.rows, return_counts=True)[1]
        shape = list(self.seen.shape)
        return {"shape": shape, "hidden": len(self.rows), "seal": seal, "counts": packed(counts, np.uint16)}


def question(table: str, hiding: str) -> Question:
    """Hide known cells, the same in every run."""
    X = table_of(table)
    rng = np.random.default_rng(zlib.crc32(f"{table}/{hiding}".encode()))
    hidden = HIDINGS[hiding](X, rng) & ~np.isnan(X)
    rows, columns = np.nonzero(hidden)
    return Question(np.where(hidden, np.nan, X), rows, columns, X[hidden])


# Playing


def packed(numbers: np.ndarray, dtype: Any) -> str:
    """Numbers as text of few letters."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode()


def unpacked(text: str, dtype: Any) -> np.ndarray:
    """The numbers of :func:`packed`."""
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def judged(asked: Question, said: np.ndarray) -> dict[str, Any]:
    """Scores of the hidden cells; the losses of every row are kept for comparisons."""
    probabilities = np.asarray(said, dtype=float)[asked.rows, asked.columns]
    if not np.isfinite(probabilities).all():
        raise ValueError(f"{(~np.isfinite(probabilities)).sum()} of {len(probabilities)} probabilities are not numbers")
    probabilities = np.clip(probabilities, CLIP, 1 - CLIP)
    losses = log_losses(asked.values, probabilities)
    place = np.unique(asked.rows, return_inverse=True)[1]
    return {
        "log_loss": round(float(losses.mean()), 6),
        "auc": round(scores.auc(asked.values, probabilities), 4),
        "calibration": round(scores.calibration_error(asked.values, probabilities), 5),
        "row_losses": packed(np.bincount(place, weights=losses), np.float16),
    }


def play(table: str, hiding: str, name: str, small: bool = False) -> dict[str, Any]:
    """One imputer on one table: scores and seconds, or why there are none."""
    asked, imputer = question(table, hiding), IMPUTERS[name](small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            began = time.perf_counter()
            said = imputer.fit_predict(asked.seen.copy())
            seconds = time.perf_counter() - began
            told = judged(asked, said)
        except ModuleNotFoundError as error:
            return {"missing": f"not available: {error.msg}"}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"[:200]}
    return {
        **told,
        "seconds": round(seconds, 2),
        "versions": {package: version(package) for package in imputer.packages},
    }


def play_apart(table: str, hiding: str, name: str) -> dict[str, Any]:
    """The same in a process of its own, with a limit to its seconds."""
    command = [sys.executable, "-m", "benchmarks.imputers", "--one", table, hiding, name]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT + STARTING)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {LIMIT:g} s"}
    if run.returncode:
        return {"failed": f"its process ended with {run.returncode}"}
    told = json.loads(run.stdout.splitlines()[-1])
    return {"failed": f"over {LIMIT:g} s"} if told.get("seconds", 0) > LIMIT else told


def matches(tables: list[str], hidings: list[str]) -> Iterator[tuple[str, str]]:
    """Tables and the ways in which their cells are hidden."""
    for hiding in hidings:
        for table in tables:
            if hiding == "10 %" or table in EVERY_WAY:
                yield table, hiding


def league(
    found: dict[str, Any],
    names: list[str],
    rounds: list[tuple[str, str]],
    save: Callable[[dict[str, Any]], None],
    again: bool = False,
    small: bool = False,
) -> dict[str, Any]:
    """Play what has not been played yet into ``found``, and save after every game."""
    abouts = {match: question(*match).about() for match in rounds}
    for match, about in abouts.items():
        kept = found.setdefault(" / ".join(match), {**about, "imputers": {}})
        if kept["seal"] != about["seal"]:
            kept.update(about, imputers={})
    for name in names:
        for table, hiding in rounds:
            played = found[f"{table} / {hiding}"]["imputers"]
            if name in played and "missing" not in played[name] and not again:
                continue
            told = play(table, hiding, name, small) if small else play_apart(table, hiding, name)
            if "missing" in told and name in played:
                continue
            played[name] = told
            print(f"{table}, {hiding}, {name}: {verdict(told)}", flush=True)
            save(found)
    return found


def verdict(told: dict[str, Any]) -> str:
    """A game in a few words."""
    words = told.get("missing") or told.get("failed")
    return words or f"log-loss {told['log_loss']:.4f}, AUC {told['auc']:.3f}, {told['seconds']:.1f} s"


# Telling


class Place(NamedTuple):
    """An imputer in one match; behind the first by ``behind``, with its standard error."""

    name: str
    told: dict[str, Any]
    behind: float
    se: float

    @property
    def near(self) -> bool:
        """First, or within one standard error of the first."""
        return self.behind <= self.se


def ranking(match: dict[str, Any]) -> list[Place]:
    """Those who have answered, best first; differences are paired, cells of a row go together."""
    counts = unpacked(match["counts"], np.uint16).astype(np.int64)
    rows = np.repeat(np.arange(len(counts)), counts)

    def spread(told: dict[str, Any]) -> np.ndarray:
        return np.repeat(unpacked(told["row_losses"], np.float16).astype(float) / counts, counts)

    answered = {name: told for name, told in match["imputers"].items() if "log_loss" in told}
    order = sorted(answered, key=lambda name: answered[name]["log_loss"])
    places = []
    for name in order:
        best, told = answered[order[0]], answered[name]
        se = scores.paired(spread(told), spread(best), rows).se
        places.append(Place(name, told, told["log_loss"] - best["log_loss"], se))
    return places


def summary(found: dict[str, Any]) -> str:
    """On how many tables with a tenth of the cells hidden at random ours is first or near."""
    told = {key: ranking(match) for key, match in found.items() if key.endswith("/ 10 %")}
    ours = [place for places in told.values() for place in places if place.name == OURS]
    if not ours:
        return f"{OURS} has not been run."
    near, first = sum(place.near for place in ours), sum(place.behind == 0 for place in ours)
    return (
        f"With a tenth of the cells hidden at random, {OURS} is first or within one standard error of the first on {near} of "
        f"{len(told)} tables, and first on {first}."
    )


def overview(found: dict[str, Any]) -> list[str]:
    """Log-losses of all imputers in all matches; the first and those within one standard error of it are bold."""
    places = {key: {place.name: place for place in ranking(match)} for key, match in found.items()}
    names = [name for name in IMPUTERS if any(name in match["imputers"] for match in found.values())]
    lines = ["| table / hidden | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key, by_name in places.items():
        cells = []
        for name in names:
            place = by_name.get(name)
            text = "–" if place is None else f"{place.told['log_loss']:.4f}"
            cells.append(f"**{text}**" if place is not None and place.near else text)
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return lines


def tally(found: dict[str, Any]) -> list[str]:
    """For every imputer: how often it is first or near, how far behind it is, and its seconds."""
    lines = [
        "| imputer | matches | first or near | mean behind | median seconds | most seconds |",
        "|---|---|---|---|---|---|",
    ]
    rankings = [ranking(match) for match in found.values()]
    for name in IMPUTERS:
        places = [place for ranked in rankings for place in ranked if place.name == name]
        if places:
            seconds = [place.told["seconds"] for place in places]
            near, behind = sum(place.near for place in places), float(np.mean([place.behind for place in places]))
            told = (str(len(places)), str(near), f"{behind:.4f}", f"{np.median(seconds):.1f}", f"{max(seconds):.1f}")
            lines.append(f"| {name} | " + " | ".join(told) + " |")
    return lines


def match_lines(key: str, match: dict[str, Any]) -> list[str]:
    """The table of one match."""
    n_rows, n_columns = match["shape"]
    lines = [
        f"## {key}",
        "",
        f"{n_rows:,} × {n_columns}, {match['hidden']:,} hidden cells: {ABOUT[key.split(' / ')[1]]}.",
        "",
    ]
    lines += [
        "| imputer | log-loss | behind the first | AUC | calibration error | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for place in ranking(match):
        told = place.told
        behind = "" if place.behind == 0 else f"{place.behind:.4f} ± {place.se:.4f}"
        cells = (
            f"{told['log_loss']:.4f}",
            behind,
            f"{told['auc']:.3f}",
            f"{told['calibration']:.4f}",
            f"{told['seconds']:.1f}",
        )
        lines.append(f"| {place.name} | " + " | ".join(cells) + " |")
    for name, told in match["imputers"].items():
        if "log_loss" not in told:
            lines.append(f"| {name} | {told.get('missing') or told['failed']} | | | | |")
    return [*lines, ""]


def versions(found: dict[str, Any]) -> str:
    """Releases that have played."""
    seen: dict[str, set[str]] = {}
    for match in found.values():
        for told in match["imputers"].values():
            for package, release in told.get("versions", {}).items():
                seen.setdefault(package, set()).add(release)
    return ", ".join(f"{package} {' and '.join(sorted(releases))}" for package, releases in sorted(seen.items()))


def markdown(found: dict[str, Any]) -> str:
    """The page."""
    found = {f"{table} / {hiding}": None for table, hiding in matches([*TABLES, *SMALL], list(HIDINGS))} | found
    found = {key: match for key, match in found.items() if match is not None}
    text = ["# Imputers of 0/1 tables", "", summary(found), ""]
    text += [
        "`python -m benchmarks.imputers` writes this file. Log-loss in nats per hidden cell, smaller is better; "
        f"probabilities are kept {CLIP:g} from 0 and 1. Standard errors are of paired differences from the first, clustered "
        f"by row. One thread and at most {LIMIT:g} seconds each. How every imputer was used stands in its docstring in "
        "`benchmarks/imputing.py`.",
        "",
        f"Releases: {versions(found)}.",
        "",
    ]
    text += [
        "## All",
        "",
        *tally(found),
        "",
        "Means are over the matches that an imputer has played. Log-loss; bold is first or within one standard error of it, "
        "– not played yet or without an answer.",
        "",
    ]
    text += [*overview(found), ""]
    for key, match in found.items():
        text += match_lines(key, match)
    return "\n".join(text)


def arguments(argv: list[str]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imputers", description=(__doc__ or "").split("\n")[0])
    for option, known in (("--only", IMPUTERS), ("--tables", TABLES), ("--hiding", HIDINGS)):
        parser.add_argument(option, default=",".join(known), help=f"some of {', '.join(known)}".replace("%", "%%"))
    parser.add_argument("--again", action="store_true", help="play also what stands in the results")
    parser.add_argument("--small", action="store_true", help="one small table; print, write nothing here")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    for option, known in (("only", IMPUTERS), ("tables", TABLES), ("hiding", HIDINGS)):
        names = [name.strip() for name in getattr(asked, option).split(",")]
        if strange := [name for name in names if name not in known]:
            parser.error(f"--{option}: there is no {', '.join(map(repr, strange))}; there are {', '.join(known)}")
        setattr(asked, option, names)
    return asked


def main(argv: list[str], folder: Path = RESULTS) -> dict[str, Any]:
    """Play, and write into a folder."""
    asked = arguments(argv)
    if asked.one:
        print(json.dumps(play(*asked.one)))
        return {}
    if asked.small and folder == RESULTS:
        with tempfile.TemporaryDirectory() as other:
            found = main(argv, Path(other))
            print((Path(other) / "imputers.md").read_text())
        return found
    store = folder / "imputers.json"

    def save(found: dict[str, Any]) -> None:
        store.write_text(json.dumps(found, indent=1) + "\n")

    found = json.loads(store.read_text()) if store.exists() else {}
    rounds = list(matches(list(SMALL) if asked.small else asked.tables, asked.hiding))
    league(found, asked.only, rounds, save, asked.again, asked.small)
    (folder / "imputers.md").write_text(markdown(found))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
