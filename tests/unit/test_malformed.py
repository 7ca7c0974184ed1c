"""Bad input of five hundred kinds: each ends in a typed error or a documented warning, and leaves nothing behind."""

from __future__ import annotations

import datetime
import gzip
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits import BernoulliMixture
from latentbits.cli.main import main
from latentbits.data import open_source
from latentbits.errors import InputError, LatentBitsError, LatentBitsWarning

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

GOOD = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1], [1, 1, 0, 0]], float)
NUMBERS = [2, -1, 0.5, np.inf, -np.inf, 37, 1e300, -0.001, 255, 1.0000001, 3, 100]
OBJECTS = ["x", "maybe", b"1", object(), 1j, datetime.date(2020, 1, 1), [1], {"a": 1}, "0", "y", "", ()]


def with_value(value, place=(2, 1)):
    """The good table with one bad cell, as objects."""
    table = GOOD.astype(object)
    table[place] = value
    return table


def bad_cells():
    """Containers × values."""
    for value in NUMBERS:
        table = with_value(value).astype(float)
        yield f"array {value}", table
        yield f"fortran array {value}", np.asfortranarray(table)
        yield f"list {value}", table.tolist()
        yield f"masked {value}", np.ma.MaskedArray(table, mask=np.zeros(table.shape, bool))
        for form in ("csr", "csc", "coo", "lil", "dok"):
            yield f"{form} {value}", sp.coo_array(table).asformat(form)
        yield f"pandas {value}", pd.DataFrame(table, columns=list("abcd"))
        yield f"pandas nullable {value}", pd.DataFrame(table).astype("Float64")
        yield f"polars {value}", pl.DataFrame(table)
        yield f"arrow {value}", pa.table({str(j): table[:, j] for j in range(4)})
        if float(value).is_integer() and abs(value) < 100:
            yield f"integers {value}", table.astype(np.int64)
    for i, value in enumerate(OBJECTS):
        yield f"objects {i}", with_value(value)
        if not isinstance(value, (list, dict, tuple)):
            yield f"list of objects {i}", with_value(value).tolist()
        if value in ("0", "y", ""):  # which frames may hold
            continue
        if not isinstance(value, (list, dict, tuple)):
            yield f"pandas objects {i}", pd.DataFrame(with_value(value))
        if isinstance(value, str):
            yield f"polars text {i}", pl.DataFrame({"a": ["0", value], "b": [0, 1]})
            yield f"arrow text {i}", pa.table({"a": ["0", value], "b": [0, 1]})
            yield f"pandas category {i}", pd.DataFrame({"a": pd.Categorical(["0", value]), "b": [0, 1]})
    yield "text array", np.array([["a", "b"], ["c", "d"]])
    yield "bytes array", np.array([[b"a", b"b"]])
    yield "complex", GOOD.astype(complex)
    yield "complex sparse", sp.csr_array(GOOD.astype(complex))
    yield "dates", np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]")
    yield "pandas dates", pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"]), "b": [0, 1]})
    yield "structured", np.zeros((3,), dtype=[("a", int)])
    yield "arrow lists", pa.table({"a": [[1], [0]], "b": [0, 1]})
    yield "polars dates", pl.DataFrame({"a": [datetime.date(2020, 1, 1)], "b": [1]})


