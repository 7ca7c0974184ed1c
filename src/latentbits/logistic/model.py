"""Logistic principal components (Schein, Saul & Ungar, AISTATS 2003).

Story: every row has scores u; cell j is 1 with probability σ(μ_j + sum_k u_k v_kj).

===================  ==========================  ==========================================================
symbol               name here                   where
===================  ==========================  ==========================================================
V                    ``loadings`` (K, D)         eq 2 of the paper
μ (Δ)                ``offset`` (D,)
U                    row state, ``scores``       (n, K)
Θ                    log odds                    Θ = 1 μ' + U V
ρ                    ``ridge``                   maximise log p - ρ/2 (|U|² + |V|²); ρ > 0 keeps Θ finite
===================  ==========================  ==========================================================

For given (V, μ) the scores of each row are a small concave problem, solved by Newton's method inside the pass; what is
left is a smooth function of (V, μ) whose gradient is the partial one (the scores are at their best).  Its climb begins
with steps of the quadratic bound with uniform curvature 1/4, which never lose and lead to good optima.  Then come Newton
steps in a trust region, each kept only if the objective agrees; otherwise it is the bound's turn.  They end where
rounding does: at the same place whatever the order of the rows, the blocks and the weights in place of repeats.
``solver="mm"`` is the alternating scheme of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..data.rng import stream
from ..engine.em import extra_pass_over
from ..engine.protocols import ExtraPass
from ..maths.empirical_bayes import (
    LatentSample,
    draw_rows,
    empirical_bayes,
    keys_of,
    latent_sample,
    posterior_draw,
    posterior_mean,
)
from .linear import LinearModel, sigmoid
from .newton import Metric, NewtonStep, newton_step

# Squared Newton decrement of the last step of a row's scores; after it they are at their best to rounding.
AT_BEST = 1e-10
# The same while the bound leads the way, which needs no best scores.
ON_THE_WAY = 1e-3
# The same beside Newton steps: this part of what the last step was to gain per row.  A last step of the scores that gains
# so little leaves its square to be gained.
FINER = 1e-3
# Passes by the bound before the first Newton step.
FIRST_PASSES = 40
# Part of the curvature of the bound in the metric of the trust region.  Cells that are all but certain have no curvature of
# their own, and steps among them would go much too far.
BOUND_PART = 1e-3
# Looks at trials of the scores of a row; fewer where the loadings are themselves a trial: rows that take long then are those
# of a step that went too far, and need not be at their best for that to be seen.
MOST_STEPS, TRIAL_STEPS = 200, 12
# Nats per cell that are left to gain where a last Newton step needs no judgement.
SETTLED = 1e-10
# Nats, as a part of the objective, that are lost in the rounding of its sums.
UNSEEN = 1e-14


class Climb(NamedTuple):
    """A Newton step, for the judgement of the next pass."""

    passes: of.Count  # by the bound, before the first step
    value: of.AnyNumber = 0.0  # objective where the step begins
    gain: of.AnyNumber = np.inf  # that the quadratic model expects
    length: of.Amount = 0.0
    inside: bool = False  # the trust region did not stop it
    radius: of.Amount | None = None  # of the trust region
    target: Annotated[Float, of.reals("*", "D")] | None = None  # (K + 1, D) where the step ends
    taken: bool = False  # these parameters are its end


class LogisticParams(NamedTuple):
    """Loadings (K, D) and offset (D,); on the way the last Newton step, after a fit the remembered scores."""

    loadings: Annotated[Float, of.reals("K", "D")]
    offset: Annotated[Float, of.reals("D")]
    climb: Climb | None = None
    latent: LatentSample | None = None


class LogisticStats(NamedTuple):
    """Sums over rows."""

    log_likelihood: float
    size: float  # weighted sum of squared scores
    weight: float
    slope: Float | None  # (K + 1, D) gradient of the log-likelihood by loadings and offset
    gram: Float | None  # (K + 1, K + 1) sums of products of (scores, 1)
    equations: Float | None  # (D, K + 1, K + 2) normal equations of the bound, for solver "mm"


class LogisticPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    loadings: Float  # (K, D), zero at columns that do not vary
    offset: Float
    params: LogisticParams


@dataclass(frozen=True)
class LogisticModel(LinearModel):
    """The maths of logistic PCA; ``active`` (D,) are the columns that vary, ``base`` (D,) the log odds of a one in each."""

    params_type = LogisticParams
    row_kind = Annotated[Float, of.reals("n", "K")]

    ridge: of.Amount = 1e-3
    solver: Annotated[str, of.words("newton", "mm")] = "newton"
    accelerate: bool = True  # Newton steps after the first passes
    with_offset: bool = True
    total_weight: of.Amount = 1.0
    n_cells: of.Amount = 1.0
    clip: of.Share = 0.0
    posterior: bool = False  # cells are filled by the mean over scores, not at the best ones

    def init_rows(self, block: Block, params: LogisticParams, seed: int, restart: int) -> Float:
        """Scores of zero: they are at their best after the first pass."""
        return np.zeros((block.n_rows, self.n_components))

    def init_params(self, sweep: Any, seed: int, restart: int) -> LogisticParams:
        """Small loadings around the marginals."""
        offset = self.base if self.with_offset else np.where(self.active, 0.0, self.base)
        loadings = 0.1 * stream(seed, "start", restart).standard_normal((self.n_components, len(offset)))
        return LogisticParams(np.where(self.active, loadings, 0.0), offset)

    def precompute(self, params: LogisticParams) -> LogisticPrecomputed:
        """Loadings, those of constant columns zero."""
        loadings = np.ascontiguousarray(np.where(self.active, params.loadings, 0.0))
        # Those of a fit read from a file may be read-only, a type of its own to the compiler.
        return LogisticPrecomputed(loadings, params.offset.copy(), params)

    def fitted(
        self,
        block: Block,
        precomputed: LogisticPrecomputed,
        starts: Float,
        tol: float = AT_BEST,
        most: int = MOST_STEPS,
    ) -> Iterator[tuple[slice, Float, Float, Float]]:
        """Tile by tile: rows, best scores (n, K), residuals (n, D), log-likelihoods (n,)."""
        from .kernels import fit_rows

        for part, codes in self.tiles(block):
            scores, logs = np.array(starts[part], order="C"), np.empty(len(codes))
            residuals = np.empty(codes.shape)
            fit_rows(codes, precomputed.loadings, precomputed.offset, self.ridge, tol, most, scores, residuals, logs)
            yield part, scores, residuals, logs

    def e_step(self, block: Block, rows: Float, precomputed: LogisticPrecomputed) -> tuple[LogisticStats, Float]:
        """Best scores of the rows, and the slope of the log-likelihood by the loadings there."""
        if self.solver == "mm":
            return self._bound_step(block, rows, precomputed)
        k, weights = self.n_components, block.row_weights()
        scores = np.empty(rows.shape)
        value, slope, gram = 0.0, np.zeros((k + 1, block.n_columns)), np.zeros((k + 1, k + 1))
        climb = precomputed.params.climb
        most = TRIAL_STEPS if climb is not None and Climb(*climb).taken else MOST_STEPS
        tol = self._score_tol(precomputed.params)
        for part, best, residuals, logs in self.fitted(block, precomputed, rows, tol, most):
            scores[part] = best
            long = np.column_stack((best, np.ones(len(best))))
            weighted = long * weights[part, None]
            value += float(weights[part] @ logs)
            slope += weighted.T @ residuals
            gram += weighted.T @ long
        size = float(np.trace(gram) - gram[k, k])
        return LogisticStats(value, size, float(weights.sum()), slope, gram, None), scores

    def _score_tol(self, params: LogisticParams) -> float:
        """How close the scores of a pass must come to their best: as the steps of the loadings do."""
        if params.climb is None:
            return AT_BEST
        climb = Climb(*params.climb)
        if climb.passes < FIRST_PASSES:
            return ON_THE_WAY
        return float(np.clip(FINER * climb.gain / max(self.total_weight, 1.0), AT_BEST, ON_THE_WAY))

    def _bound_step(self, block: Block, rows: Float, precomputed: LogisticPrecomputed) -> tuple[LogisticStats, Float]:
        """The paper's alternation: scores by weighted least squares, and the sums for the loadings."""
        from .kernels import bound_rows

        k, weights = self.n_components, block.row_weights()
        equations, scores, value = np.zeros((block.n_columns, k + 1, k + 2)), np.empty(rows.shape), 0.0
        for part, codes in self.tiles(block):
            new, logs = np.array(rows[part], order="C"), np.empty(len(codes))
            bound_rows(codes, precomputed.loadings, precomputed.offset, self.ridge, weights[part], new, equations, logs)
            scores[part], value = new, value + float(weights[part] @ logs)
        size = float(weights @ (rows**2).sum(axis=1))
        return LogisticStats(value, size, float(weights.sum()), None, None, equations), scores

    def objective(self, precomputed: LogisticPrecomputed, stats: LogisticStats) -> float:
        """Penalised log-likelihood of the columns that vary."""
        size = stats.size + float((precomputed.params.loadings[:, self.active] ** 2).sum())
        return stats.log_likelihood - 0.5 * self.ridge * size

    def m_step(self, params: LogisticParams, stats: LogisticStats, extra_pass: ExtraPass) -> LogisticParams:
        """The step of the quadratic bound, of uniform curvature or the paper's; and a Newton step to be tried first."""
        if stats.equations is not None:
            return self._solve_columns(params, stats.equations)
        assert stats.gram is not None
        k, gradient = self.n_components, self._gradient(params, stats)
        curvature = 0.25 * stats.gram + np.diag([*[self.ridge] * k, 1e-12 * max(1.0, stats.weight)])
        curvature = curvature if self.with_offset else curvature[:k, :k]
        step = np.zeros_like(gradient)
        step[: len(curvature)] = np.linalg.solve(curvature, gradient[: len(curvature)])
        climb = self._climb(params, stats, extra_pass) if self.accelerate else None
        return LogisticParams(params.loadings + step[:k], params.offset + step[k], climb)

    def _gradient(self, params: LogisticParams, stats: LogisticStats) -> Float:
        """Gradient (K + 1, D) of the objective by loadings and offset."""
        assert stats.slope is not None
        gradient, k = stats.slope.copy(), self.n_components
        gradient[:k] -= self.ridge * params.loadings
        gradient[:, ~self.active] = 0.0
        gradient[k] *= self.with_offset
        return gradient

    def _climb(self, params: LogisticParams, stats: LogisticStats, extra_pass: ExtraPass) -> Climb:
        """The Newton step from here, once the bound has led the way."""
        last = Climb(0) if params.climb is None else Climb(*params.climb)  # a checkpoint gives back a plain tuple
        if last.passes < FIRST_PASSES:
            return Climb(last.passes + 1)
        precomputed = self.precompute(params)
        value = self.objective(precomputed, stats)
        radius = _radius(last, value)
        step = self._newton(precomputed, stats, radius, extra_pass)
        target = np.vstack((params.loadings, params.offset)) + step.move
        radius = max(step.length, radius or 0.0)
        return Climb(last.passes, value, step.gain, step.length, step.inside, radius, target)

    def _newton(
        self, precomputed: LogisticPrecomputed, stats: LogisticStats, radius: float | None, extra_pass: ExtraPass
    ) -> NewtonStep:
        """The Newton step; turning the components, which changes nothing, is held back by a curvature of its own."""
        assert stats.gram is not None
        k, loadings = self.n_components, precomputed.params.loadings
        matrices = extra_pass(self._column_curvature, precomputed) + 0.25 * BOUND_PART * stats.gram
        matrices[:, range(k), range(k)] += self.ridge
        matrices[:, k, k] += 1e-10 * max(1.0, self.total_weight)
        if not self.with_offset:
            matrices[:, k, :], matrices[:, :, k] = 0.0, 0.0
            matrices[:, k, k] = 1.0
        stiffness = 0.5 * self.ridge / max(float((loadings**2).sum()), 1e-12)

        def curve(turn: Float) -> Float:
            bent = -extra_pass(self._slope_change, precomputed, turn)
            twist = turn[:k] @ loadings.T
            bent[:k] += self.ridge * turn[:k] + stiffness * ((twist - twist.T) @ loadings)
            bent[:, ~self.active] = 0.0
            bent[k] *= self.with_offset
            return bent

        return newton_step(self._gradient(precomputed.params, stats), curve, Metric(matrices), radius)

    def _column_curvature(self, block: Block, rows: Float, precomputed: LogisticPrecomputed) -> Float:
        """Curvature (D, K + 1, K + 1) by the loadings and offset of every column, scores held."""
        from .kernels import column_curvature

        k, weights = self.n_components, block.row_weights()
        half = np.tril_indices(k + 1)
        sums, out = np.zeros((len(half[0]), block.n_columns)), np.empty((block.n_columns, k + 1, k + 1))
        for part, codes in self.tiles(block):
            scores = np.array(rows[part], order="C")
            column_curvature(codes, precomputed.loadings, precomputed.offset, weights[part], scores, sums)
        out[:, half[0], half[1]] = out[:, half[1], half[0]] = sums.T
        return out

    def _slope_change(self, block: Block, rows: Float, precomputed: LogisticPrecomputed, turn: Float) -> Float:
        """Change (K + 1, D) of the slope along a direction of loadings and offset."""
        from .kernels import curve_rows

        weights, along, sums = block.row_weights(), np.ascontiguousarray(turn), np.zeros(turn.shape)
        for part, codes in self.tiles(block):
            scores = np.array(rows[part], order="C")
            curve_rows(codes, precomputed.loadings, precomputed.offset, self.ridge, weights[part], scores, along, sums)
        return sums

    def propose(self, params: LogisticParams, updated: LogisticParams) -> LogisticParams | None:
        """The end of the Newton step."""
        climb = None if updated.climb is None else Climb(*updated.climb)
        if climb is None or climb.target is None or not np.isfinite(climb.target).all():
            return None
        return LogisticParams(climb.target[:-1], climb.target[-1], climb._replace(taken=True))

    def stop_measure(self, old: LogisticParams, new: LogisticParams) -> float | None:
        """Newton's decrement: the root of the nats per cell that are left to gain; None where the bound climbs alone."""
        if self.solver == "mm" or not self.accelerate:
            return None
        climb = Climb(*new.climb) if new.climb is not None else Climb(0)
        if climb.gain <= UNSEEN * abs(climb.value):
            return 0.0
        return float(np.sqrt(climb.gain / self.n_cells)) if climb.inside else np.inf

    def _solve_columns(self, params: LogisticParams, equations: Float) -> LogisticParams:
        """Loadings and offset of every column by weighted least squares under the bound."""
        k = self.n_components
        matrix, right = equations[:, :, :-1].copy(), equations[:, :, -1].copy()
        matrix[:, range(k), range(k)] += self.ridge
        matrix[:, k, k] += 1e-12 * self.total_weight
        if not self.with_offset:
            matrix[:, k, :], matrix[:, :, k], right[:, k] = 0.0, 0.0, 0.0
            matrix[:, k, k] = 1.0
        solved = np.linalg.solve(matrix, right[:, :, None])[:, :, 0].T
        loadings = np.where(self.active, solved[:k], params.loadings)
        return LogisticParams(loadings, np.where(self.active, solved[k], params.offset))

    def finalize(self, point: Any, sweep: Any, complete: bool) -> tuple[LogisticParams, float]:
        """Principal axes, signs, and the remembered scores."""
        params = self._polished(point, sweep)
        gram, _ = sweep.map(_Gram(self), point.rows, self.precompute(params), keep_rows=False)
        params = self._principal(params, gram)
        precomputed = self.precompute(params)
        (stats, latent), _ = sweep.map(_Remember(self), point.rows, precomputed, keep_rows=False)
        return params._replace(latent=latent), self.objective(precomputed, stats)

    def _polished(self, point: Any, sweep: Any) -> LogisticParams:
        """A settled fit with one Newton step more, which gains less than the sums can show and doubles the digits."""
        params, climb = LogisticParams(point.params.loadings, point.params.offset), point.params.climb
        if climb is None or Climb(*climb).target is None:
            return params
        precomputed, radius = self.precompute(params), Climb(*climb).radius
        stats, rows = sweep.map(self.e_step, point.rows, precomputed)
        step = self._newton(precomputed, stats, radius, extra_pass_over(sweep, rows))
        if not step.inside or step.gain > SETTLED * self.n_cells:
            return params
        return LogisticParams(params.loadings + step.move[:-1], params.offset + step.move[-1])

    def _principal(self, params: LogisticParams, gram: Float) -> LogisticParams:
        """The same log odds with centred, uncorrelated scores as large as the loadings; signs by the largest loading."""
        k, weight = self.n_components, gram[-1, -1]
        mean = gram[:k, k] / weight
        offset = params.offset + mean @ params.loadings if self.with_offset else params.offset
        centred = gram[:k, :k] - weight * np.outer(mean, mean) if self.with_offset else gram[:k, :k]
        values, vectors = np.linalg.eigh(centred)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        _, lengths, axes = np.linalg.svd(root @ params.loadings, full_matrices=False)
        loadings = np.zeros_like(params.loadings)
        loadings[: len(lengths)] = np.sqrt(lengths)[:, None] * axes
        largest = np.abs(loadings).argmax(axis=1)
        signs = np.where(loadings[np.arange(k), largest] < 0, -1.0, 1.0)
        return LogisticParams(signs[:, None] * loadings, np.where(self.active, offset, params.offset))

    def restart_summary(self, params: LogisticParams) -> Float:
        """Loadings."""
        return params.loadings

    # Answers: the same questions for every family.

    def represent(self, block: Block, precomputed: LogisticPrecomputed) -> Float:
        """Scores (n, K): the best ones for the observed cells of the row."""
        return self._scores(block, precomputed)[0]

    def _scores(self, block: Block, precomputed: LogisticPrecomputed) -> tuple[Float, Float]:
        """Best scores and log-likelihood of every row."""
        scores, logs = np.empty((block.n_rows, self.n_components)), np.empty(block.n_rows)
        for part, best, _, values in self.fitted(block, precomputed, np.zeros(scores.shape)):
            scores[part], logs[part] = best, values
        return scores, logs

    def fold_in(self, block: Block, precomputed: LogisticPrecomputed) -> Float:
        """Log-likelihood (n,) of rows at their best scores, constant columns included."""
        return self._scores(block, precomputed)[1] + self.fixed_logs(block, precomputed.offset)

    def odds(self, scores: Float, precomputed: LogisticPrecomputed) -> Float:
        """Log odds (n, D)."""
        return scores @ precomputed.loadings + precomputed.offset

    def log_prob(self, block: Block, precomputed: LogisticPrecomputed) -> Float:
        """log p(row) (n,), scores being distributed as in the training rows."""
        assert precomputed.params.latent is not None
        return empirical_bayes(block, precomputed.params.latent, self._row_logs(precomputed))

    def _row_logs(self, precomputed: LogisticPrecomputed) -> Callable[[Float], tuple[Float, Float]]:
        """Logs of cells as a function of scores."""
        return lambda scores: self._logs(self.odds(scores, precomputed))

    def _logs(self, odds: Float) -> tuple[Float, Float]:
        """Log odds of ones and log probability of zeros, with the clip of the score."""
        if self.clip > 0:
            most = np.log1p(-self.clip) - np.log(self.clip)
            odds = np.clip(odds, -most, most)
        return odds, -np.logaddexp(0.0, odds)

    def predict_cells(self, block: Block, precomputed: LogisticPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        if self.posterior:
            return self._mean(block, precomputed, slice(None))
        return sigmoid(self.odds(self.represent(block, precomputed), precomputed))

    def _mean(self, block: Block, precomputed: LogisticPrecomputed, columns: Any) -> Float:
        """The same for some columns, by the mean over scores."""
        assert precomputed.params.latent is not None
        loadings, offset = precomputed.loadings.T[columns], precomputed.offset[columns]
        return posterior_mean(
            block,
            precomputed.params.latent,
            self._row_logs(precomputed),
            lambda scores: sigmoid(scores @ loadings.T + offset),
            keys_of(block),  # what was fitted to the row is too sure of it
        )

    def predict_cells_at(self, block: Block, precomputed: LogisticPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        if self.posterior:
            asked, place = np.unique(columns, return_inverse=True)
            return self._mean(block, precomputed, asked)[rows, place]
        return sigmoid(self._odds_at(self.represent(block, precomputed)[rows], precomputed, columns))

    def _odds_at(self, scores: Float, precomputed: LogisticPrecomputed, columns: Any) -> Float:
        """Log odds of single cells."""
        return np.einsum("mk,mk->m", scores, precomputed.loadings.T[columns]) + precomputed.offset[columns]

    def sample_cells(
        self, block: Block, precomputed: LogisticPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A draw of single cells; given the scores of the row they are independent."""
        if not self.posterior:
            return by_cell < self.predict_cells_at(block, precomputed, rows, columns)
        assert precomputed.params.latent is not None
        scores = posterior_draw(block, precomputed.params.latent, self._row_logs(precomputed), by_row, keys_of(block))
        return by_cell < sigmoid(self._odds_at(scores[rows], precomputed, columns))

    def loadings_at(self, precomputed: LogisticPrecomputed, columns: Any) -> Float:
        """Loadings (m, K) of the columns of single cells."""
        return precomputed.loadings.T[columns]

    def left_out(
        self, held: Block, precomputed: LogisticPrecomputed, columns: Any, starts: Float, own: Any = None
    ) -> Float:
        """P(cell = 1) of cells at the best scores of their rows without them, or over all their scores."""
        if self.posterior:
            assert precomputed.params.latent is not None
            loadings, offset = precomputed.loadings.T[columns], precomputed.offset[columns]
            answer = lambda scores: sigmoid(scores @ loadings.T + offset)  # noqa: E731
            logs = self._row_logs(precomputed)
            return posterior_mean(held, precomputed.params.latent, logs, answer, own, by_row=True)[:, 0]
        own = np.empty_like(starts)
        for part, best, _, _ in self.fitted(held, precomputed, starts):
            own[part] = best
        return sigmoid(self._odds_at(own, precomputed, columns))

    def sample_rows(self, params: LogisticParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their scores (n, K), distributed as those of the training rows."""
        assert params.latent is not None
        scores = draw_rows(params.latent, n, rng)
        on = sigmoid(self.odds(scores, self.precompute(params)))
        return (rng.random(on.shape) < on).astype(np.uint8), scores

    def n_free(self, params: LogisticParams) -> int:
        """Free parameters: scores of every row, loadings and offset, less the K² directions that change nothing."""
        d, n = int(self.active.sum()), round(self.total_weight)
        k = min(self.n_components, d, n)  # the rank that log odds of this size can have
        return max(1, n * k + d * (k + self.with_offset) - k * k)


def _radius(last: Climb, value: float) -> float | None:
    """The radius of the trust region, by what the last step gained of what it was to gain."""
    if last.radius is None:
        return None
    share = (value - last.value) / last.gain if last.taken else 0.0
    if share < 0.25:
        return 0.25 * last.length
    return 2.5 * last.radius if share > 0.75 and not last.inside else last.radius


class _Gram:
    """Sums of products of (scores, 1), the scores at their best."""

    def __init__(self, model: LogisticModel) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Float, precomputed: LogisticPrecomputed) -> tuple[Float, None]:
        long = np.column_stack((self.model.represent(block, precomputed), np.ones(block.n_rows)))
        return (long * block.row_weights()[:, None]).T @ long, None


class _Remember:
    """The last pass of a fit: likelihood at the best scores, and the remembered rows."""

    def __init__(self, model: LogisticModel) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Float, precomputed: LogisticPrecomputed) -> tuple[Any, None]:
        scores, logs = self.model._scores(block, precomputed)
        weights = block.row_weights()
        size = float(weights @ (scores**2).sum(axis=1))
        stats = LogisticStats(float(weights @ logs), size, float(weights.sum()), None, None, None)
        return (stats, latent_sample(block, scores, self.model.blank_rows(block))), None
