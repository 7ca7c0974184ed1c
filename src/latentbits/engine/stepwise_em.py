"""Stepwise EM (Cappé & Moulines 2009): running averages of the statistics of some rows at a time, as of streams and starts.

The averages are per unit of row weight, so blocks may be of any size; the M-step sees them scaled to the weight met so
far, or to one that is given.  Families with row unknowns say how those of a block met once are found (``stream_rows``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import declared as of
from ..data.block import Block
from .protocols import Model, Params, SinglePrecision, StreamedRows
from .stats import add, scale


class StreamState(NamedTuple):
    """What a stream has shown so far."""

    averages: Any  # statistics per unit of weight
    weight: of.Amount  # row weight met
    n_steps: of.Count


class Pace(NamedTuple):
    """How much a new block counts: after n blocks (n + 2)^-decay, not below ``least``; the first counts whole."""

    decay: float = 0.7
    least: float = 0.0

    def share(self, n_steps: int) -> float:
        """Of the next block in the averages."""
        return 1.0 if n_steps == 0 else max((n_steps + 2.0) ** -self.decay, self.least)


STREAM = Pace()


def stepwise_em_step(
    model: Model,
    params: Params,
    state: StreamState | None,
    block: Block,
    pace: Pace = STREAM,
    weight_of_all: float | None = None,
) -> tuple[Params, StreamState]:
    """Take in one block; with ``weight_of_all`` the M-step sees so much weight, and passes run in float32 if they can."""
    rough = weight_of_all is not None and isinstance(model, SinglePrecision)
    precomputed = model.precompute_single(params) if rough else model.precompute(params)  # type: ignore[attr-defined]
    rows = model.stream_rows(block, params) if isinstance(model, StreamedRows) else None
    e_step = model.e_step_single if rough else model.e_step  # type: ignore[attr-defined]
    stats = model.finalize_stats(precomputed, e_step(block, rows, precomputed)[0])
    weight = float(block.row_weights().sum())
    if weight == 0:
        return params, state if state is not None else StreamState(None, 0.0, 0)
    fresh = scale(stats, 1.0 / weight)
    if state is None or state.averages is None:
        state = StreamState(fresh, weight, 1)
    else:
        share = pace.share(state.n_steps)
        mixed = add(scale(state.averages, 1.0 - share), scale(fresh, share))
        state = StreamState(mixed, state.weight + weight, state.n_steps + 1)
    seen = state.weight if weight_of_all is None else weight_of_all
    updated = model.m_step(params, scale(state.averages, seen), no_pass)
    if isinstance(model, StreamedRows):
        updated = model.stream_update(params, updated, block, rows)
    return updated, state


def no_pass(fn: Any, *args: Any) -> Any:
    """Some rows are not the table."""
    raise RuntimeError("this M-step needs another pass over the table, which a stream or a sample cannot give")
