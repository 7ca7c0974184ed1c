"""Errors and warnings that users meet.

Every error says what was found and where, what was expected, and the next thing to do.  Errors about input
are also ``ValueError`` so that scikit-learn's habits hold.
"""

from __future__ import annotations


class LatentBitsError(Exception):
    """Base of all errors raised on purpose by latentbits."""


class InputError(LatentBitsError, ValueError):
    """The table, the weights or an option are not what the method needs."""


class CellError(InputError):
    """A cell is neither 0, 1 nor unknown; ``value`` is what the first such cell holds."""

    value: object = None


class InputTypeError(InputError, TypeError):
    """The table is of a kind that cannot be read as cells at all."""


class MissingExtraError(LatentBitsError, ImportError):
    """An optional package is needed; the message names the extra to install."""


class FileError(InputError):
    """A file cannot be read: damaged, foreign, of another version, or not there."""


class MonotonicityError(LatentBitsError, ArithmeticError):
    """An objective that must never fall has fallen."""


class FitError(LatentBitsError, RuntimeError):
    """No start of the fit could be completed."""


class ClusterError(LatentBitsError, RuntimeError):
    """The Dask cluster was lost while it worked."""


class LatentBitsWarning(UserWarning):
    """Base of all warnings: a result that the user should doubt, and what to look at."""


class NotConvergedWarning(LatentBitsWarning):
    """The fit stopped at ``max_iter`` or a time limit before the objective settled."""


class EmptyComponentWarning(LatentBitsWarning):
    """A component holds (almost) no rows."""


class DuplicateComponentWarning(LatentBitsWarning):
    """Two components are the same to the eye."""


class TableWarning(LatentBitsWarning):
    """Rows or columns of the table carry no information."""


class NoPhantomWarning(LatentBitsWarning):
    """Zeros are to be told apart, but the model has no cause that explains lost ones."""


class ObjectiveFellWarning(LatentBitsWarning):
    """The objective fell where it must not; please report it."""


class UnmixedChainsWarning(LatentBitsWarning):
    """Chains of a sampler have not found the same thing."""


class BlocksWarning(LatentBitsWarning):
    """A sampler uses all components that it has, or only one."""


class ImproperPriorWarning(LatentBitsWarning):
    """A prior has no maximum; it is there for comparison only."""


class RestartWarning(LatentBitsWarning):
    """One or more starts failed and were left out."""


class StoreWarning(LatentBitsWarning):
    """What was decoded of a large file cannot be kept, so that passes take longer."""


def brief(value: object) -> str:
    """A value as messages show it; numbers of thousands of digits cannot be written out."""
    try:
        shown = repr(value)
    except ValueError:
        return f"a {type(value).__name__} that is too long to show"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def need(module: str, extra: str, purpose: str) -> MissingExtraError:
    """Return the error for an optional package that is not installed."""
    return MissingExtraError(
        f"{purpose} needs the package {module!r}, which is not installed. "
        f"Install it with: pip install 'latentbits[{extra}]'"
    )
