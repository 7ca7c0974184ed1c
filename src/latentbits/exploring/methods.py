"""The methods text of a report, and whom to cite."""

from __future__ import annotations

from ..evaluation.candidates import measure
from ..families import BY_NAME
from .exploration import Exploration
from .fitted import FittedFamily

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
    fitted += "".join(f", {one.fitted.title} to {_rows_of(found, one.fitted)}" for one in found.readings[1:])
    if found.comparison is not None and any(_is_smaller(found, one.fitted) for one in found.readings):
        fitted += (
            "; to be read, a model has the smallest size that predicted hidden cells within one standard error of the best "
            "of its family"
        )
    out.append(
        f"{fitted}. Every cell is explained from the other cells of its row: its probability leaves the cell itself out. "
        "Pairs left unexplained are correlations of what the model leaves of two columns (Q3), less those in rows drawn from "
        "the model with the same blanks; p-values allow for rare columns (by the first three moments under the model) and "
        "for the number of pairs (Holm); pairs with p below 0.01 and a correlation of 0.1 or more are listed."
    )
    if found.labels:
        out.append(
            "Label columns were not used in any fit. Words beside classes are told by Cramér's V with a permutation p-value "
            "and adjusted standardised residuals, numbers beside classes by ranks (Kruskal and Wallis), numbers beside "
            "scores, shares and chances by Spearman's rank correlation, two-valued labels beside these by the AUC, other "
            "words by ranks; numbers beside a map by the multiple correlation of their ranks with the place. All p-values of "
            "a report are corrected for their number (Holm); what is said in words is below 0.01 and at least 0.2 as a "
            "correlation."
        )
    if found.map is not None and not found.winner.is_map:
        out.append("The map of rows is a binary GTM, fitted beside; rows near each other have similar cells.")
    return out


def _is_smaller(found: Exploration, fitted: FittedFamily) -> bool:
    """Whether a model that is read is smaller than the one that was compared."""
    assert found.comparison is not None
    return measure(fitted.size) < measure(found.comparison.row(fitted.candidate.name)["size"])


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
    names = [one.name for one in found.readings]
    names += ["gtm"] if found.map is not None else []
    baselines = [] if found.comparison is None else [TREE]
    return [BY_NAME[name].citation for name in dict.fromkeys(names) if name in BY_NAME] + [*baselines, Q3]
