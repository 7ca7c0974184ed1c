"""Sealed files: arrays and a JSON header in one safetensors file, written atomically, checked when read.

The seal is a SHA-256 over the header and every array.  A file that was cut short, edited or made by something else
is refused with the reason.  Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..data.replacing import write_atomically
from ..errors import FileError

MAGIC = "latentbits"
FORMAT = 2
Arrays = dict[str, np.ndarray[Any, Any]]


def _seal(header: str, arrays: Arrays) -> str:
    """Checksum of a header and arrays."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_sealed(path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: Arrays) -> None:
    """Write a sealed file: aside, flushed to disk, then put in place, so that a crash leaves the old file or the new."""
    from safetensors.numpy import save

    target = Path(path)
    text = json.dumps({**header, "kind": kind, "format": FORMAT}, sort_keys=True)
    whole = {name: np.array(array, order="C", copy=None) for name, array in arrays.items()}
    # One entry: safetensors keeps several in no fixed order, and equal models should be equal files.
    content = save(whole, metadata={MAGIC: json.dumps([text, _seal(text, whole)])})
    write_atomically(target, content)


def _opened(path: str, entry: str, arrays: Arrays) -> dict[str, Any]:
    """The header behind an unbroken seal."""
    try:
        text, seal = json.loads(entry)
        intact = seal == _seal(text, arrays)
    except (ValueError, TypeError, AttributeError, RecursionError):
        intact = False
    if not intact:
        raise FileError(f"{path} was changed after it was written: its checksum does not match.")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} was not written by latentbits: its header cannot be read ({error}).") from None
    told = header if isinstance(header, dict) else {}
    number, kind = told.get("format"), told.get("kind")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number < 2**31 or not isinstance(kind, str):
        raise FileError(f"{path} was not written by latentbits: its header names no format and no kind of file.")
    return told


def read_sealed(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read a sealed file of the given kind, or say why not."""
    from safetensors import SafetensorError, safe_open

    if not os.path.isfile(path):
        raise FileError(f"there is no file {path}.")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise FileError(f"{path} is damaged or was not written by latentbits ({error}).") from None
    if MAGIC not in metadata:
        raise FileError(f"{path} was not written by latentbits.")
    header = _opened(str(path), metadata[MAGIC], arrays)
    if header["format"] > FORMAT:
        raise FileError(
            f"{path} is in format {header['format']}, newer than this version reads ({FORMAT}); update latentbits."
        )
    if header["kind"] != kind:
        raise FileError(f"{path} is a latentbits {header['kind']} file; a {kind} file is needed here.")
    return header, arrays
