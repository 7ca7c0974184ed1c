"""Van der Maaten, *Bayesian Mixtures of Bernoulli Distributions*: filling in the lower half of handwritten digits."""
