"""Small pictures for notebooks: text, tables and bars as HTML.

The style stands in the tags, colours are those of the page or stand out from light and dark ones, and nothing runs.  Whatever
is not :class:`Html` already is escaped where it is put in, so that text from a table is only ever text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

# Of parts of a stacked bar; what is left over is grey.
COLOURS = ("#4a8fd6", "#e08a1e", "#3fa37a", "#c874b0", "#8b7fe0", "#c25b4e", "#4fb3c4", "#a39a34")
LONGEST = 60  # of a text from a table
SOFT = "opacity:.7"
_CELL = "border:0;background:none;text-align:{};padding:1px 10px 1px 0;vertical-align:middle;white-space:nowrap"
_TRACK = "position:relative;display:inline-block;vertical-align:middle;height:.7em;width:{}em;background:#8883"
_GREY = "currentColor;opacity:.3"


class Html(str):
    """What is HTML already; every other text is escaped before it is put in."""

    __slots__ = ()


def text(value: Any, most: int = LONGEST) -> Html:
    """A value as text of the page: escaped, on one line, not too long.

    Examples
    --------
    >>> text("a<b"), text(Html("<b>bold</b>"))
    ('a&lt;b', '<b>bold</b>')
    """
    return value if isinstance(value, Html) else Html(html.escape(shortened(value, most)))


def shortened(value: Any, most: int = LONGEST) -> str:
    """A value on one line, cut if it is too long, not yet escaped.

    Examples
    --------
    >>> shortened("one\\ntwo"), shortened("abcdef", 4)
    ('one two', 'abc…')
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in str(value))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def tag(name: str, *parts: Any, style: str = "", title: str = "", most: int = LONGEST) -> Html:
    """An element around its parts.

    Examples
    --------
    >>> tag("b", "a & b", title='"1"')
    '<b title="&quot;1&quot;">a &amp; b</b>'
    """
    given = f' style="{style}"' * bool(style) + (f' title="{text(title, most)}"' if title else "")
    return Html(f"<{name}{given}>{''.join(text(part, most) for part in parts)}</{name}>")


def joined(parts: Iterable[Any], between: str = " · ") -> Html:
    """Texts one after the other."""
    return Html(text(between).join(text(part, 10_000) for part in parts))


def line(*parts: Any, style: str = "") -> Html:
    """A line of its own, however long."""
    return tag("div", *parts, style=f"margin:2px 0;{style}", most=10_000)


def doubt(*parts: Any) -> Html:
    """A line that is not to be overlooked; its colour is beside the text, which stays readable on every background."""
    return line("⚠ ", *parts, style="border-left:3px solid #e08a1e;padding-left:8px;font-weight:600")


def box(title: Any, *parts: Any) -> Html:
    """All that is shown of one thing."""
    head = tag("div", title, style="font-weight:600;margin:0 0 2px", most=200)
    return tag("div", head, *parts, style="font-size:13px;line-height:1.4;max-width:62em;background:none", most=10_000)


def side_by_side(parts: Iterable[Html], width: float) -> Html:
    """Blocks of at least this many ems beside each other, as many as there is room for."""
    columns = f"repeat(auto-fill,minmax(min({width:g}em,100%),1fr))"
    return tag("div", *parts, style=f"display:grid;grid-template-columns:{columns};gap:10px 28px;margin:6px 0")


def bar_list(title: Any, rows: Iterable[Sequence[Any]]) -> Html:
    """A block of names, bars and numbers; short in HTML, as there may be many."""
    cells = [tag("span", cell, style="text-align:right" * (j == 2)) for row in rows for j, cell in enumerate(row)]
    grid = "display:grid;grid-template-columns:minmax(0,1fr) 7em 3.5em;gap:0 10px;align-items:center;overflow-wrap:anywhere"
    return tag("div", line(title), tag("div", *cells, style=grid))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], right: Sequence[int] = ()) -> Html:
    """A table; the columns of these numbers are set to the right."""
    styles = [_CELL.format("right" if j in right else "left") for j in range(len(head))]
    named = [tag("th", name, style=f"{style};font-weight:normal;{SOFT}") for name, style in zip(head, styles)]
    body = [[tag("td", cell, style=style) for cell, style in zip(row, styles)] for row in rows]
    lines = [tag("tr", *cells, style="background:none") for cells in [named, *body]]
    whole = tag("table", *lines, style="border:0;border-collapse:collapse;margin:4px 0;font-size:inherit;color:inherit")
    return tag("div", whole, style="overflow-x:auto")