def bad_shapes():
    yield "one dimension", np.zeros(5)
    yield "three dimensions", np.zeros((2, 2, 2))
    yield "no dimension", np.float64(1)
    yield "number", 5
    yield "no rows", np.zeros((0, 3))
    yield "no columns", np.zeros((3, 0))
    yield "nothing", np.zeros((0, 0))
    yield "empty list", []
    yield "list of empty lists", [[], []]
    yield "flat list", [0, 1, 0]
    yield "ragged", [[0, 1], [1]]
    yield "deep list", [[[0], [1]]]
    yield "dict", {"a": [0, 1]}
    yield "set", {0, 1}
    yield "none", None
    yield "bytes", b"0101"
    yield "function", len
    yield "matrix", np.matrix([[0, 1]])
    yield "series", pd.Series([0, 1, 0])
    yield "polars series", pl.Series([0, 1])
    yield "frame without rows", pd.DataFrame({"a": [], "b": []})
    yield "frame without columns", pd.DataFrame(index=[1, 2])
    yield "arrow without rows", pa.table({"a": pa.array([], pa.int8())})
    yield "polars without rows", pl.DataFrame({"a": []})
    for form in ("csr", "csc", "coo"):
        yield f"{form} without rows", sp.coo_array((0, 4)).asformat(form)
        yield f"{form} without columns", sp.coo_array((4, 0)).asformat(form)
    yield "one-dimensional sparse", sp.coo_array(np.ones(4))
    damaged = sp.csr_array(GOOD)
    damaged.indices = damaged.indices.copy()
    damaged.indices[0] = 77
    yield "sparse index outside", damaged
    yield "duplicates that sum to two", sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))
    yield "all unknown", np.full((4, 3), np.nan)
    yield "all unknown sparse", sp.csr_array(np.full((4, 3), np.nan))
    yield "all masked", np.ma.masked_all((3, 3))
    yield "missing file", "no/such/file.csv"
    yield "missing path", Path("no_such_file.parquet")
    yield "unknown suffix", "pyproject.toml" if os.path.exists("pyproject.toml") else __file__


def bad_weights():
    n = len(GOOD)
    for i, weights in enumerate(
        [
            [-1, 1, 1, 1, 1],
            [np.nan] * n,
            [1, np.nan, 1, 1, 1],
            [np.inf, 1, 1, 1, 1],
            [-np.inf, 1, 1, 1, 1],
            np.zeros(n),
            np.ones(n - 1),
            np.ones(n + 1),
            np.ones((n, 1)),
            np.ones((n, n)),
            ["a"] * n,
            [None] * n,
            "heavy",
            [[1], [1, 2]],
            {"a": 1},
            [1j] * n,
            -3.0,
            np.nan,
            0.0,
            object(),
            [-1e-300, 1, 1, 1, 1],
            [],
        ]
    ):
        yield f"weights {i}", weights


OPTIONS = {
    "n_components": [0, -1, 1.5, "two", None, True, np.nan, [2]],
    "max_iter": [0, -5, 2.5, "many", None, False],
    "n_init": [0, -1, 0.5, None, "all"],
    "tol": [-1, np.nan, np.inf, "small", None],
    "smoothing": [-1, np.nan, np.inf, "much", None],
    "weight_concentration": [0, 0.99, np.nan, -1, "x"],
    "init": ["best", "", [[0.5]], [[2.0] * 4] * 2, [["a"] * 4] * 2, np.full((2, 4), np.nan), 7],
    "time_limit": [-1, np.nan, "soon"],
    "block_rows": [0, -1, 1.5, "big", True],
    "binarize": ["half", np.nan, [1], True],
    "random_state": [-1, "seed", 1.5],
}


def wrong(value):
    return pytest.raises((InputError, LatentBitsError))


CELLS = [*bad_cells(), *bad_shapes()]


@pytest.mark.parametrize("X", [X for _, X in CELLS], ids=[name for name, _ in CELLS])
def test_tables(X):
    with pytest.raises(InputError) as caught:
        BernoulliMixture(2, random_state=0).fit(X)
    assert str(caught.value).startswith("BernoulliMixture:") and len(str(caught.value)) < 500


@pytest.mark.parametrize("method", ["transform", "score_samples", "impute", "explain", "predict", "partial_fit"])
@pytest.mark.parametrize("which", range(0, len(CELLS), 13))
def test_tables_in_answers(method, which):
    model = BernoulliMixture(2, random_state=0).fit(GOOD)
    with pytest.raises(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        X = CELLS[which][1]
        answer = getattr(model, method)(X)
        if CELLS[which][0].startswith("all "):
            raise InputError(f"blank rows are answered from the overall shares: {answer}")


@pytest.mark.parametrize("weights", [w for _, w in bad_weights()], ids=[name for name, _ in bad_weights()])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "score"])
def test_weights(weights, method):
    model = BernoulliMixture(2, random_state=0)
    if method == "score":
        model.fit(GOOD)
    with pytest.raises(InputError, match="weight"):
        getattr(model, method)(GOOD, sample_weight=weights)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in OPTIONS.items() for value in values])
