"""Bootstrap likelihood-ratio test for the number of classes (McLachlan 1987)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..base import quiet
from ..data.block import UNKNOWN
from ..data.source import open_source
from ..errors import InputError, LatentBitsWarning, brief

MOST_TABLES = 100_000  # each is fitted twice


@dataclass(frozen=True)
class BootstrapTest:
    """The outcome of :func:`bootstrap_lrt`.

    Attributes
    ----------
    n_components : int
        The larger model; the test asks whether it is needed over one component less.
    statistic : float
        Twice the gain in log-likelihood on the table.
    draws : array
        The same on tables drawn from the smaller model.
    p_value : float
        (1 + number of draws at least as large) / (1 + number of draws).

    Examples
    --------
    >>> from latentbits import BernoulliMixture, bootstrap_lrt, datasets
    >>> X = datasets.load_zoo().frame
    >>> test = bootstrap_lrt(BernoulliMixture(n_init=1, random_state=0), X, 2, n_bootstrap=3)
    >>> test.statistic > 0, len(test.draws)
    (True, 3)
    """

    n_components: int
    statistic: float
    draws: np.ndarray
    p_value: float


def bootstrap_lrt(
    estimator: Any,
    X: Any,
    n_components: int,
    *,
    n_bootstrap: int = 99,
    refit_n_init: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> BootstrapTest:
    """Test ``n_components`` classes against one less.

    Tables are drawn from the smaller model with the blanks of X, and both models are fitted to each.  The refits of the
    smaller model start from the fitted profiles, which makes them quick; those of the larger one have as many random starts
    as the fit to X, because fewer would find smaller gains and make every test significant.

    Parameters
    ----------
    estimator : BernoulliMixture
        Its options are used; smoothing is set to 0, as the test is about likelihoods.
    X : table
        The data.
    n_components : int
        The larger number of classes, 2 or more.
    n_bootstrap : int
        Tables to draw, up to 100,000.
    refit_n_init : int, optional
        Starts of the larger model on every drawn table; by default those of the estimator.
    random_state : int
        Seed of the draws.
    progress : function, optional
        Called with (done, total, note).

    Returns
    -------
    BootstrapTest

    Examples
    --------
    >>> import latentbits
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(n_rows=100, n_columns=6, n_components=2, random_state=0).data
    >>> test = latentbits.bootstrap_lrt(latentbits.BernoulliMixture(n_init=2, random_state=0), X, 2, n_bootstrap=19)
    >>> test.p_value
    0.05
    """
    if n_components < 2:
        raise InputError("bootstrap_lrt: n_components must be 2 or more; one class is compared with none.")
    if not 1 <= n_bootstrap <= MOST_TABLES:
        raise InputError(f"bootstrap_lrt: n_bootstrap must be from 1 to {MOST_TABLES:,}; got {brief(n_bootstrap)}.")
    source = open_source(X, owner="bootstrap_lrt", binarize=estimator.binarize, block_rows=estimator.block_rows)
    plain = clone(estimator).set_params(smoothing=0.0, weight_concentration=1.0, binarize=None, checkpoint=None)
    codes = np.concatenate([source.block(b).codes() for b in range(source.n_blocks)])
    blank = codes == UNKNOWN
    table = np.where(blank, np.nan, codes)
    with quiet(LatentBitsWarning):
        small = clone(plain).set_params(n_components=n_components - 1).fit(table)
        large = clone(plain).set_params(n_components=n_components).fit(table)
        statistic = _gain(small, large)
        draws = np.empty(n_bootstrap)
        for b in range(n_bootstrap):
            if progress is not None:
                progress(b, n_bootstrap, f"table {b + 1}")
            cells = small.sample(len(table), random_state=np.random.RandomState([random_state, b])).astype(float)
            cells[blank] = np.nan
            refit_small = clone(plain).set_params(n_components=n_components - 1, init=small.components_, n_init=1)
            refit_large = clone(plain).set_params(
                n_components=n_components, n_init=refit_n_init or plain.n_init, random_state=b
            )
            draws[b] = _gain(refit_small.fit(cells), refit_large.fit(cells))
    p_value = (1 + int((draws >= statistic).sum())) / (1 + n_bootstrap)
    return BootstrapTest(n_components, statistic, draws, p_value)


def _gain(small: Any, large: Any) -> float:
    """Twice the difference of the log-likelihoods; with no prior the objective is the log-likelihood."""
    return float(max(0.0, 2 * (large.objective_ - small.objective_)))
