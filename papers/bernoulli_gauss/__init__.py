"""Shashua & Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*: topics, filters, spam and ratings."""
