"""Saving and loading estimators: one sealed file, no pickle.

A seal tells that a file is whole, not that it is good: whoever has latentbits can seal anything.  So everything in a file is
held against what its class declares (:mod:`latentbits.declared`) before an answer is given from it.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, get_type_hints

import numpy as np

from . import declared
from .declared import MisfitError
from .engine.checkpoint import read_sealed, write_sealed
from .errors import FileError, InputError
from .families import saved_class

# Options that serve the machine and the session in which a model was fitted.
STAYS = ("checkpoint", "callbacks")
# From this format on a file of the same version has all options and fields; what older ones lack has its default.
WHOLE_SINCE = 2


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file."""
    from . import __version__

    arrays: dict[str, np.ndarray] = {}
    header = {"version": __version__, **_described(estimator, "", arrays)}
    write_sealed(path, "model", header, arrays)


def _described(estimator: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """An estimator as JSON, its arrays set aside under names that begin with ``prefix``."""
    kinds = estimator._fitted_types()
    fitted = {
        name: _pack(value, prefix + name, arrays, estimator.record_types)
        for name, value in sorted(vars(estimator).items())
        if name in kinds
    }
    options = {
        name: None if name in STAYS else _option(value) for name, value in estimator.get_params(deep=False).items()
    }
    return {"class": type(estimator).__name__, "options": options, "fitted": fitted}


def _option(value: Any) -> Any:
    """A constructor option as JSON; what cannot travel (generators, estimators) is left at None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple) and all(isinstance(item, np.ndarray) for item in value):
        return {"arrays": [item.tolist() for item in value]}
    if isinstance(value, tuple) and all(isinstance(item, (int, float, np.number)) for item in value):
        return {"tuple": [item.item() if isinstance(item, np.generic) else item for item in value]}
    if isinstance(value, (np.ndarray, list, tuple)) and not _holds_objects(value):
        return {"array": np.asarray(value).tolist()}
    if isinstance(value, dict):
        return {"items": _items(value)}
    return value if isinstance(value, (str, int, float, bool)) else None


def _items(value: dict[Any, Any]) -> list[list[Any]]:
    """Keys and values of a dict of plain numbers and words: keys of JSON are words only."""
    plain = [[key, item] for key, item in value.items()]
    return [[part.item() if isinstance(part, np.generic) else part for part in pair] for pair in plain]


def _holds_objects(value: Any) -> bool:
    """Whether a sequence holds anything but numbers."""
    try:
        return np.asarray(value).dtype.kind not in "biuf"
    except ValueError:
        return True


def _pack(value: Any, name: str, arrays: dict[str, np.ndarray], records: dict[str, type]) -> Any:
    """Describe a fitted attribute as JSON, its arrays set aside under ``name``."""
    kind = type(value).__name__
    if dataclasses.is_dataclass(value) and records.get(kind) is type(value):
        fields = {
            f.name: _pack(getattr(value, f.name), f"{name}.{f.name}", arrays, records)
            for f in dataclasses.fields(value)
        }
        return {"dataclass": kind, "fields": fields}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        if records.get(kind) is not type(value):
            raise TypeError(f"{kind} is not among the record types of the estimator")
        items = [_pack(item, f"{name}.{i}", arrays, records) for i, item in enumerate(value)]
        return {"record": kind, "items": items}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return {"names": [str(item) for item in value]}
        if value.dtype.kind == "U":
            return {"words": value.tolist()}
        arrays[name] = value
        return {"array": "a", "name": name}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return {"tuple": list(value)}
    if isinstance(value, dict):
        return {"items": _items(value)}
    if hasattr(value, "record_types"):
        return {"estimator": _described(value, f"{name}.", arrays)}
    if isinstance(value, list) and value and all(hasattr(item, "record_types") for item in value):
        return {"list": [_pack(item, f"{name}.{i}", arrays, records) for i, item in enumerate(value)]}
    return {"value": value}


class _Reader:
    """The inverse of :func:`_described`; whatever is not as that writes it is refused.

    Parameters
    ----------
    arrays : dict
        The arrays of the file.
    whole : bool
        Whether all options and fields must be there.
    """

    def __init__(self, arrays: dict[str, np.ndarray], whole: bool) -> None:
        self.arrays, self.whole = arrays, whole

    def estimator(self, described: Any, prefix: str) -> Any:
        """An estimator, checked."""
        place = prefix.rstrip(".") or "the model"
        name = _part(described, "class", str, place)
        cls = saved_class(name)
        if cls is None:
            raise MisfitError(f"{place} is a {name!r:.60}, which this version of latentbits does not have")
        estimator = self._with_options(cls, _part(described, "options", dict, place), place)
        kinds = cls._fitted_types()
        for key, packed in _part(described, "fitted", dict, place).items():
            if key in kinds:
                setattr(estimator, key, self.value(packed, prefix + key, cls.record_types))
            elif self.whole or hasattr(cls, key):
                raise MisfitError(f"{key!r:.60} is no fitted attribute of {name}")
        estimator._check_loaded()
        return estimator

    def _with_options(self, cls: Any, options: dict[str, Any], place: str) -> Any:
        """An estimator with the options of the file, checked as in a fit."""
        known = cls._get_param_names()
        strange = [key for key in options if key not in known]
        missing = [key for key in known if key not in options]
        if strange or (missing and self.whole):
            what = f"has no option {strange[0]!r:.60}" if strange else f"needs its option {missing[0]!r}"
            raise MisfitError(f"{place}: {cls.__name__} {what}")
        given = {key: None if key in STAYS else _given(value, key) for key, value in options.items()}
        hints = get_type_hints(cls)
        for key, value in given.items():
            _check_option(value, declared.Count | None if key == "random_state" else hints[key], key)
        estimator = cls(**given)
        estimator._check_options()
        return estimator

    def value(self, packed: Any, name: str, records: dict[str, type]) -> Any:
        """The inverse of :func:`_pack`."""
        if not isinstance(packed, dict):
            raise MisfitError(f"{name} is not described as latentbits does it")
        if "dataclass" in packed or "record" in packed:
            return self._record(packed, name, records)
        if "estimator" in packed:
            return self.estimator(packed["estimator"], f"{name}.")
        if "list" in packed:
            items = _part(packed, "list", list, name)
            return [self.value(item, f"{name}.{i}", records) for i, item in enumerate(items)]
        if "array" in packed:
            if packed.get("array") != "a" or packed.get("name") != name or name not in self.arrays:
                raise MisfitError(f"{name} has no array of its own in the file")
            return self.arrays[name]
        return _plain(packed, name)

    def _record(self, packed: dict[str, Any], name: str, records: dict[str, type]) -> Any:
        """A NamedTuple or dataclass with all its fields."""
        kind = _part(packed, "dataclass" if "dataclass" in packed else "record", str, name)
        if kind not in records:
            raise MisfitError(f"{name} is a {kind!r:.60}, which this class does not hold")
        cls: Any = records[kind]
        fields = declared.field_kinds(cls)
        if "record" in packed:
            items = _part(packed, "items", list, name)
            if len(items) != len(fields) or not hasattr(cls, "_fields"):
                raise MisfitError(f"{name} must have the {len(fields)} fields of {kind}; it has {len(items)}")
            return cls(*[self.value(item, f"{name}.{i}", records) for i, item in enumerate(items)])
        given = _part(packed, "fields", dict, name)
        optional = {} if self.whole else {f.name for f in dataclasses.fields(cls) if _has_default(f)}
        strange = [
            key for key in (*given, *fields) if (key not in fields) or (key not in given and key not in optional)
        ]
        if strange or not dataclasses.is_dataclass(cls):
            raise MisfitError(f"{name} must have the fields of {kind}; it differs in {strange[:1]!r:.60}")
        made: Any = cls
        return made(**{key: self.value(item, f"{name}.{key}", records) for key, item in given.items()})


def _has_default(field: Any) -> bool:
    """Whether a field of a dataclass need not be given."""
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _part(described: Any, key: str, kind: type, place: str) -> Any:
    """An entry of a JSON object, of the kind that it must have."""
    if not isinstance(described, dict) or not isinstance(described.get(key), kind):
        raise MisfitError(f"{place} has no {key!r} that is a {kind.__name__}")
    return described[key]


def _plain(packed: dict[str, Any], name: str) -> Any:
    """Values without arrays."""
    if "items" in packed:
        return _dict(packed["items"], name)
    if "words" in packed or "names" in packed:
        kind = "words" if "words" in packed else "names"
        texts = _part(packed, kind, list, name)
        if not all(isinstance(text, str) for text in texts):
            raise MisfitError(f"{name} must hold words only")
        return np.array(texts, dtype=object if kind == "names" else str)
    if "tuple" in packed:
        return _tuples(_part(packed, "tuple", list, name))
    if "value" not in packed:
        raise MisfitError(f"{name} is not described as latentbits does it")
    return packed["value"]


def _tuples(value: Any) -> Any:
    """Lists as tuples, inner ones too: JSON does not tell them apart."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _dict(pairs: Any, name: str) -> dict[Any, Any]:
    """A dict from pairs of a plain key and a value."""
    good = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], (str, int, float)) for pair in pairs
    )
    if not good:
        raise MisfitError(f"{name} must hold pairs of a key and a value")
    return dict(pairs)


