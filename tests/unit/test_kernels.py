"""Kernels against twins written from the equations, compiled and as Python, one signature per dtype."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import latentbits
from latentbits import PLSA, BernoulliGaussMixture, BinaryGTM, GaussianPLSA, LatentTrait, MixtureOfUnigrams
from latentbits.aspect import fold_kernels
from latentbits.aspect import kernels as aspect_kernels
from latentbits.bernoulli_gauss import kernels as gauss_kernels
from latentbits.data import kernels as data_kernels
from latentbits.data.source import open_source
from latentbits.errors import LatentBitsWarning
from latentbits.gtm import kernels as gtm_kernels
from latentbits.logistic import kernels as logistic_kernels
from latentbits.logistic import trait_kernels
from latentbits.maths import kernels as maths_kernels
from latentbits.maths import latent_class_kernels, topics_kernels
from latentbits.mixture import gibbs_kernels, hyper_kernels, partition_kernels, split_kernels, wide_kernels
from latentbits.mixture.partition_priors import PartitionPrior
from latentbits.mixture.partitions import distances
from latentbits.multinomial import kernels as count_kernels
from latentbits.noisy_or import kernels as noisy_or_kernels
from latentbits.noisy_or import sampling_kernels, weight_kernels

from .gibbs_tools import blocked, collapsed

ROOT = Path(latentbits.__file__).parent
MODULES = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*kernels.py"))
MOST_ARGUMENTS = 10


def kernels_of(name):
    """The kernels that a module defines."""
    module = importlib.import_module(f"latentbits.{name}")
    return [v for v in vars(module).values() if hasattr(v, "signatures") and v.__module__ == module.__name__]


@pytest.mark.parametrize("name", MODULES)
def test_few_arguments_and_no_lock(name):
    """Arrays that belong together come as one argument, and threads run side by side."""
    assert kernels_of(name)
    for kernel in kernels_of(name):
        assert len(inspect.signature(kernel.py_func).parameters) <= MOST_ARGUMENTS, kernel
        assert kernel.targetoptions["nogil"], kernel


@pytest.mark.parametrize("compiled", [True, False])
def test_products(compiled):
    rng = np.random.default_rng(0)
    dense = rng.random((30, 17)) < 0.2
    indptr, indices = open_source(dense.astype(float)).block(0).ones.lists()
    right, left = rng.random((17, 5)), rng.random((30, 5))
    for kernel, argument, shape, wanted in (
        (data_kernels.add_dot, right, (30, 5), dense @ right),
        (data_kernels.add_t_dot, left, (17, 5), dense.T @ left),
    ):
        out = np.zeros(shape)
        (kernel if compiled else kernel.py_func)(indptr, indices, argument.ravel(), 5, out.reshape(-1))
        np.testing.assert_allclose(out, wanted, atol=1e-13)


@pytest.mark.parametrize("compiled", [True, False])
def test_exponentials(compiled):
    """Within two units in the last place, exactly zero far down, exactly one at zero."""
    x = np.concatenate((np.linspace(-36.99, 0, 20001), [-37.01, -50.0, -800.0, -1e300, -np.inf]))
    values, whole = x.copy(), np.empty_like(x)
    kernel = maths_kernels.exp_shares
    (kernel if compiled else _vectorised(kernel.py_func))(
        values, len(x), whole, values.view(np.int64), whole.view(np.int64)
    )
    exact = np.exp(x[:-5].astype(np.longdouble))
    assert float(np.abs((values[:-5] - exact) / np.spacing(values[:-5])).max()) < 2.0
    assert values[-6] == 1.0 and (values[-5:] == 0.0).all()


def _vectorised(function):
    """The plain Python form, whose integer shift warns of the bits that it drops on purpose."""

    def run(*args):
        with np.errstate(over="ignore"):
            return function(*args)

    return run


@pytest.mark.parametrize("compiled", [True, False])
def test_softmax(compiled):
    from scipy.special import logsumexp, softmax

    log_joint = np.random.default_rng(0).normal(0, 30, (40, 6))
    log_joint[0] = [-1e5, -1e5 - 1, -2e5, -1e6, -1e5, -np.inf]
    shares, sums = log_joint.copy(), np.empty(40)
    kernel = maths_kernels.softmax_rows
    (kernel if compiled else kernel.py_func)(shares, sums)
    np.testing.assert_allclose(shares, softmax(log_joint, axis=1), atol=1e-15)
    np.testing.assert_allclose(sums, logsumexp(log_joint, axis=1), rtol=1e-14)


@pytest.mark.parametrize("compiled", [True, False])
def test_reading(compiled):
    rng = np.random.default_rng(0)
    codes = rng.choice(np.array([0, 0, 0, 1, 2], np.uint8), (20, 9))
    codes[3] = 0
    for code in (1, 2):
        indptr = np.empty(21, np.int64)
        kernel = data_kernels.list_marks
        indices = (kernel if compiled else kernel.py_func)(codes, code, indptr)
        rows, columns = np.nonzero(codes == code)
        assert indices.tolist() == columns.tolist()
        assert np.diff(indptr).tolist() == np.bincount(rows, minlength=20).tolist()
    kernel = data_kernels.codes_of_floats
    table, out = np.where(codes == 2, np.nan, codes.astype(float)), np.empty_like(codes)
    assert (kernel if compiled else kernel.py_func)(table, out) == 0 and (out == codes).all()
    table[0, :3] = [2.0, -1.0, np.inf]
    assert (kernel if compiled else kernel.py_func)(table, out) == 3


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("spread", [0.5, 30.0])
def test_mixture_walk(compiled, spread):
    """One walk over the lists equals scores, softmax and sums taken one after the other."""
    from scipy.special import logsumexp, softmax

    rng = np.random.default_rng(0)
    dense = (rng.random((50, 30)) < 0.2).astype(float)
    indptr, indices = open_source(dense).block(0).ones.lists()
    base, slope, weights = rng.normal(size=56), spread * rng.normal(size=(30, 56)), rng.integers(0, 3, 50).astype(float)
    base[-2:], slope[:, -2:] = -np.inf, 0.0  # padding
    mass, on = np.zeros(56), np.zeros(30 * 56)
    kernel = latent_class_kernels.e_step_lists
    with np.errstate(over="ignore"):  # counters wrap in plain Python, not in compiled code
        value = (kernel if compiled else kernel.py_func)(indptr, indices, weights, base, slope.ravel(), mass, on)
    log_joint = dense @ slope + base
    shares = softmax(log_joint, axis=1) * weights[:, None]
    assert value == pytest.approx((logsumexp(log_joint, axis=1) * weights).sum(), rel=1e-12)
    np.testing.assert_allclose(mass, shares.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(on.reshape(30, 56), dense.T @ shares, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_mixture_walk_in_single(compiled):
    """The walk in float32, and what is made of scores, agree with the walk in float64 to float32's digits."""
    rng = np.random.default_rng(1)
    dense = (rng.random((300, 3)) < 0.6).astype(float)  # sums are added to those in float64 on the way
    indptr, indices = open_source(dense, block_rows=300).block(0).ones.lists()
    base, slope, weights = rng.normal(size=16), rng.normal(size=(3, 16)), rng.integers(0, 3, 300).astype(float)
    base[-3:], slope[:, -3:] = -np.inf, 0.0  # padding
    mass, on, work = np.zeros(16), np.zeros(48), np.zeros(48, np.float32)
    single = base.astype(np.float32), slope.ravel().astype(np.float32)
    walk, made = latent_class_kernels.e_step_lists_single, latent_class_kernels.e_step_scores_single
    scores, other_mass = (dense @ slope + base).astype(np.float32), np.zeros(16)
    with np.errstate(over="ignore"):
        value = (walk if compiled else walk.py_func)(indptr, indices, weights, *single, work, mass, on)
        other_value = (made if compiled else made.py_func)(scores, weights, other_mass)
    exact_mass, exact_on = np.zeros(16), np.zeros(48)
    exact = latent_class_kernels.e_step_lists(indptr, indices, weights, base, slope.ravel(), exact_mass, exact_on)
    assert value == pytest.approx(exact, rel=1e-6) and other_value == pytest.approx(exact, rel=1e-6)
    for found in (mass, other_mass, scores.sum(axis=0)):
        np.testing.assert_allclose(found, exact_mass, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(on, exact_on, rtol=1e-5, atol=1e-5)
    assert not work.any()


@pytest.mark.parametrize("compiled", [True, False])
def test_vectors_of_exp_and_log(compiled):
    x = -np.concatenate((np.random.default_rng(0).random(200) * 17, [0.0, 17.0, 30.0]))
    narrow, whole = x.astype(np.float32), np.empty(len(x), np.float32)
    wanted = np.exp(narrow.astype(float))
    kernel = maths_kernels.exp_shares_single
    (kernel if compiled else kernel.py_func)(narrow, len(x), whole, narrow.view(np.int32), whole.view(np.int32))
    np.testing.assert_allclose(narrow[:-1], wanted[:-1], rtol=4e-7)
    assert narrow[-1] == 0.0
    small, out = np.concatenate((np.exp(x), [1e-300, 0.41421356237309503])), np.empty(len(x) + 2)
    kernel = maths_kernels.log1p_shares
    (kernel if compiled else kernel.py_func)(small, len(small), out)
    np.testing.assert_allclose(out, np.log1p(small), rtol=5e-16)


@pytest.mark.parametrize("compiled", [True, False])
def test_equal_rows(compiled):
    rows = np.random.default_rng(0).random((5, 30)) < 0.2
    pick = np.array([0, 1, 2, 1, 0, 4, 3, 4])
    indptr, indices = open_source(rows[pick].astype(float)).block(0).ones.lists()
    hashes = np.zeros(8, np.uint64)
    mix, same = data_kernels.hash_lists, data_kernels.same_lists
    with np.errstate(over="ignore"):  # the product wraps on purpose
        (mix if compiled else mix.py_func)(indptr, indices, 1, hashes)
    assert [[a == b for b in hashes] for a in hashes] == [[a == b for b in pick] for a in pick]
    check = same if compiled else same.py_func
    assert check(indptr, indices, np.array([0, 1, 2, 1, 0, 5, 6, 5]))
    assert not check(indptr, indices, np.array([0, 1, 2, 1, 1, 5, 6, 5]))


@pytest.mark.parametrize("compiled", [True, False])
def test_aspect_hot_cells(compiled):
    rng = np.random.default_rng(0)
    codes = rng.choice(np.array([0, 1, 2], np.uint8), (9, 45))
    on = rng.uniform(0, 1, (9, 45))
    on[0, 0], codes[0, 0] = 0.0, 1  # an impossible one counts as EDGE
    signed, both, sums, logs = on.copy(), np.empty((9, 90)), np.zeros(9), np.ones(9)
    kernel = aspect_kernels.hot_cells
    (kernel if compiled else kernel.py_func)(codes, signed, both, sums, logs)
    ones = np.where(codes == 1, 1 / np.maximum(on, 1e-12), 0)
    zeros = np.where(codes == 0, 1 / (1 - on), 0)
    np.testing.assert_allclose(both, np.hstack((ones, zeros)), rtol=1e-14)
    np.testing.assert_allclose(signed, ones - zeros, rtol=1e-14)
    np.testing.assert_allclose(sums, zeros.sum(axis=1))
    cells = np.where(codes == 1, np.maximum(on, 1e-12), np.where(codes == 0, 1 - on, 1))
    np.testing.assert_allclose(logs, 1 + np.log(cells).sum(axis=1))


@pytest.mark.parametrize("compiled", [True, False])
def test_aspect_hot_tiles(compiled):
    """Tiles of any height add up to the products of the whole."""
    rng = np.random.default_rng(2)
    codes = rng.choice(np.array([0, 1, 2], np.uint8), (11, 7))
    shares, probs, weights = rng.dirichlet(np.ones(3), 11), rng.uniform(0.1, 0.9, (3, 7)), rng.uniform(0, 2, 11)
    on = shares @ probs
    ones, zeros = np.where(codes == 1, 1 / on, 0), np.where(codes == 0, 1 / (1 - on), 0)
    weighted = shares * weights[:, None]
    for height in (1, 4, 11, 50):
        gains, sums, logs = np.zeros((11, 3)), np.zeros((2, 7, 3)), np.zeros(11)
        kernel = aspect_kernels.hot_tiles
        (kernel if compiled else kernel.py_func)(
            codes, shares, weighted, probs, np.ascontiguousarray(probs.T), height, gains, *sums, logs
        )
        np.testing.assert_allclose(gains, ones @ probs.T + zeros @ (1 - probs).T, rtol=1e-12)
        np.testing.assert_allclose(sums, (ones.T @ weighted, zeros.T @ weighted), rtol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_aspect_hot_lists(compiled):
    """Few marks: what tiles of all cells give, for any height and a window of the columns."""
    rng = np.random.default_rng(3)
    codes = rng.choice(np.array([0, 1, 2], np.uint8), (11, 9), p=[0.6, 0.25, 0.15])
    codes[4], codes[5], codes[6] = 0, 1, 2
    place = np.array([0, -1, 1, 2, -2, 3, 4, 5, 6], np.int32)  # two columns are not hot
    shares, weights = rng.dirichlet(np.ones(3), 11), rng.uniform(0, 2, 11)
    probs = rng.uniform(0.1, 0.9, (3, 7))
    probs[:, 2] = 0.0  # an impossible one counts as EDGE
    lists = []
    for code in (1, 2):
        lists += [np.concatenate(([0], np.cumsum((codes == code).sum(axis=1)))), np.nonzero(codes == code)[1]]
    lists = [part.astype(kind) for part, kind in zip(lists, (np.int64, np.int32) * 2)]
    weighted, kernel = shares * weights[:, None], aspect_kernels.hot_lists
    for height, window in ((1, slice(0, 7)), (4, slice(0, 7)), (50, slice(2, 5))):
        some, cells = np.ascontiguousarray(probs[:, window]), codes[:, place >= 0][:, window]
        tables = (shares, weighted, some, np.ascontiguousarray(some.T), height)
        got, wanted = (
            (np.zeros((11, 3)), *np.zeros((2, some.shape[1], 3)), np.zeros(11)) for _ in range(2)
        )  # gains, sums, logs
        marked = aspect_kernels.Marked(*lists, place, window.start)
        (kernel if compiled else kernel.py_func)(marked, *tables, *got)
        aspect_kernels.hot_tiles(np.ascontiguousarray(cells), *tables, *wanted)
        for mine, other in zip(got, wanted):
            np.testing.assert_allclose(mine, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("compiled", [True, False])
def test_aspect_powers(compiled):
    """Entries and products of two: their products with tables, and their sums over rows, each alone and together."""
    rng = np.random.default_rng(4)
    rows, weighted = rng.random((10, 4)), rng.random((10, 4))
    first, second = np.triu_indices(4)
    powers = np.hstack((rows, rows[:, first] * rows[:, second]))
    kernel = aspect_kernels.take_powers if compiled else aspect_kernels.take_powers.py_func
    for n_powers in (4, 14):
        tables, nothing = rng.random((n_powers, 4)), np.empty((0, 4))
        for height in (3, 10, 64):
            out, sums = np.ones((10, 6)), np.ones((n_powers, 4))
            kernel(rows, weighted, tables, height, out, sums)
            np.testing.assert_allclose(out[:, :4], 1 + powers[:, :n_powers] @ tables)
            np.testing.assert_allclose(out[:, 4:], 1.0)
            np.testing.assert_allclose(sums, 1 + powers[:, :n_powers].T @ weighted)
        out, sums = np.zeros((10, 4)), np.zeros((n_powers, 4))
        kernel(rows, weighted, tables, 4, out, nothing)
        kernel(rows, weighted, nothing, 4, nothing, sums)
        np.testing.assert_allclose(out, powers[:, :n_powers] @ tables)
        np.testing.assert_allclose(sums, powers[:, :n_powers].T @ weighted)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("are_ones", [True, False])
def test_aspect_cold_marks(compiled, are_ones):
    rng = np.random.default_rng(1)
    marks = rng.random((8, 12)) < 0.3
    indptr, indices = open_source(marks.astype(float)).block(0).ones.lists()
    shares, probs, weights = rng.dirichlet(np.ones(4), 8), rng.uniform(0.01, 0.1, (12, 4)), rng.uniform(0, 2, 8)
    table = rng.random((12, 8))
    table[:, 7] = np.arange(12) % 3 > 0  # every third column is not cold
    gains, sums, logs = np.zeros((8, 4)), np.zeros((12, 2, 4)), np.zeros(8)
    kernel = aspect_kernels.cold_marks
    (kernel if compiled else kernel.py_func)(
        indptr, indices, table.ravel(), probs.ravel(), shares.ravel(), weights, are_ones, gains.reshape(-1),
        sums.reshape(-1), logs,
    )  # fmt: skip
    marks = marks & (table[:, 7] == 1)
    p = shares @ probs.T
    minus = marks * (table[:, 0] + p * table[:, 1] + p**2 * table[:, 2])
    less = marks * (table[:, 3] + p * table[:, 4] + p**2 * table[:, 5] + p**3 * table[:, 6])
    inverse = marks / p if are_ones else np.zeros(p.shape)
    np.testing.assert_allclose(gains, inverse @ probs - minus @ (1 - probs), atol=1e-12)
    np.testing.assert_allclose(sums[:, 0], (inverse * weights[:, None]).T @ shares, atol=1e-12)
    np.testing.assert_allclose(sums[:, 1], -(minus * weights[:, None]).T @ shares, atol=1e-12)
    wanted = (marks * np.log(p)).sum(axis=1) * are_ones - less.sum(axis=1)
    np.testing.assert_allclose(logs, wanted, atol=1e-12)


def test_aspect_fold_in_as_python():
    """The plain Python form of the fold-in does what the compiled one does, cold columns included."""
    from latentbits.aspect.answers import packed_cold, stored_of
    from latentbits.aspect.params import AspectParams
    from latentbits.maths.empirical_bayes import padded

    from .test_aspect import model_of

    rng = np.random.default_rng(0)
    probs = rng.beta(0.3, 8, (3, 40)).clip(1e-5, 0.4)
    X = (rng.random((4, 40)) < probs.max(axis=0)).astype(float)
    X[0, 3] = np.nan
    model = model_of(X, 3, row_error=1e-3)
    precomputed, block = model.precompute(AspectParams(probs)), open_source(X).block(0)
    assert precomputed.split.degree >= 0
    outs = []
    for function in (fold_kernels.fold_rows, fold_kernels.fold_rows.py_func):
        shares, logs, gaps = np.zeros((4, 4)), np.zeros(4), np.zeros(4)
        function(
            model._codes(block, precomputed.split), precomputed.hot, stored_of(block), packed_cold(precomputed),
            fold_kernels.FoldOptions(3, 0.0, 1e-9, 100), padded(np.full((1, 3), 1 / 3)), shares, logs, gaps,
        )  # fmt: skip
        outs.append((shares, logs, gaps))
    for first, second in zip(*outs):
        np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("name", ["fit_rows", "bound_rows", "curve_rows", "column_curvature"])
def test_logistic_rows_as_python(name):
    rng = np.random.default_rng(0)
    codes = rng.choice(np.array([0, 1, 2], np.uint8), (3, 10))
    loadings, offset = rng.standard_normal((4, 10)), rng.standard_normal(10)
    outs = []
    for function in (getattr(logistic_kernels, name), getattr(logistic_kernels, name).py_func):
        scores, logs = np.zeros((3, 4)), np.zeros(3)
        if name == "fit_rows":
            rest = np.zeros((3, 10))
            function(codes, loadings, offset, 0.1, 1e-10, 200, scores, rest, logs)
        elif name == "curve_rows":
            rest, scores, turn = np.zeros((5, 10)), np.ones((3, 4)), np.linspace(-1, 1, 50).reshape(5, 10)
            function(codes, loadings, offset, 0.1, np.arange(3.0), scores, turn, rest)
        elif name == "column_curvature":
            rest, scores = np.zeros((15, 10)), np.ones((3, 4))
            function(codes, loadings, offset, np.arange(3.0), scores, rest)
        else:
            rest = np.zeros((10, 5, 6))
            function(codes, loadings, offset, 0.1, np.ones(3), scores, rest, logs)
        outs.append((scores, rest, logs))
    for first, second in zip(*outs):
        np.testing.assert_allclose(first, second, atol=1e-9)


def test_noisy_or_rows_as_python(monkeypatch):
    """Every kernel of the family without the compiler, in one walk through a fitted model."""
    from latentbits import NoisyOrComponentAnalysis
    from latentbits.datasets import make_noisy_or
    from latentbits.noisy_or.m_steps import _Probe

    X = make_noisy_or(60, 9, 3, unknown=0.1, random_state=0).data
    model = NoisyOrComponentAnalysis(3, n_init=1, tol=1e-4, random_state=0).fit(X)
    few = X[:4]

    def answers():
        maths, precomputed = model._model, model._model.precompute(model._params)
        block = open_source(few).block(0)
        start = maths.represent(block, precomputed)
        sums = maths.e_step(block, np.full_like(start, 0.4), precomputed)[0]
        probe = _Probe(maths)(block, start, precomputed, model._params.theta, model._params.theta0)
        draws = model.importance_scores(few, 20)
        return [
            start, sums.on, sums.leak, np.array(sums.value), *probe,
            model.explain(few).share, model.score_samples(few, "mean_field"), draws.value, draws.effective_draws,
            model.quickscore(few).value, model.gibbs_posteriors(few, 3, 1),
        ]  # fmt: skip

    compiled = answers()
    for module in (noisy_or_kernels, weight_kernels, sampling_kernels):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, _vectorised(kernel.py_func))
    for first, second in zip(compiled, answers()):
        np.testing.assert_allclose(first, second, atol=1e-8)


def test_maps_and_traits_as_python(monkeypatch):
    """The kernels of the binary GTM and the latent trait model as plain Python give the same fits and answers."""
    rng = np.random.default_rng(4)
    X = (rng.random((30, 6)) < 0.4).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan

    def answers():
        out = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            for m_step in ("newton", "bound"):
                model = BinaryGTM((3, 3), solver=m_step, max_iter=3).fit(X)
                out += [model.basis_weights_, np.array(model.history_[0])]
            for bound in ("gaussian", "jaakkola"):
                trait = LatentTrait(2, n_init=1, max_iter=3, bound=bound, random_state=0).fit(X)
                out += [trait.components_, trait.bound_samples(X), trait.impute(X, how="sample", random_state=0)]
        return out

    compiled = answers()
    for module in (gtm_kernels, trait_kernels):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, _vectorised(kernel.py_func))
    for first, second in zip(compiled, answers()):
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-9)


