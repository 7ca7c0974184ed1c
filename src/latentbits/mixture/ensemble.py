"""Several mixtures that answer together: draws of a sampler, or restarts of a fit.

Predictions (likelihood, filled cells, new rows) come from all members; what needs one set of components (memberships,
explanations) from one mixture that stands for them, the *point*.  Members are laid out flat, as one mixture of all their
components, each weighing its share of its member:

* ``average="joint"``: P(cell | row) = Σ_s p(row | s) P_s / Σ_s p(row | s), the exact rule if members are draws of one
  posterior, is the flat mixture's own answer;
* ``average="mean"``: (1/S) Σ_s P_s, every member with the same say, the report's rule; better when chains or restarts sit in
  different optima (van der Maaten, section 6).

The likelihood of a row is the mean of the members' likelihoods under both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..engine.protocols import Causes, Model
from ..maths.latent_class import ClassModel, ClassPrecomputed, chosen_classes
from ..maths.members import member_shares, owners_misfit, starts_of
from .model import MixtureModel, MixtureParams, mixture_precomputed

# Row × component pairs that are held at a time.
TILE = 2_000_000


class Members(NamedTuple):
    """Components of all members: weights (B,) that sum to one within a member, probs (B, D), owner (B,) ascending."""

    weights: Annotated[Float, of.shares("B")]
    probs: Annotated[Float, of.chances("B", "D")]
    owner: Annotated[Any, of.places("B", below="B")]

    def contradiction(self) -> str | None:
        """What is wrong with the members as a whole."""
        return owners_misfit(self.owner)


class EnsemblePrecomputed(NamedTuple):
    """Logarithms of the point and of the flat mixture; ``starts`` are the first components of the members."""

    point: ClassPrecomputed
    flat: ClassPrecomputed
    starts: Any


@dataclass(frozen=True)
class EnsembleModel(Model):
    """Answers of an ensemble; ``n_components`` are those of the point."""

    n_components: of.Size
    average: Annotated[str, of.words("mean", "joint")] = "mean"

    @property
    def single(self) -> MixtureModel:
        """The maths of the point."""
        return MixtureModel(self.n_components)

    def members(self, params: Any) -> Members:
        """All components."""
        raise NotImplementedError

    def point(self, params: Any) -> Any:
        """Parameters of the mixture that stands for all."""
        return params.point

    def precompute(self, params: Any) -> EnsemblePrecomputed:
        """Logarithms, once per question."""
        weights, probs, owner = self.members(params)
        starts = starts_of(owner)
        flat = mixture_precomputed(MixtureParams(weights / len(starts), probs), pad=False)
        return EnsemblePrecomputed(self.single.precompute(self.point(params)), flat, starts)

    def _flat(self, block: Block, precomputed: EnsemblePrecomputed) -> Iterator[tuple[slice, Float]]:
        """log p(row, component) of some rows after the other."""
        n_components = len(precomputed.flat.base)
        flat, step = ClassModel(n_components), max(1, TILE // n_components)
        for low in range(0, block.n_rows, step):
            rows = slice(low, min(low + step, block.n_rows))
            part = block if step >= block.n_rows else block.take(np.arange(rows.start, rows.stop))
            yield rows, flat.log_joint(part, precomputed.flat)

    def _shares(self, log_joint: Float, precomputed: EnsemblePrecomputed) -> Float:
        """What every component weighs in the answer about a row."""
        shares: Float = member_shares(log_joint, precomputed.starts, self.average)
        return shares

    def log_prob(self, block: Block, precomputed: EnsemblePrecomputed) -> Float:
        """log of the members' mean likelihood (n,)."""
        out = np.empty(block.n_rows)
        for rows, log_joint in self._flat(block, precomputed):
            top = log_joint.max(axis=1)
            out[rows] = top + np.log(np.exp(log_joint - top[:, None]).sum(axis=1))
        return out

    def memberships(self, block: Block, precomputed: EnsemblePrecomputed) -> Float:
        """Class probabilities (n, K) in the components of the point."""
        return self.single.memberships(block, precomputed.point)

    def represent(self, block: Block, precomputed: EnsemblePrecomputed) -> Float:
        """Rows as users see them: their memberships."""
        return self.memberships(block, precomputed)

    def predict_cells(self, block: Block, precomputed: EnsemblePrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        out = np.empty((block.n_rows, block.n_columns))
        for rows, log_joint in self._flat(block, precomputed):
            out[rows] = self._shares(log_joint, precomputed) @ precomputed.flat.probs
        return out

    def predict_cells_at(self, block: Block, precomputed: EnsemblePrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        out = np.empty(len(rows))
        asked, inverse = np.unique(rows, return_inverse=True)
        for part, log_joint in self._flat(block.take(asked), precomputed):
            cells = np.flatnonzero((inverse >= part.start) & (inverse < part.stop))
            shares = self._shares(log_joint, precomputed)
            if 8 * len(cells) > shares.shape[0] * block.n_columns:
                out[cells] = (shares @ precomputed.flat.probs)[inverse[cells] - part.start, columns[cells]]
                continue
            for low in range(0, len(cells), max(1, TILE // shares.shape[1])):
                some = cells[low : low + max(1, TILE // shares.shape[1])]
                of_rows, of_columns = shares[inverse[some] - part.start], precomputed.flat.probs.T[columns[some]]
                out[some] = np.einsum("mk,mk->m", of_rows, of_columns)
        return out

    def sample_cells(
        self, block: Block, precomputed: EnsemblePrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: a component for every row, then the cells given the component."""
        chosen = np.empty(block.n_rows, np.int64)
        for part, log_joint in self._flat(block, precomputed):
            chosen[part] = chosen_classes(self._shares(log_joint, precomputed), by_row[part])
        return by_cell < precomputed.flat.probs[chosen[rows], columns]

    def causes(self, block: Block, precomputed: EnsemblePrecomputed, rows: Any, columns: Any) -> Causes:
        """Why single cells are as they are, told by the components of the point."""
        return self.single.causes(block, precomputed.point, rows, columns)

    def sample_rows(self, params: Any, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of random members, and the member of each."""
        members = self.members(params)
        chosen = rng.choice(len(members.weights), size=n, p=members.weights / members.weights.sum())
        cells = (rng.random((n, members.probs.shape[1])) < members.probs[chosen]).astype(np.uint8)
        return cells, members.owner[chosen]

    def n_free(self, params: Any) -> int:
        """Free parameters of the point."""
        return self.single.n_free(self.point(params))