def test_options(name, value):
    with pytest.raises((InputError, LatentBitsError, ValueError)) as caught:
        BernoulliMixture(**{"random_state": 0, name: value}).fit(GOOD)
    assert name in str(caught.value) or "seed" in str(caught.value)


# --- files, through the API and the command line ----------------------------------------------------------------------

PLAIN = b"a,b,c\n1,0,1\n0,1,0\n1,1,?\n0,0,1\n"


def bad_files():
    """(name of the file, content)."""
    yield "empty.csv", b""
    yield "blank.csv", b"\n\n  \n"
    yield "header.csv", b"a,b,c\n"
    yield "short_row.csv", b"a,b,c\n1,0,1\n1,0\n"
    yield "long_row.csv", b"a,b,c\n1,0,1\n1,0,1,1\n"
    yield "latin1.csv", "größe,b\n1,0\n".encode("latin-1")
    yield "utf16.csv", "a,b\n1,0\n".encode("utf-16")
    yield "nul.csv", b"a,b\n1,\x00\n"
    yield "binary.csv", bytes(range(256)) * 4
    yield "quote.csv", b'a,b\n"1,0\n1,1\n'
    yield "quote_inside.csv", b'a,b\n1"1,0\n'
    yield "twice.csv", b"a,a\n1,0\n"
    yield "counts.csv", b"a,b\n1,7\n0,2\n"
    yield "one_two.csv", b"a,b\n1,2\n2,1\n"
    yield "minus.csv", b"a,b\n-1,1\n"
    yield "words.csv", b"a,b\nred,1\nblue,0\n"
    yield "ids.csv", b"who,b\nann,1\nbob,0\n"
    yield "huge_id.csv", b"a,b\n" + b"9" * 400 + b",1\n"
    yield "inf.csv", b"a,b\ninf,1\n"
    yield "float.csv", b"a,b\n0.5,1\n"
    yield "unknown.csv", b"a,b\n?,NA\n,nan\n"
    yield "semicolons_mixed.csv", b"a;b\n1;0\n1,0\n"
    yield "html.csv", b"<html><body>404</body></html>\n<p>\n"
    yield "json.csv", b'{"a": [1, 0]}\n{"b": 2}\n'
    yield "cut.csv.gz", gzip.compress(PLAIN * 500)[:-40]
    yield "plain.csv.gz", PLAIN
    yield "empty.csv.gz", b""
    yield "garbage.csv.gz", gzip.compress(PLAIN)[:10] + b"\xff" * 50
    yield "empty.tsv", b""
    yield "commas.tsv", b"a,b\n1,0\n"
    for kind in ("npz", "npy", "mtx", "parquet"):
        yield f"empty.{kind}", b""
        yield f"text.{kind}", PLAIN
        yield f"zip.{kind}", b"PK\x03\x04" + b"\x00" * 30
    yield "wrong.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n5 5 1\n"
    yield "counts.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 5\n"
    yield "empty.dat", b""
    yield "blank.dat", b"\n\n"
    yield "latin1.dat", b"caf\xe9 tea\n"
    yield "empty.triples", b""
    yield "four.triples", b"a,b,1,1\n"
    yield "one.triples", b"a\n"
    yield "ragged.triples", b"a,b,1\nc,d\n"
    yield "clash.triples", b"a,b,1\na,b,0\n"
    yield "value.triples", b"a,b,5\n"
    yield "only_header.triples", b"row,column,value\n"
    yield "nothing.xyz", PLAIN
    yield "no_suffix", PLAIN
    rng = np.random.default_rng(0)
    for i in range(30):
        yield f"noise{i}.csv", rng.integers(0, 256, 200, dtype=np.uint8).tobytes() + b"\n"
    for i in range(12):
        # A good table with one byte turned into something no cell can be.
        content = bytearray(PLAIN * 3)
        content[10 + 2 * rng.integers(0, 3)] = ord("#")
        yield f"hash{i}.csv", bytes(content)


