"""Messages along a tree of hidden states: blocks of rows, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...data.block import Block, Float
from .params import HiddenPrecomputed

# Bytes that the messages of the rows at a time may take: products of few rows take longer than their numbers need.
MOST_BYTES = 2**24


class Stops(NamedTuple):
    """Where rows hold something; see ``kernels.py``."""

    begin: Any  # (D + 1,)
    row: Any  # (S,)
    up: Any  # (S,)
    value: Any  # (S,)


class Heard(NamedTuple):
    """Messages of some rows."""

    rows: Any  # (n,) their places in the block
    stops: Stops
    scores: Float  # (n,) log p(row)
    upward: Any  # (S, M)
    message: Any  # (S, M)
    spare: Any  # (S, M) room for beliefs


def heard(block: Block, precomputed: HiddenPrecomputed, asked: tuple[Any, Any] | None = None) -> Iterator[Heard]:
    """Messages up the tree, of some rows at a time, in order.

    ``asked`` are index lists of columns that are to be stops beside those that hold something.  The arrays are used again
    for the next rows.
    """
    from .kernels import count_stops, list_stops, send_up

    parents, width = precomputed.parents, precomputed.moves.shape[1]
    assert len(parents) == block.n_columns  # kernels do not check places
    nothing = np.zeros(block.n_rows + 1, np.int64), np.empty(0, np.int32)
    lists = block.ones.lists(), block.unknown_lists(), nothing if asked is None else asked
    seen, begin = np.full(len(parents), -1, np.int64), np.empty(len(parents) + 1, np.int64)
    rows, by_row = np.arange(block.n_rows), np.empty(block.n_rows, np.int64)
    count_stops(lists, rows, parents, seen, begin, by_row)
    empty = np.empty(0, precomputed.moves.dtype)
    room = [empty, empty, empty]
    for low, high in _steps(by_row, MOST_BYTES // (3 * width * empty.itemsize)):
        some = rows[low:high]
        begin = np.empty(len(parents) + 1, np.int64)
        count_stops(lists, some, parents, seen, begin, by_row[low:high])
        n_stops = int(begin[-1])
        stops = Stops(begin, np.empty(n_stops, np.int64), np.empty(n_stops, np.int64), np.empty(n_stops, np.uint8))
        list_stops(lists, some, parents, seen, np.empty(len(parents), np.int64), *stops)
        if len(room[0]) < n_stops * width:
            room = [np.empty(n_stops * width + n_stops * width // 4, empty.dtype) for _ in room]
        upward, message, spare = (part[: n_stops * width].reshape(n_stops, width) for part in room)
        upward[:] = 1.0
        scores = np.full(len(some), precomputed.zeros.scale.sum())
        shifts, far = np.zeros((n_stops, width), np.int32), np.zeros(n_stops, np.uint8)
        send_up(stops, precomputed.order, precomputed.moves, precomputed.zeros, upward, message, shifts, far, scores)
        yield Heard(some, stops, scores, upward, message, spare)


def _steps(by_row: Any, most: int) -> Iterator[tuple[int, int]]:
    """Rows that are looked at together: as many as have so many stops, and one at least."""
    ends, low = np.cumsum(by_row), 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield low, high
        low = high


def beliefs_of(part: Heard, precomputed: HiddenPrecomputed) -> Any:
    """P(state | row) (S, M) at the stops of some rows; the messages of ``part`` are spent."""
    from .kernels import send_down

    moves, unweighted = precomputed.moves, np.ones(len(part.rows), precomputed.moves.dtype)
    nothing = np.empty((0, *moves.shape[1:]))
    send_down(part.stops, precomputed.order, moves, unweighted, part.upward, part.message, part.spare, nothing)
    return part.spare


def root_states(block: Block, precomputed: HiddenPrecomputed, root: int) -> Float:
    """P(state of a root | row) (n, M)."""
    out = np.tile(precomputed.conditional[root, 0], (block.n_rows, 1))
    for part in heard(block, precomputed):
        low, high = part.stops.begin[root : root + 2]
        found = precomputed.moves[root, 0] * part.upward[low:high] / part.message[low:high, :1]
        out[part.rows[part.stops.row[low:high]]] = found
    return out


def states_at(block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any) -> Float:
    """P(state of the column | row) (m, M) at single cells."""
    out = np.empty((len(rows), precomputed.moves.shape[1]))
    for part, cells, places in _asked(block, precomputed, rows, columns):
        out[cells] = beliefs_of(part, precomputed)[places]
    return out


def chances_at(block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any) -> Float:
    """P(1 | states of the column), weighed as the row tells, (m,) of single cells."""
    out = np.empty(len(rows))
    for part, cells, places in _asked(block, precomputed, rows, columns):
        out[cells] = _chances(part, precomputed)[places]
    return out


def all_chances(block: Block, precomputed: HiddenPrecomputed) -> Float:
    """The same of all cells (n, D)."""
    out = np.empty((block.n_rows, block.n_columns))
    columns = np.arange(block.n_columns, dtype=np.int32)
    step = max(1, MOST_BYTES // max(1, block.n_columns))
    for low in range(0, block.n_rows, step):
        some = block.take(np.arange(low, min(low + step, block.n_rows)))
        lists = np.arange(some.n_rows + 1, dtype=np.int64) * len(columns), np.tile(columns, some.n_rows)
        for part in heard(some, precomputed, lists):
            # Every column is a stop in every row.
            out[low + part.rows] = _chances(part, precomputed).reshape(len(columns), -1).T
    return out


def drawn_at(
    block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
) -> Any:
    """A joint draw of single cells (m,): states from the top of the tree down, then the cells.

    Known cells are drawn anew from the states of their columns.
    """
    from .kernels import draw_states

    out, keys = np.empty(len(rows), np.bool_), (by_row * 2.0**53).astype(np.uint64)
    probs = precomputed.params.probs
    for part, cells, places in _asked(block, precomputed, rows, columns):
        states = np.empty(len(part.stops.row), np.int64)
        tables = precomputed.order, precomputed.moves
        draw_states(part.stops, *tables, keys[part.rows], part.upward, part.message, states)
        out[cells] = by_cell[cells] < probs[columns[cells], states[places]]
    return out


def _chances(part: Heard, precomputed: HiddenPrecomputed) -> Float:
    """The same (S,) at the stops of some rows."""
    from .kernels import cell_chances

    chances = np.empty(len(part.stops.row))
    probs = np.array(precomputed.params.probs, order="C")
    cell_chances(part.stops, beliefs_of(part, precomputed), probs, chances)
    return chances


def _asked(block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any) -> Iterator[tuple[Heard, Any, Any]]:
    """Messages of the rows that are asked about, the cells among them, and the stops of these cells."""
    order = np.lexsort((columns, rows))
    asked, first, inverse = np.unique(rows[order], return_index=True, return_inverse=True)
    lists = np.append(first, len(order)).astype(np.int64), np.asarray(columns[order], np.int32)
    for part in heard(block.take(asked), precomputed, lists):
        within = slice(*np.searchsorted(inverse, (part.rows[0], part.rows[-1] + 1)))
        cells, n_rows = order[within], len(part.rows)
        by_column = np.repeat(np.arange(block.n_columns), np.diff(part.stops.begin)) * n_rows + part.stops.row
        places = np.searchsorted(by_column, columns[cells] * n_rows + inverse[within] - part.rows[0])
        yield part._replace(rows=asked[part.rows]), cells, places
