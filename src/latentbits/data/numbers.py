"""What is a number: in words of files, and among values that users give.

Python and NumPy take more than is meant: ``float("0_1")`` is 1, the real part of a complex number and the nanoseconds of a
date are floats, and so is the text "1".
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError, brief

TRUTH = {"true": 1.0, "false": 0.0}
LARGEST = 1e100  # numbers that can still be squared and summed


def number_of_word(word: str) -> float:
    """The number that a word of a file stands for, in plain ASCII.

    Raises
    ------
    ValueError
        If it stands for none.

    Examples
    --------
    >>> number_of_word(" 1e3 ")
    1000.0
    """
    plain = word.strip()
    if "_" in plain or not plain.isascii():
        raise ValueError(f"{word!r:.60} is no number")
    return float(plain)


def number_of(word: str) -> float | None:
    """The number that a word is, if it is one."""
    try:
        return number_of_word(word)
    except ValueError:
        return None


def word_of(value: Any) -> str:
    """A value as a text file has it: whole numbers without a point, truth values as 1 and 0, dates as in ISO 8601.

    Examples
    --------
    >>> word_of(4.0), word_of(np.int8(4)), word_of(" 4 "), word_of(True), word_of(np.datetime64("2020-01-02"))
    ('4', '4', '4', '1', '2020-01-02')
    """
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, np.datetime64):
        fine = isinstance(value.item(), int)  # finer than Python's own
        value = value.astype("datetime64[us]").item() if fine else value.item()
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if np.isfinite(value) and value == int(value) else repr(float(value))
    return str(value).strip()


def same(word: str) -> str | float:
    """What a word is compared by: its number if it is one, truth values as 1 and 0.

    Examples
    --------
    >>> same("4.0"), same(" True"), same("x")
    (4.0, 1.0, 'x')
    """
    number = number_of(word)
    return TRUTH.get(word.strip().lower(), word.strip()) if number is None else number


def plain_word(word: str) -> str:
    """A word as it names an indicator: alike in text and in memory."""
    value = same(word)
    return word_of(value)


def is_unknown(value: Any) -> bool:
    """Whether an object stands for an unknown cell: None, NaN, NaT, pd.NA, masked."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (str, bytes)):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ in ("NAType", "NaTType")  # pd.NA has no truth value


def is_real(value: Any) -> bool:
    """Whether an object is a real number, a truth value among them."""
    kinds = (bool, int, float, np.bool_, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, np.timedelta64)  # which NumPy counts among whole numbers


def float_of(value: Any) -> float:
    """A real number as a float; one that is too large for it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def real_numbers(values: Any) -> NDArray[np.float64]:
    """Values as an array of floats, unknown ones NaN.

    Raises
    ------
    InputError
        If they are ragged, or some are text, dates, complex numbers or other objects.

    Examples
    --------
    >>> real_numbers([1, None, True]).tolist()
    [1.0, nan, 1.0]
    """
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):
        raise InputError("the lists have different lengths.") from None
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else False
    if found.dtype.kind in "biuf":
        return np.where(mask, np.nan, found.astype(np.float64))
    if found.dtype.kind != "O":
        raise InputTypeError(f"numbers are needed, not {_kind(found.dtype)}.")
    out = np.full(found.shape, np.nan)
    found = np.where(mask, np.nan, found)
    for place, value in np.ndenumerate(found):
        if is_real(value):
            out[place] = float_of(value)
        elif not is_unknown(value):
            raise InputTypeError(f"numbers are needed, not {type(value).__name__!r} ({brief(value)}).")
    return out


def _kind(dtype: np.dtype[Any]) -> str:
    """A kind of values in words."""
    return {"c": "complex numbers", "M": "dates", "m": "spans of time", "U": "text", "S": "bytes"}.get(
        dtype.kind, str(dtype)
    )


def check_threshold(binarize: Any) -> None:
    """Refuse a threshold that is no finite number."""
    if binarize is None:
        return
    if not is_real(binarize) or isinstance(binarize, (bool, np.bool_)) or not np.isfinite(float_of(binarize)):
        raise InputError(f"binarize must be a number (finite) or None; got {brief(binarize)}.")
