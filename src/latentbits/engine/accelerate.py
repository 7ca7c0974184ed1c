"""SQUAREM (Varadhan & Roland 2008): a jump along the path of two EM steps.

With three points of the path, r the first step and v the change of step, the jump goes to ``p0 + 2 a r + a² v`` with
``a = max(1, |r| / |v|)``, on the unconstrained vector that the model offers.  Row unknowns take part: their shares of
|r|² and |v|² are summed over the blocks.  The EM driver keeps the jump only when the objective agrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .protocols import Accelerated, AcceleratedRows, Model, Params, Rows, Sweep


def extrapolate(
    model: Model, jumps: Accelerated, sweep: Sweep, path: tuple[Any, Any, Any]
) -> tuple[Params, Rows] | None:
    """The jump from three points of the EM path, or None if there is nothing to gain; ``jumps`` is the model."""
    vectors = [jumps.to_vector(point.params) for point in path]
    if vectors[0] is None or vectors[1] is None or vectors[2] is None:
        return None
    step, change = _differences(vectors[0], vectors[1], vectors[2])
    square_step, square_change = float(step @ step), float(change @ change)
    moving = model if model.has_row_state and isinstance(model, AcceleratedRows) else None
    if moving is not None:
        (row_step, row_change), _ = sweep.zip_rows(_RowLengths(moving), *[point.rows for point in path])
        square_step, square_change = square_step + row_step, square_change + row_change
    if not square_change > 0:
        return None
    length = float(np.sqrt(square_step / square_change))
    if not np.isfinite(length) or length <= 1.0:
        return None
    jumped = vectors[0] + 2 * length * step + length**2 * change
    if not np.isfinite(jumped).all():
        return None
    rows = path[2].rows
    if moving is not None:
        _, rows = sweep.zip_rows(_RowJump(moving, length), *[point.rows for point in path])
    return jumps.from_vector(jumped, path[2].params), rows


def _differences(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """First step and change of step of three points."""
    step = b - a
    return step, (c - b) - step


class _RowLengths:
    """Squared lengths of a block's row moves."""

    def __init__(self, model: AcceleratedRows) -> None:
        self.model = model

    def __call__(self, *states: Any) -> tuple[tuple[float, float], None]:
        step, change = _differences(*[self.model.rows_to_vector(state) for state in states])
        return (float(np.vdot(step, step)), float(np.vdot(change, change))), None


class _RowJump:
    """The jump of a block's row state."""

    def __init__(self, model: AcceleratedRows, length: float) -> None:
        self.model, self.length = model, length

    def __call__(self, *states: Any) -> tuple[None, Any]:
        first = self.model.rows_to_vector(states[0])
        step, change = _differences(*[self.model.rows_to_vector(state) for state in states])
        jumped = first + 2 * self.length * step + self.length**2 * change
        return None, self.model.rows_from_vector(jumped, states[2])
