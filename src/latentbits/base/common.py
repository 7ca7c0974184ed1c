"""Small things that fitting and answering share."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..engine.stats import flatten
from ..errors import InputError, brief, need
from .sklearn_api import check_random_state


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas frame of rows, or the error that names the extra."""
    try:
        import pandas as pd
    except ImportError:
        raise need("pandas", "pandas", "A table as a frame") from None
    return pd.DataFrame(rows)


def seed_of(random_state: Any) -> int:
    """A whole number from what scikit-learn accepts as a random state."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state must not be negative; got {brief(random_state)}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InputError(
            f"random_state must be a whole number, a RandomState, a Generator or None; got {brief(random_state)}."
        ) from None


def digest_of(params: Any) -> str:
    """A checksum of parameters."""
    digest = hashlib.sha256()
    for name, array in sorted(flatten(params).items()):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def tags_of_numbers(tags: Any) -> Any:
    """scikit-learn's tags of estimators of tables of numbers, 0 or more."""
    tags.input_tags.sparse = True
    tags.input_tags.allow_nan = False
    tags.input_tags.positive_only = True
    return tags


def records(*kinds: type) -> dict[str, Any]:
    """NamedTuples and dataclasses by name, as estimators list those that stand in their files."""
    return {kind.__name__: kind for kind in kinds}


@contextmanager
def quiet(*kinds: type[Warning]) -> Iterator[None]:
    """Without warnings of these kinds, for refits whose doubts are told elsewhere."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield
