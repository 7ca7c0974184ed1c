"""Options of estimators: each class declares what its constructor accepts, and ``fit`` checks all of it in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

import numpy as np

from ..data.numbers import float_of
from ..engine.events import Listener
from ..errors import InputError, brief
from .sklearn_api import BaseEstimator

# Draws, sweeps or steps that an answer may take for every row: more would run for ever and tell nothing new.
MOST_DRAWS = 1_000_000


class Check(Protocol):
    """Says what is wrong with a value, or None."""

    def __call__(self, value: Any) -> str | None:
        """The complaint, without the name of the option."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number (True and False are not)."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number (True and False are not)."""
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, complex, np.complexfloating))
    return bool(good and np.isfinite(float_of(value)))


@dataclass(frozen=True)
class Whole:
    """A whole number from ``least`` to ``most``; ``others`` are accepted beside."""

    least: int = 1
    others: tuple[Any, ...] = ()
    most: float = np.inf

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.others) or (is_whole(value) and self.least <= value <= self.most):
            return None
        bounds = f"{self.least} or more" if self.most == np.inf else f"{self.least} to {self.most:,}"
        return f"must be a whole number, {bounds}{_or(self.others)}; got {brief(value)}."


@dataclass(frozen=True)
class Number:
    """A finite number of at least ``least`` and below ``below``; ``others`` are accepted beside."""

    least: float = 0.0
    below: float = np.inf
    others: tuple[Any, ...] = ()

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.others):
            return None
        if not is_number(value) or value < self.least:
            return f"must be a number, {self.least:g} or more{_or(self.others)}; got {brief(value)}."
        return None if value < self.below else f"must be below {self.below:g}; got {brief(value)}."


@dataclass(frozen=True)
class Positive:
    """A finite number above 0 and up to ``most``; ``others`` are accepted beside."""

    most: float = np.inf
    others: tuple[Any, ...] = ()

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.others):
            return None
        if not is_number(value) or value <= 0:
            return f"must be a number above 0{_or(self.others)}; got {brief(value)}."
        return None if value <= self.most else f"must be above 0 and up to {self.most:g}; got {brief(value)}."


@dataclass(frozen=True)
class Share:
    """A number from 0 to 1; ``others`` are accepted beside."""

    others: tuple[Any, ...] = ()

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.others) or (is_number(value) and 0 <= value <= 1):
            return None
        return f"must be a number from 0 to 1{_or(self.others)}; got {brief(value)}."


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        return None if isinstance(value, (bool, np.bool_)) else f"must be True or False; got {brief(value)}."


@dataclass(frozen=True)
class OneOf:
    """One of some words (or None)."""

    allowed: tuple[Any, ...]

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.allowed):
            return None
        return f"must be one of {', '.join(map(repr, self.allowed))}; got {brief(value)}."


@dataclass(frozen=True)
class WordOr:
    """One of some words, or something else, which is looked at where it is used."""

    words: tuple[str, ...]
    otherwise: str

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if not isinstance(value, str) or value in self.words:
            return None
        return f"must be {', '.join(map(repr, self.words))} or {self.otherwise}; got {brief(value)}."


@dataclass(frozen=True)
class BetaPair:
    """A Beta prior (a, b) with a mode inside [0, 1]; ``others`` are accepted beside."""

    others: tuple[Any, ...] = ()

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if _among(value, self.others):
            return None
        try:
            on, off = beta_pair(value)
        except (TypeError, ValueError):
            return f"must be a pair of numbers (a, b); got {brief(value)}."
        if 1 <= on < np.inf and 1 <= off < np.inf:
            return None
        return f"({on:g}, {off:g}) has no mode inside (0, 1); both numbers must be 1 or more."


@dataclass(frozen=True)
class GammaPair:
    """A Gamma prior (shape, rate)."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        try:
            good = len(value) == 2 and all(is_number(part) and part > 0 for part in value)
        except TypeError:
            good = False
        return (
            None if good else f"must be a pair (shape, rate) of positive numbers, of a Gamma prior; got {brief(value)}."
        )


