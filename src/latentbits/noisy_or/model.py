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
from typing import Any, NamedTuple

import numpy as np

from ..data.block import ONE, UNKNOWN, Block, Float
from ..data.rng import content_uniforms
from ..data.summary import Totals
from ..engine.em import Point
from ..engine.latent import padded
from ..engine.protocols import Again, Model
from ..engine.sample import sample_rows
from ..engine.stats import add
from ..errors import InputError

# Strengths stay below this: p = 1 - 9e-14.
CAP = 30.0
# The leak stays above this.
LEAST_LEAK = 1e-12
# The least strength of a link that is not zero.
LEAST_LINK = 1e-12
# Links that grow weaker are zero below this strength.
FADING = 1e-6
# Faded links have this part of the share of ones of their column, at most the second, when a stage begins.
FRESH = 0.05, 0.01
# Probabilities of sources stay this far from 0 and 1.
EDGE = 1e-9
# Gap to the best weights of a one, in nats.
CELL_TOL = 1e-9
# The same before the last stage, where nothing has settled yet.
HASTY = 1e-2
# Rows on which the loss of a source is measured: on the way, and at the end.
ROWS_ON_THE_WAY, ROWS_AT_THE_END = 1000, 2000
# Deletion of one source changes rows in which its posterior is above this.
TOUCHED = 1e-3
# Log odds of sources that only pad.
NEVER = -1e30
# Probabilities never leave this range in answers.
ANSWER_EDGE = 1e-9


class NoisyOrParams(NamedTuple):
    """Strengths of links (K, D) and leak (D,), priors of the sources (K,); after a fit also the loss of each by deletion and
    the weight of the rows with a known cell.
    """

    theta: Float
    theta0: Float
    prior: Float
    loss: Float | None = None
    weight: float | None = None


class NoisyOrStats(NamedTuple):
    """Sums over rows."""

    held: Float  # (D, K) Σ m over ones
    extra: Float  # (D, K) Σ m / expm1(θ0 + θ/q) over ones
    leak: Float  # (D,) Σ q m (1 / (1 - exp(-θ0 - θ/q)) - 1 / (1 - exp(-θ0))) over ones
    ones: Float  # (D,) weight of ones
    known: Float  # (D,) weight of known cells
    mass: Float  # (K,) Σ m
    unseen: Float | None  # (D, K) Σ m over unknown cells
    value: float  # bound
    weight: float  # of rows with a known cell


class Ready(NamedTuple):
    """Parameters in the form that blocks need; tables are (D * W,), W the padded number of sources."""

    params: NoisyOrParams
    bias: Float  # (W,) log odds of the sources in an empty row
    theta: Float
    prob: Float
    lift: Float  # d at q = 1
    slope: Float  # φ at q = 1
    theta0: Float  # (D,)
    e0: Float  # (D,) expm1(θ0)
    top: Float  # (D,) -f(θ0)
    even: Float | None  # (D, K) d / K at q = 1 / K
    constant: float  # bound of an empty row without its sources
    chunk: float  # ones whose factors can be multiplied without overflow
    states: Float | None  # (2^K, K) all states of the sources, for exact inference
    sums: Float | None  # (2^K, D) u of every state


class Causes(NamedTuple):
    """Why single cells are as they are."""

    share: Float  # (m, K) part of source k
    leak: Float  # (m,) part of the leak
    evidence: Float  # (m, K) what the value of the cell adds to the log odds of source k
    probability: Float  # (m,) P(cell = 1 | the other cells of the row)


