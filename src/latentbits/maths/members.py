"""Several mixtures that answer together, laid out flat as one: components of one member after the other.

``owner`` (B,) is the member of every component, ascending from 0; ``starts`` are the first components of the members.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import Block, Float
from ..engine.protocols import Causes, Model
from .profiles import EDGE


class ToldByTheBest(Model):
    """Starts that answer together: what needs one set of components comes from the best of them.

    Subclasses have the best model in ``best``, and what it needs in ``precomputed.best``.
    """

    best: Any

    def memberships(self, block: Block, precomputed: Any) -> Float:
        """Class probabilities (n, K) in the components of the best start."""
        found: Float = self.best.memberships(block, precomputed.best)
        return found

    def represent(self, block: Block, precomputed: Any) -> Float:
        """Rows as users see them: their memberships."""
        return self.memberships(block, precomputed)

    def causes(self, block: Block, precomputed: Any, rows: Any, columns: Any) -> Causes:
        """Why single cells are as they are, told by the best start."""
        found: Causes = self.best.causes(block, precomputed.best, rows, columns)
        return found

    def n_free(self, params: Any) -> int:
        """Free parameters of the best start."""
        return int(self.best.n_free(params))

    def expected_stats(self, params: Any) -> Any:
        """More rows go on from the best start."""
        return self.best.expected_stats(params)


def logits_of(chances: Float) -> Any:
    """Chances as logits in float32, half as large as they were, and as fine near 1 as near 0."""
    return (np.log(chances) - np.log1p(-chances)).astype(np.float32)


def chances_of(logits: Any) -> Float:
    """Chances of logits, in float64.

    Examples
    --------
    >>> chances_of(logits_of(np.array([0.25, 1 - 1e-9]))).round(6).tolist()
    [0.25, 1.0]
    """
    return np.clip(1.0 / (1.0 + np.exp(-np.asarray(logits, np.float64))), EDGE, 1.0 - EDGE)


def owners_misfit(owner: Any) -> str | None:
    """What is wrong with the members that components belong to: they follow each other, none left out."""
    good = len(owner) > 0 and owner[0] == 0 and np.isin(np.diff(owner), (0, 1)).all()
    return None if good else "must hold the components of one member after the other"


def starts_of(owner: Any) -> Any:
    """The first components of the members.

    Examples
    --------
    >>> starts_of(np.array([0, 0, 1, 2, 2])).tolist()
    [0, 2, 3]
    """
    return np.flatnonzero(np.diff(owner, prepend=-1))


def member_shares(log_joint: Float, starts: Any, average: str) -> Any:
    """What every component weighs in the answer about a row (n, B), from log p(row, component) (n, B).

    ``"joint"``: as all components together explain the row; ``"mean"``: every member has the same say.
    """
    if average == "joint":
        shares = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
    counts = np.diff(starts, append=log_joint.shape[1])
    tops = np.maximum.reduceat(log_joint, starts, axis=1)
    shares = np.exp(log_joint - np.repeat(tops, counts, axis=1))
    sums = np.add.reduceat(shares, starts, axis=1) * len(starts)
    return shares / np.repeat(sums, counts, axis=1)
