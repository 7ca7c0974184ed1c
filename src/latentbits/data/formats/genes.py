"""Genes in genomes, as Panaroo and Roary write them: a line per gene, a column per genome; here a genome is a row."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import FileError
from ..raw import RawTable, checked
from ..text import opened

# What Roary says of a gene before the genomes begin; Panaroo says the first three.
ABOUT = (
    "gene", "non-unique gene name", "annotation", "no. isolates", "no. sequences", "avg sequences per isolate",
    "genome fragment", "order within fragment", "accessory fragment", "accessory order with fragment", "qc",
    "min group size nuc", "max group size nuc", "avg group size nuc",
)  # fmt: skip
UNKNOWN = ("", "na", "nan")
ENCODING = "utf-8-sig"


def is_gene_table(header: Sequence[str]) -> bool:
    """Whether the first line of a CSV file is that of a table of genes in genomes."""
    return _n_about(header) >= 3


def _n_about(header: Sequence[str]) -> int:
    """How many columns are about the gene."""
    plain = [name.strip().strip('"').lower() for name in header[: len(ABOUT)]]
    return next((j for j, name in enumerate(ABOUT) if j == len(plain) or plain[j] != name), len(ABOUT))


def read_rtab(path: Path) -> RawTable:
    """Tables of 0 and 1 with a line per gene, ``.Rtab``; rows are genomes, columns genes."""
    with opened(path, ENCODING) as text:
        genomes = _genomes(path, text.readline().rstrip("\r\n").split("\t"), 1)
        lines = (line.rstrip("\r\n") for line in text)
        return _transposed(path, genomes, _numbers(path, (line for line in lines if line), len(genomes)))


def _numbers(path: Path, lines: Iterator[str], n: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each gene and its numbers in the genomes."""
    for line in lines:
        gene, _, rest = line.partition("\t")
        letters = np.frombuffer(rest.encode(), np.uint8)
        plain = len(letters) == 2 * n - 1 and bool(np.all(letters[1::2] == ord("\t")))
        if plain and bool(np.all(letters[::2] - ord("0") <= 9)):
            yield gene, (letters[::2] - ord("0")).astype(np.float32)
            continue
        words = rest.split("\t")
        _check_width(path, gene, len(words), n)
        yield gene, np.array([_number(path, gene, word) for word in words], np.float32)


def _number(path: Path, gene: str, word: str) -> float:
    """A cell as a number; NaN is unknown."""
    if word.strip().lower() in UNKNOWN:
        return np.nan
    try:
        return float(word)
    except ValueError:
        raise FileError(f"{path}: the gene {gene!r} has the cell {word[:40]!r}; expected a number.") from None


def read_gene_csv(path: Path) -> RawTable:
    """``gene_presence_absence.csv``: a gene is in a genome if its cell names a sequence; rows are genomes."""
    with opened(path, ENCODING) as text:
        lines = csv.reader(text, strict=True)
        header = next(lines, [])
        if not is_gene_table(header):
            raise FileError(f"{path} does not begin with the columns Gene, Non-unique Gene name, Annotation.")
        before = _n_about(header)
        genomes = _genomes(path, header, before)
        return _transposed(path, genomes, _presences(path, lines, before, len(genomes)))


def _presences(
    path: Path, lines: Iterator[list[str]], before: int, n: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each gene and whether it is in the genomes."""
    for line in lines:
        if line:
            _check_width(path, line[0], len(line) - before, n)
            yield line[0], np.array([bool(word.strip()) for word in line[before:]], np.float32)


def _check_width(path: Path, gene: str, found: int, expected: int) -> None:
    """Refuse a line that is too short or too long."""
    if found != expected:
        raise FileError(
            f"{path}: the gene {gene[:40]!r} has {found} cells where {expected} genomes are named; is the file whole?"
        )


def _genomes(path: Path, header: list[str], before: int) -> list[str]:
    """Names of the genomes in the first line."""
    genomes = [name.strip().strip('"') for name in header[before:]]
    if not genomes:
        raise FileError(f"{path} names no genomes in its first line.")
    name, times = Counter(genomes).most_common(1)[0]
    if times > 1:
        raise FileError(f"{path}: the genome {name!r} occurs more than once in the first line; rename one.")
    return genomes


def _transposed(path: Path, genomes: list[str], lines: Iterator[tuple[str, NDArray[np.float32]]]) -> RawTable:
    """The sparse table of genomes and genes."""
    genes: list[str] = []
    places: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
    values: list[NDArray[np.float32]] = [np.zeros(0, np.float32)]
    for gene, numbers in lines:
        at = np.flatnonzero(numbers).astype(np.int32)
        genes.append(gene.strip().strip('"'))
        places.append(at)
        values.append(numbers[at])
    indptr = np.cumsum([len(at) for at in places])
    shape = (len(genomes), len(genes))
    matrix = sp.csc_array((np.concatenate(values), np.concatenate(places), indptr), shape=shape)
    return checked(path, RawTable(genes, matrix=matrix, ids=genomes, id_name="genome"))
