"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .causes import cause_pictures, causes, expansion, tiles
from .chains import coclustering, fill_ins, traces
from .comparing import calibration, capacity, comparison, explanation, recovery
from .maps import component_planes, latent_map, node_images
from .profiles import components, profile
from .progress import restarts, selection
from .ratings import rating_distributions
from .sources import communities, loadings
from .trees import modules, tree

__all__ = [
    "calibration",
    "capacity",
    "cause_pictures",
    "causes",
    "coclustering",
    "communities",
    "comparison",
    "component_planes",
    "components",
    "expansion",
    "explanation",
    "fill_ins",
    "latent_map",
    "loadings",
    "modules",
    "node_images",
    "profile",
    "rating_distributions",
    "recovery",
    "restarts",
    "selection",
    "tiles",
    "traces",
    "tree",
]
