"""Latent Bernoulli-Gauss models: topics of rows of weights."""

from __future__ import annotations

from .classifier import BernoulliGaussClassifier
from .estimator import BernoulliGaussMixture
from .recommender import BernoulliGaussRecommender
from .selector import BernoulliGaussSelector

__all__ = [
    "BernoulliGaussClassifier",
    "BernoulliGaussMixture",
    "BernoulliGaussRecommender",
    "BernoulliGaussSelector",
]