def _percent(share: float) -> str:
    """A place on a track, which nothing leaves."""
    return f"{100 * min(1.0, max(0.0, share if math.isfinite(share) else 0.0)):.3g}%"


def _part(left: float, width: float, colour: str = "currentColor;opacity:.6", inset: str = "0") -> Html:
    """A filled part of a track."""
    return Html(
        f'<span style="position:absolute;top:{inset};bottom:{inset};left:{_percent(left)};width:{_percent(width)};'
        f'background:{colour}"></span>'
    )


def _tick(place: float) -> Html:
    """A thin line across a track."""
    return Html(
        f'<span style="position:absolute;top:-2px;bottom:-2px;left:{_percent(place)};border-left:1px solid"></span>'
    )


def _track(*parts: Html, width: float = 7, title: str = "") -> Html:
    """Parts of a bar on the line where it lies."""
    return tag("span", *parts, style=_TRACK.format(width), title=title)


def bar(value: float, scale: float = 1.0, mark: float | None = None, title: str = "") -> Html:
    """A bar from 0 to the scale, with a tick at a value to compare with."""
    return _track(_part(0.0, value / scale), *([] if mark is None else [_tick(mark / scale)]), title=title)


def signed_bar(value: float, scale: float, title: str = "") -> Html:
    """A bar to the left or to the right of a middle line."""
    half = min(0.5, abs(value) / (2 * scale)) if scale > 0 else 0.0
    return _track(_part(0.5 - half if value < 0 else 0.5, half), _tick(0.5), title=title)


def stacked_bar(shares: Sequence[float], title: str = "") -> Html:
    """Shares of a whole beside each other, in the order of :data:`COLOURS`; those beyond are grey."""
    parts, left = [], 0.0
    for k, share in enumerate(shares):
        if share > 0.005:
            parts.append(_part(left, share, colour(k)))
        left += max(0.0, share)
    return _track(*parts, width=12, title=title)


def opposed_bar(against: Sequence[float], in_favour: Sequence[float], title: str = "") -> Html:
    """Shares of a whole on both sides of a middle line, each in its colour; what argues against lies to the left."""
    parts, left, right = [_tick(0.5)], 0.5, 0.5
    for k, (minus, plus) in enumerate(zip(against, in_favour)):
        if minus > 0.005:
            left -= minus / 2
            parts.append(_part(left, minus / 2, colour(k)))
        if plus > 0.005:
            parts.append(_part(right, plus / 2, colour(k)))
            right += plus / 2
    return _track(*parts, width=12, title=title)


def dot(value: float, spread: float, low: float, high: float, title: str = "") -> Html:
    """A value with its spread on a line from ``low`` to ``high``, with a tick at 0; an arrow says that it lies beyond."""
    wide = high - low or 1.0
    place = (value - low) / wide
    if place > 1:
        beyond = tag("span", "›", style="position:absolute;right:2px;top:0;line-height:.6em;font-weight:600")
        return _track(_tick(-low / wide), beyond, width=9, title=title)
    first = max(0.0, place - spread / wide)
    whisker = _part(first, min(1.0, place + spread / wide) - first, _GREY, "38%")
    point = Html(
        f'<span style="position:absolute;left:{_percent(place)};top:50%;width:7px;height:7px;margin:-3.5px;border-radius:50%;'
        'background:currentColor"></span>'
    )
    return _track(_tick(-low / wide), whisker, point, width=9, title=title)


def colour(k: int) -> str:
    """Of the k-th part of a stacked bar."""
    return COLOURS[k] if k < len(COLOURS) else _GREY


def legend(names: Sequence[Any], rest: str = "") -> Html:
    """What the colours of stacked bars mean, and the grey of the rest."""
    square = "display:inline-block;width:.7em;height:.7em;background:{}"
    coloured = [*enumerate(names), *([(len(COLOURS), rest)] if rest else [])]
    shown = (Html(tag("span", style=square.format(colour(k))) + " " + text(name)) for k, name in coloured)
    return line(joined(shown, "\N{NO-BREAK SPACE} \N{NO-BREAK SPACE}"))
