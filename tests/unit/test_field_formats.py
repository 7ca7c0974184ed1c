"""Files of particular fields: each is written by its own package and read by ours."""

from __future__ import annotations

import datetime
import json
import os
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits.data import open_source, read_table
from latentbits.data.formats import FIELD_FORMATS, GENE_CSV, hdf5, surveys
from latentbits.data.formats.apart import read_apart
from latentbits.data.formats.genes import is_gene_table
from latentbits.data.raw import RawTable, values_of
from latentbits.errors import FileError, InputError, MissingExtraError

from .test_cli import run

DAY = datetime.date(2020, 1, 2)


def decode(path, **options):
    return FIELD_FORMATS[path.suffix.lower()].load()(path, **options)


def cells_of(table):
    """Columns as lists, None where they are null."""
    assert len(table.columns) == len(table.names)
    out = {}
    for name, (values, null, _) in zip(table.names, table.columns):
        assert null is None or (null.dtype == bool and null.shape == values.shape and null.any())
        assert values.dtype.kind in "bf" or all(isinstance(word, str) for word in values)
        absent = np.zeros(len(values), bool) if null is None else null
        out[name] = [None if none else value for value, none in zip(values.tolist(), absent)]
    return out


def dense(table):
    return table.matrix.toarray() if sp.issparse(table.matrix) else table.matrix


# Columns of Python objects.


def test_values_are_numbers_booleans_or_words():
    for cells, expected, kind in [
        ([1, 2.5, None, float("nan")], [1.0, 2.5, None, None], "f"),
        ([True, None, False], [True, None, False], "b"),
        ([True, 0, 2], [1.0, 0.0, 2.0], "f"),
        ([None, None], [None, None], "f"),
        (["a ", 1.0, 2.5, True, DAY, "", " ", None], ["a", "1", "2.5", "true", "2020-01-02", None, None, None], "O"),
    ]:
        column = values_of(cells)
        assert cells_of(RawTable(["x"], [column]))["x"] == expected and column.values.dtype.kind == kind


# AnnData.


