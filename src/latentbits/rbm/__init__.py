"""Restricted Boltzmann machine, the comparison model of the Bayesian mixtures' report."""

from __future__ import annotations

from .estimator import RestrictedBoltzmann

__all__ = ["RestrictedBoltzmann"]