def archive(**parts):
    """Bytes of an ``.npz``."""
    file = io.BytesIO()
    np.savez(file, **parts)
    return file.getvalue()


def with_entry(content, place, value):
    """An archive whose first entry has another number at a place: flags at 0, how it is compressed at 2."""
    content = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(mark) + offset + place
        content[at : at + 2] = value.to_bytes(2, "little")
    return bytes(content)


def bad_archives():
    """Files of arrays that NumPy and SciPy stumble over in ways of their own."""
    parts = {"data": [1.0, 1.0], "indices": [0, 1], "indptr": [0, 1, 2]}
    packed = np.packbits(GOOD.astype(np.uint8), axis=1)
    yield "short_shape.npz", archive(**parts, shape=[2])
    yield "no_shape.npz", archive(**parts, shape=2)
    yield "number_format.npz", archive(**parts, shape=[2, 2], format=5)
    yield "one_axis.npz", archive(**parts, shape=[2], format=b"csr", _is_array=True)
    yield "many_n_vars.npz", archive(n_vars=[4, 4], train=packed)
    yield "part_n_vars.npz", archive(n_vars=0.5, train=packed)
    yield "huge_n_vars.npz", archive(n_vars=10**12, train=packed)
    yield "no_n_vars.npz", archive(n_vars=0, train=packed)
    yield "float_train.npz", archive(n_vars=4, train=packed.astype(float))
    yield "flat_train.npz", archive(n_vars=4, train=packed[:, 0])
    yield "locked.npz", with_entry(archive(X=GOOD), 0, 1)
    yield "compressed.npz", with_entry(archive(X=GOOD), 2, 99)
    yield "dense.mtx", b"%%MatrixMarket matrix array real general\n1000000 1000000\n1\n"


FILES = [*bad_files(), *bad_archives()]