@contextmanager
def anndata_may_warn():
    """anndata tells of names that occur twice, and asks pandas for an option that goes away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def single_cells(path, X=None, **more):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    X = sp.csr_matrix(np.array([[0, 1, 0], [2, 0, 0], [0, 0, 3], [0, 0, 0]], np.float32)) if X is None else X
    obs = pd.DataFrame(
        {"type": pd.Categorical(["T", "B", None, "β"]), "n": [1, 2, 3, 4], "share": [0.5, np.nan, 2.0, 1.0]},
        index=["c1", "c2", "zelle_ä", "c4"],
    )
    with anndata_may_warn():
        anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=["g1", "Gü", "g3"]), **more).write_h5ad(path)
    return path


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, np.asarray])
def test_h5ad(tmp_path, kind, request):
    if kind is not sp.csr_matrix:  # one of them as users have it
        request.getfixturevalue("in_this_process")
    X = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 3], [0, 0, 0]], np.float32)
    table = decode(single_cells(tmp_path / "cells.h5ad", kind(X), layers={"raw": kind(X * 2)}, obsm={"p": X}))
    np.testing.assert_array_equal(dense(table), X)
    assert sp.issparse(table.matrix) == (kind is not np.asarray)
    assert table.names == ["g1", "Gü", "g3"] and table.ids == ["c1", "c2", "zelle_ä", "c4"]
    assert list(table.beside) == ["type", "n", "share"] and len(table.beside) == 3
    assert table.beside["type"] == ["T", "B", "", "β"] and table.beside["n"] == ["1", "2", "3", "4"]
    assert table.beside["share"] == ["0.5", "", "2", "1"] and "other" not in table.beside
    np.testing.assert_array_equal(dense(decode(tmp_path / "cells.h5ad", layer="raw")), X * 2)
    with pytest.raises(InputError, match="no layer 'x'; its layers are: raw"):
        decode(tmp_path / "cells.h5ad", layer="x")


def test_h5ad_names_that_occur_twice_get_numbers(tmp_path):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    names = ["g", "g", "g-1", "h", "g"]
    with anndata_may_warn():
        cells = anndata.AnnData(np.eye(5, dtype=np.float32), var=pd.DataFrame(index=names))
        cells.write_h5ad(tmp_path / "a.h5ad")
    assert decode(tmp_path / "a.h5ad").names == ["g", "g-2", "g-1", "h", "g-3"]


def test_h5ad_without_cells(tmp_path, in_this_process):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    h5py = pytest.importorskip("h5py")
    obs, var = pd.DataFrame(index=["a", "b"]), pd.DataFrame(index=["x"])
    with anndata_may_warn():
        anndata.AnnData(obs=obs, var=var, layers={"counts": np.ones((2, 1))}).write_h5ad(tmp_path / "no_x.h5ad")
    with pytest.raises(FileError, match=r"has no X; its layers are: counts \(choose one with layer="):
        decode(tmp_path / "no_x.h5ad")
    assert decode(tmp_path / "no_x.h5ad", layer="counts").matrix.shape == (2, 1)
    with h5py.File(tmp_path / "other.h5ad", "w") as file:
        file["X"] = np.eye(2)
    with pytest.raises(FileError, match="without obs and var"):
        decode(tmp_path / "other.h5ad")


def test_memberships_go_back_into_obsm(tmp_path):
    anndata = pytest.importorskip("anndata")
    from latentbits.data.formats.h5ad import write_obsm

    path = single_cells(tmp_path / "cells.h5ad", uns={"kept": 3})
    before = path.read_bytes()
    shares = np.array([[0.25, 0.75], [1, 0], [0, 1], [0.5, 0.5]])
    write_obsm(path, tmp_path / "out.h5ad", "X_latentbits", shares, ["class 1", "Klasse ü"])
    assert path.read_bytes() == before
    write_obsm(path, path, "X_latentbits", shares, ["a", "b"])
    write_obsm(path, path, "X_latentbits", shares[:, :1], ["class 1"])
    for file, expected, names in [("out.h5ad", shares, ["class 1", "Klasse ü"]), (path, shares[:, :1], ["class 1"])]:
        with anndata_may_warn():
            cells = anndata.read_h5ad(tmp_path / file)
        np.testing.assert_array_equal(cells.obsm["X_latentbits"], expected)
        assert list(cells.uns["latentbits"]["names"]) == names and cells.uns["kept"] == 3
        assert cells.X[1, 0] == 2 and list(cells.obs_names)[2] == "zelle_ä"
    assert {each.name for each in tmp_path.iterdir()} == {"cells.h5ad", "out.h5ad"}


def test_writing_into_obsm_is_all_or_nothing(tmp_path):
    from latentbits.data.formats.h5ad import write_obsm

    path = single_cells(tmp_path / "cells.h5ad")
    before = path.read_bytes()
    with pytest.raises(InputError, match="has 4 rows, but values for 3"):
        write_obsm(path, path, "X_latentbits", np.ones((3, 1)), ["a"])
    with pytest.raises(InputError, match="2 names"):
        write_obsm(path, path, "X_latentbits", np.ones((4, 1)), ["a", "b"])
    with pytest.raises(FileError, match=r"cells\.h5ad.a\.h5ad cannot be written"):
        write_obsm(path, path / "a.h5ad", "X_latentbits", np.ones((4, 1)), ["a"])
    with pytest.raises(FileError, match="there is no file"):
        write_obsm(tmp_path / "none.h5ad", path, "X_latentbits", np.ones((4, 1)), ["a"])
    (tmp_path / "bad.h5ad").write_bytes(before[: len(before) // 2])
    with pytest.raises(FileError, match=r"bad\.h5ad"):
        write_obsm(tmp_path / "bad.h5ad", path, "X_latentbits", np.ones((4, 1)), ["a"])
    assert path.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {"cells.h5ad", "bad.h5ad"}


@pytest.mark.skipif(os.name != "posix", reason="links need a right of their own elsewhere")
def test_writing_through_a_link_keeps_the_link(tmp_path):
    anndata = pytest.importorskip("anndata")
    from latentbits.data.formats.h5ad import write_obsm

    path = single_cells(tmp_path / "cells.h5ad")
    path.chmod(0o640)
    (tmp_path / "link.h5ad").symlink_to(path)
    write_obsm(path, tmp_path / "link.h5ad", "X_latentbits", np.ones((4, 1)), ["a"])
    assert (tmp_path / "link.h5ad").is_symlink() and path.stat().st_mode & 0o777 == 0o640
    with anndata_may_warn():
        assert anndata.read_h5ad(path).obsm["X_latentbits"].shape == (4, 1)


# Statistics packages.


def survey(path):
    """A survey with codes for no answer, labels and dates, in the format of its name."""
    pyreadstat, pd = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    columns = {
        "q1": [1.0, 2, 9, 98, np.nan, 3],
        "q2": [0.0, 1, 0, 1, 1, np.nan],
        "town": ["Köln", "zz", "", "Bonn", "b", "x"],
        "day": [DAY] * 6,
    }
    labels = {"q1": {1: "ja", 2: "nein", 9: "keine Angabe"}, "q2": {5: "never used"}, "town": {"b": "Berlin"}}
    if path.suffix in (".sav", ".zsav"):
        missing = {"q1": [9, {"lo": 95, "hi": 99}], "town": ["zz"]}
        frame = pd.DataFrame(columns)
        options = {"row_compress" if path.suffix == ".sav" else "compress": True}
        pyreadstat.write_sav(frame, path, missing_ranges=missing, variable_value_labels=labels, **options)
    elif path.suffix == ".dta":
        frame = pd.DataFrame({**columns, "q1": pd.Series([1, 2, "a", "z", None, 3], dtype=object)})
        missing = {"q1": ["a", "z"]}
        labels = {"q1": {1: "ja", 2: "nein", "a": "keine Angabe"}, "q2": {5: "never used"}}
        pyreadstat.write_dta(frame, path, missing_user_values=missing, variable_value_labels=labels)
    elif path.suffix == ".por":
        frame = pd.DataFrame({"Q1": columns["q1"], "TOWN": ["Koeln", "zz", "", "Bonn", "b", "x"]})
        pyreadstat.write_por(frame, path, variable_format={})
    else:
        pyreadstat.write_xport(pd.DataFrame({"q2": columns["q2"], "town": columns["town"]}), path)
    return path


@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta"])
def test_survey(tmp_path, suffix):
    table = decode(survey(tmp_path / f"umfrage_ä{suffix}"))
    cells = cells_of(table)
    assert cells["q1"] == ["ja", "nein", None, None, None, "3"]
    assert cells["q2"] == [0.0, 1.0, 0.0, 1.0, 1.0, None]
    words = ["Köln", "zz", None, "Bonn", "b", "x"] if suffix == ".dta" else ["Köln", None, None, "Bonn", "Berlin", "x"]
    assert cells["town"] == words and cells["day"] == ["2020-01-02"] * 6
    assert table.ids is None and table.matrix is None and not table.beside and table.n_rows == 6


def test_portable_and_transport_files(tmp_path, in_this_process):
    cells = cells_of(decode(survey(tmp_path / "a.por")))
    assert cells == {"Q1": [1.0, 2.0, 9.0, 98.0, None, 3.0], "TOWN": ["Koeln", "zz", None, "Bonn", "b", "x"]}
    cells = cells_of(decode(survey(tmp_path / "a.xpt")))
    assert cells == {"q2": [0.0, 1.0, 0.0, 1.0, 1.0, None], "town": ["Köln", "zz", None, "Bonn", "b", "x"]}


def test_survey_without_rows(tmp_path, in_this_process):
    pyreadstat, pd = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    pyreadstat.write_sav(pd.DataFrame({"a": np.zeros(0)}), tmp_path / "a.sav")
    with pytest.raises(FileError, match="holds no rows"):
        decode(tmp_path / "a.sav")


# Workbooks.


def workbook(path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Antworten"
    rows = [
        [],
        [None, "q1", "q2", "Ort\nKreis", "day", "err", 2020, None, "all blank"],
        ["r1", 1, True, "Köln", DAY, "#N/A", 0.5, None, None],
        ["r2", 0, False, None, datetime.datetime(2020, 1, 2, 3, 4), 1, 1, None, " "],
        [],
        ["r3", None, True, 7, datetime.time(1, 2), "#DIV/0!", "=1+1", None, None],
        [None, None],
    ]
    for row in rows:
        book.active.append(row)
    book.active["M30"].font = openpyxl.styles.Font(bold=True)
    book.active.merge_cells("A8:C8")
    other = book.create_sheet("zwei")
    other.append(["x"])
    other.append([3])
    book.create_sheet("leer")
    book.save(path)
    return path


@pytest.mark.parametrize("package", ["python_calamine", "openpyxl"])
def test_workbook(tmp_path, monkeypatch, package):
    pytest.importorskip(package)
    path = workbook(tmp_path / "antworten_ä.xlsx")
    if package == "openpyxl":
        monkeypatch.setitem(sys.modules, "python_calamine", None)
    cells = cells_of(decode(path))
    expected = {
        "column A": ["r1", "r2", "r3"],
        "q1": [1.0, 0.0, None],
        "q2": [True, False, True],
        "Ort Kreis": ["Köln", None, "7"],
        "err": [None, 1.0, None],
        "2020": [0.5, 1.0, None],
        "all blank": [None, None, None],
    }
    assert {name: cells[name] for name in expected} == expected
    assert cells["day"][1:] == ["2020-01-02 03:04:00", "01:02:00"] and cells["day"][0].startswith("2020-01-02")
    assert len(cells) == 8
    assert cells_of(decode(path, sheet="zwei")) == {"x": [3.0]}
    with pytest.raises(InputError, match="no sheet 'drei'; its sheets are: Antworten, zwei, leer"):
        decode(path, sheet="drei")
    with pytest.raises(FileError, match=r"the sheet 'leer' is empty. Name another sheet .*: Antworten, zwei"):
        decode(path, sheet="leer")


def test_workbook_formulas_are_what_they_gave(tmp_path):
    """Workbooks of Excel hold the result beside the formula; openpyxl writes the formula alone, so it is put in."""
    import zipfile

    path = workbook(tmp_path / "a.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                assert b"<f>1+1</f>" in content
                head, _, tail = content.partition(b"<f>1+1</f>")
                content = head + b"<f>1+1</f><v>2</v>" + tail.removeprefix(b"<v />").removeprefix(b"<v></v>")
            new.writestr(name, content)
    assert cells_of(decode(tmp_path / "b.xlsx"))["2020"] == [0.5, 1.0, 2.0]


def test_workbook_names_that_occur_twice(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b", "a"], [1, 0, 1]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(FileError, match="'a' occurs more than once"):
        decode(tmp_path / "a.xlsx")


# Genes in genomes.

ROARY = [
    "Gene", "Non-unique Gene name", "Annotation", "No. isolates", "No. sequences", "Avg sequences per isolate",
    "Genome Fragment", "Order within Fragment", "Accessory Fragment", "Accessory Order with Fragment", "QC",
    "Min group size nuc", "Max group size nuc", "Avg group size nuc",
]  # fmt: skip
PRESENT = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]])  # genes x genomes
GENES = ["dnaA", "group_12", "blaTEM~~~β", "rpoB"]
GENOMES = ["SAMN01", "SAMN02", "ü3"]


def rtab(path):
    lines = ["\t".join([gene, *map(str, row)]) for gene, row in zip(GENES, PRESENT)]
    path.write_text("\n".join(["\t".join(["Gene", *GENOMES]), *lines]) + "\n", encoding="utf-8")
    return path


def gene_csv(path, about, quoted):
    """Roary puts everything into quotes, Panaroo nothing but what needs it."""

    def line(words):
        return ",".join(f'"{word}"' if quoted or "," in word else word for word in words)

    lines = [line([*about, *GENOMES])]
    for gene, row in zip(GENES, PRESENT):
        told = [gene, "", "a protein, putative", *["3"] * (len(about) - 3)]
        lines.append(
            line([*told, *[f"{name}_00{i};x" if there else "" for i, (name, there) in enumerate(zip("abc", row))]])
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def assert_genes(table):
    assert table.names == GENES and table.ids == GENOMES and table.id_name == "genome" and sp.issparse(table.matrix)
    np.testing.assert_array_equal(dense(table), PRESENT.T)


def test_rtab(tmp_path):
    assert_genes(decode(rtab(tmp_path / "gene_presence_absence.Rtab")))
    counts = "Gene\ta\tb\r\ng\t12\tNA\r\nh\t0\t1\r\n"
    (tmp_path / "counts.Rtab").write_text(counts)
    np.testing.assert_array_equal(dense(decode(tmp_path / "counts.Rtab")), [[12, 0], [np.nan, 1]])


@pytest.mark.parametrize("about, quoted", [(ROARY, True), (ROARY[:3], False)], ids=["roary", "panaroo"])
def test_gene_presence_absence_csv(tmp_path, about, quoted):
    assert_genes(GENE_CSV.load()(gene_csv(tmp_path / "gene_presence_absence.csv", about, quoted)))
    assert is_gene_table([*about, *GENOMES]) and is_gene_table([f'"{name}"' for name in about])
    assert not is_gene_table(["Gene", "Annotation", "a"]) and not is_gene_table([])


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "names no genomes"),
        ("Gene\n", "names no genomes"),
        ("Gene\ta\n", "holds no columns"),
        ("Gene\ta\ta\ng\t1\t1\n", "'a' occurs more than once"),
        ("Gene\ta\tb\ng\t1\n", "'g' has 1 cells where 2 genomes"),
        ("Gene\ta\tb\ng\t1\tx\n", "'g' has the cell 'x'; expected a number"),
        ("Gene\ta\tb\ng\t1\t0\ng\t1\t0\n", "'g' occurs more than once"),
    ],
)
def test_broken_rtab(tmp_path, text, words):
    (tmp_path / "a.Rtab").write_text(text)
    with pytest.raises(FileError, match=words):
        decode(tmp_path / "a.Rtab")


# BIOM.


def biom_file(path, kind):
    biom, h5py = pytest.importorskip("biom"), pytest.importorskip("h5py")
    about = [{"site": "Darm", "levels": ["a", "b"]}, {"site": "β", "levels": ["a"]}, {"site": "skin", "levels": []}]
    counts = np.array([[0, 1, 2.0], [30, 0, 0]])
    table = biom.Table(counts, ["otu1", "otu_ö"], ["s1", "s2", "prøve"], sample_metadata=about)
    if kind == "json":
        path.write_text(table.to_json("tests"), encoding="utf-8")
    else:
        with h5py.File(path, "w") as file:
            table.to_hdf5(file, "tests")
    return path


@pytest.mark.parametrize("kind", ["hdf5", "json"])
def test_biom(tmp_path, kind):
    table = decode(biom_file(tmp_path / "a.biom", kind))
    assert table.names == ["otu1", "otu_ö"] and table.ids == ["s1", "s2", "prøve"] and table.id_name == "sample"
    np.testing.assert_array_equal(dense(table), [[0, 30], [1, 0], [2, 0]])
    assert dict(table.beside) == {"site": ["Darm", "β", "skin"], "levels": ["a; b", "a", ""]}


def test_biom_without_metadata(tmp_path):
    biom = pytest.importorskip("biom")
    (tmp_path / "a.biom").write_text(biom.Table(np.eye(2), ["a", "b"], ["c", "d"]).to_json("tests"))
    assert not decode(tmp_path / "a.biom").beside
    (tmp_path / "b.biom").write_text(json.dumps({"rows": 3}))
    with pytest.raises(FileError, match="BIOM"):
        decode(tmp_path / "b.biom")


# Damage, strange files, packages that are not there.

WRITERS = {
    ".h5ad": single_cells,
    ".sav": survey,
    ".zsav": survey,
    ".por": survey,
    ".dta": survey,
    ".xpt": survey,
    ".xlsx": workbook,
    ".Rtab": rtab,
    ".biom": lambda path: biom_file(path, "hdf5"),
    ".json.biom": lambda path: biom_file(path, "json"),
}


def read_or_refused(path):
    """The message of the FileError, None if the file was read; warnings are errors here."""
    try:
        assert decode(path).n_rows
    except FileError as error:
        assert str(path) in str(error) and "\n" not in str(error)
        return str(error)
    return None


@pytest.fixture
def in_this_process(monkeypatch):
    """Surveys and HDF5 are read here, which spares the start of a process per file."""
    for module in (surveys, hdf5):
        monkeypatch.setattr(module, "read_apart", lambda read, path, *arguments: read(path, *arguments))


@pytest.mark.parametrize("suffix", WRITERS)
def test_damaged_files_are_refused(tmp_path, suffix, in_this_process):
    whole = WRITERS[suffix](tmp_path / f"whole{suffix}").read_bytes()
    damaged = tmp_path / f"damaged{suffix}"
    text = suffix in (".Rtab", ".json.biom")
    for size in (0, 1, 7, len(whole) // 3, len(whole) // 2, len(whole) - (3 if text else 90)):
        damaged.write_bytes(whole[:size])
        assert read_or_refused(damaged) is not None, size
    rng = np.random.default_rng(0)
    for _ in range(10):
        damaged.write_bytes(rng.bytes(200))
        assert read_or_refused(damaged) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix", [".sav", ".zsav", ".por", ".dta", ".xpt", ".xlsx", ".Rtab", ".json.biom", ".h5ad", ".biom"]
)
def test_spotted_files_are_read_or_refused(tmp_path, suffix):
    """Some of these crash the parsers of SPSS and HDF5 files, or make them hang."""
    whole = WRITERS[suffix](tmp_path / f"whole{suffix}").read_bytes()
    damaged = tmp_path / f"damaged{suffix}"
    rng = np.random.default_rng(1)
    for _ in range(20):
        spotted = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 12)):
            spotted[place] = rng.integers(256)
        damaged.write_bytes(spotted)
        read_or_refused(damaged)


def test_a_parser_that_crashes_takes_nothing_with_it(tmp_path):
    with pytest.raises(FileError, match=r"a\.sav is damaged: the program that reads it broke down"):
        read_apart(crash, tmp_path / "a.sav")
    assert read_apart(chatter, tmp_path / "a.sav", 3) == 3
    with pytest.raises(InputError, match=r"about a\.sav"):
        read_apart(refuse, tmp_path / "a.sav")


def crash(path):
    os.abort()


def chatter(path, value):
    os.write(1, b"parsers may talk")
    return value


def refuse(path):
    raise InputError(f"about {path.name}")


@pytest.mark.parametrize("suffix", sorted(FIELD_FORMATS))
def test_files_of_another_kind_are_refused(tmp_path, suffix, in_this_process):
    if suffix != ".rtab":
        pytest.importorskip({"h5ad": "anndata", "biom": "biom"}.get(suffix[1:], "pyreadstat"))
    path = tmp_path / f"a{suffix}"
    for content in (b"a,b\n1,0\n", b"PK\x03\x04 no archive", b"\x89HDF\r\n\x1a\n", b"\x00" * 100, b"{}"):
        path.write_bytes(content)
        assert read_or_refused(path) is not None
    path.unlink()
    with pytest.raises(FileError):
        decode(path)


@pytest.mark.parametrize("suffix", sorted(suffix for suffix, known in FIELD_FORMATS.items() if known.extra))
def test_a_package_that_is_not_there_is_named(tmp_path, monkeypatch, suffix):
    extra = FIELD_FORMATS[suffix].extra
    packages = {"anndata": ["anndata", "anndata.io"], "spss": ["pyreadstat"], "biom": ["biom"]}
    for package in packages.get(extra, ["python_calamine", "openpyxl"]):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"latentbits\[{extra}\]"):
        decode(tmp_path / f"a{suffix}")


def test_old_workbooks_need_calamine(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"\.xls files needs the package 'python-calamine'"):
        decode(tmp_path / "a.xls")


# As tables.


def codes(table):
    return open_source(table).block(0).codes().tolist()


def test_files_of_fields_are_tables(tmp_path, in_this_process):
    table = read_table(single_cells(tmp_path / "c.h5ad"), binarize=0, label_columns=["type"])
    assert codes(table) == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]] and table.columns == ["g1", "Gü", "g3"]
    assert table.ids[2] == "zelle_ä" and table.labels == {"type": ["T", "B", "", "β"]}
    for suffix in (".sav", ".dta"):
        how = {"one": ["ja"], "zero": ["nein", "3"], "label_columns": ["town", "day"]}
        table = read_table(survey(tmp_path / f"s{suffix}"), **how)
        assert codes(table) == [[1, 0], [0, 1], [2, 0], [2, 1], [2, 1], [0, 2]] and table.columns == ["q1", "q2"]
        assert table.labels["town"][0] == "Köln" and table.labels["day"] == ["2020-01-02"] * 6
        by_code = read_table(tmp_path / f"s{suffix}", rules={"q1": {"ones": [1]}}, label_columns=["town", "day"])
        assert codes(by_code) == [
            [1, 0],
            [0, 1],
            [2, 0],
            [2, 1],
            [2, 1],
            [0, 2],
        ]  # labels may be called by their numbers
        above = read_table(tmp_path / f"s{suffix}", rules={"q1": {"above": 1}}, label_columns=["town", "day"])
        assert [row[0] for row in codes(above)] == [0, 1, 2, 2, 2, 1]
    book = workbook(tmp_path / "b.xlsx")
    rest = ["Ort Kreis", "day", "err", "2020", "all blank"]
    table = read_table(book, id_column="column A", label_columns=[name for name in rest if name in names_of(book)])
    assert codes(table)[0][:2] == [1, 1] and table.ids == ["r1", "r2", "r3"]
    assert codes(read_table(book, sheet="zwei", binarize=2)) == [[1]]
    openpyxl = pytest.importorskip("openpyxl")
    bare = openpyxl.Workbook()
    for row in ([1, 0], [0, 1], [1, 1]):
        bare.active.append(row)
    bare.save(tmp_path / "bare.xlsx")
    assert codes(read_table(tmp_path / "bare.xlsx")) == [[1, 0], [0, 1], [1, 1]]
    assert codes(read_table(tmp_path / "bare.xlsx", header=True)) == [[0, 1], [1, 1]]
    for path in (rtab(tmp_path / "g.Rtab"), gene_csv(tmp_path / "gene_presence_absence.csv", ROARY[:3], False)):
        table = read_table(path)
        assert codes(table) == PRESENT.T.tolist() and table.ids == GENOMES and table.columns == GENES
    for kind in ("hdf5", "json"):
        table = read_table(biom_file(tmp_path / f"{kind}.biom", kind), binarize=0, label_columns=["site"])
        assert codes(table) == [[0, 1], [1, 0], [1, 0]] and table.labels["site"] == ["Darm", "β", "skin"]
    with pytest.raises(InputError, match="named columns"):
        read_table(tmp_path / "c.h5ad", one=["x"])
    with pytest.raises(InputError, match="a sheet cannot be chosen"):
        read_table(tmp_path / "c.h5ad", sheet="x")
    with pytest.raises(InputError, match="has no column 'typ'; did you mean 'type'"):
        read_table(tmp_path / "c.h5ad", label_columns=["typ"])


def names_of(path):
    return decode(path).names


def test_memberships_are_written_back_by_the_command(tmp_path, capsys, in_this_process):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((40, 6)) < 0.4).astype(np.float32))
    path, model, out = tmp_path / "c.h5ad", tmp_path / "m.latentbits", tmp_path / "out.h5ad"
    with anndata_may_warn():
        anndata.AnnData(X, obs=pd.DataFrame({"type": ["a", "b"] * 20}, index=[f"c{i}" for i in range(40)])).write_h5ad(
            path
        )
    run(capsys, "fit", path, "-k", 2, "--starts", 1, "-o", model)
    run(capsys, "transform", model, path, "-o", out)
    with anndata_may_warn():
        found = anndata.read_h5ad(out)
    np.testing.assert_allclose(found.obsm["X_latentbits"], latentbits.load(model).transform(path))
    assert list(found.uns["latentbits"]["names"]) == ["class 1", "class 2"]
    (tmp_path / "t.csv").write_text("0,1\n1,0\n")
    assert ".h5ad file" in run(capsys, "transform", model, tmp_path / "t.csv", "-o", out, code=2)[1]
    assert "must be one of" in run(capsys, "impute", model, path, "-o", out, code=2)[1]


def test_counts_are_told_of_with_the_command_that_cuts_them(tmp_path, capsys, in_this_process):
    for path in (single_cells(tmp_path / "c.h5ad"), biom_file(tmp_path / "c.biom", "json")):
        _, err = run(capsys, "data", "describe", path, code=2)
        assert err.splitlines()[-1] == f"For example: latentbits data describe {path} --binarize 0"
        assert "rows x" in run(capsys, "data", "describe", path, "--binarize", 0)[0]


def test_surveys_are_diagnosed(tmp_path, capsys, in_this_process):
    _, err = run(capsys, "data", "describe", survey(tmp_path / "s.sav"), code=2)
    assert "'town'" in err and "--label town" in err and "For example: latentbits data describe" in err
