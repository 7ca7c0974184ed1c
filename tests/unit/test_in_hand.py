"""Calls that are started one by one: here, and in processes."""

from __future__ import annotations

import time

import pytest

from latentbits.engine.compiling import Stopwatch
from latentbits.engine.together import InHand


def late_sum(shared, first, second):
    """A call that takes as long as it is told to."""
    time.sleep(second)
    return shared + first


def broken(shared):
    """A call that fails."""
    raise TypeError(f"a bug in {shared}")


def test_calls_here_run_in_their_order():
    with InHand() as hand:
        for number in range(3):
            hand.start(f"call {number}", late_sum, 10, (number, 0.0))
        assert hand.width == 1 and [hand.finish() for _ in range(3)] == [(f"call {n}", 10 + n) for n in range(3)]
        assert not hand.waiting


def test_the_first_to_end_is_taken_first():
    with InHand(n_jobs=2) as hand:
        hand.start("warm", late_sum, 0, (0, 0.0))  # processes begin
        hand.finish()
        hand.start("slow", late_sum, 10, (1, 1.5))
        hand.start("quick", late_sum, 20, (2, 0.0))
        assert [hand.finish(), hand.finish()] == [("quick", 22), ("slow", 11)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_calls_are_raised_and_what_runs_is_ended(n_jobs):
    began = time.perf_counter()
    with pytest.raises(TypeError, match="a bug in it"), InHand(n_jobs) as hand:
        hand.start("broken", broken, "it", ())
        hand.start("endless", late_sum, 0, (0, 60.0))
        hand.finish()
    assert time.perf_counter() - began < 30 and not hand.waiting
    with InHand(n_jobs) as hand:  # processes can be had again
        hand.start("after", late_sum, 1, (1, 0.0))
        assert hand.finish() == ("after", 2)


def test_joblib_goes_on_beside():
    """The processes are those of joblib, which finds its own."""
    from joblib import Parallel, delayed

    with InHand(2) as hand:
        hand.start("first", late_sum, 1, (1, 0.0))
        assert hand.finish() == ("first", 2)
    assert Parallel(n_jobs=2, prefer="processes")(delayed(late_sum)(n, 1, 0.0) for n in range(4)) == [1, 2, 3, 4]
    with InHand(2) as hand:
        hand.start("second", late_sum, 2, (1, 0.0))
        assert hand.finish() == ("second", 3)


def test_compiling_is_no_part_of_the_time():
    import numba

    def loop(n):
        total = 0.0
        for i in range(n):
            total += i
        return total

    compiled = numba.njit(loop)
    with Stopwatch() as watch:
        compiled(3)
    assert watch.compiling > 0.01 and watch.seconds < watch.compiling
    with Stopwatch() as watch:
        compiled(3)
    assert watch.compiling == 0.0
