"""What all halves of the shell know of an estimator: its options, its fitted state, the sizes that it can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from .. import declared as of
from ..data.source import Source
from ..data.summary import Totals, ValueTotals
from ..engine.stepwise_em import StreamState
from ..families import family_of
from .limits import COPIES, PER_START, check_memory, check_supported, shape_text, sizes_text
from .options import RunOptions, is_whole
from .tables import TablesMixin


class Shell(TablesMixin, RunOptions):
    """Attributes that every estimator has, beside what it knows of its tables.

    Class attributes
    ----------------
    score_kind : {"exact", "lower bound", "estimate"}
        What ``score_samples`` gives.
    keeps_rows : bool
        Whether a fit keeps a number for every row and component.
    counted_by_rows : tuple of str
        Options that are numbers of components, of which there cannot be more than rows.
    """

    score_kind: ClassVar[str] = "exact"
    keeps_rows: ClassVar[bool] = False
    counted_by_rows: ClassVar[tuple[str, ...]] = ("n_components",)
    size_option: ClassVar[str] = "n_components"  # what the number of components is called
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "components_": Annotated[Any, of.reals("K", "D")],
        "_params": Any,
        "_model": Any,
        "_sums": of.Maybe(Totals | ValueTotals | None),
        "_stream": of.Maybe(StreamState | None),
        "_stream_sums": of.Maybe(Totals | None),
        "marginals_": Annotated[Any, of.chances("D")],
        "weight_seen_": of.Maybe(of.Amount),
        "n_iter_": of.Count,
        "converged_": bool,
        "objective_": of.Maybe(of.AnyNumber),
        "n_reached_": of.Maybe(of.Count),
        "history_": list[list[of.AnyNumber]],
        "restarts_": of.Maybe(list[dict[str, of.Plain]]),
        "score_kind_": of.Maybe(Annotated[str, of.words("exact", "lower bound", "estimate")]),
        "empty_components_": of.Maybe(list[of.Component]),
        "duplicate_components_": of.Maybe(list[list[of.Component]]),
        "unobserved_features_": of.Maybe(Annotated[Any, of.places("*", below="D")]),
    }

    # Options that most estimators have; see options.py.
    n_components: Any

    # What a fit leaves behind.
    _sums: Totals
    _stream: StreamState | None
    _stream_sums: Totals | None
    components_: Any
    weights_: Any
    marginals_: Any
    weight_seen_: float
    n_iter_: int
    converged_: bool
    history_: list[list[float]]
    restarts_: list[dict[str, Any]]
    score_kind_: str

    @property
    def _size(self) -> int:
        """Number of components that the options ask for."""
        return int(getattr(self, self.size_option))

    def _has(self, method: str) -> bool:
        """Whether the estimator, with its options, has a method that only some families have."""
        return method in family_of(type(self)).answers

    def _check_size(self, source: Source, stream: bool = False) -> None:
        """Refuse a size that a table of this shape cannot support, or that memory cannot hold.

        More rows of a stream may come.
        """
        options, n_columns = self.get_params(deep=False), source.shape[1]
        shape = getattr(source, "n_table_rows", source.shape[0]), n_columns
        for name in () if stream else self.counted_by_rows:
            if is_whole(options.get(name)):
                check_supported(self._name, name, int(options[name]), shape)
        # On Dask the rows stay with the workers.
        kept = self._numbers_kept(0 if hasattr(source, "delayed") else source.shape[0], n_columns)
        check_memory(self._name, f"a fit to {shape_text(shape)}{sizes_text(options)}", kept)

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        """About how many numbers a fit to a table of this shape keeps in memory."""
        per_component = COPIES * n_columns + (n_rows if self.keeps_rows else 0)
        return int(getattr(self, self.size_option, 0)) * per_component + PER_START * int(getattr(self, "n_init", 0))
