"""Matplotlib pictures: ``latentbits.plots``, kept in the folder ``plot``."""

from __future__ import annotations

from .plot import *  # noqa: F403
from .plot import __all__ as __all__
