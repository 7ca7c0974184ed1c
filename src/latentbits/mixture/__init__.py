"""Mixtures of Bernoulli products: one hidden class per row."""

from __future__ import annotations

from .estimator import BernoulliMixture

__all__ = ["BernoulliMixture"]
