"""Checkpoints of fits: what is kept of the starts of a fit, written down and read back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block
from ..errors import FileError
from .checkpoint import read_sealed, write_sealed
from .em import Point, State
from .protocols import Model, StagedModel, SummarisesRestarts, Sweep
from .stats import flatten, shape_of, unflatten, widened


class Restart(NamedTuple):
    """How one start ended."""

    number: of.Count
    objective: of.AnyNumber
    n_iter: of.Count
    converged: bool
    n_rejected: of.Count
    error: str  # empty if the start came to an end
    history: list[of.AnyNumber]  # objective after every accepted pass
    complete: bool = True  # it came to its last stage; objectives of earlier ones do not compare
    went_on: bool = True  # it was among the better ones when starts were compared, or they were not
    compared_at: of.Count = 0  # passes until then; 0 if it was not compared
    compared: of.AnyNumber = -np.inf  # its objective there


@dataclass
class Bookmark:
    """Where a fit checkpoints.

    Parameters
    ----------
    path : path
        The file.
    identity : dict
        What must agree for a file to be resumed: family, options, seed, fingerprint of the table.
    every : float
        Seconds between two writes.
    resume : bool
        Go on from the file if it is there.
    """

    path: str | os.PathLike[str]
    identity: dict[str, Any]
    every: float = 10.0
    resume: bool = True
    clock: Callable[[], float] = time.monotonic
    written: float = field(default=-np.inf, init=False)

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.clock() - self.written >= self.every


class Paused(NamedTuple):
    """A start that waits for the others, to be compared with them."""

    number: int
    state: State
    history: list[float]

    @property
    def objective(self) -> float:
        """What it has reached."""
        return self.history[-1]


class Run(NamedTuple):
    """Everything a checkpoint holds: the current start, those that wait, the ended ones, the best point so far."""

    number: int
    state: State | None
    history: list[float]
    ended: list[Restart]
    best: Point | None
    summaries: list[Any]
    paused: tuple[Paused, ...] = ()  # by number; in the end the first of them goes on


def best_of(ended: list[Restart]) -> Restart | None:
    """The start with the highest objective, the earliest of equals; one cut short in an early stage only if need be."""
    good = [restart for restart in ended if not restart.error and restart.went_on]
    return max(good, key=merit) if good else None


def merit(restart: Restart) -> tuple[bool, float]:
    """By what starts are compared."""
    return restart.complete, restart.objective


def write_run(bookmark: Bookmark | None, run: Run, sweep: Sweep) -> None:
    """Write a checkpoint."""
    if bookmark is None:
        return
    points: dict[str, Any] = {"best": run.best and _plain(run.best, sweep)}
    scalars = None if run.state is None else _put_state(run.state, "", sweep, points)
    paused = [
        [p.number, _put_state(p.state, f"paused{i}.", sweep, points), p.history] for i, p in enumerate(run.paused)
    ]
    arrays: dict[str, Any] = {f"summary{i}": value for i, value in enumerate(run.summaries) if value is not None}
    for name, value in points.items():
        arrays.update(flatten(value, name))
    header = {
        "identity": bookmark.identity,
        "number": run.number,
        "scalars": scalars,
        "history": run.history,
        "ended": [list(restart) for restart in run.ended],
        "paused": paused,
        "shapes": {name: shape_of(value) for name, value in points.items()},
    }
    write_sealed(bookmark.path, "checkpoint", header, arrays)
    bookmark.written = bookmark.clock()


def _put_state(state: State, name: str, sweep: Sweep, points: dict[str, Any]) -> list[Any]:
    """The numbers of a state; ``points`` gets its points, their names behind ``name``."""
    points[f"{name}point"] = _plain(state.point, sweep)
    points[f"{name}accepted"] = state.accepted and _plain(state.accepted, sweep)
    points[f"{name}fallback"] = state.fallback and _plain(state.fallback, sweep)
    for i, point in enumerate(state.trail):
        points[f"{name}trail{i}"] = _plain(point, sweep)
    counts = [state.n_reseeds, state.n_rejected, state.stage, state.quiet, state.passes]
    return [state.iteration, state.objective, *counts, state.complete, state.single]


def _plain(point: Point, sweep: Sweep) -> Any:
    """A point with its row state in this process."""
    return (point.params, tuple(sweep.fetch_rows(point.rows)))


def read_bookmark(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a checkpoint, which tells whose it is."""
    header, arrays = read_sealed(path, "checkpoint")
    identity = header.get("identity")
    if not isinstance(identity, dict):
        raise foreign(path, "it does not tell whose it is")
    return header, arrays


