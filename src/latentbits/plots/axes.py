"""Where a picture goes."""

from __future__ import annotations

from typing import Any

from ..errors import InputTypeError, need


def axes_of(ax: Any = None, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """The given Axes, or new ones."""
    if ax is not None:
        if not hasattr(ax, "figure"):
            raise InputTypeError(f"pictures are drawn on Axes of Matplotlib; got a {type(ax).__name__}.")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise need("matplotlib", "plot", "A picture") from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def needs(given: Any, picture: str, expected: str, *attributes: str) -> None:
    """Refuse an object that has not what a picture shows."""
    if isinstance(given, type) or not all(hasattr(given, name) for name in attributes):
        idle = " that is not fitted" if hasattr(given, "fit") and not hasattr(given, "n_features_in_") else ""
        raise InputTypeError(f"plots.{picture} needs {expected}; got a {type(given).__name__}{idle}.")
