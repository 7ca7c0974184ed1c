"""What notebooks show of a fitted estimator; one that is not fitted keeps scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..families import family_of
from ..html import SOFT, Html, bar, bar_list, box, doubt, joined, line, shortened, side_by_side, signed_bar, tag, text
from .options import OptionsMixin
from .sklearn_api import NotFittedError, check_is_fitted

MOST_SHOWN, TOP = 8, 6  # components, and features of each
IN_GIST = 4  # components in the one line
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # that bars of probabilities end at
STANDS_OUT = 1.05  # lift
NAME_IN_GIST = 40  # letters of a column
SMALL_PRINT = f"{SOFT};font-size:.9em"


class NotebookMixin(OptionsMixin):
    """The part of an estimator that notebooks show."""

    @property
    def _repr_html_(self) -> Any:
        """The page's view of the estimator, absent where scikit-learn is told to show text."""
        diagram = super()._repr_html_
        try:
            check_is_fitted(self)
        except NotFittedError:
            return diagram
        return self._drawn

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for Jupyter, which asks here first."""
        shown = getattr(self, "_repr_html_", None)
        return {"text/plain": repr(self), **({} if shown is None else {"text/html": shown()})}

    def _drawn(self) -> str:
        """The fitted estimator as HTML."""
        family = family_of(type(self))
        return box(
            Html(
                text(f"{family.title[:1].upper()}{family.title[1:]}: ")
                + tag("span", family.story, style="font-weight:400", most=200)
            ),
            line(joined(self._facts())),
            line(self._gist()),
            *(doubt(told) for told in self._doubts_told()),
            self._drawn_components(),
            line(tag("code", " ".join(repr(self).split()), most=700), style=SMALL_PRINT),
        )

    def _drawn_components(self) -> Html:
        """The components with what stands out in each."""
        return components_drawn(self._gist_table(TOP), self._kinds_by_name(), self._bars_are())

    def _gist(self) -> str:
        """The fitted estimator in one line."""
        return gist_of(self._gist_table(TOP))

    def _bars_are(self) -> str:
        """What the bars of features are; empty: probabilities or loadings."""
        return ""

    def _facts(self) -> list[str]:
        """Size, table and fit in a few words each."""
        raise NotImplementedError

    def _doubts_told(self) -> list[str]:
        """What to doubt about the fit, one sentence each."""
        return []

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The components for people, as rows of ``components_table``."""
        raise NotImplementedError

    def _kinds_by_name(self) -> dict[str, str]:
        """What is special about components."""
        return {}


def shape_told(n_rows: int | None, n_columns: int) -> str:
    """The size of the table of a fit, as far as it is known."""
    columns = f"{n_columns:,} column{'s' * (n_columns != 1)}"
    return columns if n_rows is None else f"{n_rows:,} row{'s' * (n_rows != 1)} × {columns}"


