"""Rows that are blends: every row has shares of all components, which are its row state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..data.rng import content_uniforms
from ..engine.protocols import Model


@dataclass(frozen=True)
class SharesModel(Model):
    """What PLSA of counts and of ratings share: row state theta (n, K), and tempered posteriors."""

    has_row_state = True
    row_kind = Annotated[Float, of.shares("n", "K")]

    n_components: of.Size
    temperature: of.Positive = 1.0

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Tempered steps are no EM."""
        return bool(self.temperature == 1.0)

    def init_rows(self, block: Any, params: Any, seed: int, restart: int) -> Float:
        """Shares drawn from the simplex, by what the row holds."""
        shares = -np.log1p(-content_uniforms(block.keys(), self.n_components, seed, "start", restart, 1))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
