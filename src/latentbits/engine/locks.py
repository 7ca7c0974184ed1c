"""One writer at a time: a lock file that the system frees when its process ends, however it ends."""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import FileError

KIND = "latentbits lock"

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        """Lock a byte behind the text, which others may read meanwhile."""
        os.lseek(handle, 2**20, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        """Lock the file unless another process, or thread, has."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP):
                raise
            return not _lives(_owner(handle))  # a file system without locks
        return True

    def _lives(owner: dict[str, Any] | None) -> bool:
        """Whether the process that is written into a lock file still runs, as far as can be told."""
        if owner is None or owner.get("pid") in (None, os.getpid()):
            return False
        if owner.get("host") != platform.node():
            return True
        try:
            os.kill(int(owner["pid"]), 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # of another user
            return True
        return True


@contextmanager
def held(path: Path, what: Any) -> Iterator[None]:
    """Hold a lock file, which says who writes ``what``; refuse if another process, or thread, holds it.

    What a process that is gone left behind is taken over.  The file is removed at the end.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _taken(path, what)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    try:
        yield
    finally:
        _release(handle, path)


def _taken(path: Path, what: Any) -> int:
    """The locked file, with this process written into it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            free = _try_lock(handle)
            owner = _owner(handle)
            if owner is None:
                raise FileError(f"{path} is there, but is no lock of latentbits; it is not written over. Move it away.")
            if not free:
                raise FileError(
                    f"{what} is being written by another run{_told(owner)}. Wait for its end, or name another --out (the "
                    f"lock is {path})."
                )
            if _is_there(handle, path):  # it was not removed by its owner just now
                _write_owner(handle)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_there(handle: int, path: Path) -> bool:
    """Whether the open file is the one that the path names."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _owner(handle: int) -> dict[str, Any] | None:
    """Who is written into a lock file; None if it is a file of another kind."""
    os.lseek(handle, 0, os.SEEK_SET)
    text = os.read(handle, 10_000)
    try:
        found = json.loads(text) if text else {"kind": KIND}
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("kind") == KIND else None


def _told(owner: dict[str, Any]) -> str:
    """Process, machine and start of the owner in words."""
    if "pid" not in owner:
        return ""
    return f" (process {owner['pid']} on {owner.get('host')}, since {owner.get('started')})"


def _write_owner(handle: int) -> None:
    """Write this process into a lock file."""
    started = datetime.now().astimezone().isoformat(" ", "seconds")
    text = json.dumps({"kind": KIND, "pid": os.getpid(), "host": platform.node(), "started": started})
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, text.encode())


def _release(handle: int, path: Path) -> None:
    """Remove the lock file and free it."""
    if os.name == "posix":
        path.unlink(missing_ok=True)
        os.close(handle)
        return
    os.close(handle)
    with suppress(PermissionError):  # another process has just opened it, and will take it over
        path.unlink(missing_ok=True)