def _by_component(rows: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of every component, those with most weight first."""
    out: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        out.setdefault(str(row["component"]), []).append(row)
    return sorted(out.items(), key=lambda pair: -_weight(pair[1]))


def _weight(mine: list[dict[str, Any]]) -> float:
    """The weight of a component, 0 if it has none."""
    weight = float(mine[0]["weight"])
    return weight if weight == weight else 0.0


def _called(name: str, mine: list[dict[str, Any]]) -> str:
    """A component with its share."""
    return f"{name} ({_weight(mine):.0%})" if _weight(mine) else name


def _named(row: Mapping[str, Any]) -> str:
    """The feature of a row, short enough for a line of several."""
    return shortened(row["feature"], NAME_IN_GIST)


def gist_of(rows: list[dict[str, Any]]) -> str:
    """The largest components in one line, with two features of each that stand out.

    Examples
    --------
    >>> gist_of([{"component": "class 1", "weight": 0.6, "feature": "smokes", "probability": 0.9, "lift": 2.0}])
    'class 1 (60%): smokes'
    """
    found, told = _by_component(rows), []
    for name, mine in found[:IN_GIST]:
        if "loading" in mine[0]:
            words = [f"{_named(row)} {'+' if row['loading'] > 0 else '−'}" for row in mine if row["loading"]]
        else:
            words = [_named(row) for row in mine if row.get("lift", 2.0) > STANDS_OUT]
        told.append(f"{_called(name, mine)}: {', '.join(words[:2]) or 'nothing more frequent than elsewhere'}")
    more = [f"and {len(found) - IN_GIST} more"] if len(found) > IN_GIST else []
    return "; ".join([*told, *more])


def components_drawn(rows: list[dict[str, Any]], kinds: Mapping[str, str], bars_are: str = "") -> Html:
    """Components beside each other, their features with bars; the largest ones, if there are many.

    Probabilities are bars with a tick at the share in all rows, loadings go to both sides of a middle line; ``bars_are`` says
    what else they are.
    """
    found = _by_component(rows)
    if not found:
        return Html("")
    shown = [row for _, mine in found[:MOST_SHOWN] for row in mine[:TOP]]
    signed = "loading" in shown[0]
    longest = max(abs(float(row["loading" if signed else "probability"])) for row in shown)
    scale = longest or 1.0 if signed else next((end for end in SCALES if longest <= end), 1.0)
    blocks = []
    for name, mine in found[:MOST_SHOWN]:
        kind = f" ({kinds[name]})" if name in kinds else ""
        head = tag("b", name) + text(f"{kind} {_weight(mine):.0%}" if _weight(mine) else kind)
        blocks.append(bar_list(Html(head), [_feature_drawn(row, scale, signed) for row in mine[:TOP]]))
    widest = max(len(str(row["feature"])) for row in shown)
    if signed:
        told = f"bars: {bars_are or 'loadings'}, negative to the left"
    else:
        told = f"bars: {bars_are or 'probabilities'}, 0 to {scale:g}" + "; tick: all rows" * ("marginal" in shown[0])
    more = f"; {len(found) - MOST_SHOWN} more not shown" if len(found) > MOST_SHOWN else ""
    return Html(side_by_side(blocks, 14 + min(14.0, 0.6 * widest)) + line(told, more, style=SMALL_PRINT))


def pairs_drawn(pairs: list[dict[str, Any]]) -> Html:
    """Pairs of columns that tell most about each other, as rows of ``pairs_table``, with bars."""
    if not pairs:
        return Html("")
    most = max(pair["information"] for pair in pairs) or 1.0
    rows = [
        (text(pair_told(pair), 200), bar(pair["information"], most), f"{pair['information']:.3f}") for pair in pairs
    ]
    widest = max(len(pair_told(pair)) for pair in pairs)
    block = bar_list(tag("b", "Columns that tell most about each other"), rows)
    told = line(f"bars: mutual information, 0 to {most:.3f} nats", style=SMALL_PRINT)
    return Html(side_by_side([block], 14 + min(28.0, 0.6 * widest)) + told)


def pair_told(pair: Mapping[str, Any]) -> str:
    """A pair of columns in words.

    Examples
    --------
    >>> pair_told({"first": "tea", "second": "coffee", "together": False})
    'either tea or coffee'
    """
    first, second = (shortened(pair[name], NAME_IN_GIST) for name in ("first", "second"))
    return f"{first} and {second}" if pair["together"] else f"either {first} or {second}"


def _feature_drawn(row: Mapping[str, Any], scale: float, signed: bool) -> tuple[Any, Html, str]:
    """A feature of a component: its name, its bar and its number."""
    if signed:
        value = float(row["loading"])
        return row["feature"], signed_bar(value, scale), f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")
    value, mark = float(row["probability"]), row.get("marginal")
    digits = 2 if scale >= 0.5 else 3
    told = "" if mark is None else f"{value:.3g}; in all rows {mark:.3g}"
    return row["feature"], bar(value, scale, mark, told), f"{value:.{digits}f}"
