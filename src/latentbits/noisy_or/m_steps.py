"""M-steps that solve for the best strengths: bracketed Newton steps, and the bisection of the paper.

Given posteriors m and weights q the bound is concave in every strength, so each has one root of its derivative.  With the
leak held, all links are independent of each other; with the links held, so are the leaks.  A probe costs one pass over
the table.  The end of the bracket on the side of the start is taken, from which the bound has only risen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.block import Block, Float
from ..engine.protocols import ExtraPass
from ..maths.empirical_bayes import padded
from .params import CAP, CELL_TOL, LEAST_LEAK, LEAST_LINK

PROBES = {"newton": 15, "bisection": 40}
# Newton stops when all strengths move by less than this share.
CLOSE = 1e-9


def solve(model: Any, params: Any, stats: Any, extra_pass: ExtraPass, cycles: int = 1) -> tuple[Float, Float]:
    """Best links for the leak as it is, then the best leaks for these links; so many times."""
    precomputed, chances = model.precompute(params), model.chances(stats)
    theta, theta0 = params.theta, params.theta0

    def of_links(trial: Float) -> tuple[Float, Float, Float]:
        on, bend, _, _, held = extra_pass(_Probe(model), precomputed, trial, theta0)
        a, b = model.link_prior
        got = on.T + held.T + (a - 1) / -np.expm1(-trial)
        return got, bend.T - (a - 1) * np.exp(-trial) / np.expm1(-trial) ** 2, chances + a + b - 2

    def of_leaks(trial: Float) -> tuple[Float, Float, Float]:
        _, _, leak, bend, _ = extra_pass(_Probe(model), precomputed, theta, trial)
        a, b = model.leak_prior
        one = -np.expm1(-trial)
        ones = stats.ones + a - 1
        return ones / one + leak, bend - ones * np.exp(-trial) / one**2, stats.known + a + b - 2

    for _ in range(cycles):
        theta = _root(of_links, theta, LEAST_LINK, CAP, model.m_step_kind)
        theta = np.where((params.theta == 0) | (theta <= LEAST_LINK), 0.0, theta)
        theta0 = _root(of_leaks, theta0, LEAST_LEAK, CAP, model.m_step_kind)
    return theta, theta0


def _root(
    evaluate: Callable[[Float], tuple[Float, Float, Float]], start: Float, least: float, most: float, kind: str
) -> Float:
    """Where ``got`` equals ``wanted``, for many decreasing functions at once.

    ``evaluate(x)`` gives what a strength gets, its derivative, and what is wanted.
    """
    x = np.clip(start, least, most)
    low, high = np.full_like(x, least), np.full_like(x, most)
    rising: Any = None
    for _ in range(PROBES[kind]):
        got, bend, wanted = evaluate(x)
        up = got > wanted
        rising = up if rising is None else rising
        low, high = np.where(up, x, low), np.where(up, high, x)
        if kind == "bisection":
            x = 0.5 * (low + high)
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.log(got / wanted) * got / (x * bend)
            new = x * np.exp(-step)
        middle = np.sqrt(low * high)
        new = np.where(np.isfinite(new) & (new > low) & (new < high), new, middle)
        if np.abs(new - x).max() <= CLOSE * np.abs(x).max():
            break
        x = new
    # A root beyond the range lies at its end.
    return np.where(rising, low, high)


class _Probe:
    """Sums of a block at trial strengths; weights of the ones are those of the strengths before."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Any, precomputed: Any, theta: Float, theta0: Float) -> Any:
        from .kernels import ProbeSums, probe_rows

        n_sources, width = len(theta), len(precomputed.bias)
        shares = rows
        if shares is None:  # as the pass that is being improved on has found them
            shares = self.model.infer(
                block, precomputed, (np.zeros(block.n_columns * width), np.zeros(block.n_columns))
            )[0]
        weights = self.model.counted(block)
        trial = padded(np.ascontiguousarray(theta.T))
        sums = ProbeSums(
            np.zeros(block.n_columns * width),
            np.zeros(block.n_columns * width),
            np.zeros(block.n_columns),
            np.zeros(block.n_columns),
        )
        probe_rows(
            *block.ones.lists(),
            weights,
            precomputed.tables(),
            CELL_TOL,
            padded(np.asarray(shares)),
            trial.ravel(),
            theta0,
            sums,
        )
        shape = (block.n_columns, width)
        held = block.ones.t_dot(shares * weights[:, None])
        on, bend = (table.reshape(shape)[:, :n_sources] for table in sums[:2])
        return on, bend, sums.leak, sums.leak_bend, held