@dataclass(frozen=True)
class NoisyOrModel(Model):
    """The maths of noisy-or component analysis.

    ``plan`` are the stages of a fit: (number of sources, passes or 0 for until settled, even weights).  Priors are pairs
    (a, b) of Beta distributions on link probabilities, leak probabilities and the priors of the sources.
    """

    params_type = NoisyOrParams

    n_components: int
    sums: Totals
    link_prior: tuple[float, float] = (1.0, 2.0)
    leak_prior: tuple[float, float] = (1.5, 2.0)
    source_prior: tuple[float, float] = (1.0, 1.0)
    m_step_kind: str = "mm"
    inference: str = "variational"
    e_step_start: str = "best"
    rounds: int = 4
    truncated: bool = False
    plan: tuple[tuple[int, int, bool], ...] = ((0, 0, False),)
    stage: int = 0
    answer_rounds: int = 100
    answer_tol: float = 1e-5

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
    def has_rows(self) -> bool:  # type: ignore[override]
        """Posteriors are carried from pass to pass unless every pass finds them anew."""
        return self.e_step_start != "cold" and not self.exact

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Posteriors found anew, and weights found in haste, may be worse than those of the pass before."""
        return self.exact or (self.e_step_start != "cold" and self._in_last_stage)

    @property
    def slack(self) -> float:  # type: ignore[override]
        """What the weights of the ones may be off, cell by cell."""
        return 0.0 if self.exact else CELL_TOL * self.sums.n_ones

    def is_last(self, params: NoisyOrParams) -> bool:
        """Whether no further stage is planned."""
        return self._in_last_stage

    @property
    def _in_last_stage(self) -> bool:
        return self.stage == len(self.plan) - 1

    def next_stage(self) -> NoisyOrModel:
        """The next stage of the plan."""
        return replace(self, stage=self.stage + 1)

    def final(self) -> NoisyOrModel:
        """The last stage of the plan."""
        return replace(self, stage=len(self.plan) - 1)

    def enter(self, point: Any, sweep: Any) -> Point:
        """Leave out the sources whose loss is smallest, down to the number of this stage."""
        params, rows = point
        surplus = len(params.prior) - self.plan[self.stage][0]
        if surplus > 0:
            loss, _ = self.losses(params, sweep, ROWS_ON_THE_WAY)
            keep = np.sort(np.argsort(loss, kind="stable")[surplus:])
            params = _without(params, keep)
            if self.has_rows:
                _, rows = sweep.zip_rows(_Keep(keep), rows)
        return Point(self.freshened(params), rows)

    def freshened(self, params: NoisyOrParams) -> NoisyOrParams:
        """With no link so weak that it could not come back: strengths change by factors."""
        part, most = FRESH
        return params._replace(theta=np.maximum(params.theta, np.minimum(part * self.sums.marginals, most)))

    def losses(self, params: NoisyOrParams, sweep: Any, size: int) -> tuple[Float, float]:
        """What the bound of the table loses if a source is left out and its rows are explained anew (K,); rows that count.

        From a sample of the distinct rows: rows that do without the source gain what its being off costs, all of them; what
        the others lose is scaled up from the sample.
        """
        care = replace(self.final(), inference="variational")
        if size < ROWS_AT_THE_END:
            care = replace(care, answer_rounds=self.rounds, answer_tol=1e-3)
        sample = sample_rows(sweep, size)
        block = sample.block(params.theta.shape[1])
        shares, values, _ = care.infer(block, care.ready(params))
        loss = np.log1p(-params.prior) * sample.total
        seen = float(np.log(-np.expm1(self.log_empty(params)))) if self.truncated else 0.0
        for i in range(len(loss)):
            rest = _without(params, np.delete(np.arange(len(loss)), i))
            touched = np.flatnonzero(shares[:, i] > TOUCHED)
            if len(touched):
                other = care.infer(block.take(touched), care.ready(rest))[1]
                loss[i] += float(sample.weights[touched] @ (values[touched] - other)) / sample.share
            if self.truncated:
                loss[i] += sample.total * (float(np.log(-np.expm1(self.log_empty(rest)))) - seen)
        return loss, sample.total

    # Passes.

    def start_rows(self, block: Block, params: NoisyOrParams, seed: int, restart: int) -> Any:
        """Posteriors at the start: found anew where there is a fit to go on from; unused while weights are even."""
        if self.even:
            return np.tile(params.prior, (block.n_rows, 1))
        return self.stream_rows(block, params)

    def stream_rows(self, block: Block, params: NoisyOrParams) -> Any:
        """Posteriors of rows met once."""
        return self.infer(block, self.ready(params))[0] if self.has_rows else None

    def ready(self, params: NoisyOrParams) -> Ready:
        """Tables over columns and sources, once per pass."""
        theta = padded(np.ascontiguousarray(params.theta.T))
        n_sources, width = len(params.prior), theta.shape[1]
        e0 = np.expm1(params.theta0)[:, None]
        prob = -np.expm1(-theta)
        lift = np.log1p(prob / e0)
        slope = _slope(theta, lift, params.theta0[:, None])
        bias = np.full(width, NEVER)
        bias[:n_sources] = _logit(params.prior) - params.theta.sum(axis=1)
        even = states = sums = None
        if self.even:
            even = np.log1p(-np.expm1(-n_sources * params.theta.T) / e0) / n_sources
        if self.exact:
            states = _states(n_sources)
            sums = params.theta0 + states @ params.theta
        return Ready(
            params,
            bias,
            theta.ravel(),
            prob.ravel(),
            lift.ravel(),
            slope.ravel(),
            params.theta0,
            e0[:, 0],
            -_log_on(params.theta0),
            even,
            float(np.log1p(-params.prior).sum() - params.theta0.sum()),
            float(max(1, int(650.0 / np.log1p(1.0 / e0.min())))),
            states,
            sums,
        )

    def infer(self, block: Block, ready: Ready, sums: Any = None, shares: Any = None) -> tuple[Float, Float, Float]:
        """Posteriors (n, K), the source part of the bound (n,) and log odds (n, K).

        Without ``sums`` rows are answered with care; with it (a pair of arrays to add to) as in a pass of a fit.
        """
        from .kernels import infer_rows

        k = len(ready.params.prior)
        assert len(ready.theta0) == block.n_columns  # kernels do not check places
        training = sums is not None
        warm = shares is not None
        start = np.zeros((block.n_rows, len(ready.bias))) if not warm else padded(np.asarray(shares))
        values = np.empty(block.n_rows)
        odds = np.empty((0, len(ready.bias))) if training else np.empty((block.n_rows, len(ready.bias)))
        cold = not warm or (self.e_step_start == "best" and not self.even)
        rounds, tol, cell_tol = self.answer_rounds, self.answer_tol, CELL_TOL
        if training:
            rounds, tol = self.rounds, 1e-3
            cell_tol = CELL_TOL if self._in_last_stage else HASTY
        nothing = np.zeros(block.n_rows + 1, np.int64), np.empty(0, np.int32)
        infer_rows(
            *block.ones.lists(),
            *(nothing if block.unknown is None else block.unknown.lists()),
            block.row_weights(),
            ready.bias,
            ready.theta,
            ready.prob,
            ready.lift,
            ready.slope,
            ready.theta0,
            ready.e0,
            ready.top,
            np.array([warm, cold, rounds, tol, cell_tol, ready.chunk]),
            start,
            values,
            odds,
            *(sums if training else (np.empty(0), np.empty(0))),
        )
        return start[:, :k], values, odds[:, :k]

    def e_step(self, block: Block, rows: Any, ready: Ready) -> tuple[NoisyOrStats, Any]:
        """Sums of a block, and the posteriors of its rows."""
        weights = self._counted(block)
        if self.truncated:
            _refuse_empty(block)
        if self.exact:
            shares, values, held, extra, leak = self._enumerated(block, ready, weights)
        else:
            width = len(ready.bias)
            flat, leak = np.zeros(block.n_columns * 2 * width), np.zeros(block.n_columns)
            start = self._evenly(block, ready) if self.even else rows if self.has_rows else None
            shares, values, _ = self.infer(block, ready, (flat, leak), start)
            both = flat.reshape(block.n_columns, 2, width)[:, :, : len(ready.params.prior)]
            held, extra = both[:, 0].copy(), both[:, 1].copy()
        ones = block.ones.t_dot(weights[:, None])[:, 0]
        known = np.full(block.n_columns, weights.sum())
        unseen = None
        if block.unknown is not None:
            hidden = block.unknown.t_dot(np.column_stack((weights, shares * weights[:, None])))
            known, unseen = known - hidden[:, 0], hidden[:, 1:]
        value = float(weights @ (values + self._rest_of_bound(block, ready)))
        stats = NoisyOrStats(held, extra, leak, ones, known, weights @ shares, unseen, value, float(weights.sum()))
        return stats, shares if self.has_rows else None

    def _counted(self, block: Block) -> Float:
        """Weights of rows, zero for those without a known cell."""
        weights = block.row_weights()
        if block.unknown is None:
            return weights
        return np.where(block.unknown.row_counts() == block.n_columns, 0.0, weights)

    def _rest_of_bound(self, block: Block, ready: Ready) -> Float:
        """The part of the bound of every row (n,) that does not depend on its sources."""
        if self.exact:
            return np.zeros(block.n_rows)
        out: Float = ready.constant + block.ones.dot((ready.theta0 - ready.top)[:, None])[:, 0]
        return out if block.unknown is None else out + block.unknown.dot(ready.theta0[:, None])[:, 0]

    def _evenly(self, block: Block, ready: Ready) -> Float:
        """Posteriors (n, K) if all sources have the same weight at every one."""
        params = ready.params
        assert ready.even is not None
        odds = block.ones.dot(params.theta.T + ready.even) + ready.bias[: len(params.prior)]
        if block.unknown is not None:
            odds += block.unknown.dot(np.ascontiguousarray(params.theta.T))
        return 0.5 * (1.0 + np.tanh(0.5 * odds))

    def _log_joint(self, block: Block, ready: Ready) -> Float:
        """log P(row, state of the sources) (n, 2^K)."""
        states, sums, prior = ready.states, ready.sums, ready.params.prior
        assert states is not None and sums is not None
        joint = block.ones.dot(np.ascontiguousarray((_log_on(sums) + sums).T))
        joint += states @ np.log(prior) + (1.0 - states) @ np.log1p(-prior) - sums.sum(axis=1)
        if block.unknown is not None:
            joint += block.unknown.dot(np.ascontiguousarray(sums.T))
        return joint

    def _enumerated(self, block: Block, ready: Ready, weights: Float) -> tuple[Float, Float, Float, Float, Float]:
        """Exact posteriors over all states of the sources."""
        from ..engine.kernels import responsibilities

        shares, values = responsibilities(self._log_joint(block, ready))
        assert ready.states is not None and ready.sums is not None
        on = block.ones.t_dot(shares * weights[:, None])  # (D, 2^K)
        left = on / np.expm1(ready.sums.T)
        leak = left.sum(axis=1) - on.sum(axis=1) / ready.e0
        return shares @ ready.states, values, on @ ready.states, left @ ready.states, leak

    def gather(self, ready: Ready, stats: NoisyOrStats) -> NoisyOrStats:
        """With the rows that a table without empty rows is taken to have lost."""
        if not self.truncated:
            return stats
        log_empty = self.log_empty(ready.params)
        lost = stats.weight * np.exp(log_empty) / -np.expm1(log_empty)
        odds = ready.bias[: len(ready.params.prior)]
        virtual = stats._replace(
            held=np.zeros_like(stats.held),
            extra=np.zeros_like(stats.extra),
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

    def objective(self, ready: Ready, stats: NoisyOrStats) -> float:
        """Bound plus log prior."""
        return stats.value + self.log_prior(ready.params)

    def log_prior(self, params: NoisyOrParams) -> float:
        """Log density of the parameters, up to a constant."""
        value = 0.0
        for (a, b), theta in ((self.link_prior, params.theta), (self.leak_prior, params.theta0)):
            if a > 1:
                with np.errstate(divide="ignore"):
                    value += (a - 1) * float(_log_on(theta).sum())
            value -= (b - 1) * float(theta.sum())
        a, b = self.source_prior
        return value + (a - 1) * float(np.log(params.prior).sum()) + (b - 1) * float(np.log1p(-params.prior).sum())

    def m_step(self, params: NoisyOrParams, stats: NoisyOrStats, again: Again) -> NoisyOrParams:
        """New strengths and priors; the objective never falls."""
        a, b = self.source_prior
        total = stats.weight + a + b - 2
        prior = (stats.mass + a - 1) / total if total > 0 else params.prior
        prior = np.clip(prior, EDGE, 1 - EDGE)
        if self.m_step_kind != "mm":
            from .m_steps import solve

            theta, theta0 = solve(self, params, stats, again)
        else:
            theta, theta0 = self.mm(params, stats)
        return NoisyOrParams(theta, theta0, prior)

    def mm(self, params: NoisyOrParams, stats: NoisyOrStats) -> tuple[Float, Float]:
        """Expected counts of every link and of the leak, divided by the chances that they had."""
        counts = params.theta * (stats.held + stats.extra).T
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

    def conclude(self, point: Any, sweep: Any, complete: bool) -> tuple[NoisyOrParams, float | None]:
        """Sources by decreasing prior, surplus ones left out, and what each is worth."""
        params = point.params
        final, objective = self.final(), None
        if not complete:  # the objective is that of an earlier stage
            params, rows = final.enter(point, sweep)
            ready = final.ready(params)
            stats, _ = sweep.map(final.e_step, rows, ready, keep_rows=False)
            objective = final.objective(ready, final.gather(ready, stats))
        params = self.arrange(params)
        loss, weight = final.losses(params, sweep, ROWS_AT_THE_END)
        return params._replace(loss=loss, weight=weight), objective

    def arrange(self, params: NoisyOrParams) -> NoisyOrParams:
        """Sources by decreasing prior."""
        return _without(params, np.argsort(-params.prior, kind="stable"))

    def as_stats(self, params: NoisyOrParams) -> NoisyOrStats:
        """The sums per unit of weight of a table that these parameters fit."""
        known = self.sums.observed / max(self.sums.weight, 1e-300)
        leaked = -np.expm1(-params.theta0) * known  # ones that give θ0 back with no further credit
        return NoisyOrStats(
            (params.prior[:, None] * known * -np.expm1(-params.theta)).T,
            (params.prior[:, None] * known * np.exp(-params.theta)).T,
            np.zeros(len(known)),
            leaked,
            known,
            params.prior,
            (params.prior[:, None] * (1.0 - known)).T if (known < 1).any() else None,
            0.0,
            1.0,
        )

    def to_vector(self, params: NoisyOrParams) -> Float:
        """Logarithms of strengths, log odds of priors."""
        theta = np.log(np.maximum(params.theta, LEAST_LINK)).ravel()
        return np.concatenate((theta, np.log(params.theta0), _logit(params.prior)))

    def from_vector(self, vector: Float, like: NoisyOrParams) -> NoisyOrParams:
        """Strengths and priors; links that are zero stay so."""
        n, d = like.theta.shape
        theta = np.minimum(np.exp(np.minimum(vector[: n * d].reshape(n, d), 5.0)), CAP)
        theta = np.where(like.theta == 0, 0.0, np.maximum(theta, LEAST_LINK))
        theta0 = np.clip(np.exp(np.minimum(vector[n * d : n * d + d], 5.0)), LEAST_LEAK, CAP)
        prior = 0.5 * (1.0 + np.tanh(0.5 * vector[n * d + d :]))
        return NoisyOrParams(theta, theta0, np.clip(prior, EDGE, 1 - EDGE))

    def rows_to_vector(self, rows: Any) -> Float:
        """Posteriors follow from the parameters; they take no part in jumps."""
        return np.empty(0)

    def rows_from_vector(self, vector: Float, like: Any) -> Any:
        """Posteriors as they are: the next pass starts from them."""
        return like

    # Answers: the same questions for every family.

    def log_empty(self, params: NoisyOrParams) -> float:
        """log P(no cell of a row is 1)."""
        kept = np.log1p(params.prior * np.expm1(-params.theta.sum(axis=1)))
        return float(kept.sum() - params.theta0.sum())

    def seen_prior(self, params: NoisyOrParams) -> Float:
        """P(source is on) (K,) among rows that can be seen: all of them, or those that are not empty."""
        if not self.truncated:
            return params.prior
        empty = np.exp(self.log_empty(params))
        in_empty = 1.0 / (1.0 + np.exp(np.clip(params.theta.sum(axis=1) - _logit(params.prior), -700, 700)))
        return (params.prior - empty * in_empty) / (1.0 - empty)

    def log_odds(self, block: Block, ready: Ready) -> Float:
        """Log odds of the sources (n, K)."""
        if not self.exact:
            return self.infer(block, ready)[2]
        return _logit(np.clip(self.represent(block, ready), 1e-300, 1.0 - 1e-16))

    def posterior(self, block: Block, ready: Ready) -> tuple[Float, Float]:
        """Posteriors of the sources (n, K) and the log-likelihood, or its bound (n,)."""
        if self.exact:
            from ..engine.kernels import responsibilities

            states, values = responsibilities(self._log_joint(block, ready))
            assert ready.states is not None
            shares = states @ ready.states
        else:
            shares, values, _ = self.infer(block, ready)
            values = values + self._rest_of_bound(block, ready)
        return shares, self.given_seen(block, ready.params, values)

    def given_seen(self, block: Block, params: NoisyOrParams, values: Float) -> Float:
        """Log probabilities of rows (n,) given that they can be seen: with truncation, that they are not empty."""
        if not self.truncated:
            return values
        log_empty = self.log_empty(params)
        out: Float = np.array(values)
        no_one = block.ones.row_counts() == 0
        with np.errstate(divide="ignore"):  # of a row without a known one the rest must hold one
            out[no_one] += np.log(np.maximum(-np.expm1(log_empty - values[no_one]), 0.0))
        known = no_one if block.unknown is None else no_one & (block.unknown.row_counts() == 0)
        out[known] = -np.inf
        return out - float(np.log(-np.expm1(log_empty)))

    def represent(self, block: Block, ready: Ready) -> Float:
        """Posteriors of the sources (n, K)."""
        return self.posterior(block, ready)[0]

    def log_prob(self, block: Block, ready: Ready) -> Float:
        """Lower bound of log p(row) (n,); the log-likelihood itself if inference is exact."""
        return self.posterior(block, ready)[1]

    def fill(self, block: Block, ready: Ready) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        if self.exact:
            assert ready.sums is not None
            return np.clip(self._state_posterior(block, ready) @ -np.expm1(-ready.sums), ANSWER_EDGE, 1 - ANSWER_EDGE)
        return expected_cells(self.represent(block, ready), ready.params)

    def _state_posterior(self, block: Block, ready: Ready) -> Float:
        """P(state of the sources | row) (n, 2^K)."""
        from ..engine.kernels import responsibilities

        return responsibilities(self._log_joint(block, ready))[0]

    def fill_at(self, block: Block, ready: Ready, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        if self.exact:
            assert ready.sums is not None
            states, on = self._state_posterior(block, ready), np.empty(len(rows))
            for part in _pieces(len(rows)):
                on[part] = np.einsum("ms,sm->m", states[rows[part]], -np.expm1(-ready.sums[:, columns[part]]))
            return np.clip(on, ANSWER_EDGE, 1 - ANSWER_EDGE)
        kept = self._kept(self.represent(block, ready)[rows], ready, columns)
        return np.clip(1.0 - np.exp(-ready.theta0[columns]) * kept.prod(axis=1), ANSWER_EDGE, 1 - ANSWER_EDGE)

    def _kept(self, shares: Float, ready: Ready, columns: Any) -> Float:
        """P(source k does not switch the cell on) (m, K)."""
        links = ready.prob.reshape(len(ready.theta0), -1)[columns, : shares.shape[1]]
        return 1.0 - shares * links

    def fill_draw(self, block: Block, ready: Ready, rows: Any, columns: Any, by_row: Float, by_cell: Float) -> Any:
        """A joint draw of single cells: the sources of every row, then the cells given the sources."""
        if self.exact:
            assert ready.states is not None
            reached = np.cumsum(self._state_posterior(block, ready), axis=1)
            on = ready.states[np.minimum((by_row[:, None] >= reached).sum(axis=1), len(ready.states) - 1)]
        else:
            keys = (by_row * 2.0**53).astype(np.uint64)
            on = (content_uniforms(keys, len(ready.params.prior), 0, "fill") < self.represent(block, ready)).astype(
                float
            )
        kept = self._kept(on[rows], ready, columns)
        return by_cell < 1.0 - np.exp(-ready.theta0[columns]) * kept.prod(axis=1)

    def causes(self, block: Block, ready: Ready, rows: Any, columns: Any) -> Causes:
        """Shares, evidence and leave-one-out probability of single cells (spec of the family, section 11).

        Of a one the share of a source is its part in the expected strength at the cell; of a zero its part in the surprise
        that the cell stayed off.
        """
        from .kernels import credit_of_ones

        if self.exact:
            parts = [self._exact_causes(block, ready, rows[part], columns[part]) for part in _pieces(max(len(rows), 1))]
            return Causes(*[np.concatenate(field) for field in zip(*parts)])
        k = len(ready.params.prior)
        shares, _, odds = self.infer(block, ready)
        codes = block.at(rows, columns)
        theta = ready.theta.reshape(len(ready.theta0), -1)[columns, :k]
        theta0 = ready.theta0[columns]
        own = shares[rows]
        # 1. Log odds of the sources without the cell.
        credit = np.zeros((len(rows), k))
        ones = np.flatnonzero(codes == ONE)
        at = columns[ones]
        slope, lift = (table.reshape(len(ready.theta0), -1)[at, :k] for table in (ready.slope, ready.lift))
        part = np.zeros((len(ones), k))
        credit_of_ones(theta[ones], theta0[ones], ready.top[at], slope, lift, own[ones], CELL_TOL, part)
        credit[ones] = part
        change = np.where((codes == ONE)[:, None], credit, np.where((codes == UNKNOWN)[:, None], 0.0, -theta))
        without = 1.0 / (1.0 + np.exp(-np.clip(odds[rows] - change, -700, 700)))
        # 2. What follows for the cell.
        off = -np.log1p(-np.minimum(without * -np.expm1(-theta), 1 - 1e-15))
        surprise = theta0 + off.sum(axis=1)
        probability = np.clip(-np.expm1(-surprise), ANSWER_EDGE, 1 - ANSWER_EDGE)
        # 3. Parts of the sources: in the strength behind a one, in the surprise of a zero.
        strength = np.where(
            (codes == ONE)[:, None], own * theta, np.where((codes == UNKNOWN)[:, None], without * theta, off)
        )
        total = np.maximum(theta0 + strength.sum(axis=1), 1e-300)
        # 4. Evidence: the other sources averaged as the rest of the row weighs them.
        others = np.exp(-(surprise[:, None] - off))
        with np.errstate(divide="ignore"):
            of_one = np.log(np.maximum(-np.expm1(-theta - (surprise[:, None] - off)), 1e-300)) - np.log(
                np.maximum(1.0 - others, 1e-300)
            )
        evidence = np.where((codes == ONE)[:, None], of_one, np.where((codes == UNKNOWN)[:, None], 0.0, -theta))
        return Causes(strength / total[:, None], theta0 / total, evidence, probability)

    def _exact_causes(self, block: Block, ready: Ready, rows: Any, columns: Any) -> Causes:
        """The same through all states of the sources."""
        assert ready.states is not None and ready.sums is not None
        states, codes = ready.states, block.at(rows, columns)
        theta, theta0 = ready.params.theta.T[columns], ready.theta0[columns]
        u = ready.sums[:, columns].T  # (m, 2^K)
        cell = np.where((codes == ONE)[:, None], -np.expm1(-u), np.exp(-u))
        cell[codes == UNKNOWN] = 1.0
        whole = self._state_posterior(block, ready)[rows]
        rest = whole / np.maximum(cell, 1e-300)
        rest /= rest.sum(axis=1, keepdims=True)
        with_cell, without = whole @ states, rest @ states
        probability = np.einsum("ms,ms->m", rest, -np.expm1(-u))
        # Expected part of every source in the strength behind a one; for others, in the strength to be expected.
        of_one = np.einsum("ms,sk->mk", whole / u, states) * theta
        of_other = without * theta / (theta0 + (without * theta).sum(axis=1))[:, None]
        share = np.where((codes == ONE)[:, None], of_one, of_other)
        evidence = _logit(np.clip(with_cell, 1e-300, 1 - 1e-16)) - _logit(np.clip(without, 1e-300, 1 - 1e-16))
        evidence[codes == UNKNOWN] = 0.0
        leak = np.maximum(1.0 - share.sum(axis=1), 0.0)
        return Causes(share, leak, evidence, np.clip(probability, ANSWER_EDGE, 1 - ANSWER_EDGE))

    def draw(self, params: NoisyOrParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their sources (n, K)."""
        sources = (rng.random((n, len(params.prior))) < params.prior).astype(np.uint8)
        cells = self.draw_cells(params, sources, rng)
        while self.truncated and (empty := np.flatnonzero(cells.sum(axis=1) == 0)).size:  # such rows are never seen
            sources[empty] = rng.random((len(empty), len(params.prior))) < params.prior
            cells[empty] = self.draw_cells(params, sources[empty], rng)
        return cells, sources

    def draw_cells(self, params: NoisyOrParams, sources: Any, rng: np.random.Generator) -> Any:
        """Cells of rows with given sources."""
        off = np.exp(-(params.theta0 + sources @ params.theta))
        return (rng.random(off.shape) >= off).astype(np.uint8)

    def n_free(self, params: NoisyOrParams) -> int:
        """Free parameters: K D links, K priors, D leaks."""
        return params.theta.size + params.prior.size + params.theta0.size