@pytest.mark.parametrize(("name", "content"), FILES, ids=[name for name, _ in FILES])
def test_files(name, content, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        BernoulliMixture(1, random_state=0).fit(path)
    for command in (["fit", path, "-k", "1", "-o", tmp_path / "model"], ["data", "describe", path]):
        if command[0] == "data" and name in ("unknown.csv",):
            continue  # a table of blanks can be described
        with pytest.raises(SystemExit) as stop:
            main([str(part) for part in command])
        out, err = capsys.readouterr()
        assert stop.value.code == 2 and out == ""
        assert err.startswith("latentbits: ") and "Traceback" not in err and len(err) < 600
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("i", range(40))
def test_foreign_model_files(i, tmp_path, capsys):
    from safetensors.numpy import save

    path = tmp_path / "model"
    BernoulliMixture(1, n_init=1, random_state=0).fit(GOOD).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(i)
    kinds = [
        lambda: whole[: rng.integers(0, len(whole))],
        lambda: bytes(b ^ (rng.random() < 0.01) for b in whole) + b"\x01",
        lambda: save({"a": np.zeros(3)}),
        lambda: save({"a": np.zeros(3)}, metadata={"latentbits": "[]"}),
        lambda: save({"a": np.zeros(3)}, metadata={"latentbits": '["{}", "seal"]'}),
        lambda: rng.integers(0, 256, 300, dtype=np.uint8).tobytes(),
        lambda: b"\x80\x04\x95",  # a pickle
        lambda: GOOD.tobytes(),
    ]
    path.write_bytes(kinds[i % len(kinds)]())
    with pytest.raises(InputError):
        latentbits.load(path)
    with pytest.raises(SystemExit) as stop:
        main(["sample", str(path), "-o", str(tmp_path / "out.csv")])
    assert stop.value.code == 2 and "Traceback" not in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["model"]


def test_documented_warnings():
    """What is odd but usable warns and works."""
    odd = {
        "column unknown": np.column_stack([GOOD, np.full(5, np.nan)]),
        "row unknown": np.vstack([GOOD, np.full((1, 4), np.nan)]),
        "constant": np.ones((6, 3)),
    }
    for table in odd.values():
        with pytest.warns(LatentBitsWarning):
            model = BernoulliMixture(2, random_state=0).fit(table)
        assert np.isfinite(model.transform(table)).all() and np.isfinite(model.score(table))
    for table in ([[1]], [[0, 1]], np.zeros((1, 3)), [[None, 1]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            model = BernoulliMixture(1, random_state=0).fit(table)
        assert np.isfinite(model.score(table))


# --- what Python and NumPy would take for numbers -----------------------------------------------------------------------

RATINGS = np.array([[1, 2, 3, 4], [2, 1, 4, 3], [5, 4, 1, 2], [1, 1, 2, 5]], float)
NO_RATINGS = {
    "complex": RATINGS + 1j,
    "text": RATINGS.astype(str),
    "bytes": RATINGS.astype(bytes),
    "dates": RATINGS.astype("datetime64[D]"),
    "objects": pd.DataFrame(RATINGS).map(lambda day: datetime.date(2020, 1, int(day))),
    "ragged": [[1, [2]], [2, 3], [3, 4]],
    "huge": [[10**400, 1], [1, 2]],
    "complex sparse": sp.coo_array(RATINGS + 1j),
    "complex triples": ([0, 0, 1], [0, 1, 0], [1j, 2, 3]),
    "text triples": ([0, 0, 1], [0, 1, 0], ["1", "2", "3"]),
    "date triples": pd.DataFrame({"u": [0, 0], "i": [0, 1], "r": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
    "nameless user": ([np.nan, 0, 1], [0, 1, 0], [1, 2, 3]),
    "nameless item": (["a", "b", "c"], ["x", None, "y"], [1, 2, 3]),
    "path": "ratings.csv",
}


@pytest.mark.parametrize("name", NO_RATINGS)
@pytest.mark.parametrize("kind", ["GaussianPLSA", "BernoulliGaussRecommender"])
def test_what_is_no_rating(name, kind):
    with pytest.raises(InputError, match=kind):
        getattr(latentbits, kind)(2, random_state=0).fit(NO_RATINGS[name])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "float64[pyarrow]", "polars", "lazy", "arrow", "masked"])
def test_ratings_in_frames_of_every_kind(kind):
    holes = np.where(RATINGS == 5, np.nan, RATINGS)
    frame = pd.DataFrame(holes, columns=list("abcd"))
    others = {"polars": pl.DataFrame, "lazy": lambda f: pl.DataFrame(f).lazy(), "arrow": pa.Table.from_pandas}
    others["masked"] = lambda f: np.ma.masked_invalid(f.to_numpy())
    table = others[kind](frame) if kind in others else frame.astype(kind)
    model = latentbits.GaussianPLSA(1, random_state=0, n_init=1).fit(table)
    assert np.array_equal(model.rating_values_, holes[~np.isnan(holes)])
    assert kind == "masked" or list(model.items_) == list("abcd")


@pytest.mark.parametrize("weights", [[1j] * 5, ["1"] * 5, np.ones(5, "M8[D]"), np.ma.masked_equal([1, 2, 1, 1, 1], 2)])
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(InputError, match="weight"):
        BernoulliMixture(2).fit(GOOD, sample_weight=weights)


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, np.complex64(1), 10**400, np.True_])
def test_thresholds_are_finite(threshold, tmp_path):
    path = tmp_path / "plain.csv"
    path.write_bytes(PLAIN)
    for table in (GOOD, path):
        with pytest.raises(InputError, match="binarize"):
            BernoulliMixture(2, binarize=threshold).fit(table)


@pytest.mark.parametrize("word", ["0_1", "\u0661", "\uff11", "1_0"])
def test_numbers_of_files_are_plain(word, tmp_path, capsys):
    files = {
        "a.csv": f"a,b\n{word},1\n1,0\n",
        "a.triples": f"x,y,1\nx,z,{word}\n",
        "a.mtx": f"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 {word}\n",
        "b.mtx": f"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 {word}\n",
        "ratings.csv": f"u,i,3\nu,j,{word}\nv,i,2\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.write_text(content)
        command = ["recommend", str(path), "--user", "u"] if name == "ratings.csv" else ["data", "describe", str(path)]
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code == 2, name
        assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["data", "describe", str(tmp_path / "a.csv"), "--binarize", word])
    assert stop.value.code == 2 and "--binarize" in capsys.readouterr().err


def test_market_files_are_read_as_they_are_written(tmp_path):
    from scipy.io import mmwrite

    table = (np.random.default_rng(0).random((5, 5)) < 0.4).astype(int)
    for i, matrix in enumerate([sp.coo_array(table), sp.coo_array(table | table.T), table, table.astype(float)]):
        for field in (None, "integer", *(["pattern"] if i < 2 else [])):
            path = tmp_path / "a.mtx"
            mmwrite(path, matrix, comment="two lines\nof words", field=field)
            assert (
                open_source(path).block(0).codes().tolist()
                == np.asarray(matrix.toarray() if i < 2 else matrix).tolist()
            )


def test_given_unknowns_are_finite_numbers():
    aspects = latentbits.AspectBernoulli(2, random_state=0, n_init=1, max_iter=2)
    sources = latentbits.NoisyOrComponentAnalysis(2, random_state=0, n_init=1, max_iter=2)
    axes = latentbits.LogisticPCA(2, random_state=0, n_init=1, max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        models = [model.fit(GOOD) for model in (aspects, sources, axes)]
    for model in models:
        for wrong in ([[-np.inf, np.inf]], [[np.nan, 1]], [["0", "1"]], [[1j, 0]], [[1, 0], [1]], "ab", [[10**400, 0]]):
            with pytest.raises(InputError, match=type(model).__name__):
                model.inverse_transform(wrong)
    with pytest.raises(InputError, match="one in sum"):
        aspects.inverse_transform([[-1, 2]])
    topics = latentbits.BernoulliGaussMixture(2, n_keywords=2, random_state=0)
    selector = latentbits.BernoulliGaussSelector(topics, threshold=0.1, min_topic_rows=1).fit(RATINGS)
    for wrong in (RATINGS.astype(str), -RATINGS, RATINGS + 1j, np.where(RATINGS == 5, np.nan, RATINGS)):
        with pytest.raises(InputError, match="BernoulliGaussSelector"):
            selector.transform(wrong)


def lazy_models():
    """Every family that reads frames, with little to do."""
    quick = {"random_state": 0, "n_init": 1, "max_iter": 2, "n_chains": 1, "n_warmup": 1, "n_draws": 1}
    for name in latentbits.__all__:
        kind = getattr(latentbits, name)
        if isinstance(kind, type) and hasattr(kind, "fit"):
            yield kind(**{option: value for option, value in quick.items() if option in kind().get_params()})


@pytest.mark.parametrize("model", lazy_models(), ids=lambda model: type(model).__name__)
def test_lazy_frames(model):
    table = np.vstack([GOOD, GOOD, 1 - GOOD])
    frame = pl.DataFrame(table, schema=list("abcd")).lazy()
    classes = (table[:, 0],) if "Classifier" in type(model).__name__ else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(frame, *classes)
    assert list(getattr(model, "feature_names_in_", "abcd")) == list("abcd")
    if hasattr(model, "impute"):
        assert model.impute(frame).collect().shape == table.shape


def test_raw_errors_of_options():
    for name, value in (
        ("callbacks", [3]),
        ("checkpoint", 3),
        ("checkpoint", ""),
        ("tol", 10**5000),
        ("binarize", 10**5000),
    ):
        with pytest.raises(InputError, match=f"BernoulliMixture: {name}"):
            BernoulliMixture(2, **{name: value}).fit(GOOD)
    for table in ([[10**400, 0]], [[-(10**5000), 0]]):
        for model in (BernoulliMixture(1), BernoulliMixture(1, binarize=0.5), latentbits.PLSA(1)):
            with pytest.raises(InputError, match="row 0, column 0"):
                model.fit(table)
    model = BernoulliMixture(2, random_state=0).fit(pd.DataFrame(GOOD, columns=list("abcd")))
    with pytest.raises(InputError, match="feature names should match"):
        model.transform(pd.DataFrame(GOOD, columns=list("abce")))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "rot13", "zlib", "hex", "undefined", "a\x00b", "", "idna"])
