"""Latent Bernoulli-Gauss models: topics of rows of weights."""

from __future__ import annotations

from .estimator import BernoulliGaussMixture

__all__ = ["BernoulliGaussMixture"]
