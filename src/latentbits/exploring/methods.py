"""The methods text of a report, and whom to cite."""

from __future__ import annotations

from ..families import BY_NAME
from .analysis import FittedFamily
from .exploration import Exploration

TREE = (
    "C. Chow, C. Liu, Approximating Discrete Probability Distributions with Dependence Trees, IEEE Transactions on "
    "Information Theory 14 (1968)."
)
Q3 = (
    "W. M. Yen, Effects of Local Item Dependence on the Fit and Equating Performance of the Three-Parameter Logistic Model, "
    "Applied Psychological Measurement 8 (1984)."
)


def methods_text(found: Exploration) -> list[str]:
    """Paragraphs that say what was done."""
    out = [] if found.comparison is None else _of_comparison(found)
    fitted = f"{found.winner.title} was {'then ' if out else ''}fitted to {_rows_of(found, found.winner)}"
    if found.several is not None:
        fitted += f", and {found.several.title}, the best family with several causes per row, to "
        fitted += _rows_of(found, found.several)
    out.append(
        f"{fitted}. Every cell is explained from the other cells of its row: its probability leaves the cell itself out. "
        "Label columns were not used in any fit. Residual pairs are correlations of what the model leaves unexplained in two "
        "columns (Q3)."
    )
    if found.map is not None and not found.winner.is_map:
        out.append("The map of rows is a binary GTM, fitted beside; rows near each other have similar cells.")
    return out


def _rows_of(found: Exploration, fitted: FittedFamily) -> str:
    """To what a model was fitted, in words."""
    if fitted.n_rows is None or fitted.n_rows == found.facts.n_rows:
        return "the whole table"
    return f"{fitted.n_rows:,} of the {found.facts.n_rows:,} rows, drawn at random"


def _of_comparison(found: Exploration) -> list[str]:
    """Paragraphs on the comparison."""
    assert found.comparison is not None
    plan, n_cells = found.comparison.plan, found.comparison.row("independent")["n_cells"]
    draws = "one draw" if plan.n_folds == 1 else f"{plan.n_folds} independent draws"
    n_fits = len(found.comparison.searches)
    rows = f"{plan.n_rows:,} of {found.facts.n_rows:,} rows"
    held = f", and {plan.n_held:,} rows were held out altogether" if plan.n_held else ""
    return [
        f"Families were compared on cells that none of them saw ({draws}; {n_cells:,} hidden cells in all; models fitted to "
        f"{rows}{held}). Size and regulariser of each family were searched on other cells, which were not used for the "
        "comparison: sizes double as long as the loss falls, families that are too far behind to catch up stop, and the "
        f"clock ends the rest ({n_fits:,} fits). Every draw has fits with seeds of their own.",
        "Log-loss is the mean negative logarithm of the probability that a model gave to the value of a hidden cell, in "
        "nats; differences are paired cell by cell, and their standard errors allow for the cells of one row being alike "
        "and, from three draws on, for fits that differ from draw to draw. Two baselines stand beside: independent columns, "
        "and the Chow-Liu tree, in which every column depends on one other; and, where there was time, models that claim no "
        "hidden structure (logistic regression and gradient boosting of every column).",
        "Log-likelihoods of held-out rows are exact, or estimates where a family has no closed form (importance sampling, "
        "quadrature, means over draws, or the empirical distribution of the training rows' unknowns); exact ones and "
        "estimates are ranked apart, lower bounds are named as such and not ranked.",
        "Calibration is measured on the hidden cells: in bins with equally many cells the mean predicted probability is set "
        "against the share of ones.",
    ]


def citations(found: Exploration) -> list[str]:
    """Whom to cite, the fitted families first."""
    names = [found.winner.candidate.name]
    names += [found.several.candidate.name] if found.several is not None else []
    names += ["gtm"] if found.map is not None else []
    baselines = [] if found.comparison is None else [TREE]
    return [BY_NAME[name].citation for name in dict.fromkeys(names) if name in BY_NAME] + [*baselines, Q3]
