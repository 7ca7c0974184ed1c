"""The imputers of the league (``benchmarks/imputers.py``): each answers ``fit_predict(table) -> P(cell = 1)`` (N, D).

Only the unknown cells of the answer are looked at.  How every imputer is used stands in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

from latentbits.evaluation.hidden_cells import log_losses

OURS = "latentbits"


def marginals(table: np.ndarray) -> np.ndarray:
    """Share of ones of every column, (D,), drawn a little toward a half."""
    known = ~np.isnan(table)
    return (np.where(known, table, 0).sum(axis=0) + 0.5) / (known.sum(axis=0) + 1)


def filled_with(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The table with ``values`` at its unknown cells."""
    return np.where(np.isnan(table), values, table)


def chosen(options: list[Any], answer: Callable[[Any, np.ndarray], np.ndarray], table: np.ndarray) -> Any:
    """The option whose answers are best about a tenth of the known cells."""
    held = (np.random.default_rng(1).random(table.shape) < 0.1) & ~np.isnan(table)
    seen = np.where(held, np.nan, table)
    return min(options, key=lambda option: log_losses(table[held], answer(option, seen)[held]).mean())


def by_column(table: np.ndarray, features: np.ndarray, fit: Callable[[np.ndarray, np.ndarray], Any]) -> np.ndarray:
    """Predict the unknown cells of every column from the other columns; a column with less than two zeros or ones keeps its
    marginal."""
    out = np.tile(marginals(table), (len(table), 1))
    for j in range(table.shape[1]):
        known = ~np.isnan(table[:, j])
        ones = np.nansum(table[:, j])
        if known.all() or min(ones, known.sum() - ones) < 2:
            continue
        others = np.delete(features, j, axis=1)
        model = fit(others[known], table[known, j].astype(int))
        out[~known, j] = model.predict_proba(others[~known])[:, 1]
    return out


class Imputer:
    """A player: its packages, and its answers.  ``small`` asks for a short run that only shows that it works."""

    packages: tuple[str, ...] = ("scikit-learn",)

    def __init__(self, small: bool = False) -> None:
        self.small = small

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        """P(cell = 1) of all cells, (N, D)."""
        raise NotImplementedError


class Marginals(Imputer):
    """The share of ones among the known cells of the column."""

    packages = ()

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        return np.tile(marginals(table), (len(table), 1))


class IterativeRidge(Imputer):
    """scikit-learn's IterativeImputer as it comes (BayesianRidge, ten rounds), held between 0 and 1; its regressions are
    taken for probabilities."""

    def regressor(self) -> Any:
        """What every column is regressed with."""
        from sklearn.linear_model import BayesianRidge

        return BayesianRidge()

    max_iter = 10

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        options = {"min_value": 0, "max_value": 1, "keep_empty_features": True, "random_state": 0}
        return IterativeImputer(self.regressor(), max_iter=self.max_iter, **options).fit_transform(table)


class IterativeTrees(IterativeRidge):
    """IterativeImputer with ExtraTreesRegressor, five rounds of 50 trees that look at the root of the number of columns and
    keep five rows in a leaf: the mean of a leaf is a share of ones."""

    max_iter = 5

    def regressor(self) -> Any:
        from sklearn.ensemble import ExtraTreesRegressor

        trees = 5 if self.small else 50
        return ExtraTreesRegressor(trees, max_features="sqrt", min_samples_leaf=5, random_state=0)


class Neighbours(Imputer):
    """KNNImputer: the share of ones among 5, 15 or 50 neighbours, weighted by nearness or not; chosen by hidden cells."""

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from sklearn.impute import KNNImputer

        def answer(option: tuple[int, str], seen: np.ndarray) -> np.ndarray:
            return KNNImputer(n_neighbors=option[0], weights=option[1], keep_empty_features=True).fit_transform(seen)

        options = [(n, weights) for n in (5, 15, 50) for weights in ("uniform", "distance")]
        return answer(chosen(options, answer, table), table)


class LogisticColumns(Imputer):
    """A logistic regression for every column, unknown cells of the others filled with marginals, then with predictions;
    the penalty, one for all columns, is chosen by hidden cells."""

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression

        def answer(penalty: float, seen: np.ndarray) -> np.ndarray:
            said = marginals(seen)
            for _ in range(2):
                features = filled_with(seen, said)
                said = by_column(seen, features, lambda Z, y: LogisticRegression(C=penalty, max_iter=300).fit(Z, y))
            return said

        return answer(chosen([0.03, 0.3, 3.0], answer, table), table)


class HistBoosting(Imputer):
    """scikit-learn's HistGradientBoostingClassifier for every column, with 15 leaves, stopped early by a tenth of its rows
    (ten rounds where a value is too rare for that); it knows unknown cells, though in hidden blocks it meets them in columns
    where its rows to learn from have none."""

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from sklearn.ensemble import HistGradientBoostingClassifier

        def fit(Z: np.ndarray, y: np.ndarray) -> Any:
            early = min(y.sum(), len(y) - y.sum()) >= 20
            rounds = 100 if early and not self.small else 10
            options = {"max_leaf_nodes": 15, "early_stopping": bool(early), "n_iter_no_change": 5, "random_state": 0}
            return HistGradientBoostingClassifier(max_iter=rounds, **options).fit(Z, y)

        return by_column(table, table, fit)


