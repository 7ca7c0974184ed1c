"""Arrays as text in a page: base64 of little-endian numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

MOST_ROWS = 5000  # of a page
NOTHING = 2**16 - 1  # among numbers of sixteen bits


def _text(array: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def bytes_of(shares: Any) -> str:
    """Numbers between 0 and 1 as one byte each.

    Examples
    --------
    >>> bytes_of(np.array([0.0, 0.5, 1.0]))
    'AID/'
    """
    return _text(np.round(np.clip(shares, 0, 1) * 255).astype(np.uint8))


def shorts_of(codes: Any) -> str:
    """Whole numbers below 65,535 as two bytes each; negative ones are nothing.

    Examples
    --------
    >>> shorts_of(np.array([1, -1]))
    'AQD//w=='
    """
    return _text(np.where(np.asarray(codes) < 0, NOTHING, codes).astype("<u2"))


def floats_of(values: Any) -> str:
    """Numbers as four bytes each; what is not known is NaN.

    Examples
    --------
    >>> floats_of(np.array([1.5]))
    'AADAPw=='
    """
    return _text(np.asarray(values).astype("<f4"))


def bits_of_rows(bits: Any) -> str:
    """Rows of bits, eight to a byte, each row from a new byte.

    Examples
    --------
    >>> bits_of_rows(np.array([[True, False], [False, True]]))
    'AQI='
    """
    return _text(np.packbits(np.ascontiguousarray(bits), axis=1, bitorder="little"))
