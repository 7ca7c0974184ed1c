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
}