def test_topics_as_python(monkeypatch):
    """The kernels for tables of numbers as plain Python give the same fits."""
    rng = np.random.default_rng(2)
    X = np.round(rng.gamma(0.5, 3.0, (25, 6)))
    X[:, 0] += 1
    triples = (*np.nonzero(X), X[np.nonzero(X)])

    def answers():
        out = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            for options in ({}, {"indicators": "soft"}, {"keyword_update": "hindex"}):
                model = BernoulliGaussMixture(
                    2, n_keywords=2, init="random", max_iter=4, random_state=0, **options
                ).fit(X)
                out += [model.means_, model.score_samples(X)]
            out.append(MixtureOfUnigrams(2, init="random", max_iter=4, random_state=0).fit(X).components_)
            plsa = PLSA(2, n_init=1, max_iter=4, temperature=0.9, random_state=0).fit(X)
            out += [plsa.components_, plsa.transform(X)]
            ratings = GaussianPLSA(2, max_iter=4, random_state=0).fit(triples)
            out += [ratings.means_, ratings.predict([0, 1], [1, 2])]
        return out

    compiled = answers()
    for module in (gauss_kernels, count_kernels, topics_kernels):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, _vectorised(kernel.py_func))
    for first, second in zip(compiled, answers()):
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_packed_systems(compiled):
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((5, 4, 4))
    systems = roots @ roots.transpose(0, 2, 1)
    systems[4] = 0.0  # not positive definite without a ridge; gets what it needs
    low = np.tril_indices(4)
    right = rng.standard_normal((5, 4))
    ridges, steps = np.array([0.1, 0.2, 0.0, 0.0]), right.copy()
    factors = np.empty((5, 4 * 8))
    factor, solve = (
        kernel if compiled else kernel.py_func for kernel in (gtm_kernels.factor_packed, gtm_kernels.solve_factored)
    )
    factor(systems[:, low[0], low[1]].copy(), ridges, factors)
    solve(factors, steps)
    for i in range(4):
        np.testing.assert_allclose((systems[i] + np.diag(ridges)) @ steps[i], right[i], atol=1e-8)
    assert np.isfinite(steps).all()