def checkpoint_seed(path: str | os.PathLike[str]) -> int:
    """The seed of the fit that wrote a checkpoint."""
    seed = read_bookmark(path)[0]["identity"].get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < of.MOST:
        raise foreign(path, "its seed is no whole number")
    return seed


def foreign(path: str | os.PathLike[str], why: Any) -> FileError:
    """The error for a checkpoint that no fit has written."""
    return FileError(f"{path} is no checkpoint of a fit: {why}. Remove it, or name another checkpoint.")


def refuse_foreign(bookmark: Bookmark, theirs: dict[str, Any]) -> None:
    """Raise if a file's identity is not that of this fit."""
    other = [key for key, ours in bookmark.identity.items() if theirs.get(key) != ours]
    if other:
        raise FileError(
            f"{bookmark.path} belongs to another fit (it differs in: {', '.join(other)}). "
            "Remove it, name another checkpoint, or use the same table, options and seed."
        )


def read_run(bookmark: Bookmark, model: Model, params_type: Any, sweep: Sweep) -> Run:
    """Read a checkpoint, refusing one of another fit."""
    header, arrays = read_bookmark(bookmark.path)
    refuse_foreign(bookmark, header["identity"])
    try:
        return _RunReader(header, arrays, model, params_type, sweep).run()
    except (of.MisfitError, RecursionError) as error:
        raise foreign(bookmark.path, error) from None


# Iteration, objective, reseeds, rejected trials, stage, quiet passes, passes of the stage, complete, in float32.
Scalars = tuple[of.Count, of.AnyNumber, of.Count, of.Count, of.Count, of.Count, of.Count, bool, bool]