class _Keep:
    """The posteriors of some of the sources."""

    def __init__(self, keep: Any) -> None:
        self.keep = keep

    def __call__(self, shares: Any) -> tuple[None, Any]:
        return None, np.ascontiguousarray(shares[:, self.keep])


def expected_cells(shares: Float, params: NoisyOrParams) -> Float:
    """P(cell = 1) (n, D) if source k of row n is on with probability ``shares[n, k]``, whatever the others do."""
    kept = np.repeat(np.exp(-params.theta0)[None], len(shares), axis=0)
    for k, theta in enumerate(params.theta):
        linked, rows = np.flatnonzero(theta), np.flatnonzero(shares[:, k] > 1e-12)
        kept[np.ix_(rows, linked)] *= 1.0 + shares[rows, k][:, None] * np.expm1(-theta[linked])
    return np.clip(1.0 - kept, ANSWER_EDGE, 1 - ANSWER_EDGE)


def _without(params: NoisyOrParams, keep: Any) -> NoisyOrParams:
    """Some of the sources, in the given order."""
    loss = None if params.loss is None else params.loss[keep]
    return NoisyOrParams(
        np.ascontiguousarray(params.theta[keep]), params.theta0, params.prior[keep], loss, params.weight
    )


def _logit(p: Float) -> Float:
    """Log odds."""
    return np.log(p) - np.log1p(-p)


