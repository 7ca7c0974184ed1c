"""Mathematics that several families share: latent classes, topics, empirical Bayes, starts, diagnostics."""
