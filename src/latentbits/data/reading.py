"""Reading: how a table was read, which a model remembers and reads other tables by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from .encoding import Encoding


@dataclass(frozen=True)
class Reading:
    """How a table was read, which a model remembers: the encoding, and what is not cells.

    Parameters
    ----------
    encoding : Encoding
    id_column, label_columns : str, tuple of str
        Columns set aside.
    file : dict
        How the file is written, as far as the user said it: format, delimiter, header, encoding.
    """

    encoding: Encoding = field(default_factory=Encoding)
    id_column: str | None = None
    label_columns: tuple[str, ...] = ()
    file: Mapping[str, Any] = field(default_factory=dict)

    @property
    def aside(self) -> list[str]:
        """Columns that are not cells."""
        return [name for name in (self.id_column, *self.label_columns) if name is not None]

    def record(self) -> dict[str, Any]:
        """The reading as plain data; empty if there is nothing to remember."""
        told: dict[str, Any] = self.encoding.record()
        told.update(id_column=self.id_column, label_columns=list(self.label_columns), file=dict(self.file))
        return {name: value for name, value in told.items() if value not in (None, [], {})}

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> Reading:
        """The inverse of :meth:`record`."""
        return Reading(
            Encoding.of_record(record),
            record.get("id_column"),
            tuple(record.get("label_columns", ())),
            dict(record.get("file", {})),
        )


def unreadable(record: Mapping[str, Any]) -> str | None:
    """What is wrong with the record of a reading, or None."""
    known: dict[str, type] = {
        "one": list,
        "zero": list,
        "blank": list,
        "rules": list,
        "binarize": float,
        "id_column": str,
    }
    known |= {"label_columns": list, "file": dict}
    for name, value in record.items():
        if name not in known or not isinstance(value, known[name]):
            return f"says {name}={value!r:.60}, which is no part of how a table is read"
        if name in ("one", "zero", "blank", "label_columns") and not _are_words(value):
            return f"must hold words for {name}"
    file = record.get("file", {})
    texts = {name: file.get(name, "") for name in ("format", "delimiter", "encoding", "suffix", "sheet", "layer")}
    if set(file) - {*texts, "header", "fields"} or not all(isinstance(text, str) for text in texts.values()):
        return "does not say how a file is written"
    if not isinstance(file.get("header", True), bool) or not _are_words(file.get("fields", [])):
        return "does not say how a file is written"
    told = next((told for rule in record.get("rules", ()) if (told := _misruled(rule)) is not None), None)
    if told is not None or not np.isfinite(record.get("binarize", 0.0)):
        return told or "holds a threshold that is no number"
    try:
        encoding = Reading.of_record(record).encoding
        encoding.resolved([name for rule in encoding.rules for name in rule.columns])
    except InputError as error:
        return f"contradicts itself: {error}"
    return None


def _misruled(rule: Any) -> str | None:
    """What is wrong with the record of a rule, or None."""
    kinds: dict[str, type] = {"columns": list, "ones": list, "above": float, "ticked": bool, "indicators": bool}
    kinds |= {"separator": str, "levels": list}
    fits = isinstance(rule, dict) and all(name in kinds and isinstance(v, kinds[name]) for name, v in rule.items())
    if not fits or not all(_are_words(rule.get(name, [])) for name in ("columns", "ones", "levels")):
        return f"holds {rule!r:.60}, which is no rule"
    n_kinds = sum(name in rule for name in ("ones", "above", "ticked", "indicators"))
    good = "columns" in rule and n_kinds == 1 and np.isfinite(rule.get("above", 0.0))
    return None if good else f"holds {rule!r:.60}, which is no rule"


def _are_words(value: Any) -> bool:
    """Whether a value is a list of words."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
