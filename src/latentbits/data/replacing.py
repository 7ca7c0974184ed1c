"""Files that appear whole or not at all: written aside, flushed to disk, then put in place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import FileError


def followed(target: Path) -> Path:
    """The file that is written if a path is: where a link leads to, which stays a link."""
    if not target.is_symlink():
        return target
    place = Path(os.path.realpath(target))
    if place.is_symlink() or not place.parent.is_dir():
        raise FileError(f"{target} is a link to {os.readlink(target)}, where no file can be; mend or remove the link.")
    return place


def write_atomically(target: Path, content: bytes) -> None:
    """Write bytes whole or not at all; links are followed, devices and pipes written to."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        try:
            target.write_bytes(content)
        except OSError as error:
            raise _unwritable(target, error) from None
        return
    with replacing(target) as aside:
        aside.write_bytes(content)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """An empty file to write to, which takes the place of the target, or of what it links to, if all goes well.

    Permissions of a file that was there are kept; write-protected ones are not written over.
    """
    try:
        target = followed(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.stat().st_mode & 0o222:
            raise FileError(f"{target} is write-protected; it is not written over.")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise _unwritable(target, error) from None
    aside = Path(name)
    try:
        yield aside
        with open(aside, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(aside, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        os.replace(aside, target)
        _flush_folder(target.parent)
    except OSError as error:
        raise _unwritable(target, error) from None
    finally:
        aside.unlink(missing_ok=True)


def _unwritable(target: Path, error: OSError) -> FileError:
    """The error about a file that cannot be written."""
    return FileError(f"{target} cannot be written: {error.strerror or error}.")


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    """Make the rename itself last, where the system lets folders be flushed."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
