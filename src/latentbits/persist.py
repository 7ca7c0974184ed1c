"""Saving and loading estimators: one sealed file, no pickle."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from .engine.checkpoint import read_sealed, write_sealed
from .engine.stats import flatten, shape_of, unflatten
from .errors import FileError, InputError
from .families import BY_CLASS


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file."""
    from . import __version__

    arrays: dict[str, np.ndarray] = {}
    header = {"version": __version__, **_described(estimator, "", arrays)}
    write_sealed(path, "model", header, arrays)


def _described(estimator: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """An estimator as JSON, its arrays set aside under names that begin with ``prefix``."""
    fitted = {
        name: _pack(value, prefix + name, arrays, estimator.record_types)
        for name, value in sorted(vars(estimator).items())
        if name in ("_params", "_model", "_stream", "_stream_sums", "_sums")
        or (name.endswith("_") and not name.startswith("_"))
    }
    options = {name: _option(value) for name, value in estimator.get_params(deep=False).items()}
    return {"class": type(estimator).__name__, "options": options, "fitted": fitted}


def _rebuilt(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of :func:`_described`."""
    cls = BY_CLASS[described["class"]].load()
    estimator = cls(**{key: _given(value) for key, value in described["options"].items()})
    for key, packed in described["fitted"].items():
        setattr(estimator, key, _unpack(packed, arrays, cls.record_types))
    return estimator


def _option(value: Any) -> Any:
    """A constructor option as JSON; what cannot travel (generators, callbacks, paths) is left at None."""
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


def _given(value: Any) -> Any:
    """The inverse of :func:`_option`."""
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(value["tuple"])
    if "items" in value:
        return dict(value["items"])
    return tuple(np.array(item) for item in value["arrays"]) if "arrays" in value else np.array(value["array"])


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
        arrays.update(flatten(value, name))
        return {"array": shape_of(value), "name": name}
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


def _unpack(packed: Any, arrays: dict[str, np.ndarray], records: dict[str, type]) -> Any:
    """The inverse of :func:`_pack`."""
    if "dataclass" in packed:
        fields = {name: _unpack(item, arrays, records) for name, item in packed["fields"].items()}
        return records[packed["dataclass"]](**fields)
    if "record" in packed:
        return records[packed["record"]](*[_unpack(item, arrays, records) for item in packed["items"]])
    if "estimator" in packed:
        return _rebuilt(packed["estimator"], arrays)
    if "list" in packed:
        return [_unpack(item, arrays, records) for item in packed["list"]]
    if "items" in packed:
        return dict(packed["items"])
    if "words" in packed:
        return np.array(packed["words"])
    if "names" in packed:
        return np.array(packed["names"], dtype=object)
    if "array" in packed:
        return unflatten(packed["array"], arrays, name=packed["name"])
    return tuple(packed["tuple"]) if "tuple" in packed else packed["value"]


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator saved with its ``save`` method.

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
        If the file is damaged, was edited, was not written by latentbits, or holds a class that this version does not
        know.

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
    header, arrays = read_sealed(path, "model")
    name = header["class"]
    if name not in BY_CLASS:
        raise FileError(
            f"{path} holds a {name} of latentbits {header['version']}, which this version does not have; "
            "update latentbits."
        )
    try:
        estimator = _rebuilt(header, arrays)
    except (TypeError, KeyError) as error:
        raise FileError(
            f"{path} was written by latentbits {header['version']} and cannot be read by this version ({error})."
        ) from None
    return estimator


def check_path(path: Any) -> None:
    """Refuse paths that are not paths."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a path is needed, not {type(path).__name__!r}.")