class _RunReader:
    """A run from the content of a checkpoint, all of it held against what the model declares."""

    def __init__(
        self, header: dict[str, Any], arrays: dict[str, Any], model: Model, params_type: Any, sweep: Sweep
    ) -> None:
        self.header, self.arrays, self.model, self.params_type, self.sweep = header, arrays, model, params_type, sweep
        self.counts: list[int] | None = None

    def run(self) -> Run:
        """The whole."""
        number, ended = (
            self.part("number", of.Count),
            [_restart(row) for row in self.part("ended", list[list[of.Plain]])],
        )
        history, shapes = self.part("history", list[of.AnyNumber]), self.part("shapes", dict[str, of.Plain])
        paused = self._paused(shapes)
        if sorted([*(restart.number for restart in ended), *(p.number for p in paused)]) != list(range(number)):
            raise of.MisfitError(f"ended and paused must tell of the starts 0 to {number - 1}")
        best = self.point(shapes, "best")
        if (best is None) != (best_of(ended) is None):
            raise of.MisfitError("best must be the best of the starts that have ended")
        summaries = [self.arrays.get(f"summary{i}") for i in range(len(ended))]
        self._check_summaries(summaries, best)
        state = None
        if shapes.get("point") is not None:
            state = self._state(shapes, "", self.part("scalars", list[of.Plain]))
        return Run(number, state, history, ended, best, summaries, paused)

    def _paused(self, shapes: dict[str, Any]) -> tuple[Paused, ...]:
        """The starts that wait."""
        out = []
        for i, row in enumerate(self.part("paused", list[list[of.Plain]])):
            of.check(tuple(row), tuple[of.Count, list[of.Plain], list[of.AnyNumber]], {}, f"paused{i}")
            state = self._state(shapes, f"paused{i}.", row[1])
            if state.accepted is None or not row[2]:
                raise of.MisfitError(f"paused{i} must tell of passes that were made")
            out.append(Paused(row[0], state, row[2]))
        return tuple(out)

    def part(self, name: str, kind: Any) -> Any:
        """A part of the header, of the kind that it must have."""
        if name not in self.header:
            raise of.MisfitError(f"{name} is missing")
        of.check(self.header[name], kind, {}, name)
        return self.header[name]

    def _state(self, shapes: dict[str, Any], name: str, numbers: list[Any]) -> State:
        """Where a start stands, its points having names that begin so."""
        current = self.point(shapes, f"{name}point")
        if current is None:
            raise of.MisfitError(f"{name}point is missing")
        scalars = tuple(numbers)
        of.check(scalars, Scalars, {}, "scalars")
        iteration, objective, *counts = scalars
        if counts[2] > iteration:
            raise of.MisfitError(f"scalars must not tell of more stages ({counts[2]}) than passes ({iteration})")
        stage: Any = self.model
        for _ in range(counts[2]):
            stage = stage.next_stage() if isinstance(stage, StagedModel) else None
            if stage is None or (hasattr(stage, "contradiction") and stage.contradiction() is not None):
                raise of.MisfitError("scalars must tell of a stage that the fit has")
        trail = tuple(p for i in range(2) if (p := self.point(shapes, f"{name}trail{i}")) is not None)
        accepted, fallback = self.point(shapes, f"{name}accepted"), self.point(shapes, f"{name}fallback")
        return State(current, iteration, accepted, objective, fallback, trail, *counts)

    def point(self, shapes: dict[str, Any], name: str) -> Point | None:
        """Parameters and row state."""
        shape = shapes.get(name)
        if shape is None:
            return None
        if not isinstance(shape, list) or len(shape) != 2 or not isinstance(shape[1], list):
            raise of.MisfitError(f"{name} must be parameters and row state")
        if len(shape[1]) != self.sweep.n_blocks:
            raise of.MisfitError(f"{name} must have the state of {self.sweep.n_blocks} blocks; it has {len(shape[1])}")
        params = unflatten(shape[0], self.arrays, self.params_type, f"{name}.0")
        sizes: of.Sizes = {"D": int(self.sweep.source.shape[1])}
        if self.model.fixed_size and hasattr(self.model, "n_components"):
            sizes["K"] = int(self.model.n_components)
        of.check(params, Any if self.params_type is None else self.params_type, sizes, name)
        if (wrong := self.model.misfit(params)) is not None:
            raise of.MisfitError(f"{name} {wrong}")
        rows = [unflatten(s, self.arrays, None, f"{name}.1.{b}") for b, s in enumerate(shape[1])]
        for b, state in enumerate(rows):
            n_rows = 0 if self.model.row_kind is None else self._n_rows()[b]
            of.check(widened(state), self.model.row_kind, {**sizes, "n": n_rows}, f"{name}, block {b}:")
        return Point(params, self.sweep.place_rows(rows))

    def _n_rows(self) -> list[int]:
        """Rows of the blocks, which may be fewer than of the table where equal ones are merged."""
        if self.counts is None:
            self.counts = self.sweep.collect(_RowCount())
        return self.counts

    def _check_summaries(self, summaries: list[Any], best: Point | None) -> None:
        """Refuse summaries that are not such as the best start has."""
        like = None
        if best is not None and isinstance(self.model, SummarisesRestarts):
            like = self.model.restart_summary(best.params)
        for i, summary in enumerate(summaries):
            if summary is None:
                continue
            if (
                like is None
                or (summary.shape, summary.dtype) != (like.shape, like.dtype)
                or not np.isfinite(summary).all()
            ):
                raise of.MisfitError(f"summary{i} is not what is kept of a start")


class _RowCount:
    """How many rows a block has."""

    def __call__(self, block: Block) -> int:
        return block.n_rows


def _restart(row: list[Any]) -> Restart:
    """How a start ended."""
    if len(row) != len(Restart._fields):
        raise of.MisfitError(f"ended must have {len(Restart._fields)} numbers for every start; it has {len(row)}")
    restart = Restart(*row)
    of.check(restart, Restart, {}, "ended")
    return restart
