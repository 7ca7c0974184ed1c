"""Noisy-or component analysis (Šingliar & Hauskrecht, *Noisy-OR Component Analysis and its Application to Link Analysis*,
JMLR 2006).

Story: every row has K hidden binary *sources*, source i being on with probability ``prior[i]``, whatever the others do.
Each source that is on tries to switch cell j on, and succeeds with probability p_ij; so does the *leak*, which is always on,
with p_0j.  The cell is 1 if any of them succeeds.

======================  =================================  ===============================================
symbol in the paper     name here                          where
======================  =================================  ===============================================
θ_ij = -log(1 - p_ij)   ``theta`` (K, D)                   eq 4; strength of a link
θ_0j                    ``theta0`` (D,)                    strength of the leak
π_i                     ``prior`` (K,)                     P(source i is on)
⟨s_i⟩                   row state, m (n, K)                posterior of the sources of a row
q_j(i)                  never stored                       eq 6; weights of the sources at a one, on the simplex
======================  =================================  ===============================================

With f(u) = log(1 - exp(-u)), t = θ_i / q_i and the lift d(t) = f(θ_0 + t) - f(θ_0), the bound of a row is (eq 7)

    log P(x) ≥ Σ_i [log(1 - π_i) + log(1 + exp a_i)] - Σ_{zeros} θ_0j + Σ_{ones} f(θ_0j),
    a_i = logit π_i - Σ_{zeros} θ_ij + Σ_{ones} q_ij d_ij,    m_i = σ(a_i).

Weights q are best when m_i φ(t_i) is the same for all sources with q_i > 0, φ(t) = d(t) - t / expm1(θ_0 + t), and no larger
for the others.  Zeros enter only through Σ_j θ_ij less what stands at ones and unknown cells, so a pass costs ones × K.
The M-step that needs no further pass takes every one for a Poisson count above zero, whose expected parts are known:

    θ_ij <- θ_ij Σ_{ones} m_ni / (1 - exp(-θ_0j - t_nij)) / Σ_{known} m_ni,   and the same for the leak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..data.summary import Totals
from ..engine.em import Point
from ..engine.protocols import ExtraPass
from ..engine.stats import add
from ..errors import InputError
from ..maths.empirical_bayes import padded
from ..maths.row_sample import sample_rows
from .answers import NoisyOrAnswers
from .params import (
    CAP,
    CELL_TOL,
    EDGE,
    FADING,
    FRESH,
    HASTY,
    LEAST_LEAK,
    LEAST_LINK,
    NEVER,
    ROWS_AT_THE_END,
    ROWS_ON_THE_WAY,
    TOUCHED,
    TRIAL_TOL,
    NoisyOrParams,
    NoisyOrPrecomputed,
    NoisyOrStats,
    angle_of,
    chance_of,
    lists_of,
    log_on,
    logit,
    slope_of,
    states_of,
    without,
)


@dataclass(frozen=True)
class NoisyOrModel(NoisyOrAnswers):
    """The maths of noisy-or component analysis.

    ``plan`` are the stages of a fit: (number of sources, passes or 0 for until settled, even weights).  Priors are pairs
    (a, b) of Beta distributions on link probabilities, leak probabilities and the priors of the sources.
    """

    params_type = NoisyOrParams
    row_kind = Annotated[Float, of.shares("n", "K")] | None  # not in all stages
    fixed_size = False  # surplus sources are left out from stage to stage
    # Bounds of starts with surplus sources need not say where they end (rank correlations of -0.7 to 0.0 on citations_wide,
    # 0.95 on c20ng); those after six passes with the last number of sources do (0.80 on citations_wide, 0.98 on
    # newsgroups_w100, twelve starts each).
    screened_passes = 6

    n_components: of.Size
    sums: Totals
    link_prior: tuple[of.Amount, of.Amount] = (1.0, 2.0)
    leak_prior: tuple[of.Amount, of.Amount] = (1.5, 2.0)
    source_prior: tuple[of.Amount, of.Amount] = (1.0, 1.0)
    m_step_kind: Annotated[str, of.words("mm", "newton", "bisection")] = "mm"
    inference: Annotated[str, of.words("variational", "exact")] = "variational"
    e_step_start: Annotated[str, of.words("best", "warm", "cold")] = "best"
    rounds: Annotated[int, of.Whole(1, 10**9)] = 4
    link_threshold: of.Amount = 0.0
    truncated: bool = False
    plan: tuple[tuple[of.Count, of.Count, bool], ...] = ((0, 0, False),)
    stage: of.Count = 0
    answer_rounds: Annotated[int, of.Whole(1, 10**9)] = 100
    answer_tol: of.Positive = 1e-5

    def contradiction(self) -> str | None:
        """What is wrong with the model as a whole."""
        return (
            None if self.stage < len(self.plan) else f"must be in one of {len(self.plan)} stages; it is in {self.stage}"
        )

    # Stages.

    @property
    def passes(self) -> int | None:  # type: ignore[override]
        """Passes of this stage."""
        return self.plan[self.stage][1] or None

    @property
    def even(self) -> bool:
        """Whether all sources have the same weight at every one."""
        return self.plan[self.stage][2]

    @property
    def exact(self) -> bool:
        """Whether this stage enumerates all states of the sources."""
        return self.inference == "exact" and self._in_last_stage

    @property
    def has_row_state(self) -> bool:  # type: ignore[override]
        """Posteriors are carried from pass to pass unless every pass finds them anew."""
        return self.e_step_start != "cold" and not self.exact

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Posteriors found anew, and weights found in haste, may be worse than those of the pass before."""
        return self.exact or (self.e_step_start != "cold" and self._in_last_stage)

    @property
    def slack(self) -> float:  # type: ignore[override]
        """What the weights of the ones may be off."""
        return 0.0 if self.exact else self._cell_tol * float(self.sums.ones.sum())

    @property
    def _cell_tol(self) -> float:
        """Gap to the best weights of a one in the passes of the last stage: so much for every cell of the table."""
        return CELL_TOL * max(1.0, self.sums.n_cells / max(float(self.sums.ones.sum()), 1.0))

    def is_last_stage(self, params: NoisyOrParams) -> bool:
        """Whether no further stage is planned."""
        return self._in_last_stage

    @property
    def _in_last_stage(self) -> bool:
        return self.stage == len(self.plan) - 1

    def next_stage(self) -> NoisyOrModel:
        """The next stage of the plan."""
        return replace(self, stage=self.stage + 1)

    def answer_model(self) -> NoisyOrModel:
        """The last stage of the plan."""
        return replace(self, stage=len(self.plan) - 1)

    def begin_stage(self, point: Any, sweep: Any) -> Point:
        """Leave out the sources whose loss is smallest, down to the number of this stage; at last also links by chance."""
        params, rows = point
        surplus = len(params.prior) - self.plan[self.stage][0]
        if surplus > 0:
            loss, _ = self.losses(params, sweep, ROWS_ON_THE_WAY)
            keep = np.sort(np.argsort(loss, kind="stable")[surplus:])
            params = without(params, keep)
            if self.has_row_state:
                _, rows = sweep.zip_rows(_Keep(keep), rows)
        return Point(self.cleared(params) if self._in_last_stage else self.freshened(params), rows)

    def cleared(self, params: NoisyOrParams) -> NoisyOrParams:
        """Without the links that chance alone would make: they take the place of the leak, each for a few of its ones."""
        if self.link_threshold == 0:
            return self.freshened(params)
        marginals = self.sums.marginals
        rows_on = np.maximum(params.prior[:, None] * self.sums.observed, 1.0)
        links = -np.expm1(-params.theta)
        chance = self.link_threshold * np.sqrt(marginals * (1.0 - marginals) / rows_on)
        return params._replace(theta=np.where(links < chance, 0.0, params.theta))

    def freshened(self, params: NoisyOrParams) -> NoisyOrParams:
        """With no link so weak that it could not come back: strengths change by factors."""
        part, most = FRESH
        return params._replace(theta=np.maximum(params.theta, np.minimum(part * self.sums.marginals, most)))

    def losses(self, params: NoisyOrParams, sweep: Any, size: int) -> tuple[Float, float]:
        """What the bound of the table loses if a source is left out and its rows are explained anew (K,); rows that count.

        From a sample of the distinct rows: rows that do without the source gain what its being off costs, all of them; what
        the others lose is scaled up from the sample.
        """
        care, cell_tol = replace(self.answer_model(), inference="variational"), CELL_TOL
        if size < ROWS_AT_THE_END:
            care, cell_tol = replace(care, answer_rounds=self.rounds, answer_tol=1e-3), TRIAL_TOL
        sample = sample_rows(sweep, size)
        block = sample.block(params.theta.shape[1])
        precomputed = care.precompute(params)
        shares, values, _ = care.infer(block, precomputed, cell_tol=cell_tol)
        loss = np.log1p(-params.prior) * sample.total
        seen = float(np.log(-np.expm1(self.log_empty(params)))) if self.truncated else 0.0
        for i in range(len(loss)):
            touched = np.flatnonzero(shares[:, i] > TOUCHED)
            if len(touched):
                other = care.infer(block.take(touched), precomputed.switched_off(i), cell_tol=cell_tol)[1]
                loss[i] += float(sample.weights[touched] @ (values[touched] - other)) / sample.share
            if self.truncated:
                rest = without(params, np.delete(np.arange(len(loss)), i))
                loss[i] += sample.total * (float(np.log(-np.expm1(self.log_empty(rest)))) - seen)
        return loss, sample.total

    # Passes.

    def init_rows(self, block: Block, params: NoisyOrParams, seed: int, restart: int) -> Any:
        """Posteriors at the start: found anew where there is a fit to go on from; unused while weights are even."""
        if self.even:
            return np.tile(params.prior, (block.n_rows, 1))
        if self.stage > 0 and self.has_row_state:  # the stage with even weights is over, on a sample
            first = replace(self, stage=0)
            return first._evenly(block, first.precompute(params))
        return self.stream_rows(block, params)

    def stream_rows(self, block: Block, params: NoisyOrParams) -> Any:
        """Posteriors of rows met once."""
        return self.infer(block, self.precompute(params))[0] if self.has_row_state else None

    def stream_update(self, before: NoisyOrParams, params: NoisyOrParams, block: Block, rows: Any) -> NoisyOrParams:
        """Nothing is remembered of the rows."""
        return params

    def precompute(self, params: NoisyOrParams) -> NoisyOrPrecomputed:
        """Tables over columns and sources, once per pass."""
        theta = padded(np.ascontiguousarray(params.theta.T))
        n_sources, width = len(params.prior), theta.shape[1]
        e0 = np.expm1(params.theta0)[:, None]
        prob = -np.expm1(-theta)
        lift = np.log1p(prob / e0)
        rest = np.exp(-theta) / (e0 + prob)  # 1 / expm1(θ0 + θ)
        slope = slope_of(theta, lift, rest, params.theta0[:, None])
        bias = np.full(width, NEVER)
        bias[:n_sources] = logit(params.prior) - params.theta.sum(axis=1)
        even = states = sums = None
        if self.even:
            even = np.log1p(-np.expm1(-n_sources * params.theta.T) / e0) / n_sources
        if self.exact:
            states = states_of(n_sources)
            sums = params.theta0 + states @ params.theta
        return NoisyOrPrecomputed(
            params,
            bias,
            theta.ravel(),
            prob.ravel(),
            lift.ravel(),
            slope.ravel(),
            params.theta0.copy(),  # that of a fit read from a file may be read-only, a type of its own to the compiler
            e0[:, 0],
            -log_on(params.theta0),
            rest.ravel(),
            even,
            float(np.log1p(-params.prior).sum() - params.theta0.sum()),
            max(1, int(650.0 / np.log1p(1.0 / e0.min()))),
            states,
            sums,
        )

    def infer(
        self,
        block: Block,
        precomputed: NoisyOrPrecomputed,
        sums: Any = None,
        shares: Any = None,
        cell_tol: float = CELL_TOL,
    ) -> tuple[Float, Float, Float]:
        """Posteriors (n, K), the source part of the bound (n,) and log odds (n, K).

        Without ``sums`` rows are answered with care, the weights of a one up to ``cell_tol``; with it (a pair of arrays to
        add to) as in a pass of a fit.
        """
        from .kernels import Options, Sums, infer_rows, search_rows

        k, width, n_rows = len(precomputed.params.prior), len(precomputed.bias), block.n_rows
        assert len(precomputed.theta0) == block.n_columns  # kernels do not check places
        training, warm = sums is not None, shares is not None
        start = padded(np.asarray(shares)) if warm else np.zeros((n_rows, width))
        values, odds = np.empty(n_rows), np.empty((0 if training else n_rows, width))
        rounds, tol = self.answer_rounds, self.answer_tol
        if training:
            rounds, tol = self.rounds, 1e-3
            cell_tol = min(self._cell_tol, HASTY) if self._in_last_stage else HASTY
        lists, tables = lists_of(block), precomputed.tables()
        trial_tol = max(cell_tol, TRIAL_TOL) if training and warm else cell_tol
        options = Options(warm, rounds, tol, cell_tol, trial_tol, precomputed.chunk)
        trials, useful = np.empty((n_rows, width)), np.zeros(n_rows, np.bool_)
        if not warm or (self.e_step_start == "best" and not self.even):
            search_rows(lists, tables, options, start, trials, useful)
        added = Sums(*sums) if training else Sums(np.empty(0), np.empty(0))
        infer_rows(lists, block.row_weights(), tables, options, trials, useful, start, values, odds, added)
        return start[:, :k], values, odds[:, :k]

    def e_step(self, block: Block, rows: Any, precomputed: NoisyOrPrecomputed) -> tuple[NoisyOrStats, Any]:
        """Sums of a block, and the posteriors of its rows."""
        weights = self.counted(block)
        if self.truncated:
            _refuse_empty(block)
        if self.exact:
            shares, values, on, leak = self._enumerated(block, precomputed, weights)
        else:
            width = len(precomputed.bias)
            flat, leak = np.zeros(block.n_columns * width), np.zeros(block.n_columns)
            start = self._evenly(block, precomputed) if self.even else rows if self.has_row_state else None
            shares, values, _ = self.infer(block, precomputed, (flat, leak), start)
            on = flat.reshape(block.n_columns, width)[:, : len(precomputed.params.prior)].copy()
        ones = block.ones.t_dot(weights[:, None])[:, 0]
        known = np.full(block.n_columns, weights.sum())
        unseen = None
        if block.unknown is not None:
            hidden = block.unknown.t_dot(np.column_stack((weights, shares * weights[:, None])))
            known, unseen = known - hidden[:, 0], hidden[:, 1:]
        value = float(weights @ (values + self.rest_of_bound(block, precomputed)))
        stats = NoisyOrStats(on, leak, ones, known, weights @ shares, unseen, value, float(weights.sum()))
        return stats, shares if self.has_row_state else None

    def counted(self, block: Block) -> Float:
        """Weights of rows, zero for those without a known cell."""
        weights = block.row_weights()
        if block.unknown is None:
            return weights
        return np.where(block.unknown.row_counts() == block.n_columns, 0.0, weights)

    def rest_of_bound(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """The part of the bound of every row (n,) that does not depend on its sources."""
        if self.exact:
            return np.zeros(block.n_rows)
        out: Float = precomputed.constant + block.ones.dot((precomputed.theta0 - precomputed.top)[:, None])[:, 0]
        return out if block.unknown is None else out + block.unknown.dot(precomputed.theta0[:, None])[:, 0]

    def _evenly(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """Posteriors (n, K) if all sources have the same weight at every one."""
        params = precomputed.params
        assert precomputed.even is not None
        odds = block.ones.dot(params.theta.T + precomputed.even) + precomputed.bias[: len(params.prior)]
        if block.unknown is not None:
            odds += block.unknown.dot(np.ascontiguousarray(params.theta.T))
        return 0.5 * (1.0 + np.tanh(0.5 * odds))

    def log_joint(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """log P(row, state of the sources) (n, 2^K)."""
        states, sums, prior = precomputed.states, precomputed.sums, precomputed.params.prior
        assert states is not None and sums is not None
        joint = block.ones.dot(np.ascontiguousarray((log_on(sums) + sums).T))
        joint += states @ np.log(prior) + (1.0 - states) @ np.log1p(-prior) - sums.sum(axis=1)
        if block.unknown is not None:
            joint += block.unknown.dot(np.ascontiguousarray(sums.T))
        return joint

    def _enumerated(
        self, block: Block, precomputed: NoisyOrPrecomputed, weights: Float
    ) -> tuple[Float, Float, Float, Float]:
        """Exact posteriors over all states of the sources."""
        from ..maths.kernels import responsibilities

        shares, values = responsibilities(self.log_joint(block, precomputed))
        assert precomputed.states is not None and precomputed.sums is not None
        held = block.ones.t_dot(shares * weights[:, None])  # (D, 2^K)
        left = held / np.expm1(precomputed.sums.T)
        leak = left.sum(axis=1) - held.sum(axis=1) / precomputed.e0
        return shares @ precomputed.states, values, (held + left) @ precomputed.states, leak

    def finalize_stats(self, precomputed: NoisyOrPrecomputed, stats: NoisyOrStats) -> NoisyOrStats:
        """With the rows that a table without empty rows is taken to have lost."""
        if not self.truncated:
            return stats
        log_empty = self.log_empty(precomputed.params)
        lost = stats.weight * np.exp(log_empty) / -np.expm1(log_empty)
        odds = precomputed.bias[: len(precomputed.params.prior)]
        virtual = stats._replace(
            on=np.zeros_like(stats.on),
            leak=np.zeros_like(stats.leak),
            ones=np.zeros_like(stats.ones),
            known=np.full_like(stats.known, lost),
            mass=lost / (1.0 + np.exp(-odds)),
            unseen=None,
            value=-stats.weight * float(np.log(-np.expm1(log_empty))),
            weight=lost,
        )
        summed: NoisyOrStats = add(stats, virtual)
        return summed

    def objective(self, precomputed: NoisyOrPrecomputed, stats: NoisyOrStats) -> float:
        """Bound plus log prior."""
        return stats.value + self.log_prior(precomputed.params)

    def log_prior(self, params: NoisyOrParams) -> float:
        """Log density of the parameters, up to a constant."""
        value = 0.0
        for (a, b), theta in ((self.link_prior, params.theta), (self.leak_prior, params.theta0)):
            if a > 1:
                with np.errstate(divide="ignore"):
                    value += (a - 1) * float(log_on(theta).sum())
            value -= (b - 1) * float(theta.sum())
        a, b = self.source_prior
        return value + (a - 1) * float(np.log(params.prior).sum()) + (b - 1) * float(np.log1p(-params.prior).sum())

    def m_step(self, params: NoisyOrParams, stats: NoisyOrStats, extra_pass: ExtraPass) -> NoisyOrParams:
        """New strengths and priors; the objective never falls."""
        a, b = self.source_prior
        total = stats.weight + a + b - 2
        prior = (stats.mass + a - 1) / total if total > 0 else params.prior
        prior = np.clip(prior, EDGE, 1 - EDGE)
        if self.m_step_kind != "mm":
            from .m_steps import solve

            theta, theta0 = solve(self, params, stats, extra_pass)
        else:
            theta, theta0 = self.mm(params, stats)
        return NoisyOrParams(theta, theta0, prior)

    def mm(self, params: NoisyOrParams, stats: NoisyOrStats) -> tuple[Float, Float]:
        """Expected counts of every link and of the leak, divided by the chances that they had."""
        counts = params.theta * stats.on.T
        chances = self.chances(stats)
        leaked = params.theta0 * (stats.ones / -np.expm1(-params.theta0) + stats.leak)
        theta = _posterior_mean(counts, chances, params.theta, self.link_prior)
        theta0 = _posterior_mean(leaked, stats.known, params.theta0, self.leak_prior)
        theta0 = np.clip(theta0, LEAST_LEAK, CAP)
        theta = np.minimum(theta, CAP)
        if self.link_prior[0] == 1 and self._in_last_stage:
            # The bound is concave in every link, so one that grows weaker near zero is best at zero.
            theta[(theta < params.theta) & (theta < FADING)] = 0.0
        elif not self._in_last_stage:  # links that fade may yet be needed
            theta = np.maximum(theta, FADING)
        return theta, theta0

    def chances(self, stats: NoisyOrStats) -> Float:
        """Σ m over the known cells of every source and column (K, D)."""
        mass = np.broadcast_to(stats.mass[:, None], (len(stats.mass), len(stats.ones)))
        return mass if stats.unseen is None else np.maximum(mass - stats.unseen.T, 0.0)

    def finalize(self, point: Any, sweep: Any, complete: bool) -> tuple[NoisyOrParams, float | None]:
        """Sources by decreasing prior, surplus ones left out, and what each is worth."""
        params = point.params
        final, objective = self.answer_model(), None
        if not complete:  # the objective is that of an earlier stage
            params, rows = final.begin_stage(point, sweep)
            precomputed = final.precompute(params)
            stats, _ = sweep.map(final.e_step, rows, precomputed, keep_rows=False)
            objective = final.objective(precomputed, final.finalize_stats(precomputed, stats))
        params = self.sort_components(params)
        loss, weight = final.losses(params, sweep, ROWS_AT_THE_END)
        return params._replace(loss=loss, weight=weight), objective

    def sort_components(self, params: NoisyOrParams) -> NoisyOrParams:
        """Sources by decreasing prior."""
        return without(params, np.argsort(-params.prior, kind="stable"))

    def expected_stats(self, params: NoisyOrParams) -> NoisyOrStats:
        """The sums per unit of weight of a table that these parameters fit."""
        known = self.sums.observed / max(self.sums.weight, 1e-300)
        leaked = -np.expm1(-params.theta0) * known  # ones that give θ0 back with no further credit
        return NoisyOrStats(
            (params.prior[:, None] * known).T,
            np.zeros(len(known)),
            leaked,
            known,
            params.prior,
            (params.prior[:, None] * (1.0 - known)).T if (known < 1).any() else None,
            0.0,
            1.0,
        )

    def to_vector(self, params: NoisyOrParams) -> Float | None:
        """Angles of all probabilities: fading links, whose logarithms would run away, hardly move.

        Not while weights are even: sources are then led by what they have in common.
        """
        if self.even:
            return None
        links, leaks = -np.expm1(-params.theta), -np.expm1(-params.theta0)
        return np.concatenate([angle_of(part).ravel() for part in (links, leaks, params.prior)])

    def from_vector(self, vector: Float, like: NoisyOrParams) -> NoisyOrParams:
        """Strengths and priors; links that are zero stay so, and the others lose nine tenths of their strength at most."""
        n, d = like.theta.shape
        chances = chance_of(vector)
        strengths = -np.log1p(-np.minimum(chances[: n * d + d], -np.expm1(-CAP)))
        theta = np.maximum(strengths[: n * d].reshape(n, d), np.maximum(0.1 * like.theta, LEAST_LINK))
        theta0 = np.maximum(strengths[n * d :], np.maximum(0.1 * like.theta0, LEAST_LEAK))
        prior = np.clip(chances[n * d + d :], EDGE, 1 - EDGE)
        return NoisyOrParams(np.where(like.theta == 0, 0.0, theta), theta0, prior)

    def rows_to_vector(self, rows: Any) -> Float:
        """Posteriors follow from the parameters; they take no part in jumps."""
        return np.empty(0)

    def rows_from_vector(self, vector: Float, like: Any) -> Any:
        """Posteriors as they are: the next pass starts from them."""
        return like


class _Keep:
    """The posteriors of some of the sources."""

    def __init__(self, keep: Any) -> None:
        self.keep = keep

    def __call__(self, shares: Any) -> tuple[None, Any]:
        return None, np.ascontiguousarray(shares[:, self.keep])


def _posterior_mean(counts: Float, chances: Float, theta: Float, prior: tuple[float, float]) -> Float:
    """The MM update with a Beta prior; strengths without any chance stay as they are."""
    a, b = prior
    if a > 1:
        counts = counts + (a - 1) * np.where(theta > 1e-8, theta / -np.expm1(-np.maximum(theta, 1e-8)), 1.0)
    total = chances + (a + b - 2)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), theta)


def _refuse_empty(block: Block) -> None:
    """Refuse rows that truncation says cannot be."""
    known = np.ones(block.n_rows, np.bool_) if block.unknown is None else block.unknown.row_counts() == 0
    empty = known & (block.ones.row_counts() == 0) & (block.row_weights() > 0)
    if empty.any():
        count = int(block.repeats[empty].sum())
        raise InputError(
            f"NoisyOrComponentAnalysis: zero_truncated says that empty rows were left out, but {count} of the rows from "
            f"number {block.start} on {'have' if count > 1 else 'has'} no one. Leave them out, or set zero_truncated=False."
        )
