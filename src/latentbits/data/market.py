"""Matrix Market files, looked at before SciPy reads them: it passes over what follows a number in a word."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from ..errors import FileError

WHOLE = rb"[+-]?[0-9]++"
NUMBER = rb"[+-]?(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?|nan)"
VALUES = {"integer": WHOLE, "unsigned-integer": WHOLE, "real": NUMBER, "double": NUMBER, "pattern": None}
PIECE = 1 << 20  # bytes looked at in one go


def check_market(path: Path) -> None:
    """Refuse a file whose lines are not made of whole numbers and numbers, as its first line says."""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        words = file.readline().decode("latin-1").lower().split()
        if len(words) != 5 or words[0] != "%%matrixmarket" or words[2] not in ("coordinate", "array"):
            raise FileError(f"{path} does not begin like a Matrix Market file.")
        if words[3] not in VALUES:
            raise FileError(f"{path} holds {words[3]} values; cells must be real numbers.")
        places = [WHOLE, WHOLE] if words[2] == "coordinate" else []
        sizes = next((line for line in file if line.strip() and not line.startswith(b"%")), b"")
        if re.fullmatch(_lines([WHOLE, WHOLE, *places[:1]]), sizes) is None:
            shown = sizes.decode("latin-1").strip()
            raise FileError(f"{path}: the line of sizes must hold whole numbers; it is {shown!r:.60}.")
        value = VALUES[words[3]]
        body = re.compile(_lines(places if value is None else [*places, value]), re.IGNORECASE)
        while piece := file.read(PIECE) + file.readline():
            read = body.match(piece)
            if read is None or read.end() < len(piece):
                odd = piece[read.end() if read else 0 :].partition(b"\n")[0].decode("latin-1").strip()
                raise FileError(f"{path} is not a readable .mtx table: a line is {odd!r:.60}.")


def _lines(fields: list[bytes]) -> bytes:
    """A pattern of lines with these fields, and of empty ones."""
    return rb"(?:[ \t]*+(?:" + rb"[ \t]++".join(fields) + rb")?[ \t]*+(?:\r?\n|\Z))*+"