def test_encodings(encoding, tmp_path, capsys):
    path = tmp_path / "plain.csv"
    path.write_bytes(PLAIN * 30)
    with pytest.raises(SystemExit) as stop:
        main(["data", "describe", str(path), "--encoding", encoding])
    assert stop.value.code == 2 and "--debug" not in capsys.readouterr().err


def test_numbers_of_five_thousand_digits(tmp_path, capsys):
    digits = "9" * 5000
    (tmp_path / "a.basket").write_text(f"{digits} 2 10\n0{digits} 3\n")
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 {digits}\n")
    (tmp_path / "b.mtx").write_text(f"%%MatrixMarket matrix coordinate integer general\n2 {digits} 1\n1 1 1\n")
    (tmp_path / "ratings.csv").write_text(f"{digits},1,3\n2,1,4\n")
    assert latentbits.data.read_table(tmp_path / "a.basket").columns == ["2", "3", "10", f"0{digits}", digits]
    for command in (
        ["data", "describe", "a.mtx"],
        ["data", "describe", "b.mtx"],
        ["recommend", "ratings.csv", "--user", "1" * 5000],
    ):
        with pytest.raises(SystemExit) as stop:
            main([str(tmp_path / part) if "." in part else part for part in command])
        assert stop.value.code == 2 and "--debug" not in capsys.readouterr().err


