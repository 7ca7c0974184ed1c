"""The digits: 1,000 images of a class to learn from, 100 whose lower half is hidden."""

from __future__ import annotations

from functools import cache

import numpy as np

from latentbits.datasets import fetch

IMAGE = (16, 16)
HALF = 128  # pixels of the upper half
# Order of the columns of Table 1.
DIGITS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)


@cache
def _pixels() -> tuple[np.ndarray, np.ndarray]:
    """Binary images (the report does not give its threshold) and their classes."""
    with np.load(fetch("usps")) as parts:
        return (parts["X"] > 127).astype(np.uint8), parts["y"].astype(int)


def images(digit: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """1,000 images to learn from and 100 to fill in."""
    pixels, classes = _pixels()
    mine = pixels[classes == digit][np.random.default_rng(split).permutation(1100)]
    return mine[:1000], mine[1000:]


def half_seen(rows: np.ndarray) -> np.ndarray:
    """The images with their lower half unknown."""
    seen = rows.astype(float)
    seen[:, HALF:] = np.nan
    return seen
