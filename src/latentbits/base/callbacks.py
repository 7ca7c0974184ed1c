"""scikit-learn's callbacks, where it has them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..engine import events


class SklearnCallbacks(events.Listener):
    """Feeds scikit-learn's callbacks: a fit has starts (or chains), each has iterations."""

    every_step = True

    def __init__(self, estimator: Any, n_init: int, X: Any) -> None:
        self.estimator, self.n_init, self.X = estimator, n_init, X
        self.starts: dict[int, Any] = {}  # those that have begun and not ended
        self.waiting: set[int] = set()  # those of them that may go on later

    def begin(self, event: events.Begin) -> None:
        """The root task begins."""
        self.max_iter = event.max_iter
        self.root = self.estimator._init_callback_context(max_subtasks=self.n_init)
        self.root.call_on_fit_task_begin(estimator=self.estimator, X=self.X)

    def step(self, event: events.Progress) -> bool:
        """An iteration is done; a start begins with its first one."""
        if event.restart not in self.starts:
            if event.step.kind != "sweep":  # starts come one after the other, chains side by side
                self._end_starts(self.waiting)
            self.starts[event.restart] = self.root.subcontext(task_name="start", max_subtasks=self.max_iter)
            self.starts[event.restart].call_on_fit_task_begin(estimator=self.estimator)
        iteration = self.starts[event.restart].subcontext(task_name="iteration")
        iteration.call_on_fit_task_begin(estimator=self.estimator)
        self.waiting = self.waiting | {event.restart} if event.waits else self.waiting - {event.restart}
        return bool(iteration.call_on_fit_task_end(estimator=self.estimator, X=self.X))

    def _end_starts(self, but: Collection[int] = ()) -> None:
        for number in [number for number in self.starts if number not in but]:
            self.starts.pop(number).call_on_fit_task_end(estimator=self.estimator)

    def end(self, event: events.End) -> None:
        """The root task ends."""
        self._end_starts()
        self.root.call_on_fit_task_end(estimator=self.estimator, X=self.X)
