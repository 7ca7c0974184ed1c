"""Stepwise EM for streams (Cappé & Moulines 2009): running averages of a block's statistics.

The averages are per unit of row weight, so blocks may be of any size; the M-step sees them scaled to the weight met so
far.  Families with row unknowns say how those of a block met once are found (``stream_rows``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import declared as of
from ..data.block import Block
from .protocols import Model, Params, StreamedRows
from .stats import add, scale


class StreamState(NamedTuple):
    """What a stream has shown so far."""

    averages: Any  # statistics per unit of weight
    weight: of.Amount  # row weight met
    n_steps: of.Count


def step_size(n_steps: int, decay: float = 0.7, offset: float = 2.0) -> float:
    """Share of the new block in the averages: (n + offset)^-decay, the first block counting whole."""
    return 1.0 if n_steps == 0 else (n_steps + offset) ** -decay


def stepwise_em_step(
    model: Model, params: Params, state: StreamState | None, block: Block
) -> tuple[Params, StreamState]:
    """Take in one block."""
    precomputed = model.precompute(params)
    rows = model.stream_rows(block, params) if isinstance(model, StreamedRows) else None
    stats = model.finalize_stats(precomputed, model.e_step(block, rows, precomputed)[0])
    weight = float(block.row_weights().sum())
    if weight == 0:
        return params, state if state is not None else StreamState(None, 0.0, 0)
    fresh = scale(stats, 1.0 / weight)
    if state is None or state.averages is None:
        state = StreamState(fresh, weight, 1)
    else:
        share = step_size(state.n_steps)
        mixed = add(scale(state.averages, 1.0 - share), scale(fresh, share))
        state = StreamState(mixed, state.weight + weight, state.n_steps + 1)
    updated = model.m_step(params, scale(state.averages, state.weight), _no_pass)
    if isinstance(model, StreamedRows):
        updated = model.stream_update(params, updated, block, rows)
    return updated, state


def _no_pass(fn: Any, *args: Any) -> Any:
    """A stream cannot be read again."""
    raise RuntimeError("this M-step needs another pass over the table, which a stream cannot give")
