"""Commands given damaged files and odd options: an exit code of 0, 1 or 2, never a traceback, never a wrong cell accepted.

The commands and their options come from the Typer application, so that new ones are drawn without a change here.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from latentbits.cli.main import app, main

from . import families
from .families import BITS, COUNTS, FITTED

__all__ = ["check", "describe", "warm"]

# Words for a cell that no table of 0, 1 and blank holds.
WRONG_CELLS = ("7", "-3", "0_1", "0x1", "1e", "0.5", "\u0663", "inf", "1,5", "9" * 5000, "--", "#", "2")
WORDS = (
    "", "0", "1", "2", "-1", "1.5", "x", "a", "b", "nan", "inf", "0_1", "9" * 30, "9" * 5000, "a,b", "2-4", "4-2", "0-0",
    "csv", "tsv", "npz", "parquet", "triples", "mixture", "aspect", "all", "utf-16", "latin-1", "rot13", "\t", ";", "::",
    "\u00e9", "\x00", "\u00e9" * 40, "smoothing=1", "max_iter=2", "x=y", "=", "tol=abc", "/", ".", "out.csv", "out.xyz",
    "no/such/dir/out.csv", "0:a", "a:0", "99:99", "mean", "lower", "5m", "1s", "0", "--", "-", "class", "name",
    "q1..q9=4,5", "q*=3",
)  # fmt: skip
# Options that keep a run short, given wherever a command has them.
SHORT = {"--max-iter": "2", "--restarts": "1", "--n-init": "1", "--budget": "1s", "--folds": "1", "--chains": "1"}
SHORT |= {"--warmup": "2", "--draws": "2", "--components": "2"}
SLOW = ("explore", "compare", "reproduce", "select", "report", "doctor")
LONG = {"--help", "--all", "--full"}  # the last two run experiments for minutes and hours
KEPT: dict[str, bytes] = {}
# What imports all that commands use.
WARMING = (
    "fit table.csv -k 2 --max-iter 2 -o other",
    "transform model table.csv",
    "impute model table.csv",
    "explain model table.csv --surprising 2",
    "expand model table.csv",
    "data describe table.csv",
    "links table.csv -k 2",
)


def commands() -> dict[tuple[str, ...], object]:
    """Every command by its words, as Click knows it."""
    import typer

    found = {}

    def walk(group, words):
        for name, command in sorted(group.commands.items()):
            if hasattr(command, "commands"):
                walk(command, (*words, name))
            else:
                found[(*words, name)] = command

    walk(typer.main.get_command(app), ())
    return found


COMMANDS = commands()


def warm() -> None:
    """Models and files to damage, and every kernel in memory."""
    families.warm()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("BernoulliMixture", "AspectBernoulli", "NoisyOrComponentAnalysis", "BinaryGTM", "PLSA"):
            FITTED[name].save(Path(folder) / "model")
            KEPT[name] = (Path(folder) / "model").read_bytes()
        here = os.getcwd()
        os.chdir(folder)
        Path("table.csv").write_text(text_of(BITS))
        Path("model").write_bytes(KEPT["AspectBernoulli"])
        for line in WARMING:
            _run(line.split())
        os.chdir(here)


def text_of(table: np.ndarray, separator: str = ",", header: bool = True) -> str:
    """A table as delimited text."""
    lines = [separator.join(f"c{j}" for j in range(table.shape[1]))] if header else []
    lines += [separator.join(str(int(value)) for value in row) for row in table]
    return "\n".join(lines) + "\n"


class Draw:
    """A command with its arguments, and the files that lie before it; ``wrong`` says that it must not succeed."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng([19, number])
        self.files: dict[str, bytes] = {}
        self.words = self._command()
        self.wrong = False
        self.arguments = list(self.words)
        given = self._options(COMMANDS[self.words])
        self._operands(COMMANDS[self.words], plain=not given)
        self.arguments += given

    def pick(self, pool):
        """One of some."""
        return pool[self.rng.integers(len(pool))]

    def _command(self) -> tuple[str, ...]:
        """A command; those that work long are drawn less often."""
        names = list(COMMANDS)
        weights = np.array([0.15 if words[0] in SLOW else 1.0 for words in names])
        return names[self.rng.choice(len(names), p=weights / weights.sum())]

    def _options(self, command) -> list[str]:
        """Options that keep it short, and often one or two with odd values."""
        out, odd = [], []
        options = [one for one in command.params if one.param_type_name == "option" and not LONG & set(one.opts)]
        names = {name for one in options for name in one.opts}
        for name, value in SHORT.items():
            if name in names:
                out += [name, value]
        for _ in range(self.rng.integers(0, 3) if options else 0):
            one = self.pick(options)
            name = self.pick([*one.opts, *one.secondary_opts])
            odd += [name] if one.is_flag else [name, str(self.pick(WORDS))]
        self.short = out
        return odd

    def _operands(self, command, plain: bool) -> None:
        """Files and words in the places of the arguments."""
        self.arguments += self.short
        for one in command.params:
            if one.param_type_name != "argument":
                continue
            what = (one.metavar or one.name or "").upper()
            if self.rng.random() < 0.04:
                continue  # forgotten
            if "MODEL" in what:
                self.arguments.append(self._model())
            elif "TABLE" in what or "RATINGS" in what or "BASKETS" in what:
                self.arguments.append(self._table(what, plain))
            else:
                self.arguments.append(str(self.pick(WORDS)))
        if self.rng.random() < 0.05:
            self.arguments.append(str(self.pick(WORDS)))

    def _model(self) -> str:
        """A model, often damaged."""
        content = self.pick(list(KEPT.values())) if KEPT else b""
        if self.rng.random() < 0.5:
            content = self._damaged(content)
        self.files["model"] = content
        return "model"

    def _damaged(self, content: bytes) -> bytes:
        """Bytes with something done to them."""
        what, at = self.rng.integers(6), int(self.rng.integers(len(content) + 1))
        if what == 0:
            return content[:at]
        if what == 1:
            return content[:at] + bytes(self.rng.integers(0, 256, 5, dtype=np.uint8)) + content[at:]
        if what == 2:
            return content[:at] + content[at + int(self.rng.integers(1, 9)) :]
        if what == 3:
            return content + content
        if what == 4:
            return bytes(self.rng.integers(0, 256, 60, dtype=np.uint8))
        turned = bytearray(content)
        for place in self.rng.integers(0, max(1, len(turned)), 3):
            if turned:
                turned[place] ^= int(self.rng.integers(1, 256))
        return bytes(turned)

    def _table(self, what: str, plain: bool) -> str:
        """A table file: good, with a wrong cell, or damaged."""
        kind = str(self.pick(["csv", "csv", "csv", "tsv", "triples", "basket", "npz", "npy", "mtx", "parquet", "txt"]))
        if self.rng.random() < 0.06:
            return str(self.pick(["nothing.csv", "zoo", "votes", ".", "model", "", "-", "a/b.npz"]))
        content = self._ratings() if "RATINGS" in what else self._content(kind)
        name = f"table.{'csv' if 'RATINGS' in what else kind}"
        if self.rng.random() < 0.4:
            content = self._damaged(content)
        elif kind in ("csv", "tsv") and "RATINGS" not in what and self.rng.random() < 0.5:
            content = self._with_wrong_cell(kind, plain)
        if self.rng.random() < 0.1:
            name, content = f"{name}.gz", gzip.compress(content)
        self.files[name] = content
        return name

    def _with_wrong_cell(self, kind: str, plain: bool) -> bytes:
        """A table of text with a cell that is none."""
        separator = "\t" if kind == "tsv" else ";"
        lines = [line.split(separator) for line in text_of(BITS, separator).splitlines()]
        lines[int(self.rng.integers(1, len(lines)))][int(self.rng.integers(5))] = str(self.pick(WRONG_CELLS))
        self.wrong = plain and self.words[-1] in ("fit", "select", "describe", "explore", "compare", "links")
        return "\n".join(separator.join(line) for line in lines).encode()

    def _ratings(self) -> bytes:
        lines = [f"u{i},i{j},{1 + (i * j) % 5}" for i in range(8) for j in range(5)]
        return "\n".join(lines).encode()

    def _content(self, kind: str) -> bytes:
        """A good file."""
        table = COUNTS if self.words[-1] == "classify" else BITS
        if kind in ("csv", "tsv", "txt"):
            return text_of(table, "\t" if kind == "tsv" else ",", bool(self.rng.random() < 0.9)).encode()
        if kind == "triples":
            return "\n".join(f"r{i},c{j},1" for i, j in np.argwhere(table > 0)).encode()
        if kind == "basket":
            return "\n".join(" ".join(map(str, np.flatnonzero(row))) for row in table).encode()
        if kind == "mtx":
            places = "\n".join(f"{i + 1} {j + 1} 1" for i, j in np.argwhere(table > 0))
            n = int((table > 0).sum())
            return f"%%MatrixMarket matrix coordinate integer general\n12 5 {n}\n{places}\n".encode()
        out = io.BytesIO()
        if kind == "npz":
            sp.save_npz(out, sp.csr_matrix(table)) if self.rng.random() < 0.5 else np.savez(out, X=table)
        elif kind == "npy":
            np.save(out, table)
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({f"c{j}": table[:, j] for j in range(5)}), out)
        return out.getvalue()

    def __str__(self) -> str:
        shown = [word if len(word) < 40 else f"{word[:20]}... ({len(word)})" for word in self.arguments]
        files = {name: content[:400] for name, content in self.files.items() if name != "model"}
        return f"{shown} with {files!r:.700}, wrong: {self.wrong}"


def check(number: int) -> str | None:
    """What is wrong with a draw, or None."""
    draw = Draw(number)
    warnings.simplefilter("default")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in draw.files.items():
            Path(name).write_bytes(content)
        code, err = _run(draw.arguments)
        os.chdir("/")
    if code not in (0, 1, 2):
        return f"exit code {code}: {err[-300:]} in {draw}"
    if "Traceback" in err and "--debug" not in draw.arguments:
        return f"a traceback: {err[-600:]} in {draw}"
    if "run again with --debug" in err:
        return f"a raw error: {err[-300:]} in {draw}"
    if code and not err.strip():
        return f"exit code {code} without a word in {draw}"
    if draw.wrong and code == 0:
        return f"accepted: {draw}"
    return None


def _run(arguments: list[str]) -> tuple[object, str]:
    """Exit code and what was written to standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace")
    sys.stdin = io.TextIOWrapper(io.BytesIO(text_of(BITS).encode()))
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code or 0
    err.flush()
    return code, err.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def describe(number: int) -> str:
    """A draw in words."""
    return f"draw {number}"
