"""Mixtures of Bernoulli products: one hidden class per row."""

from __future__ import annotations

from .bayesian import BayesianBernoulliMixture, DPBernoulliMixture
from .estimator import BernoulliMixture
from .variational import VariationalBernoulliMixture

__all__ = ["BayesianBernoulliMixture", "BernoulliMixture", "DPBernoulliMixture", "VariationalBernoulliMixture"]