@pytest.mark.parametrize("kernel", ["narrow", "wide"])
@pytest.mark.parametrize("unknown", [0.0, 0.2, 0.7])
def test_gibbs_as_python(monkeypatch, kernel, unknown):
    """Every kernel of the sampler as plain Python gives the same draws, labels drawn from nothing and proposals included."""
    rng = np.random.default_rng(3)
    X = (rng.random((25, 6)) < np.linspace(0.1, 0.8, 6)).astype(float)
    X[rng.random(X.shape) < unknown] = np.nan
    beta = 0.5 if kernel == "wide" else np.linspace(0.3, 0.9, 6)
    options = {"kernel": kernel, "turn": kernel == "narrow", "split_merge": 4, "init": "sequential"}

    def run():
        process = collapsed(X, PartitionPrior(2.0), beta, 0.7, **options)
        chain = process.open(0, process.start(0))
        steps = []
        for number in range(4):
            chain.step(number)
            steps.append((chain.labels.tolist(), *chain.trace()))
        other = blocked(X, PartitionPrior(2.0), 0.5, 0.7)
        by_blocks = other.open(0, other.start(0))
        by_blocks.step(0)
        losses = distances(np.array([s[0] for s in steps]), np.array([s[0] for s in steps[:2]]))
        return steps, other.labels_of(by_blocks.rows).tolist(), [loss.tolist() for loss in losses], chain.wide

    compiled = run()
    assert compiled[-1] == (kernel == "wide" and unknown < 0.5)
    for module in (gibbs_kernels, wide_kernels, split_kernels, partition_kernels):
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, name, function.py_func)
    with np.errstate(over="ignore"):
        plain = run()
    assert [step[0] for step in plain[0]] == [step[0] for step in compiled[0]] and plain[1] == compiled[1]
    np.testing.assert_allclose([s[1:] for s in plain[0]], [s[1:] for s in compiled[0]], rtol=1e-12)
    np.testing.assert_allclose(plain[2][0], compiled[2][0])
    np.testing.assert_allclose(plain[2][1], compiled[2][1], atol=1e-12)