def _given(value: Any, name: str) -> Any:
    """The inverse of :func:`_option`."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    kind = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None
    if kind == "items":
        return _dict(value[kind], name)
    if kind in ("tuple", "array", "arrays"):
        items = _part(value, kind, list, name)
        if kind == "arrays":
            return tuple(_numbers(item, name) for item in items)
        numbers = _numbers(items, name)
        return numbers if kind == "array" else tuple(items)
    raise MisfitError(f"the option {name} is not written as latentbits does it")


def _numbers(items: Any, name: str) -> np.ndarray:
    """Nested lists of numbers as an array."""
    try:
        found = np.array(items)
    except (ValueError, OverflowError):
        found = np.array(None)
    if found.dtype.kind not in "biuf":
        raise MisfitError(f"the option {name} must hold numbers only")
    return found


def _check_option(value: Any, kind: Any, name: str) -> None:
    """Refuse options that are not of the type that the constructor names; True and False stand for 1 and 0 there."""
    if kind is Any or kind is dict or (isinstance(value, bool) and kind in (int, bool)):
        return
    if kind is bool and value in (0, 1):
        return
    declared.check(value, kind, {}, f"the option {name}")


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator saved with its ``save`` method.

    Everything in the file is checked against what the class declares, so that a file that was made or changed by something
    else is refused and does no harm.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Raises
    ------
    FileError
        If the file is damaged, was edited, was not written by latentbits, holds a class that this version does not know, or
        something that the class never holds.

    Examples
    --------
    >>> import os, tempfile
    >>> import latentbits
    >>> path = os.path.join(tempfile.mkdtemp(), "model.latentbits")
    >>> X = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    >>> latentbits.BernoulliMixture(n_components=2, random_state=0).fit(X).save(path)
    >>> latentbits.load(path).predict(X).tolist()
    [0, 0, 1, 1]
    """
    from . import __version__

    header, arrays = read_sealed(path, "model")
    name, version = header.get("class"), header.get("version")
    if isinstance(name, str) and isinstance(version, str) and saved_class(name) is None:
        raise FileError(
            f"{path} holds a {name:.60} of latentbits {version:.20}, which this version does not have; update latentbits."
        )
    try:
        _part(header, "version", str, "the model")
        whole = version == __version__ and header["format"] >= WHOLE_SINCE
        return _Reader(arrays, whole).estimator(header, "")
    except (MisfitError, InputError, RecursionError) as error:
        raise FileError(
            f"{path} is no model of latentbits {__version__}: {str(error).rstrip('.')}. It was made by another version, or "
            "made or changed by something else; fit the model anew and save it."
        ) from None


def check_path(path: Any) -> None:
    """Refuse paths that are not paths."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a path is needed, not {type(path).__name__!r}.")
