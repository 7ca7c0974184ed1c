"""Estimators that run chains instead of an optimiser: the chains half of the shell."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..data.summary import Totals
from ..engine.chains import Chain, Plan, Pool, run_chains
from ..engine.protocols import Sweep
from ..engine.sweep import sweep_of
from ..errors import NotConvergedWarning
from .fitting import FittingMixin
from .passes import fingerprint, table_sums
from .sklearn_api import callback_management_context, effective_n_jobs

PER_STEP = 8  # numbers that are kept of every step


class ChainsMixin(FittingMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`; families supply ``_process`` and ``_store_chains``."""

    fitted_types: ClassVar[Mapping[str, Any]] = {"fingerprint_": str}
    words: ClassVar[tuple[str, str]] = ("chain", "sweep")  # what runs several times, and of what it consists
    n_chains: int
    n_warmup: int
    n_draws: int
    thin: int
    fingerprint_: str

    def _process(self, sweep: Sweep, sums: Totals, seed: int) -> Any:
        """The process whose chains are run."""
        raise NotImplementedError

    def _plan(self) -> Plan:
        """How long the chains are."""
        return Plan(int(self.n_warmup), int(self.n_draws), int(self.thin))

    def _n_chains(self) -> int:
        """How many chains there are."""
        return int(self.n_chains)

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        plan = self._plan()
        per_chain = n_rows * plan.n_draws // 2 + PER_STEP * plan.n_steps  # a draw has a short number for every row
        return super()._numbers_kept(n_rows, n_columns) + self._n_chains() * per_chain

    def _store_chains(self, process: Any, chains: list[Chain], sums: Totals, sweep: Sweep) -> None:
        """Keep what the chains brought."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Run the chains.

        Rows have no weights here: every row has a place of its own in the state.  Repeat rows instead.

        Parameters
        ----------
        X : table of 0, 1 and unknown cells
            Array, list, SciPy sparse matrix or array, pandas, polars or pyarrow table, memory map, path to a file,
            Dask array or frame.  Unknown cells are NaN, None, pd.NA or masked; in sparse tables a stored NaN.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> DPBernoulliMixture(n_chains=1, n_warmup=20, n_draws=20, random_state=0).fit(X).draws_.labels.shape
        (1, 20, 101)
        """
        self._check_options()
        with callback_management_context(self):
            source = self._open(X, reset=True)
            self._check_size(source)
            self._forget_names()
            self._fit_sweep(sweep_of(source, effective_n_jobs(self.n_jobs)), X)
        return self

    def _fit_sweep(self, sweep: Sweep, X: Any = None) -> None:
        """Run the chains on blocks that are already open."""
        sums, digest = table_sums(sweep)
        self._check_table(sums)
        seed = self._fit_seed()
        process, plan = self._process(sweep, sums, seed), self._plan()
        listener = self._listeners(self._n_chains(), X)
        chains, stopped = run_chains(
            process,
            self._n_chains(),
            plan,
            listener,
            self._name,
            Pool(process, effective_n_jobs(self.n_jobs), getattr(sweep, "client", None)),
            self._bookmark(sums, digest, seed, False),
            max(1.0, sums.n_cells),
            steps_per_leg=1 if listener.every_step else 10**9,
            seconds_per_leg=1.0 if self.time_limit is None else min(1.0, self.time_limit / (10 * self._n_chains())),
            words=self.words,
        )
        chains = [chain for chain in chains if chain.done]  # a time limit may come before all have begun
        self.score_kind_ = self.score_kind
        self.marginals_, self.weight_seen_, self._sums = sums.marginals, sums.weight, sums
        self.n_iter_ = max(chain.done for chain in chains)
        self.history_ = [chain.trace[:, 0].tolist() for chain in chains]
        self.restarts_ = [
            {"start": chain.number, "objective": path[-1], "n_iter": chain.done}
            for chain, path in zip(chains, self.history_)
        ]
        self.fingerprint_ = fingerprint(digest)
        self._store_chains(process, chains, sums, sweep)
        if stopped:
            done = [chain.done for chain in chains]
            of = f"{min(done)}" if min(done) == max(done) else f"{min(done)} to {max(done)}"
            missing = self._n_chains() - len(chains)
            unbegun = f" ({missing} of {self._n_chains()} had not begun and are left out)" if missing else ""
            warnings.warn(
                f"{self._name}: stopped after {of} of {plan.n_steps} {self.words[1]}s per {self.words[0]}{unbegun}. Answers "
                "come from what there is.",
                NotConvergedWarning,
                stacklevel=4,
            )


def kept_draws(chains: list[Chain], process: Any) -> tuple[list[Chain], list[list[Any]]]:
    """Equally many draws of every chain, and the chains that have some.

    If all were cut short before their first draw, each gives the state that it is in.
    """
    drawn = [chain for chain in chains if chain.draws]
    if not drawn:
        return chains, [[process.record(chain.state)] for chain in chains]
    n = min(len(chain.draws) for chain in drawn)
    return drawn, [chain.draws[:n] for chain in drawn]


def spaced(n_draws: int, n_wanted: int) -> Any:
    """Places of at most ``n_wanted`` of ``n_draws`` draws, evenly spaced, always with the last.

    Examples
    --------
    >>> spaced(10, 3).tolist(), spaced(10, 1).tolist(), spaced(2, 5).tolist()
    ([2, 5, 9], [9], [0, 1])
    """
    n = min(n_wanted, n_draws)
    return (np.arange(1, n + 1) * n_draws) // n - 1
