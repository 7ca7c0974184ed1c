"""Mistakes that were made once: each test failed before its fix."""

from __future__ import annotations

import copy
import os
import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits import BernoulliGaussMixture, BernoulliMixture, ChowLiuTree, MixtureOfUnigrams
from latentbits.data.replacing import write_atomically
from latentbits.data.source import open_source
from latentbits.data.summary import totals
from latentbits.datasets import make_mixture, make_noisy_or
from latentbits.errors import FileError, InputError, LatentBitsWarning, NotConvergedWarning, TableWarning
from latentbits.evaluation import IndependentColumns
from latentbits.testing.contracts import assert_same_bits

T = make_mixture(200, 8, 2, random_state=0).data


def test_going_on_with_other_columns_is_refused():
    """Kernels do not check places: parameters of another shape must never reach them."""
    sparse = sp.csr_array((np.random.default_rng(0).random((300, 40)) < 0.05).astype(float))
    model = BernoulliMixture(3, warm_start=True, random_state=0, n_init=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(sparse[:, :20])
    with pytest.raises(InputError, match="20 columns before, 3 and 40 now"):
        model.fit(sparse)
    stream = BernoulliMixture(3, random_state=0).partial_fit(T)
    with pytest.raises(InputError, match="partial_fit cannot go on"):
        stream.set_params(n_components=2).partial_fit(T)
    for baseline in (IndependentColumns(), ChowLiuTree()):
        with pytest.raises(InputError, match=r"30 (columns|features)"):
            baseline.fit(T).score(np.zeros((3, 30)))
        with pytest.raises(InputError, match="smoothing"):
            type(baseline)(smoothing=-1).fit(T)


def test_damaged_sparse_tables_are_refused_before_compiled_code_sees_them():
    code = """if True:
        import numpy as np, scipy.sparse as sp, dask, dask.array as da, latentbits as lb
        from itertools import product
        from latentbits.errors import InputError

        def damage(form, value):
            X = sp.coo_matrix(np.eye(6)).asformat(form)
            if form == "coo":
                X.row[0] = value
            elif form == "lil":
                X.rows[0] = [value]
            elif form == "dok":
                X._dict[(0, value)] = 1.0
            elif form == "dia":
                X.offsets = np.array([0.5])
            else:
                X.indices[0] = value
            return X

        broken = [damage(form, value) for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia") for value in (-1, 10**9)]
        for name, form, value in product(("indptr", "indices"), ("csr", "csc", "bsr"), (-1, 10**6)):
            X = sp.coo_array(np.eye(6)).asformat(form)
            getattr(X, name)[1] = value
            broken.append(X)
        lazy = [da.from_delayed(dask.delayed(X), X.shape, float) for X in broken if X.format == "csr"]
        lazy = [da.concatenate([X, X]) for X in lazy]
        tries = [lb.BernoulliMixture(2).fit, lb.PLSA(2).fit, lb.GaussianPLSA(2).fit, lb.BernoulliGaussRecommender(2).fit]
        for X in broken + lazy:
            for ask in tries if sp.issparse(X) else tries[:1]:
                try:
                    ask(X)
                    raise SystemExit(f"accepted: {ask} {X}")
                except InputError as error:
                    assert "damaged" in str(error) and str(error).startswith(type(ask.__self__).__name__), error
    """
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran


def test_sums_of_sparse_entries_do_not_wrap_and_flags_are_not_trusted():
    for data, kind in (
        ([2**63, 2**63 + 1], np.uint64),
        ([2**63 - 1, 2**63 - 1, 3], np.int64),
        ([np.inf, -np.inf], float),
    ):
        places = np.zeros(len(data), int)
        with pytest.raises(InputError, match="row 0, column 0"):
            open_source(sp.coo_array((np.array(data, kind), (places, places)), shape=(2, 2)))
    X = sp.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert X.has_canonical_format
    X.indices[1] = 0  # the flag still says that no cell has two entries
    with pytest.raises(InputError, match="is 2"):
        open_source(X)
    X = sp.lil_array((2, 2), dtype=int)
    X.rows[0], X.data[0] = [1], [1.5]
    with pytest.raises(InputError, match=r"is 1\.5"):
        open_source(X)


def test_a_stopped_fit_goes_on_from_its_checkpoint(tmp_path):
    options = {"n_components": 2, "n_init": 2, "random_state": 0, "tol": 1e-9}
    straight = BernoulliMixture(**options).fit(T)
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(NotConvergedWarning):
        BernoulliMixture(**options, checkpoint=path, callbacks=[lambda event: event.step.state.iteration == 3]).fit(T)
    resumed = BernoulliMixture(**options, checkpoint=path).fit(T)
    assert_same_bits(straight, resumed)
    assert resumed.restarts_ == straight.restarts_


def test_checkpoints_know_lists_warm_starts_and_their_seed(tmp_path):
    a, b = np.full((2, 8), 0.3).tolist(), np.full((2, 8), 0.6).tolist()
    a[0][0] = b[1][1] = 0.9
    path = tmp_path / "fit.checkpoint"
    BernoulliMixture(2, init=a, n_init=1, checkpoint=path).fit(T)
    with pytest.raises(FileError, match="options"):
        BernoulliMixture(2, init=b, n_init=1, checkpoint=path).fit(T)
    other = tmp_path / "warm.checkpoint"
    for seed in (0, 1):
        model = BernoulliMixture(2, max_iter=3, n_init=1, random_state=seed, warm_start=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            model.fit(T)
            model.set_params(checkpoint=other, random_state=0)
            if seed == 0:
                model.fit(T)
            else:
                with pytest.raises(FileError, match="going on from"):
                    model.fit(T)
    seedless = tmp_path / "seedless.checkpoint"
    first = BernoulliMixture(2, n_init=1, checkpoint=seedless).fit(T)
    assert_same_bits(first, BernoulliMixture(2, n_init=1, checkpoint=seedless).fit(T))


def test_saved_options_keep_lists(tmp_path):
    init = np.full((2, 8), 0.3)
    init[0, 0] = 0.9
    BernoulliMixture(2, init=init.tolist(), n_init=1).fit(T).save(tmp_path / "m")
    assert np.array_equal(latentbits.load(tmp_path / "m").init, init)


def test_streams_after_fits_and_files(tmp_path):
    fitted = BernoulliMixture(2, random_state=0).fit(T)
    before = fitted.score(T)
    fitted.partial_fit(T[:1])
    assert fitted.score(T) > before - 0.05 and not fitted.converged_ and "objective" not in fitted.summary()
    assert len(fitted.restarts_frame()) == 0
    ones = BernoulliMixture(2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        ones.partial_fit(np.ones((1000, 8))).fit(T).partial_fit(T[:5])
    np.testing.assert_allclose(ones.marginals_, T.mean(axis=0), atol=0.02)
    straight = BernoulliMixture(2, random_state=0).partial_fit(T[:100])
    straight.save(tmp_path / "stream")
    loaded = latentbits.load(tmp_path / "stream")
    assert_same_bits(straight.partial_fit(T[100:]), loaded.partial_fit(T[100:]))


def test_columns_named_like_attributes():
    pd = pytest.importorskip("pandas")
    for names in (["block", "starts", "n_blocks"], ["read", "labels", "lazy"]):
        frame = pd.DataFrame(T[:, :3], columns=names)
        assert BernoulliMixture(2, random_state=0).fit(frame).predict(frame).shape == (200,)


def test_masked_and_plain_partitions_join():
    da = pytest.importorskip("dask.array")
    masked = np.ma.MaskedArray(T[100:], mask=np.arange(T[100:].size).reshape(100, 8) % 3 == 0)
    both = da.concatenate([da.from_array(T[:100], chunks=(100, 8)), da.from_array(masked, chunks=(100, 8))])
    block = open_source(both, block_rows=200).block(0)
    assert block.unknown.n_marked == masked.mask.sum()


def test_selection_with_weights_and_checkpoints(tmp_path):
    model = BernoulliMixture(random_state=0, n_init=1, checkpoint=tmp_path / "c")
    assert latentbits.select(model, T, [1, 2]).best_ in (1, 2)
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    spoiled = T.copy()
    spoiled[150:] = 1 - spoiled[150:]
    plain = BernoulliMixture(random_state=0, n_init=1)
    tables = [latentbits.select(plain, X, [1, 2], "rows", sample_weight=weights).table for X in (T, spoiled)]
    assert tables[0] == tables[1]
    for options, word in (
        ({"criterion": "cells", "sample_weight": weights}, "not weighted"),
        ({"criterion": "rows", "sample_weight": weights[:7]}, "sample_weight"),
        ({"folds": 0}, "folds"),
        ({"random_state": -1}, "random_state"),
        ({"n_components": 4}, "several"),
    ):
        with pytest.raises(InputError, match=word):
            latentbits.select(plain, T, **{"n_components": [1, 2], **options})


def test_blank_columns_are_found_with_any_weights():
    table = T.copy()
    table[:, 3] = np.nan
    for seed in range(20):
        weights = np.random.default_rng(seed).random(200)
        assert totals(open_source(table, sample_weight=weights).block(0)).observed[3] == 0
    with pytest.warns(TableWarning, match=r"\(first: 3\)"):
        model = BernoulliMixture(2, smoothing=0.0, random_state=0).fit(table)
    np.testing.assert_allclose(model.components_[:, 3], 0.5)


def test_a_table_without_zeros_is_doubted():
    with pytest.warns(TableWarning, match="If a blank means no"):
        BernoulliMixture(1).fit([[1, None], [None, 1], [1, 1]])


def test_damaged_parquet_pages(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({f"c{j}": T[:, j] for j in range(8)}), path, compression="none")
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(bytes(content))
    with pytest.raises(FileError, match="not a readable Parquet file"):
        BernoulliMixture(2).fit(path)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_files_get_the_usual_permissions(tmp_path):
    model = BernoulliMixture(1).fit(T)
    model.save(tmp_path / "m")
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o666 & ~mask
    (tmp_path / "m").chmod(0o640)
    model.save(tmp_path / "m")
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640


def test_links_are_followed(tmp_path):
    (tmp_path / "data").mkdir()
    place, link = tmp_path / "data" / "place.csv", tmp_path / "link.csv"
    link.symlink_to("data/place.csv")
    write_atomically(link, b"first")  # nothing is there yet
    place.chmod(0o600)
    write_atomically(link, b"second")
    assert link.is_symlink() and place.read_bytes() == b"second" and stat.S_IMODE(place.stat().st_mode) == 0o600
    model = tmp_path / "m.latentbits"
    model.symlink_to("data/model")
    BernoulliMixture(2, n_init=1, random_state=0).fit(T).save(model)
    assert model.is_symlink() and latentbits.load(tmp_path / "data" / "model").n_components == 2
    for name, goal in (("nowhere", "none/there.csv"), ("round", "round")):
        (tmp_path / name).symlink_to(goal)
        with pytest.raises(FileError, match=f"is a link to {goal}, where no file can be"):
            write_atomically(tmp_path / name, b"third")
    assert not (tmp_path / "none").exists()
    place.chmod(0o444)
    with pytest.raises(FileError, match="write-protected"):
        write_atomically(link, b"third")
    assert place.read_bytes() == b"second" and sorted(os.listdir(tmp_path / "data")) == ["model", "place.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_are_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    write_atomically(tmp_path / "pipe", b"through")
    assert reader.communicate(timeout=30)[0] == b"through" and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_small_integers_do_not_wrap():
    table = sp.coo_array((np.array([255, 2], np.uint8), ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(InputError, match="is 257"):
        open_source(table)


def test_seeds_are_rows_that_count():
    table = np.vstack([np.zeros((1, 4)), np.ones((5, 4))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = BernoulliMixture(2, init="k-means++", n_init=1, random_state=0, max_iter=1, smoothing=0.0)
        model.fit(table, sample_weight=[0, 1, 1, 1, 1, 1])
    assert (model.components_ > 0.5).all()


def test_text_tables(tmp_path):
    def shape(name, text, **options):
        (tmp_path / name).write_text(text)
        return latentbits.data.read_table(tmp_path / name, **options).shape

    assert shape("a.csv", "y,n\nn,y\ny,y\n") == (3, 2)  # no header
    assert shape("b.csv", "x\n1\n\n0\n") == (3, 1)  # the empty line is an unknown cell
    assert shape("c.basket", "tea\nred wine,tea\n²,3\n") == (3, 4)
    assert shape("d.basket", "a|b\nc\n", delimiter="|") == (2, 3)
    assert shape("e.triples", "\nr1,c1\nr2,c2\n") == (2, 2)
    with pytest.raises(FileError, match="no text encoding"):
        shape("f.csv", "a\n1\n", encoding="martian")
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,1\n")
    with pytest.raises(InputError, match=r"binarize=1\.5"):
        BernoulliMixture(1).fit(tmp_path / "g.csv")
    table = latentbits.data.read_table(tmp_path / "a.csv")
    assert BernoulliMixture(1).fit(table).n_features_in_ == 2


def test_command_line_traps(tmp_path, capsys, monkeypatch):
    from latentbits.cli.main import main

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("who,a,b\nx,1,2\ny,2,1\ny,1,1\n")
    before = (tmp_path / "t.csv").read_bytes()
    assert "not a model" in run("fit", "t.csv", "--id", "who", "--binarize", 1.5, "-o", "t.csv")[2]
    assert (tmp_path / "t.csv").read_bytes() == before
    code, _, err = run("fit", "t.csv", "--id", "who", "-k", 1, "--binarize", 1.5, "-o", "m")
    assert code == 0 and err.startswith("warning: column 'who': 1 id occurs more than once (first: 'y'); these rows")
    code, out, _ = run("impute", "m", "t.csv", "--id", "who")  # the threshold of the fit is known
    assert code == 0 and out.splitlines()[:2] == ["who,a,b", "x,0,1"]
    assert "exclude each other" in run("explain", "m", "t.csv", "--id", "who", "--unknown", "--surprising", 2)[2]
    assert "1 or more" in run("explain", "m", "t.csv", "--id", "who", "--surprising", -2)[2]
    assert "no row '0'" in run("explain", "m", "t.csv", "--id", "who", "--cell", "0:a")[2]
    assert "2 rows are called" in run("explain", "m", "t.csv", "--id", "who", "--cell", "y:a")[2]
    (tmp_path / "l.csv").write_text("name,id,a\nann,7,1\nbob,8,0\n")
    assert run("fit", "l.csv", "--id", "name", "--label", "id", "-k", 1, "-o", "l")[0] == 0
    assert run("impute", "l", "l.csv", "--id", "name", "--label", "id")[1].splitlines()[1] == "ann,7,1"


def test_closed_pipes_are_no_failure(tmp_path):
    np.savetxt(tmp_path / "t.csv", T.astype(int), fmt="%d", delimiter=",", header=",".join("abcdefgh"), comments="")
    BernoulliMixture(1).fit(tmp_path / "t.csv").save(tmp_path / "m")
    command = f"set -o pipefail; {sys.executable} -m latentbits sample m -n 200000 | head -1"
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.strip() == "a,b,c,d,e,f,g,h" and ran.stderr == "" and ran.returncode == 0


def test_sizes_that_make_sense_are_let_through(monkeypatch):
    table = np.random.default_rng(0).integers(0, 2, (30, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        BernoulliMixture(40, n_init=1, max_iter=2).fit(table)  # few components are few on any table
        latentbits.VariationalBernoulliMixture(100, n_init=1, max_iter=2).fit(table)
        latentbits.BinaryGTM((8, 8), max_iter=2).fit(table)  # nodes of a map are no classes
        BernoulliMixture(150).partial_fit(table)  # more rows may come
        estimator = latentbits.BernoulliGaussClassifier(40, max_iter=2)
        assert estimator.fit(table, np.arange(30) % 2).estimators_[0].n_components == 15
    monkeypatch.setattr("latentbits.base.limits.memory", lambda: 10**9)
    wide = sp.csr_array((200, 10**6))
    for estimator in (BernoulliMixture(90), latentbits.LatentTrait(90), latentbits.BinaryGTM((9, 9))):
        with pytest.raises(InputError, match=r"200 rows × 1000000 columns.* GB of memory, and this machine has 1 GB"):
            estimator.fit(wide)
    for options in ({"latent_shape": (120, 120)}, {"latent_shape": (99, 99), "basis": "identity"}):
        with pytest.raises(InputError, match=r"30 rows × 6 columns with latent_shape=.* GB of memory"):
            latentbits.BinaryGTM(**options).fit(table)
    with pytest.raises(InputError, match="n_components=1000000000 needs"):
        BernoulliMixture(10**9).partial_fit(table)
    with pytest.raises(InputError, match="n_components=more than"):
        BernoulliMixture(10**5000).fit(table)
    with pytest.raises(InputError, match="5 to 1,000,000; got 1000000000000"):
        latentbits.RestrictedBoltzmann(2, n_sweeps=10**12).fit(table)


@pytest.mark.filterwarnings("ignore::latentbits.errors.LatentBitsWarning")
def test_proportional_rows_raise_no_foreign_warning():
    """Rows that are multiples of two others begin as two clusters, whatever the number of topics."""
    X = np.outer(np.arange(1, 7), [1.0, 2.0, 0.0]) + np.outer([0, 1] * 3, [0.0, 0.0, 1.0]) * np.arange(1, 7)[:, None]
    for model in (BernoulliGaussMixture(3, n_keywords=1, random_state=0), MixtureOfUnigrams(3, random_state=0)):
        assert np.isfinite(model.fit(X).objective_)


def named_table(n_columns=8):
    """A frame, and the same with its columns in another order."""
    pd = pytest.importorskip("pandas")
    table = make_mixture(200, n_columns, 2, unknown=0.1, random_state=0).data
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(n_columns)])
    return frame, frame[list(frame.columns[::-1])]


def going_on(model, X, *rest):
    """A fit that may be cut short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.fit(X, *rest)


def test_a_warm_start_matches_columns_by_name():
    """Parameters of one column would be the start of another."""
    frame, turned = named_table()
    model = going_on(BernoulliMixture(2, max_iter=5, n_init=1, random_state=0, warm_start=True), frame)
    expected = going_on(copy.deepcopy(model), frame)
    again = going_on(copy.deepcopy(model), turned)
    assert list(again.feature_names_in_) == list(frame.columns)
    assert_same_bits(again, expected)
    with pytest.raises(InputError, match="feature names should match"):
        model.fit(frame.rename(columns={"q0": "other"}))
    fresh = going_on(model.set_params(warm_start=False), turned)
    assert list(fresh.feature_names_in_) == list(turned.columns)


def test_a_classifier_that_starts_warm_matches_columns_by_name():
    frame, turned = named_table()
    frame, turned = frame.fillna(0) + 1, turned.fillna(0) + 1
    y = np.arange(200) % 2
    model = latentbits.BernoulliGaussClassifier(2, max_iter=3, random_state=0, warm_start=True)
    model = going_on(model, frame, y)
    expected, again = (going_on(copy.deepcopy(model), X, y) for X in (frame, turned))
    assert list(again.feature_names_in_) == list(frame.columns)
    for ours, theirs in zip(again.estimators_, expected.estimators_):
        assert_same_bits(ours, theirs)


def test_a_recommender_that_starts_warm_matches_items_by_name():
    frame, turned = named_table()
    model = latentbits.BernoulliGaussRecommender(2, max_iter=3, n_init=1, random_state=0, warm_start=True)
    model = going_on(model, frame)
    expected, again = (going_on(copy.deepcopy(model), X) for X in (frame, turned))
    assert list(again.items_) == list(frame.columns)
    np.testing.assert_allclose(again.components_, expected.components_)


def test_pruning_matches_columns_by_name():
    pd = pytest.importorskip("pandas")
    table = make_noisy_or(200, 8, 2, random_state=0).data
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(8)])
    model = going_on(latentbits.NoisyOrComponentAnalysis(3, n_init=1, random_state=0), frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        expected, pruned = (model.prune(X) for X in (frame, frame[list(frame.columns[::-1])]))
    assert list(pruned.feature_names_in_) == list(frame.columns)
    assert_same_bits(pruned, expected)


@pytest.mark.parametrize("model", [IndependentColumns(), ChowLiuTree()])
def test_baselines_match_columns_by_name(model):
    frame, turned = named_table()
    model.fit(frame)
    np.testing.assert_array_equal(model.score_samples(turned), model.score_samples(frame))
    np.testing.assert_array_equal(model.score_samples(frame.to_numpy()), model.score_samples(frame))
    with pytest.raises(InputError, match="feature names should match"):
        model.score(frame.rename(columns={"q0": "other"}))


def test_adapted_models_match_columns_by_name():
    from sklearn.decomposition import PCA

    frame, turned = named_table()
    model = latentbits.evaluation.Adapted(PCA(2, random_state=0)).fit(frame)
    np.testing.assert_array_equal(model.reconstruct(turned), model.reconstruct(frame))
