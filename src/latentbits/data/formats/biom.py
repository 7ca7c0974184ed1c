"""BIOM files, HDF5 or JSON, by biom-format: observations in samples; here a sample is a row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from ...errors import need
from ..raw import RawTable, Texts, checked, readable, text_of
from .hdf5 import check_sizes, check_whole


def read_biom(path: Path) -> RawTable:
    """Counts of observations in samples; what is known of the samples goes beside."""
    try:
        import biom  # noqa: F401
        import h5py  # noqa: F401
    except ImportError:
        raise need("biom-format", "biom", "Reading BIOM files") from None
    with readable(path, "BIOM"):
        table = _table(path)
        names = [str(name) for name in table.ids(axis="observation")]
        ids = [str(name) for name in table.ids(axis="sample")]
        about = table.metadata(axis="sample") or ()
        keys = dict.fromkeys(str(key) for sample in about for key in sample or ())
        matrix = table.matrix_data.T.tocsr()
    beside = Texts(list(keys), lambda key: [_text(sample.get(key)) if sample else "" for sample in about])
    return checked(path, RawTable(names, matrix=matrix, ids=ids, id_name="sample", beside=beside))


def _table(path: Path) -> Any:
    """The table as biom-format holds it."""
    import biom
    import h5py

    if h5py.is_hdf5(path):
        check_whole(path, "/")
        with h5py.File(path, "r") as file:
            check_sizes(path, file)
            return biom.Table.from_hdf5(file)
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return biom.Table.from_json(json.loads(content))


def _text(value: Any) -> str:
    """One piece of metadata as text; the levels of a taxonomy are set apart by semicolons."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return text_of(value)
    return "; ".join(filter(None, (_text(part) for part in value)))
