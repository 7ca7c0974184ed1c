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


def shaded_probabilities(ax: Any, values: Any, texts: list[str], names: list[str], heads: list[str]) -> None:
    """Features down, components across, shaded by probability (features, components) with a text in every cell."""
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    for place, (value, text) in enumerate(zip(values.ravel(), texts)):
        i, k = divmod(place, len(heads))
        ax.text(k, i, text, ha="center", va="center", fontsize=7, color="white" if value > 0.75 else "black")
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks(range(len(heads)), heads)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
    ax.xaxis.tick_top()


def grouped_bars(ax: Any, groups: list[tuple[str, list[tuple[str, float]]]], *, xlabel: str, title: str) -> Any:
    """Bars from 0 to 1 under the heading of their group, group below group."""
    n_lines = sum(len(bars) + 1.6 for _, bars in groups)
    ax = axes_of(ax, (7.2, 1.0 + 0.24 * n_lines))
    ticks, labels, place = [], [], 0.0
    for number, (heading, bars) in enumerate(groups):
        ax.text(0.0, place, heading, ha="left", va="center", fontsize=9, fontweight="bold", parse_math=False)
        for label, value in bars:
            place += 1.0
            ax.barh(place, value, height=0.72, color=f"C{number % 10}")
            ax.text(value + 0.01, place, f"{value:.2f}", va="center", fontsize=8, color="0.35")
            ticks.append(place)
            labels.append(label)
        place += 1.6
    ax.set_yticks(ticks, labels, fontsize=9)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_xlim(0, 1.08)
    ax.set_ylim(place - 0.6, -0.8)
    ax.set(xlabel=xlabel, title=title)
    return ax