def test_prior_means_as_python():
    """The slice sampler of the columns' means, drawn alike."""
    ones, zeros = np.array([[2, 0, 5], [1, 3, 0]]), np.array([[1, 4, 0], [2, 0, 7]])
    keys = np.random.default_rng(0).integers(0, 2**63, 3).astype(np.uint64)
    found = [np.full(3, 0.4), np.full(3, 0.4)]
    hyper_kernels.slice_means(ones, zeros, 1.5, keys, found[0])
    with np.errstate(over="ignore"):
        hyper_kernels.slice_means.py_func(ones, zeros, 1.5, keys, found[1])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    assert (found[0] != 0.4).all()


def test_the_series_is_the_sum_over_states():
    """E log(1 - exp(-u)) both ways; the series is never above."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(1, 8))
        m, strengths, theta0 = rng.random(n), rng.exponential(0.7, n) + 0.02, rng.uniform(0.005, 0.5)
        both = [sampling_kernels.expected_log_on(theta0, m, strengths, n, most) for most in (8, -1)]
        assert both[0] - 1e-9 <= both[1] <= both[0] + 1e-12


def test_one_signature_per_kernel(tmp_path):
    from latentbits import AspectBernoulli, BernoulliMixture, DPBernoulliMixture, LogisticPCA, NoisyOrComponentAnalysis
    from latentbits.testing import CONTAINERS

    table = (np.random.default_rng(0).random((60, 30)) < 0.1).astype(float)
    table[0, 0] = np.nan
    for name in ("numpy float", "sparse matrix csc", "csv", "memmap"):
        made = CONTAINERS[name](table, tmp_path)
        BernoulliMixture(2, n_init=1, random_state=0).fit(made)
        AspectBernoulli(2, n_init=1, tol=1e-4, random_state=0).fit(made).transform(made)
        for solver in ("newton", "mm"):
            LogisticPCA(2, n_init=1, ridge=1.0, tol=1e-3, solver=solver, random_state=0).fit(made)
        LatentTrait(2, n_init=1, tol=1e-3, random_state=0).fit(made).impute(made, how="sample")
        whole = CONTAINERS[name](np.nan_to_num(table), tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            for options in ({"keyword_update": "paper"}, {"indicators": "soft"}):
                BernoulliGaussMixture(2, n_keywords=2, max_iter=30, random_state=0, **options).fit(whole).score(whole)
            MixtureOfUnigrams(2, random_state=0).fit(whole)
            PLSA(2, n_init=1, tol=1e-3, random_state=0).fit(whole).transform(whole)
        for m_step in ("newton", "bound"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                BinaryGTM((3, 3), solver=m_step, tol=1e-3, random_state=0).fit(made)
        noca = NoisyOrComponentAnalysis(2, n_init=1, solver="newton", tol=1e-3, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            noca.fit(made)
        noca.explain(made, cells=([0, 1], [1, 2]))
        for method in ("mean_field", "importance"):
            noca.score_samples(made, method)
        noca.quickscore(made)
        noca.gibbs_posteriors(made, 2, 1)
        for learn in ({}, {"learn_cells": "feature", "solver": "blocked"}):
            sampled = DPBernoulliMixture(n_chains=1, n_warmup=1, n_draws=4, random_state=0, **learn)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                sampled.fit(made).coclustering()
    for name in MODULES:
        for kernel in kernels_of(name):
            # Older Numba also lists whole numbers known when compiling, as a type of their own.
            kinds = {
                tuple(re.sub(r"Literal\[int\].*", "int64", str(getattr(t, "dtype", t))) for t in signature)
                for signature in kernel.signatures
            }
            # One in float64, and one in float32 where passes begin in it.
            doubles = {tuple(kind.replace("float32", "float64") for kind in signature) for signature in kinds}
            assert len(doubles) <= 1 and len(kinds) <= 2, (kernel, kernel.signatures)
