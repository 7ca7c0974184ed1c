"""What trees say about the cells of a block: messages along the pieces of unknown cells, weighed by classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import ONE, UNKNOWN, Block, Float
from ..data.rng import content_uniforms
from .pairs import rows_of
from .params import TreePrecomputed

MOST_CELLS = 2**20  # of rows for which all cells are predicted at a time


def unknown_chances(block: Block, precomputed: TreePrecomputed, k: int, shares: Float | None = None) -> Float:
    """P(1 | known cells of the row, class) of the unknown cells of a block, one after the other; 0 in rows without a
    share."""
    from .kernels import expect_unknown

    unknown = block.unknown_lists()
    out = np.empty(len(unknown[1]))
    tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
    shares = np.ones(block.n_rows) if shares is None else np.ascontiguousarray(shares)
    expect_unknown(*block.ones.lists(), *unknown, *tables, shares, out)
    return out


def weighed_predictions(block: Block, precomputed: TreePrecomputed, shares: Float) -> Float:
    """P(cell = 1) (n, D) by all classes, each weighing its share (n, K) of the row."""
    from .kernels import add_predictions

    out, lists = np.zeros((block.n_rows, block.n_columns)), (*block.ones.lists(), *block.unknown_lists())
    for k in range(shares.shape[1]):
        tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
        add_predictions(*lists, *tables, np.ascontiguousarray(shares[:, k]), out)
    return np.clip(out, 0.0, 1.0)


def weighed_cells(block: Block, precomputed: TreePrecomputed, shares_of: Any, rows: Any, columns: Any) -> Float:
    """The same for single cells (m,); ``shares_of(block, precomputed)`` tells what classes weigh."""
    out = np.empty(len(rows))
    asked, inverse = np.unique(rows, return_inverse=True)
    step = max(1, MOST_CELLS // max(1, block.n_columns))
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(0, len(asked) + step, step))
    for place, low in enumerate(range(0, len(asked), step)):
        part = block.take(asked[low : low + step])
        cells = order[bounds[place] : bounds[place + 1]]
        shares, within = shares_of(part, precomputed), inverse[cells] - low
        if part.unknown is not None and (part.at(within, columns[cells]) == UNKNOWN).all():
            out[cells] = _unknown_at(part, precomputed, shares, within, columns[cells])
        else:
            out[cells] = weighed_predictions(part, precomputed, shares)[within, columns[cells]]
    return out


def _unknown_at(block: Block, precomputed: TreePrecomputed, shares: Float, rows: Any, columns: Any) -> Float:
    """P(1) of cells that are unknown (m,)."""
    assert block.unknown is not None
    places, by_cell = _places_of_unknown(block, rows, columns)
    out = np.zeros(len(rows))
    for k in range(shares.shape[1]):
        out += unknown_chances(block, precomputed, k, shares[:, k])[places] * shares[by_cell[places], k]
    return np.clip(out, 0.0, 1.0)


def _places_of_unknown(block: Block, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Where cells (m,) stand in the list of unknown cells of a block, and the row of each of that list."""
    indptr, indices = block.unknown_lists()
    by_cell = rows_of(indptr)
    return np.searchsorted(by_cell * block.n_columns + indices, rows * block.n_columns + columns), by_cell


def chances_of_hidden(block: Block, precomputed: TreePrecomputed, columns: Any) -> Float:
    """P(1 | rest of the row, class) (n, K) of one unknown cell of every row."""
    places, _ = _places_of_unknown(block, np.arange(block.n_rows), columns)
    return np.stack([unknown_chances(block, precomputed, k)[places] for k in range(len(precomputed.base))], axis=1)


def drawn_cells(
    block: Block, precomputed: TreePrecomputed, classes: Any, rows: Any, columns: Any, by_row: Float, by_cell: Float
) -> Any:
    """A joint draw of single cells (m,), each row in its class; unknown cells that nobody asks for are drawn along."""
    from .kernels import draw_unknown

    out, is_blank = np.empty(len(rows), np.bool_), block.at(rows, columns) == UNKNOWN
    if is_blank.any():
        assert block.unknown is not None
        indptr, indices = block.unknown.lists()
        places, all_rows = _places_of_unknown(block, rows[is_blank], columns[is_blank])
        if len(np.unique(places)) == len(indices):  # nobody is left to be drawn along
            uniforms = np.empty(len(indices))
        else:
            uniforms = content_uniforms((by_row * 2.0**53).astype(np.uint64), block.n_columns, 0, "fill")[
                all_rows, indices
            ]
        uniforms[places] = by_cell[is_blank]
        drawn = np.empty(len(indices), np.bool_)
        tables = precomputed.slope, precomputed.bond, precomputed.parents
        draw_unknown(*block.ones.lists(), indptr, indices, *tables, classes.astype(np.int64), uniforms, drawn)
        out[is_blank] = drawn[places]
    known = ~is_blank
    if known.any():
        certain = np.zeros((block.n_rows, len(precomputed.base)))
        certain[np.arange(block.n_rows), classes] = 1.0
        chances = weighed_predictions(block, precomputed, certain)[rows[known], columns[known]]
        out[known] = by_cell[known] < chances
    return out


def arguing_neighbours(
    block: Block, precomputed: TreePrecomputed, classes: Any, columns: Any, codes: Any, chance: Float
) -> tuple[Any, Float]:
    """Of cells (m,), hidden in rows of their own, the tree neighbour that argues most for their value, and how much.

    Unknown cells are taken for what they probably are.
    """
    from .kernels import strongest_neighbours

    values = np.where(codes == UNKNOWN, chance >= 0.5, codes == ONE).astype(np.int64)
    partner, argued = np.empty(len(columns), np.int64), np.empty(len(columns))
    on_given = np.array(precomputed.params.on_given, order="C")  # those of files cannot be written: a kind of their own
    tables = (precomputed.parents, *children_of(precomputed.parents), on_given, precomputed.probs)
    places = classes.astype(np.int64), np.array(columns, np.int64), values
    strongest_neighbours(*places, *block.ones.lists(), *block.unknown_lists(), tables, partner, argued)
    return partner, argued


def children_of(parents: Any) -> tuple[Any, Any]:
    """Where the children of every column begin (K, D + 1), and the children (K, D); roots are no children."""
    n_columns = parents.shape[1]
    starts, children = np.zeros((len(parents), n_columns + 1), np.int64), np.zeros(parents.shape, np.int64)
    for k, above in enumerate(parents):
        below = np.flatnonzero(above != np.arange(n_columns))
        order = below[np.argsort(above[below], kind="stable")]
        starts[k, 1:] = np.cumsum(np.bincount(above[below], minlength=n_columns))
        children[k, : len(order)] = order
    return starts, children
