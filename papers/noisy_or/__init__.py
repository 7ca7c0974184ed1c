"""Experiments of the noisy-or paper (Šingliar & Hauskrecht 2006)."""
