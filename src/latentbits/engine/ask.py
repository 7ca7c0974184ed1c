"""The one way to ask a fitted model about a table: by rows or by cells, in one pass of the sweep.

Parameters are made ready once, blocks are read where they are (threads, Dask workers), and blocks about which nothing is
asked are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.block import Block, merged
from .protocols import Params, Places, Sweep

Cells = tuple[Places, Places]  # rows (counted within their block) and columns
# Rows from which on a block is looked through for equal ones before it is asked.
MANY_ROWS = 4096


class Asked:
    """A fitted model and a table.

    Parameters
    ----------
    model : object
        Has the answers of :mod:`latentbits.engine.protocols`, or some of them.
    params : NamedTuple
        Its parameters.
    sweep : Sweep
        Over the table.
    """

    def __init__(self, model: Any, params: Params, sweep: Sweep) -> None:
        self.model, self.sweep = model, sweep
        self.precomputed = model.precompute(params)

    def by_block(self, question: Callable[..., Any]) -> list[Any]:
        """``question(block, precomputed)`` of every block, in order."""
        return self.sweep.collect(question, self.precomputed)

    def by_rows(self, question: Callable[..., Any] | str) -> NDArray[Any]:
        """``question(block, precomputed)``, or the model's answer of that name, with one entry per row of the table."""
        asked = ByPattern(getattr(self.model, question)) if isinstance(question, str) else question
        return np.concatenate(self.by_block(asked))

    def total(self, question: Callable[..., Any]) -> Any:
        """The sum of ``question(block, precomputed)`` over the blocks."""
        return self.sweep.map(_Summed(question), [None] * self.sweep.n_blocks, self.precomputed, keep_rows=False)[0]

    def by_block_cells(self, question: Callable[..., Any], cells: Sequence[Cells | None]) -> Any:
        """``question(block, precomputed, rows, columns)`` of the cells of every block, one after the other.

        Answers are arrays, or NamedTuples of arrays and None.  Blocks with None are not read.
        """
        parts = self.sweep.collect(_AtCells(question), self.precomputed, each=cells)
        return joined([part for part in parts if part is not None])

    def by_cells(self, question: Callable[..., Any], rows: Places, columns: Places) -> Any:
        """The same for cells of the whole table, in any order; the answers come in that order."""
        starts = self.sweep.source.starts
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], starts)
        cells: list[Cells | None] = []
        for b in range(self.sweep.n_blocks):
            which = order[bounds[b] : bounds[b + 1]]
            # The first block answers even if asked nothing: it gives the shapes.
            cells.append((rows[which] - starts[b], columns[which]) if len(which) or b == 0 else None)
        back = np.argsort(order, kind="stable")
        return _taken(self.by_block_cells(question, cells), back)

    def by_chosen_rows(self, question: Callable[..., Any], rows: Places) -> Any:
        """``question(block, precomputed, rows)`` of some rows of the table, in any order; blocks without any are not read.

        Answers are NamedTuples whose first field says which of the rows that were given an entry is about; entries come
        in the order of the rows.
        """
        starts = self.sweep.source.starts
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], starts)
        chosen = [order[bounds[b] : bounds[b + 1]] for b in range(self.sweep.n_blocks)]
        # The first block answers even if asked nothing: it gives the shapes.
        each = [rows[which] - starts[b] if len(which) or b == 0 else None for b, which in enumerate(chosen)]
        parts = self.sweep.collect(_AtRows(question), self.precomputed, each=each)
        parts = [part._replace(**{part._fields[0]: which[part[0]]}) for part, which in zip(parts, chosen) if part]
        found = joined(parts)
        return _taken(found, np.argsort(found[0], kind="stable"))


class ByPattern:
    """A question about rows that depends on nothing but their cells: of long blocks, equal rows are answered once."""

    def __init__(self, question: Callable[..., Any]) -> None:
        self.question = question

    def __call__(self, block: Any, precomputed: Any) -> Any:
        if isinstance(block, Block) and block.n_rows >= MANY_ROWS and block.origin is None:
            few = merged(block)
            if few.origin is not None:
                return self.question(few, precomputed)[few.origin]
        return self.question(block, precomputed)


class _AtRows:
    """A question about some rows of a block."""

    def __init__(self, question: Callable[..., Any]) -> None:
        self.question = question

    def __call__(self, block: Block, rows: Places, precomputed: Any) -> Any:
        return self.question(block, precomputed, rows)


class _Summed:
    """A question whose answers add up, in the shape that sweeps expect."""

    def __init__(self, question: Callable[..., Any]) -> None:
        self.question = question

    def __call__(self, block: Block, rows: None, precomputed: Any) -> tuple[Any, None]:
        return self.question(block, precomputed), None


class _AtCells:
    """A question about single cells of a block."""

    def __init__(self, question: Callable[..., Any]) -> None:
        self.question = question

    def __call__(self, block: Block, cells: Cells, precomputed: Any) -> Any:
        return self.question(block, precomputed, *cells)


def joined(parts: list[Any]) -> Any:
    """Answers about the blocks as one; tuples by field."""
    if isinstance(parts[0], tuple):
        fields = [joined(list(field)) for field in zip(*parts)]
        return type(parts[0])(*fields) if hasattr(parts[0], "_fields") else tuple(fields)
    return None if parts[0] is None else np.concatenate(parts)


def _taken(answers: Any, which: NDArray[np.int64]) -> Any:
    """Answers in another order."""
    if isinstance(answers, tuple):
        fields = [_taken(field, which) for field in answers]
        return type(answers)(*fields) if hasattr(answers, "_fields") else tuple(fields)
    return None if answers is None else answers[which]


def values_at(block: Block, precomputed: Any, rows: Places, columns: Places) -> Any:
    """Codes of single cells: a question about the table alone."""
    return block.at(rows, columns)
