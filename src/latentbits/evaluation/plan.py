"""How much is tried within a budget.

The plan depends on the shape of the table, the models and the budget, not on the clock: the same command does the same work
on every machine, and an interrupted run can go on.  Costs are nominal seconds, of one core of an ordinary machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..errors import InputError
from ..families import TableSize
from .candidates import Candidate

FEWEST_ROWS = 500  # a comparison on fewer would not be worth much
HALVED_WHOLE = 1500  # tables up to this many rows are taken whole for the choice of sizes
MOST_HELD = 2000  # held-out rows
FEWEST_HELD = 10
FEWEST_FAMILIES = 4  # that are compared, whatever they cost
MOST_FOLDS = 1000  # that a user may ask for


@dataclass(frozen=True)
class Plan:
    """What will be done.

    Attributes
    ----------
    n_folds : int
        Independent draws of hidden cells and held-out rows.
    n_rows : int
        Rows that the compared models are fitted to.
    n_held : int
        Rows held out.
    rungs : tuple of int
        Rows on which sizes are tried, rung after rung (successive halving); each leaves the better half of a family's sizes.
    sizes : dict
        Sizes tried, by name.
    thorough : bool
        Whether families that profit have more starts.
    seconds : float
        Nominal cost.
    left_out : dict
        Families that are not fitted, because there is no time, with the nominal seconds that they would take.
    """

    n_folds: int
    n_rows: int
    n_held: int
    rungs: tuple[int, ...]
    sizes: dict[str, tuple[Any, ...]]
    thorough: bool
    seconds: float
    left_out: dict[str, float] = field(default_factory=dict)


def default_budget(n_cells: int) -> float:
    """Nominal seconds: 45 for small tables, five minutes from eight million cells on."""
    return float(min(300.0, 45.0 + n_cells / 32_000))


# What is tried in turn on all rows: more starts or not, and how many draws.
WAYS = ((True, 8), (True, 5), (True, 3), (False, 3), (True, 2), (False, 2), (True, 1), (False, 1))


def planned(
    table: TableSize, models: list[Candidate], budget: float, folds: int | None, rows: float, cells: float
) -> Plan:
    """The largest plan within a budget: first fewer draws and starts, then fewer rows and sizes."""
    if not budget > 0:
        raise InputError(f"compare: the budget must be above 0 seconds; got {budget!r}.")
    n_held = min(int(rows * table.n_rows), MOST_HELD)
    n_held = n_held if n_held >= FEWEST_HELD else 0
    most = table.n_rows - n_held
    ways = [(thorough, n) for thorough, n in WAYS if folds is None] or [(True, folds or 1), (False, folds or 1)]
    for thorough, n_folds in ways:
        plan = _with_rows(_Rows(table, n_folds, most, n_held, cells, thorough), models, budget, 4)
        if plan.seconds <= budget:
            return plan
    n_rows = most
    while n_rows > FEWEST_ROWS:
        n_rows = max(FEWEST_ROWS, int(0.8 * n_rows))
        plan = _with_rows(_Rows(table, folds or 1, n_rows, n_held, cells, False), models, budget, 2)
        if plan.seconds <= budget:
            return plan
    return _with_fewer(_Rows(table, folds or 1, n_rows, n_held, cells, False), models, budget)


def _with_fewer(how: _Rows, models: list[Candidate], budget: float) -> Plan:
    """A plan on few rows that is still too dear: one size per family, then without the dearest families.

    Baselines, models that the user named, and the cheapest few stay; with these the plan may cost more than the budget.
    """
    out: dict[str, float] = {}
    while True:
        plan = _with_rows(how, models, budget, 1)
        costs = {one.name: _seconds(replace(one, sizes=plan.sizes[one.name]), how) for one in models}
        families = [one.name for one in models if not one.is_baseline]
        may_go = [one.name for one in models if not (one.is_baseline or one.asked or one.named)]
        if plan.seconds <= budget or not may_go or len(families) <= FEWEST_FAMILIES:
            return replace(plan, left_out=out)
        dearest = max(may_go, key=lambda name: costs[name])
        out[dearest] = costs[dearest]
        models = [one for one in models if one.name != dearest]


class _Rows(NamedTuple):
    """On how many rows, and how often, models are fitted."""

    table: TableSize
    n_folds: int
    n_rows: int
    n_held: int
    cells: float
    thorough: bool

    @property
    def rungs(self) -> tuple[int, ...]:
        """Rows of the stages on which sizes are tried."""
        if self.n_rows <= HALVED_WHOLE:
            return (self.n_rows,)
        return (max(HALVED_WHOLE, self.n_rows // 4), max(HALVED_WHOLE, self.n_rows // 2))


def _with_rows(how: _Rows, models: list[Candidate], budget: float, fewest: int) -> Plan:
    """A plan for so many rows; while it is too dear, the dearest family tries fewer sizes, but not below ``fewest``."""
    models = [one.thorough() for one in models] if how.thorough else models
    models = [one.fitting(how.table) for one in models]
    costs = [_seconds(one, how) for one in models]
    while sum(costs) > budget:
        can = [m for m, one in enumerate(models) if len(one.sizes) > fewest and not one.named]
        if not can:
            break
        dearest = max(can, key=lambda m: costs[m])
        sizes = models[dearest].sizes
        fewer = sizes[1:] if len(sizes) == 2 else sizes[::2] if len(sizes) > 2 * fewest else sizes[:-1]
        models[dearest] = replace(models[dearest], sizes=fewer)
        costs[dearest] = _seconds(models[dearest], how)
    chosen = {one.name: one.sizes for one in models}
    return Plan(how.n_folds, how.n_rows, how.n_held, how.rungs, chosen, how.thorough, float(sum(costs)))


def _seconds(one: Candidate, how: _Rows) -> float:
    """Nominal cost of a family: its rungs, then one fit of a middling size in every draw."""
    sizes = one.sizes
    total = how.n_folds * one.seconds(sizes[len(sizes) // 2], one.full, how.table.part(how.n_rows, how.cells))
    left = list(sizes)
    for n_sifted in how.rungs:
        if len(left) == 1:
            break
        total += sum(one.seconds(size, one.light, how.table.part(n_sifted, 2 * how.cells)) for size in left)
        left = left[: n_left(len(left))]
    return total


def n_left(n_sizes: int) -> int:
    """How many sizes a stage leaves."""
    return (n_sizes + 1) // 2
