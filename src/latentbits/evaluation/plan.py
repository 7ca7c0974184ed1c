"""What a comparison did, so that it can be repeated to the bit: the clock decides how far it gets, the plan keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..families import TableSize
from .candidates import Candidate
from .search import larger, most_components

FEWEST_ROWS = 500  # a comparison on fewer would not be worth much
MOST_HELD = 2000  # held-out rows
FEWEST_HELD = 10
MOST_FOLDS = 1000  # that a user may ask for
# Of the budget: what the first sizes of all families may take, by nominal costs, for all rows to be used.
FIRST_LOOK = 0.25
# Draws of hidden cells, and those of tables with few cells.
DRAWS, DRAWS_IF_FEW, FEW_CELLS = 3, 5, 20_000

# How the search of a family ended.
SETTLED = "settled"  # larger sizes and other options no longer predict better
BEHIND = "behind"  # too far behind the best family to catch up
TIME = "time"  # it was still getting better when the time was over
FAILED = "failed"  # it could not be fitted


@dataclass(frozen=True)
class Plan:
    """What was done; ``compare(X, plan=...)`` does the same again.

    Attributes
    ----------
    n_folds : int
        Independent draws of hidden cells.
    n_rows : int
        Rows that models were fitted to.
    n_held : int
        Rows held out.
    steps : dict
        Fits of the search, by name.
    draws : dict
        Draws in which a model was fitted and scored, by name; those that are far behind have one.
    ended : dict
        How the search of each ended: "settled", "behind", "time" or "failed".
    left_out : dict
        Families that were not fitted, because there was no time, with the seconds that a fit would have taken.
    grown : dict
        Of the families that were fitted to more rows in the end: the fits in which larger sizes were tried there.
    stack : tuple of str or None
        The models that were fitted to fill blanks together; None: it has not come to that, or there was nothing to fill.
    budget : float
        In seconds.
    short : tuple of str
        Families that were compared by fits as short as those of the search.

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> found.plan.n_folds
    1
    """

    n_folds: int
    n_rows: int
    n_held: int
    steps: Mapping[str, int] = field(default_factory=dict)
    draws: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, float] = field(default_factory=dict)
    grown: Mapping[str, int] = field(default_factory=dict)
    stack: tuple[str, ...] | None = None
    budget: float = 0.0
    short: tuple[str, ...] = ()

    def sections(self) -> dict[str, dict[str, Any]]:
        """As sections of a settings file.

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> sorted(found.plan.sections())[:1]
        ['plan']
        """
        rows: dict[str, Any] = {"rows": self.n_rows, "held": self.n_held, "folds": self.n_folds, "budget": self.budget}
        rows |= {} if self.stack is None else {"stack": list(self.stack)}
        rows |= {"short": list(self.short)} if self.short else {}
        names = ("steps", "draws", "ended", "left_out", "grown")
        parts: dict[str, Mapping[str, Any]] = {name: getattr(self, name) for name in names}
        return {"plan": rows, **{f"plan.{name}": dict(part) for name, part in parts.items()}}

    @staticmethod
    def of_sections(found: Mapping[str, Any]) -> Plan:
        """From the section ``plan`` of a settings file.

        Parameters
        ----------
        found : dict
            As it is read from ``run.toml``.

        Returns
        -------
        Plan

        Examples
        --------
        >>> rows = {"rows": 90, "held": 10, "folds": 1, "budget": 60}
        >>> parts = {name: {} for name in ("steps", "draws", "ended", "left_out", "grown")}
        >>> Plan.of_sections({**rows, **parts}).n_rows
        90
        """
        try:
            rows = {name: int(found[name]) for name in ("folds", "rows", "held")}
            steps, draws, grown = (
                {str(name): int(n) for name, n in found[part].items()} for part in ("steps", "draws", "grown")
            )
            ended = {str(name): str(how) for name, how in found["ended"].items()}
            left_out = {str(name): float(seconds) for name, seconds in found["left_out"].items()}
            stack = None if "stack" not in found else tuple(map(str, found["stack"]))
            budget, short = float(found["budget"]), tuple(map(str, found.get("short", ())))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("the section [plan] of the settings is damaged; take it out to search anew.") from None
        return Plan(
            rows["folds"], rows["rows"], rows["held"], steps, draws, ended, left_out, grown, stack, budget, short
        )


def default_budget(n_cells: int) -> float:
    """Seconds: a minute for small tables to ten minutes for large ones.

    Examples
    --------
    >>> default_budget(3000), default_budget(10**8)
    (61.0, 600.0)
    """
    return min(600.0, 60.0 + n_cells / 3000)


def checked_budget(budget: float | None, n_cells: int) -> float:
    """The budget that a user gave, or the default."""
    if budget is None:
        return default_budget(n_cells)
    if not budget > 0:
        raise InputError(f"compare: the budget must be above 0 seconds; got {budget!r}.")
    return float(budget)


def check_plan(plan: Plan, candidates: list[Candidate], n_rows: int, n_held: int) -> list[Candidate]:
    """The candidates that took part in a plan; refuse a plan of another table or of other models."""
    if plan.n_held != n_held or not 0 < plan.n_rows <= n_rows - n_held:
        raise InputError("compare: the plan is that of another table; take it out to search anew.")
    missing = [one for one in candidates if one.name not in plan.steps]
    asked = [one.name for one in missing if one.asked or one.is_baseline]
    if asked or len(missing) == len(candidates):
        raise InputError(
            f"compare: the plan is that of other models: it has no {asked[0]!r}; take it out to search anew."
        )
    return [one for one in candidates if one not in missing]


def held_rows(n_rows: int, share: float) -> int:
    """Rows to hold out."""
    n_held = min(int(share * n_rows), MOST_HELD)
    return n_held if n_held >= FEWEST_HELD else 0


def rows_within(table: TableSize, n_held: int, models: list[Candidate], budget: float, cells: float) -> int:
    """Rows that models are fitted to: all, or of tables that are too long for the budget a half, a quarter, ..."""
    n_rows = table.n_rows - n_held
    while n_rows > FEWEST_ROWS:
        part = table.part(n_rows, cells)
        if sum(_first_look(one, part) for one in models if one.has_choice or not one.is_rival) <= FIRST_LOOK * budget:
            break
        n_rows = max(FEWEST_ROWS, n_rows // 2)
    return n_rows


def _first_look(one: Candidate, part: TableSize) -> float:
    """Nominal seconds of the first two sizes of a family."""
    if one.named:
        sizes: tuple[Any, ...] = one.named
    else:
        sizes = (one.first, larger(one.first, most_components(one, part.n_rows, part.n_columns)))
    return sum(one.seconds(size, one.trial, part) for size in sizes[: 1 if sizes[-1] is None else None])
