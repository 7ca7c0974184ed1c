"""Girolami, *A Generative Model for Sparse Discrete Binary Data with Non-Uniform Categorical Priors*."""
