"""Where a picture goes."""

from __future__ import annotations

from typing import Any

from ..errors import need


def axes_of(ax: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The given Axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise need("matplotlib", "plot", "A picture") from None
    return plt.subplots(figsize=size, layout="constrained")[1]
