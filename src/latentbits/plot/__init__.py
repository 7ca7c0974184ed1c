"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .causes import cause_pictures, causes, expansion, tiles
from .chains import coclustering, fill_ins, traces
from .maps import component_planes, latent_map, node_images
from .profiles import components, profile
from .progress import restarts, selection
from .ratings import rating_distributions
from .sources import communities, loadings

__all__ = [
    "cause_pictures",
    "causes",
    "coclustering",
    "communities",
    "component_planes",
    "components",
    "expansion",
    "fill_ins",
    "latent_map",
    "loadings",
    "node_images",
    "profile",
    "rating_distributions",
    "restarts",
    "selection",
    "tiles",
    "traces",
]