def _log_on(u: Float) -> Float:
    """log(1 - exp(-u))."""
    with np.errstate(divide="ignore"):
        return np.where(u < 0.69, np.log(-np.expm1(-np.minimum(u, 1.0))), np.log1p(-np.exp(-np.maximum(u, 0.5))))


def _slope(t: Float, lift: Float, theta0: Float) -> Float:
    """φ(t): zero at 0, growing to -f(θ0)."""
    far = t / np.expm1(np.minimum(theta0 + t, 700.0))
    near = (0.5 * t**2 - t**3 / (3.0 * np.tanh(0.5 * theta0))) / (4.0 * np.sinh(0.5 * theta0) ** 2)
    return np.maximum(np.where(t < 1e-5 * np.minimum(theta0, 1.0), near, lift - far), 0.0)


def _posterior_mean(counts: Float, chances: Float, theta: Float, prior: tuple[float, float]) -> Float:
    """The MM update with a Beta prior; strengths without any chance stay as they are."""
    a, b = prior
    if a > 1:
        counts = counts + (a - 1) * np.where(theta > 1e-8, theta / -np.expm1(-np.maximum(theta, 1e-8)), 1.0)
    total = chances + (a + b - 2)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), theta)


def _states(n_sources: int) -> Float:
    """All states of the sources (2^K, K)."""
    return ((np.arange(2**n_sources)[:, None] >> np.arange(n_sources)) & 1).astype(np.float64)


def _pieces(n: int, size: int = 2048) -> list[slice]:
    """Slices of at most ``size`` out of ``n``."""
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]


def _refuse_empty(block: Block) -> None:
    """Refuse rows that truncation says cannot be."""
    known = np.ones(block.n_rows, np.bool_) if block.unknown is None else block.unknown.row_counts() == 0
    empty = known & (block.ones.row_counts() == 0) & (block.row_weights() > 0)
    if empty.any():
        count = int(empty.sum() if block.origin is None else empty[block.origin].sum())
        raise InputError(
            f"NoisyOrComponentAnalysis: zero_truncated says that empty rows were left out, but {count} of the rows from "
            f"number {block.start} on {'have' if count > 1 else 'has'} no one. Leave them out, or set zero_truncated=False."
        )