class LightBoosting(Imputer):
    """LightGBM for every column, with 15 leaves, stopped early by a tenth of its rows (ten rounds where a value is too rare
    for that); it knows unknown cells, though in hidden blocks it meets them in columns where its rows to learn from have
    none."""

    packages = ("lightgbm",)

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        import lightgbm
        from sklearn.model_selection import train_test_split

        def fit(Z: np.ndarray, y: np.ndarray) -> Any:
            early = min(y.sum(), len(y) - y.sum()) >= 20
            rounds = 200 if early and not self.small else 10
            options = {"num_leaves": 15, "min_child_samples": 10, "n_jobs": 1, "random_state": 0, "verbosity": -1}
            model = lightgbm.LGBMClassifier(n_estimators=rounds, learning_rate=0.1, **options)
            if not early:
                return model.fit(Z, y)
            train, judge, y_train, y_judge = train_test_split(Z, y, test_size=0.1, stratify=y, random_state=0)
            stop = [lightgbm.early_stopping(5, verbose=False)]
            return model.fit(train, y_train, eval_set=[(judge, y_judge)], callbacks=stop)

        return by_column(table, table, fit)


class SoftImpute(Imputer):
    """Soft-thresholded singular values (fancyimpute): of columns less their marginals, which its answers get back; the
    shrinkage, a share of the largest singular value, is chosen by hidden cells."""

    packages = ("fancyimpute", "scikit-learn")

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from fancyimpute import SoftImpute as Theirs
        from sklearn.utils.fixes import parse_version

        if parse_version(version("scikit-learn")) >= parse_version("1.8"):
            raise ModuleNotFoundError("fancyimpute needs scikit-learn before 1.8 (the extra bench-soft)")

        def answer(share: float, seen: np.ndarray) -> np.ndarray:
            centre = marginals(seen)
            centred = seen - centre
            largest = np.linalg.norm(np.nan_to_num(centred), 2)
            return centre + Theirs(shrinkage_value=share * largest, verbose=False).fit_transform(centred)

        return answer(chosen([0.02, 0.05, 0.1, 0.2, 0.4], answer, table), table)


class MiceForest(Imputer):
    """miceforest: five data sets of three rounds; cells are numbers that are filled with the predictions themselves
    (``mean_match_candidates=0``), not with values of like rows, so that their mean over the data sets is a probability."""

    packages = ("miceforest", "lightgbm")

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        import miceforest
        import pandas as pd

        frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
        sets, rounds = (2, 1) if self.small else (5, 3)
        kernel = miceforest.ImputationKernel(frame, num_datasets=sets, mean_match_candidates=0, random_state=0)
        kernel.mice(rounds, verbose=False, num_threads=1)
        return np.mean([kernel.complete_data(s).to_numpy(dtype=float) for s in range(sets)], axis=0)


class MissForest(Imputer):
    """MissForest with random forests of 100 trees for numbers, five rows in a leaf: the mean of a leaf is a share of ones,
    where its classifiers would say 0 or 1."""

    packages = ("MissForest", "scikit-learn")

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        import pandas as pd
        from missforest import MissForest as Theirs
        from sklearn.ensemble import RandomForestRegressor

        trees = 5 if self.small else 100
        forest = RandomForestRegressor(trees, max_features="sqrt", min_samples_leaf=5, random_state=0)
        frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
        said = Theirs(rgr=forest, initial_guess="mean", verbose=0).fit_transform(frame)
        return said[frame.columns].to_numpy(dtype=float)


class MixtureStarts(Imputer):
    """Ours, one family: mixtures of ten classes from five starts, their answers averaged."""

    packages = ("latentbits",)

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        from latentbits import BernoulliMixture

        starts = range(1 if self.small else 5)
        fits = [BernoulliMixture(10, n_init=1, random_state=start).fit(table) for start in starts]
        return np.mean([np.asarray(fit.reconstruct(table)) for fit in fits], axis=0)


class Ours(Imputer):
    """Ours, a minute, with the defaults."""

    packages = ("latentbits",)

    def fit_predict(self, table: np.ndarray) -> np.ndarray:
        try:
            from latentbits import Imputer as Stacked
        except ImportError as error:
            raise ModuleNotFoundError("this latentbits has no Imputer", name="latentbits.Imputer") from error
        stacked = Stacked(models="auto", time_limit=2 if self.small else 60, random_state=0)
        return np.asarray(stacked.fit(table).transform_proba(table), dtype=float)


# In the order in which they play: the slowest last.
IMPUTERS: dict[str, type[Imputer]] = {
    "marginals": Marginals,
    OURS: Ours,
    "mixture": MixtureStarts,
    "iterative ridge": IterativeRidge,
    "neighbours": Neighbours,
    "logistic": LogisticColumns,
    "lightgbm": LightBoosting,
    "soft-impute": SoftImpute,
    "hist boosting": HistBoosting,
    "iterative trees": IterativeTrees,
    "MissForest": MissForest,
    "miceforest": MiceForest,
}
