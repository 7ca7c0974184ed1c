"""How values become cells: words, rules, remembered readings, columns by name, long form, Arrow streams."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits.cli.main import main
from latentbits.data import encode, open_source, read_table
from latentbits.data.encoding import Encoding
from latentbits.data.reading import Reading, unreadable
from latentbits.data.rules import columns_like, rule_of_text, rules_of
from latentbits.errors import CellError, FileError, InputError, InputTypeError, TableWarning

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")


def cells(X, **options):
    """Codes of a whole table."""
    source = open_source(X, **options)
    return np.concatenate([source.block(b).codes() for b in range(source.n_blocks)]).tolist()


SURVEY = {
    "name": [f"p{i}" for i in range(30)],
    "radio": ["Radio" if i % 3 else None for i in range(30)],
    "print": ["Print" if i % 2 else None for i in range(30)],
    "q1": [1 + i % 5 for i in range(30)],
    "q2": [5 - i % 5 for i in range(30)],
    "area": [("north", "south", None, "west")[i % 4] for i in range(30)],
    "drives": ["yes" if i % 2 else "no" for i in range(30)],
}
RULES = {"radio..print": "ticked", "q*": {"ones": [4, 5]}, "area": "indicators"}
NAMES = ["radio", "print", "q1", "q2", "area=north", "area=south", "area=west", "drives"]


def survey_codes():
    """What the rules make of the survey."""
    area = SURVEY["area"]
    columns = [
        [int(v is not None) for v in SURVEY["radio"]],
        [int(v is not None) for v in SURVEY["print"]],
        [int(v >= 4) for v in SURVEY["q1"]],
        [int(v >= 4) for v in SURVEY["q2"]],
        *([2 if v is None else int(v == level) for v in area] for level in ("north", "south", "west")),
        [int(v == "yes") for v in SURVEY["drives"]],
    ]
    return np.array(columns).T.tolist()


def written_survey(folder, name="survey.csv"):
    path = folder / name
    frame = pd.DataFrame(SURVEY)
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
def test_rules_make_the_same_cells_of_every_container(kind, tmp_path):
    if kind in ("csv", "parquet"):
        table = read_table(written_survey(tmp_path, f"s.{kind}"), rules=RULES, id_column="name")
    else:
        frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](SURVEY)
        table = encode(frame, RULES, id_column="name")
    assert table.columns == NAMES and table.ids == SURVEY["name"]
    assert cells(table) == survey_codes()


def test_text_in_frames_is_read_as_a_file_would_be(tmp_path):
    values = {"a": ["yes", "No", "?", None], "b": ["1", "0", "", "n/a"], "c": [True, False, None, True]}
    expected = [[1, 1, 1], [0, 0, 0], [2, 2, 2], [2, 2, 1]]
    for frame in (pd.DataFrame(values), pl.DataFrame(values), pa.table(values), pl.DataFrame(values).lazy()):
        assert cells(frame) == expected
    pd.DataFrame(values).to_csv(tmp_path / "t.csv", index=False)
    assert cells(tmp_path / "t.csv") == expected
    category = pd.DataFrame({"a": pd.Categorical(["yes", "no", None]), "b": [0.0, 1.0, np.nan]})
    assert cells(category) == [[1, 0], [0, 1], [2, 2]]
    with pytest.raises(CellError, match=r"column 'a'.* is 'maybe'"):
        open_source(pd.DataFrame({"a": ["yes", "maybe"]}))


def test_rules_for_numbers_words_and_several_values():
    frame = pd.DataFrame({"x": [0.5, 3, 7, np.nan], "y": ["4", "4.0", "5", " "], "m": ["a;b", "b", None, "c; a"]})
    table = encode(frame, {"x": {"above": 2.5}, "y": {"ones": [4]}, "m": {"indicators": ";"}})
    assert table.columns == ["x", "y", "m=a", "m=b", "m=c"]
    assert cells(table) == [[0, 1, 1, 1, 0], [1, 1, 0, 1, 0], [1, 0, 2, 2, 2], [2, 2, 1, 0, 1]]
    coded = encode(pd.DataFrame({"a": [1, 2, 9], "b": [2, 2, 1]}), one=["1"], zero=["2"], blank=["9"])
    assert cells(coded) == [[1, 0], [0, 0], [2, 1]]


@pytest.mark.parametrize(
    "rules, message",
    [
        ({"q*": {"least": 3}}, "not understood"),
        ({"q*": {"ones": []}}, "not understood"),
        ({"q*": {"above": "x"}}, "not understood"),
        ({"q*": {"above": float("nan")}}, "not understood"),
        ({"q*": "tick"}, "not understood"),
        ({3: "ticked"}, "not understood"),
        ({"r*": "ticked", "radio": "ticked"}, "two rules"),
        ({"z*": "ticked"}, "no column is called 'z\\*'"),
        ({"q1..q9": "ticked"}, "no column is called 'q9'"),
        ({"radoi": "ticked"}, "did you mean 'radio'"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rules, message):
    with pytest.raises(InputError, match=message):
        encode(pd.DataFrame(SURVEY), rules, id_column="name")


def test_indicators_need_a_few_values():
    with pytest.raises(InputError, match="'a=x' is called like another column"):
        encode(pd.DataFrame({"a": ["x", "y"], "a=x": [0, 1]}), {"a": "indicators"})
    with pytest.raises(InputError, match="no value"):
        encode(pd.DataFrame({"a": [None, None], "b": [0, 1]}), {"a": "indicators"})
    with pytest.raises(InputError, match="1001 different values"):
        encode(pd.DataFrame({"a": [f"v{i}" for i in range(1001)]}), {"a": "indicators"})


def test_rules_are_typed_and_remembered():
    assert rule_of_text("above", "q*=3").above == 3.0
    for kind, text in (("ones", "q1"), ("above", "q1=x"), ("above", "=3"), ("ones", "q1=")):
        with pytest.raises(InputError, match=f"--{kind}"):
            rule_of_text(kind, text)
    reading = Reading(Encoding(None, ("ja",), ("nein",), ("9",), rules_of(RULES)), "name", ("x",), {"delimiter": ";"})
    record = json.loads(json.dumps(reading.record()))
    assert Reading.of_record(record) == reading
    assert Reading().record() == {} and unreadable(record) is None
    for wrong in (
        {"one": "ja"},
        {"one": [3]},
        {"file": {"delimiter": 3}},
        {"file": {"fields": "a"}},
        {"file": {"open": "x"}},
        {"rules": [{"columns": "q"}]},
        {"rules": [{"ones": ["1"]}]},
        {"rules": [3]},
        {"more": 1},
        {"binarize": "x"},
    ):
        assert unreadable(wrong) is not None
    assert columns_like("a..b", ["b", "x", "a"]) == ["b", "x", "a"]


def test_a_model_reads_other_tables_as_it_read_its_own(tmp_path):
    frame = pd.DataFrame(SURVEY)
    table = encode(frame, RULES, id_column="name")
    model = latentbits.BernoulliMixture(2, random_state=0, n_init=2).fit(table)
    assert model.feature_names_in_.tolist() == NAMES
    expected = model.transform(table)
    np.testing.assert_array_equal(model.transform(frame), expected)
    np.testing.assert_array_equal(model.transform(frame[frame.columns[::-1]]), expected)
    np.testing.assert_array_equal(model.transform(frame.drop(columns="name")), expected)
    with pytest.warns(TableWarning, match=r"1 column that the model does not know left out \('more'\)"):
        np.testing.assert_array_equal(model.transform(frame.assign(more="?")), expected)
    with pytest.raises(InputError, match="yet now missing:\n- q2"):
        model.transform(frame.drop(columns="q2"))
    model.save(tmp_path / "m.latentbits")
    loaded = latentbits.load(tmp_path / "m.latentbits")
    for name in ("survey.csv", "survey.parquet"):
        path = written_survey(tmp_path, name)
        np.testing.assert_array_equal(loaded.transform(path), expected)
        np.testing.assert_array_equal(loaded.transform(read_table(path, rules=RULES, id_column="name")), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(loaded.transform(pl.DataFrame(SURVEY)), expected)
    new = frame.head(2).assign(area=["east", "north"])  # a value that was not there
    with pytest.warns(TableWarning, match="column 'area': 'east' was not there when the model was fitted"):
        assert loaded.transform(new).shape == (2, 2)
    with pytest.warns(TableWarning, match="'agree' was not there when the model was fitted, and is read as 0"):
        loaded.transform(frame.head(2).assign(q1=["agree", "5"]))
    with pytest.warns(TableWarning, match="the word '7' does not occur"):
        latentbits.BernoulliMixture(1).fit(encode(frame[["q1", "q2"]], {"q*": {"ones": [4, 7]}}))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "sparse pandas", "table", "sparse table", "dask"])
def test_columns_are_matched_by_name(kind, tmp_path):
    rng = np.random.default_rng(1)
    X = (rng.random((40, 4)) < 0.4).astype(float)
    names = list("abcd")
    model = latentbits.BernoulliMixture(2, random_state=0, n_init=1).fit(pd.DataFrame(X, columns=names))
    expected = model.score_samples(X)
    other = np.column_stack([X[:, [2, 0, 3]], np.ones(40), X[:, 1]])
    frame = pd.DataFrame(other, columns=["c", "a", "d", "more", "b"])
    if kind == "polars":
        table = pl.DataFrame({name: frame[name].to_numpy() for name in frame})
    elif kind == "arrow":
        table = pa.table({name: frame[name].to_numpy() for name in frame})
    elif kind == "sparse pandas":
        table = frame.astype(pd.SparseDtype("float64", 0.0))
    elif kind == "table":
        frame.to_csv(tmp_path / "t.csv", index=False)
        table = read_table(tmp_path / "t.csv")
    elif kind == "sparse table":
        table = tmp_path / "t.npz"
        csr = sp.csr_array(other)
        np.savez(
            table, data=csr.data, indices=csr.indices, indptr=csr.indptr, shape=csr.shape, gene=np.array(list(frame))
        )
    elif kind == "dask":
        table = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    else:
        table = frame
    with pytest.warns(TableWarning, match="'more'"):
        np.testing.assert_allclose(model.score_samples(table), expected)


def test_lazy_tables_come_in_as_streams_of_arrow_batches():
    duckdb = pytest.importorskip("duckdb")
    values = {"a": [1, 0, None, 1] * 50, "b": ["yes", "no", "?", "no"] * 50}
    given = pa.table(values)
    expected = [[1, 1], [0, 0], [2, 2], [1, 0]] * 50
    relation = duckdb.sql("select a, b from given")
    assert cells(relation) == expected
    assert cells(pa.RecordBatchReader.from_batches(given.schema, given.to_batches(max_chunksize=7))) == expected
    assert cells(given.to_batches()[0]) == expected
    encoded = encode(duckdb.sql("select a, b from given"), {"b": "indicators"})
    assert encoded.columns == ["a", "b=no", "b=yes"]
    ticked = encode(duckdb.sql("select a, b from given"), {"b": {"ones": ["yes"]}})
    assert ticked.columns == ["a", "b"] and cells(ticked)[:3] == [[1, 1], [0, 0], [2, 2]]
    named = encode(duckdb.sql("select a, b from given"), label_columns=["b"])
    assert named.columns == ["a"] and named.labels["b"][:2] == ["yes", "no"]
    sparse = pd.DataFrame({"a": [1, 0], "b": [0, 1]}).astype(pd.SparseDtype("int64", 0))
    assert cells(encode(sparse)) == [[1, 0], [0, 1]] and encode(sparse, id_column="b").columns == ["a"]
    with pytest.raises(CellError, match="column 'b'"):
        open_source(duckdb.sql("select 7 as b"))
    with pytest.raises(InputTypeError):
        encode(np.eye(3))


EVENTS = [("ann", "tea", 881250949), ("bob", "milk", 891717742), ("ann", "milk", 878887116), ("cid", "tea", 880606923)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_event_logs(kind, tmp_path):
    frame = pd.DataFrame(EVENTS, columns=["user_id", "item", "timestamp"])
    path = tmp_path / f"events.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = read_table(path, format="triples")
    assert table.ids == ["ann", "bob", "cid"] and table.columns == ["tea", "milk"]
    assert cells(table) == [[1, 1], [0, 1], [1, 0]]
    mixed = tmp_path / f"mixed.{kind}"
    frame = frame.assign(shop="x", value=[1, 0, 1, 1])[["timestamp", "shop", "item", "value", "user_id"]]
    frame.to_csv(mixed, index=False) if kind == "csv" else frame.to_parquet(mixed)
    assert cells(read_table(mixed, format="triples")) == [[1, 1], [0, 0], [1, 0]]
    turned = read_table(mixed, format="triples", fields=["item", "user_id"])
    assert turned.ids == ["tea", "milk"] and turned.columns == ["ann", "bob", "cid"]
    with pytest.raises(InputError, match="no field 'itme'; did you mean 'item'"):
        read_table(mixed, format="triples", fields=["user_id", "itme"])


def test_long_form_without_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("".join(f"{user},{item},{when}\n" for user, item, when in EVENTS))
    with pytest.raises(FileError, match="--fields 1,2"):
        read_table(path, format="triples")
    assert cells(read_table(path, format="triples", fields=["1", "2"])) == [[1, 1], [0, 1], [1, 0]]
    path.write_text("a,b,1,2\n")
    with pytest.raises(FileError, match="the first line has 4"):
        read_table(path, format="triples")
    path.write_text("a\n")
    with pytest.raises(FileError, match="at least 2 fields"):
        read_table(path, format="triples")


def test_names_in_archives_are_used(tmp_path):
    table = sp.random_array((5, 3), density=0.5, random_state=0, format="csr")
    parts = {"data": np.ones(table.nnz), "indices": table.indices, "indptr": table.indptr, "shape": table.shape}
    np.savez(tmp_path / "a.npz", **parts, gene=np.array(["x", "y", "z"]), strain=np.array(list("abcde")))
    found = read_table(tmp_path / "a.npz")
    assert found.columns == ["x", "y", "z"] and found.ids == list("abcde")
    np.savez(tmp_path / "b.npz", X=np.eye(3), item=np.array(["u", "u", "v"]))
    assert read_table(tmp_path / "b.npz").columns is None  # not each once


def run(capsys, *words, code=0):
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert (caught.value.code or 0) == code, err
    return out, err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_surveys_are_diagnosed_and_the_suggestion_mends_them(suffix, capsys, tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    path = written_survey(tmp_path, f"s.{suffix}").name
    _, err = run(capsys, "fit", path, "-k", 2, "--starts", 1, "-o", "m.latentbits", code=2)
    assert "'radio', 'print' (2 columns) hold one text or nothing" in err and "--ticked radio..print" in err
    assert "'q1', 'q2' (2 columns) hold whole numbers from 1 to 5" in err and "--ones q1..q2=4,5" in err
    assert "'area'" in err and "--indicators" in err and "'name' (30 different values): row names" in err
    again = shlex.split(err.splitlines()[-1].removeprefix("For example: latentbits "))
    assert run(capsys, *again)[0]
    how = ("--id", "name", "--ticked", "radio..print", "--ones", "q*=4,5", "--indicators", "area")
    run(capsys, "fit", path, *how, "-k", 2, "--starts", 1, "-o", "n.latentbits")
    out = run(capsys, "impute", "n.latentbits", path)[0]  # as the model remembers
    assert out.splitlines()[0] == "name," + ",".join(NAMES) and out.splitlines()[1].startswith("p0,0,0,0,1,1,0,0,0")


def test_events_are_recognised(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(EVENTS * 3, columns=["user", "item", "timestamp"]).to_csv("log.csv", index=False)
    _, err = run(capsys, "data", "describe", "log.csv", code=2)
    assert "list of events" in err and "--format triples" in err
    assert "3 rows x 2 columns" in run(capsys, "data", "describe", "log.csv", "--format", "triples")[0]


def test_ones_and_blanks_are_told_of(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": [1, None] * 15, "b": [1, 0, 0] * 10, "c": ["x", None, None] * 10})
    frame[["a", "b"]].to_csv("t.csv", index=False)
    assert "columns of ones and blanks only: 1: a; if nothing means no" in run(capsys, "data", "describe", "t.csv")[0]
    with pytest.warns(TableWarning, match=r"1 column with ones and blanks only \(first: a\)"):
        latentbits.BernoulliMixture(1).fit(frame[["a", "b"]])
    assert cells(encode(frame, {"a": "ticked", "c": "ticked"}))[:3] == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]


def test_a_row_group_is_decoded_once_in_a_pass(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(100) % 2, "b": np.arange(100) % 3 == 0}), path, row_group_size=50)
    asked = []
    read = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda self, g, **how: asked.append(g) or read(self, g, **how)
    )
    source = open_source(path, block_rows=7)
    blocks = [source.block(b).codes() for b in range(source.n_blocks)]
    assert asked == [0, 1] and np.concatenate(blocks)[:, 0].tolist() == (np.arange(100) % 2).tolist()


@pytest.mark.parametrize("words", [{"one": ["0"], "zero": ["1"]}, {"one": ["False"], "zero": ["True"]}, {}])
def test_words_mean_the_same_in_text_and_in_memory(words, tmp_path):
    for values in ([0.0, 1.0, 1.0, 9.0], [False, True, True, None]):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object if None in values else float), "b": [1, 0, 1, 0]})
        frame.to_csv(tmp_path / "t.csv", index=False)
        how = {**words, "blank": ["9"]} if 9.0 in values else words
        assert cells(read_table(tmp_path / "t.csv", **how)) == cells(encode(frame, **how))
        for rule in ({"ones": ["1"]}, {"ones": [True]}, {"above": 0.5}, "indicators"):
            texts = read_table(tmp_path / "t.csv", rules={"a": rule}, blank=how.get("blank", ()))
            frames = encode(frame, {"a": rule}, blank=how.get("blank", ()))
            assert (texts.columns, cells(texts)) == (frames.columns, cells(frames))


def test_decimals_and_dates(tmp_path):
    from datetime import datetime
    from decimal import Decimal

    assert cells(pa.table({"a": [Decimal(1), Decimal(0), None]})) == [[1], [0], [2]]
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-02", "2021-03-04"]), "a": [0, 1]})
    with pytest.raises(CellError, match="column 'when'"):
        open_source(frame)
    assert encode(frame, id_column="when").ids == ["2020-01-02 00:00:00", "2021-03-04 00:00:00"]
    log = pd.DataFrame({"user": ["u", "v"], "item": ["x", "y"], "ts": [datetime(2020, 1, 2)] * 2})
    log.to_parquet(tmp_path / "log.parquet")
    assert cells(read_table(tmp_path / "log.parquet", format="triples")) == [[1, 0], [0, 1]]


def test_columns_of_the_same_name_are_refused():
    twice = pa.table([[1, 0], [0, 1]], names=["a", "a"])
    for table in (twice, twice.to_reader(), pd.DataFrame([[1, 0], [0, 1]], columns=[1, "1"])):
        with pytest.raises(InputError, match=r"'(a|1)' occurs more than once"):
            open_source(table)


def test_streams_that_were_read_are_told_of():
    reader = pa.table({"a": [1, 0], "b": [0, 1]}).to_reader()
    assert cells(reader) == [[1, 0], [0, 1]]
    with pytest.raises(InputError, match="can be read once"):
        open_source(reader)


def test_arguments_of_encode_are_checked():
    frame = pd.DataFrame({"a": [0, 1]})
    for options in (
        {"binarize": np.inf},
        {"binarize": "x"},
        {"rules": ["a"]},
        {"rules": {"a": {"above": 10**400}}},
        {"rules": {"a": {"ones": np.ones((2, 2))}}},
        {"one": "ja"},
        {"blank": 3},
        {"id_column": 0},
    ):
        with pytest.raises(InputError):
            encode(frame, **options)
    assert cells(encode(frame, one=[1], zero=[0])) == [[0], [1]]


def test_rules_are_for_named_columns(tmp_path):
    model = latentbits.BernoulliMixture(1).fit(
        encode(pd.DataFrame({"a": [3, 5, 4], "b": [0, 1, 1]}), {"a": {"above": 3}})
    )
    sparse = pd.DataFrame({"a": [3, 5], "b": [0, 1]}).astype(pd.SparseDtype("int64", 0))
    np.testing.assert_array_equal(model.score_samples(sparse), model.score_samples(sparse.sparse.to_dense()))
    np.savez(tmp_path / "t.npz", X=np.array([[3, 0]]), names=np.array(["a", "b"]))
    with pytest.raises(InputError, match="named columns"):
        model.transform(tmp_path / "t.npz")
    (tmp_path / "t.triples").write_text("u,x\n")
    with pytest.raises(InputError, match="named columns"):
        read_table(tmp_path / "t.triples", rules={"x": "ticked"})


def test_worded_scales_and_several_values_are_recognised(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = ["agree", "neither", "disagree"]
    frame = pd.DataFrame({f"q{j}": [steps[(i + j) % 3] for i in range(30)] for j in range(3)})
    frame["drives"] = ["ja", "nein"] * 15
    frame["hobbies"] = [";".join(["books", "games", "music"][: 1 + i % 3]) for i in range(30)]
    frame.to_csv("t.csv", index=False)
    _, err = run(capsys, "data", "describe", "t.csv", code=2)
    assert "--ones q0..q2=neither" in err and "--one ja --zero nein" in err and "--indicators 'hobbies=;'" in err


def test_lists_are_remembered_with_another_ending(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = pd.DataFrame([(f"u{i % 20}", f"i{(i * 7) % 5}", i) for i in range(80)], columns=["order_id", "item", "price"])
    log.to_csv("log.csv", index=False)
    _, err = run(capsys, "fit", "log.csv", code=2)
    assert "--format triples --fields order_id,item" in err.splitlines()[-1]
    run(capsys, "fit", "log.csv", "--format", "triples", "--fields", "order_id,item", "-k", 1, "-o", "m.latentbits")
    log.to_csv("next.tsv", index=False, sep="\t")
    log.to_csv("next.csv.gz", index=False)
    log.to_parquet("next.parquet")
    found = {
        run(capsys, "transform", "m.latentbits", name)[0]
        for name in ("log.csv", "next.tsv", "next.csv.gz", "next.parquet")
    }
    assert len(found) == 1
