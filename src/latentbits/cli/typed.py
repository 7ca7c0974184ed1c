"""The command line as it was typed, so that messages can give it back with a change."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

_TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


def remember(arguments: Sequence[str]) -> None:
    """Keep what was typed behind the name of the program."""
    _TYPED.set(tuple(arguments))


def words(*further: str) -> list[str]:
    """The command line as words, with further options; those go before a bare ``--``, behind which there are none."""
    typed = list(_TYPED.get())
    end = typed.index("--") if "--" in typed else len(typed)
    return ["latentbits", *typed[:end], *further, *typed[end:]]


def again(*further: str) -> str:
    """The command to type instead: the same with further options."""
    return shlex.join(words(*further))


def exchanged(first: str, second: str) -> str:
    """The command to type instead: the same with two words exchanged."""
    other = {first: second, second: first}
    return shlex.join(other.get(word, word) for word in words())


def with_command(command: str) -> str:
    """The command to type instead: another one about the same files, with the same options."""
    typed = words()
    place = next(i for i, word in enumerate(typed) if i and not word.startswith("-"))
    return shlex.join([*typed[:place], command, *typed[place + 1 :]])