@dataclass(frozen=True)
class Jobs:
    """A number of workers, as joblib counts them."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if value is None or (is_whole(value) and value != 0):
            return None
        return f"must be None or a whole number other than 0; got {brief(value)}."


@dataclass(frozen=True)
class Callbacks:
    """A list of functions."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            return f"must be a list of functions; got {type(value).__name__!r}."
        odd = [entry for entry in value if not callable(entry) and not isinstance(entry, Listener)]
        return f"must be a list of functions; one entry is {brief(odd[0])}." if odd else None


@dataclass(frozen=True)
class File:
    """A path, or None."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if value is None or (isinstance(value, (str, os.PathLike)) and str(value)):
            return None
        return f"must be a path or None; got {brief(value)}."


@dataclass(frozen=True)
class Verbosity:
    """How much is told: a whole number, or True or False."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        good = isinstance(value, (bool, np.bool_)) or (is_whole(value) and value >= 0)
        return None if good else f"must be 0, 1 or 2; got {brief(value)}."


def beta_pair(value: Any) -> tuple[float, float]:
    """The two numbers of a Beta prior."""
    on, off = (float(part) for part in value)
    return on, off


def _among(value: Any, allowed: tuple[Any, ...]) -> bool:
    """Whether a value is one of some words (or None); arrays never are."""
    return (value is None or isinstance(value, str)) and value in allowed


def _or(others: tuple[Any, ...]) -> str:
    """What else would do, in words."""
    return "".join(f", or {other!r}" for other in others)


# What every estimator that runs an optimiser or chains accepts.
SHARED: Mapping[str, Check] = {
    "n_components": Whole(1),
    "n_states": Whole(1),
    "max_iter": Whole(1),
    "n_init": Whole(1),
    "tol": Number(0.0),
    "accelerate": Flag(),
    "precision": OneOf(("mixed", "double")),
    "screen_starts": Flag(),
    "n_chains": Whole(1),
    "n_warmup": Whole(0),
    "n_draws": Whole(1),
    "thin": Whole(1),
    "n_jobs": Jobs(),
    "callbacks": Callbacks(),
    "checkpoint": File(),
    "verbose": Verbosity(),
    "warm_start": Flag(),
    "time_limit": Number(0.0, others=(None,)),
}


class OptionsMixin(BaseEstimator):
    """Options that are checked as each class declares them in ``option_checks``."""

    option_checks: ClassVar[Mapping[str, Check]] = SHARED

    @property
    def _name(self) -> str:
        """The class, for messages."""
        return type(self).__name__

    def _check_options(self) -> None:
        """Refuse options that make no sense."""
        self._check_some(*self.get_params(deep=False))
        self._check_together()

    def _check_some(self, *options: str) -> None:
        """Refuse values of these options that make no sense."""
        checks: dict[str, Check] = {}
        for cls in reversed(type(self).__mro__):
            checks.update(vars(cls).get("option_checks", {}))
        for option in options:
            if option in checks:
                self._check(option, getattr(self, option), checks[option])

    def _check(self, name: str, value: Any, check: Check) -> None:
        """Refuse a value that a check complains about."""
        complaint = check(value)
        if complaint is not None:
            raise InputError(f"{self._name}: {name} {complaint}")

    def _check_together(self) -> None:
        """Refuse options that exclude each other; families define it."""


