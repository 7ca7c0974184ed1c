"""The experiments of the papers, one folder a paper."""

from __future__ import annotations

# Name on the command line -> module and function.
EXPERIMENTS = {
    "aspect-likelihood": "papers.aspect.likelihood:in_sample",
    "aspect-held-out": "papers.aspect.likelihood:held_out",
    "aspect-phantoms": "papers.aspect.digits:phantoms",
    "aspect-other-models": "papers.aspect.digits:other_models",
    "aspect-topics": "papers.aspect.text:topics",
    "aspect-expansion": "papers.aspect.text:expansion",
    "aspect-properties": "papers.aspect.properties:properties",
    "bayesian-mixture-table": "papers.bayesian_mixture.digits:table_1",
    "bayesian-mixture-averaging": "papers.bayesian_mixture.digits:averaging",
    "bayesian-mixture-starts": "papers.bayesian_mixture.digits:starts",
    "bayesian-mixture-machines": "papers.bayesian_mixture.digits:machines",
    "bayesian-mixture-mixing": "papers.bayesian_mixture.mixing:mixing",
    "bayesian-mixture-planted": "papers.bayesian_mixture.mixing:planted",
    "gtm-grouping": "papers.gtm.newsgroups:grouping",
    "gtm-words": "papers.gtm.newsgroups:words",
    "gtm-others": "papers.gtm.newsgroups:others",
    "gtm-density": "papers.gtm.newsgroups:density",
    "gtm-digits": "papers.gtm.digits:maps",
    "gtm-hidden": "papers.gtm.digits:hidden",
    "gtm-known": "papers.gtm.digits:known",
    "gtm-errata": "papers.gtm.errata:errata",
    "noisy-or-recovery": "papers.noisy_or.images:recovery",
    "noisy-or-likelihood": "papers.noisy_or.images:likelihood",
    "noisy-or-selection": "papers.noisy_or.images:selection",
    "noisy-or-run-time": "papers.noisy_or.images:run_time",
    "noisy-or-compression": "papers.noisy_or.images:compression",
    "noisy-or-communities": "papers.noisy_or.citations:communities",
    "noisy-or-shut-off": "papers.noisy_or.citations:shut_off",
    "noisy-or-matching": "papers.noisy_or.citations:matching",
    "noisy-or-cross-entropy": "papers.noisy_or.citations:cross_entropy",
}
