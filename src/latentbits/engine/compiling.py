"""How long something takes apart from compiling, which happens once per machine and says nothing about the next time."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any


class Stopwatch:
    """Seconds of a ``with`` block: ``seconds`` without what Numba compiled meanwhile, which is in ``compiling``.

    Examples
    --------
    >>> with Stopwatch() as watch:
    ...     time.sleep(0.01)
    >>> watch.seconds >= 0.01 and watch.compiling == 0.0
    True
    """

    seconds: float = 0.0
    compiling: float = 0.0

    def __enter__(self) -> Stopwatch:
        from numba.core import event

        self._event: Any = event
        self._listener: Any = self._event.TimingListener()
        self._event.register("numba:compile", self._listener)
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took = time.perf_counter() - self._began
        self._event.unregister("numba:compile", self._listener)
        self.compiling = min(took, float(self._listener.duration)) if self._listener.done else 0.0
        self.seconds = took - self.compiling