Kind = TypeVar("Kind", bound=type)
PARAMETERS = "\nParameters\n----------\n"


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def option_fields(cls: Kind) -> Kind:
    """A class whose annotated attributes are its options: the constructor takes them by name and only stores them.

    Options that only the bases describe are added to the docstring.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    cls.__doc__ = _completed(cls)
    return cls


def _completed(cls: type) -> str:
    """The docstring of a class, with entries of the options that only its bases describe."""
    doc = _doc(cls)
    head, mark, rest = doc.partition(PARAMETERS)
    if not mark:
        return doc
    found = re.search(r"^\w[\w ]*\n-{3,}\n", rest, re.M)  # the next section
    own, after = (rest, "") if found is None else (rest[: found.start()], rest[found.start() :])
    told = _entries(doc)
    for name in (f.name for f in fields(cls) if f.init):
        inherited = (_entries(_doc(base)).get(name) for base in cls.__mro__[1:])
        if name not in told and (entry := next(filter(None, inherited), None)):
            own = own.rstrip() + "\n" + entry
            told |= dict.fromkeys(_names(entry), entry)
    return f"{head}{mark}{own.rstrip()}\n\n{after}"


def _doc(cls: type) -> str:
    """The docstring of a class without its indentation, which Python 3.13 takes away by itself."""
    return cleandoc(vars(cls).get("__doc__") or "") + "\n"


def _entries(doc: str) -> dict[str, str]:
    """Entries of the Parameters section of a docstring, by every name that they describe."""
    section = doc.partition(PARAMETERS)[2].partition("\n---")[0]
    found = re.findall(r"^\w[\w, ]* : .*\n(?:    .*\n|\n(?=    ))+", section, re.M)
    return {name: entry for entry in found for name in _names(entry)}


def _names(entry: str) -> list[str]:
    """Names that an entry describes."""
    return [name.strip() for name in entry.partition(" : ")[0].split(",")]


@option_fields
class RunOptions(OptionsMixin):
    """Options of every estimator that runs something.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed.
    n_jobs : int or None
        Threads over row blocks; the result does not depend on it.
    block_rows : int or None
        Rows per block; None chooses by the shape of the table.
    verbose : int
        1 prints a line on standard error about every two seconds and one at the end: start, pass, objective and, when it
        is known, the time left; 2 prints every pass.  For the :mod:`logging` module give ``callbacks=[LogLines()]``
        (:class:`latentbits.engine.events.LogLines`).
    time_limit : float or None
        Seconds after which the fit stops at the best value so far.
    checkpoint : path or None
        File to write the state of the fit to; a fit that finds its own file there goes on from it.
    callbacks : list or None
        Functions of (restart, step) events, or :class:`latentbits.engine.events.Listener` objects; a true answer stops
        the fit.
    """

    random_state: Any = None
    n_jobs: int | None = None
    block_rows: int | None = None
    verbose: int = 0
    time_limit: float | None = None
    checkpoint: Any = None
    callbacks: Any = None


@option_fields
class OptimiserOptions(RunOptions):
    """Options of estimators that climb to an optimum from several starts.

    Parameters
    ----------
    max_iter : int
        Passes over the table per start.
    tol : float
        A start has settled when a pass gains less than this many nats per observed cell (per entry, in tables of numbers).
    n_init : int
        Starts; the best is kept and ``restarts_`` tells of all.
    warm_start : bool
        Go on from the last fit.
    precision : {"mixed", "double"}
        Numbers of the passes.  "mixed" begins large tables in float32 and ends in float64: the last passes, the objective,
        the parameters and all answers.  It changes the path of a fit, not what it climbs to.  Small tables, and families
        whose passes gain nothing by it, run in float64 all the way.
    screen_starts : bool
        Compare the starts of a large table of bits (8,000 rows or more) before their end, most families on a sample of its
        rows; the better half goes on.
    """

    max_iter: int = 1000
    tol: float = 1e-7
    n_init: int = 5
    warm_start: bool = False
    precision: str = "mixed"
    screen_starts: bool = True


@option_fields
class ChainOptions(RunOptions):
    """Options of estimators that run chains.

    Parameters
    ----------
    n_chains : int
        Independent chains.
    n_warmup : int
        Sweeps of every chain before draws are kept.
    n_draws : int
        Draws kept of every chain.
    thin : int
        Sweeps between two kept draws.
    n_jobs : int or None
        Chains that run side by side, in threads; inside ``joblib.parallel_config`` in processes or on Dask.  The draws do
        not depend on it.
    verbose : int
        1 prints a line on standard error about every two seconds and one at the end: chain, sweep, objective and the time
        left; 2 prints every sweep.
    time_limit : float or None
        Seconds after which the chains stop where they are.
    checkpoint : path or None
        File to write the chains to; a fit that finds its own file there goes on from it, to the same draws.
    """

    n_chains: int = 4
    n_warmup: int = 200
    n_draws: int = 100
    thin: int = 2


@option_fields
class AcceleratedOptions(OptimiserOptions):
    """Options of optimisers that can be accelerated.

    Parameters
    ----------
    accelerate : bool
        Use SQUAREM jumps, kept only when the objective agrees.
    """

    accelerate: bool = True


@option_fields
class BitOptions(OptionsMixin):
    """Options of estimators of bits.

    Parameters
    ----------
    binarize : float or None
        Cells above it are 1, others 0.  None accepts only 0, 1 and unknown.
    """

    binarize: float | None = None