def test_raw_errors_of_arguments(tmp_path, capsys):
    model = BernoulliMixture(2, random_state=0).fit(GOOD)
    for ask in (
        lambda: model.components_table(top="x"),
        lambda: model.sample(2, random_state=[1]),
        lambda: BernoulliMixture(2, verbose=[1]).fit(GOOD),
        lambda: BernoulliMixture(2, warm_start={"a": 1}).fit(GOOD),
        lambda: BernoulliMixture(2, init=[["0.5"] * 4] * 2).fit(GOOD),
        lambda: BernoulliMixture(2).fit(with_value(np.timedelta64(1, "D"))),
        lambda: latentbits.PLSA(2).fit(with_value(1e300).astype(float)),
        lambda: latentbits.GaussianPLSA(2).fit(with_value(1e300).astype(float)),
        lambda: latentbits.BernoulliGaussSelector("topics").fit(GOOD),
        lambda: latentbits.BernoulliGaussClassifier(1).fit(GOOD, "y"),
        lambda: latentbits.GaussianPLSA(1, random_state=0).fit(RATINGS).predict([0], [[1, 2]]),
    ):
        with pytest.raises(InputError):
            ask()
    counts = latentbits.MixtureOfUnigrams(1, random_state=0).fit(RATINGS)
    assert sum(row["ones"] for row in counts.profile_table(RATINGS)) == pytest.approx(RATINGS.sum())
    (tmp_path / "plain.csv").write_bytes(PLAIN)
    counts.save(tmp_path / "counts")
    for command in (["data", "describe", "plain.csv", "--delimiter", "ab"], ["impute", "counts", "plain.csv"]):
        with pytest.raises(SystemExit) as stop:
            main([str(tmp_path / part) if part in ("plain.csv", "counts") else part for part in command])
        assert stop.value.code == 2 and "--debug" not in capsys.readouterr().err


def test_there_are_five_hundred():
    n = len(CELLS) + len(range(0, len(CELLS), 13)) * 6 + 3 * len(list(bad_weights()))
    n += sum(len(values) for values in OPTIONS.values()) + 3 * len(FILES) + 2 * 40
    assert n >= 500
