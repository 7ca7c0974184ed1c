"""The block store: decoded once, packed without loss, within its memory, and gone in the end."""

from __future__ import annotations

import errno
import gc
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentbits import BernoulliMixture
from latentbits.data import files, open_source, store
from latentbits.data.checks import BadCells, Labels
from latentbits.data.values import REALS
from latentbits.errors import FileError, InputError, StoreWarning


def cells(n_rows, n_columns, ones=0.1, unknown=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0, 1, 2], np.uint8), (n_rows, n_columns), p=[1 - ones - unknown, ones, unknown])


class Counting:
    """A lazy reader that remembers which rows it was asked for."""

    lazy = True

    def __init__(self, codes):
        self.codes, self.shape, self.labels, self.asked = codes, codes.shape, Labels(None), []

    def read(self, low, high, bad):
        self.asked.append((low, high))
        return self.codes[low:high]


def parquet(path, codes, **options):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        f"c{j}": pa.array(np.where(codes[:, j] == 2, 0, codes[:, j]), mask=codes[:, j] == 2)
        for j in range(codes.shape[1])
    }
    pq.write_table(pa.table(columns), path, **options)
    return path


def told(source):
    """All cells of a source."""
    return np.concatenate([source.block(b).codes() for b in range(source.n_blocks)])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 60),
    st.sampled_from([1, 7, 8, 9, 255, 256, 257]),
    st.sampled_from([0.0, 0.02, 0.3, 0.85]),
    st.sampled_from([0.0, 0.1]),
    st.integers(1, 70),
    st.integers(1, 70),
    st.integers(0, 2000),
)
def test_what_is_stored_is_what_was_read(n_rows, n_columns, ones, unknown, piece, block, memory):
    codes = cells(n_rows, n_columns, ones, unknown)
    reader = store.StoredReader(Counting(codes), memory)
    reader.piece_rows = piece
    reader._forget()
    for _ in range(2):
        assert (told(open_source(reader, block_rows=block)) == codes).all()
    assert sorted(reader.reader.asked) == [(low, min(low + piece, n_rows)) for low in range(0, n_rows, piece)]
    assert reader.store.in_memory <= memory


def test_columns_beyond_two_bytes():
    codes = np.zeros((3, 70_000), np.uint8)
    codes[1, [0, 65_536, 69_999]], codes[2, 66_000] = 1, 2
    for order in ("C", "F"):
        ones, unknown = (store.packed(np.array(codes, order=order), code) for code in (1, 2))
        assert ones.lists(1, 3, 70_000)[1].tolist() == [0, 65_536, 69_999] and ones.columns.dtype == np.int32
        assert unknown.lists(0, 3, 70_000)[0].tolist() == [0, 0, 0, 1]
    assert store.packed(codes[:1], 1) is None


def test_one_decoding_for_all_starts_answers_and_fits(tmp_path):
    codes = cells(3000, 12)
    table = files.read_table(parquet(tmp_path / "t.parquet", codes, row_group_size=500))
    groups, plain = [], table.reader.reader._rows
    table.reader.reader._rows = lambda g, low, high: groups.append(g) or plain(g, low, high)
    for seed in (0, 1):
        model = BernoulliMixture(3, n_init=2, max_iter=20, random_state=seed, n_jobs=2, block_rows=400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table)
        model.transform(table)
    assert sorted(set(groups)) == list(range(6)) and len(groups) == 6


def test_beyond_memory_goes_to_a_folder_that_goes_with_the_store(tmp_path, monkeypatch):
    codes = cells(4000, 40, 0.3)
    path = parquet(tmp_path / "t.parquet", codes)
    (tmp_path / "aside").mkdir()
    monkeypatch.setenv("LATENTBITS_MEMORY", "8 kB")
    monkeypatch.setenv("LATENTBITS_SPILL", str(tmp_path / "aside"))
    monkeypatch.setattr(store, "PIECE_CELLS", 40 * 300)
    source = open_source(path, block_rows=256)
    assert (told(source) == codes).all() and (told(source) == codes).all()
    assert 0 < source._reader.store.in_memory <= 4000 and source._reader.store.on_disk > 4000
    assert len(list((tmp_path / "aside").iterdir())) == 1
    del source
    gc.collect()
    assert list((tmp_path / "aside").iterdir()) == [] and list(tmp_path.glob("*.parquet")) == [path]


def test_fits_on_a_spilled_table_have_the_same_bits(tmp_path, monkeypatch):
    codes = cells(2500, 30, 0.2)
    path, whole = parquet(tmp_path / "t.parquet", codes), np.where(codes == 2, np.nan, codes)
    model = BernoulliMixture(2, n_init=1, max_iter=30, random_state=0, block_rows=300)
    wanted = model.fit(whole).components_
    monkeypatch.setenv("LATENTBITS_MEMORY", "1 kB")
    assert (model.fit(path).components_ == wanted).all()


def test_a_full_disk_falls_back_to_decoding(tmp_path, monkeypatch):
    codes = cells(900, 20, 0.3)

    def full(path, array):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.np, "save", full)
    reader = store.StoredReader(Counting(codes), 0, tmp_path)
    reader.piece_rows = 100
    reader._forget()
    source = open_source(reader, block_rows=90)
    source._room = 0
    with pytest.warns(StoreWarning, match="No space left on device.*LATENTBITS_MEMORY.*LATENTBITS_SPILL"):
        assert (told(source) == codes).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (told(source) == codes).all()  # told once
    assert list(tmp_path.rglob("*.npy")) == []


def test_bad_cells_are_counted_as_without_a_store(tmp_path):
    codes = cells(700, 9, unknown=0.0)
    codes[[5, 600], [2, 3]] = 7
    source = open_source(parquet(tmp_path / "t.parquet", codes, row_group_size=100), block_rows=64)
    for b in (0, 9):
        with pytest.raises(InputError, match=r"row 5, column 'c2'\) is 7; .*2 such cells in 2 columns"):
            source.block(b)
    bad = BadCells()
    source._reader.read(590, 700, bad)
    assert (bad.count, bad.row, bad.column) == (1, 600, 3)


@pytest.mark.parametrize(
    ("unknown", "bad", "room", "expected"),
    [
        (0.0, False, 3000, [True] * 3),
        (0.1, False, 6000, [True] * 3),
        (0.1, False, 3000, [False, False, True]),  # no room for the bits of blanks, but in the shorter last group
        (0.0, True, 3000, [True, False, True]),  # one cell of the second group cannot be read
        (0.0, False, 900, [False] * 3),
        (0.0, False, 2**20, [False] * 3),  # room for the cells themselves
    ],
)
def test_row_groups_without_room_are_decoded_some_columns_at_a_time(
    tmp_path, monkeypatch, unknown, bad, room, expected
):
    from latentbits.data import parquet as reading

    codes = cells(1000, 37, 0.2, unknown)
    codes[700, 30] = 7 if bad else codes[700, 30]
    source = open_source(parquet(tmp_path / "t.parquet", codes, row_group_size=400))
    straight = source._reader.reader
    small, ways, plain = pickle.loads(pickle.dumps(straight)), {}, reading.ParquetReader._bits

    def bits(self, g):
        found = plain(self, g)
        if self is small:
            ways[g] = found is not None
        return found

    monkeypatch.setattr(reading.ParquetReader, "_bits", bits)
    for low in range(0, 1000, 130):
        high, found = min(low + 130, 1000), (BadCells(), BadCells())
        monkeypatch.setattr(reading, "working_room", lambda: 2**30)
        wanted = straight.read(low, high, found[0])
        monkeypatch.setattr(reading, "working_room", lambda: room)
        assert (small.read(low, high, found[1]) == wanted).all()
        assert vars(found[0]) == vars(found[1])
    assert [ways[g] for g in range(3)] == expected


def test_numbers_are_read_as_they_come(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = np.random.default_rng(0).gamma(1.0, 2.0, (50, 4))
    pq.write_table(pa.table({f"c{j}": values[:, j] for j in range(4)}), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet", binarize=REALS, block_rows=20)
    got = np.concatenate([source.block(b).values for b in range(source.n_blocks)])
    np.testing.assert_allclose(np.sort(got), np.sort(values.ravel()))


def test_trouble_of_the_reader_comes_up_where_rows_are_asked_for():
    class Broken(Counting):
        def read(self, low, high, bad):
            if low >= 20:
                raise FileError("the second half is gone.")
            return super().read(low, high, bad)

    reader = store.StoredReader(Broken(cells(40, 5)), 10**6)
    reader.piece_rows = 10
    reader._forget()
    source = open_source(reader, block_rows=20)
    assert source.block(0).n_rows == 20
    for _ in range(2):
        with pytest.raises(FileError, match="second half"):
            source.block(1)


def test_a_store_travels_without_what_it_has_decoded():
    codes = cells(60, 6)
    reader = store.StoredReader(Counting(codes), 10**6)
    assert (told(open_source(reader)) == codes).all()
    other = pickle.loads(pickle.dumps(reader))
    assert other.store.pieces == {} and (told(open_source(other)) == codes).all()
    assert store.stored(reader) is reader and other.asked == reader.asked * 2


@pytest.mark.parametrize("text", ["lots", "", "-3", "2 XB", "1 GBB"])
def test_amounts_of_memory(text, monkeypatch):
    with pytest.raises(InputError, match="amount of memory"):
        store.bytes_of(text)
    monkeypatch.setenv("LATENTBITS_MEMORY", text or "x")
    with pytest.raises(InputError, match="LATENTBITS_MEMORY"):
        store.memory_budget()


def test_memory_maps_are_stored_too(tmp_path):
    codes = cells(500, 8)
    np.save(tmp_path / "t.npy", np.where(codes == 2, np.nan, codes).astype(float))
    source = open_source(np.load(tmp_path / "t.npy", mmap_mode="r"), block_rows=70)
    assert isinstance(source._reader, store.StoredReader) and (told(source) == codes).all()


def csv_file(path, codes):
    words = np.array(["0", "1", ""])[codes]
    path.write_text("id,kind," + ",".join(f"c{j}" for j in range(codes.shape[1])) + "\n")
    with open(path, "a") as file:
        for i, row in enumerate(words):
            file.write(f"r{i},{i % 3}," + ",".join(row) + "\n")
    return path


def test_text_that_memory_has_no_room_for_is_packed_as_it_is_read(tmp_path, monkeypatch):
    codes = cells(700, 9)
    path = csv_file(tmp_path / "table.csv", codes)
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setenv("LATENTBITS_SPILL", str(spill))
    monkeypatch.setattr(store, "PIECE_CELLS", 900)
    monkeypatch.setenv("LATENTBITS_MEMORY", "2000")
    table = files.read_table(path, id_column="id", label_columns=["kind"])
    assert isinstance(table.reader, store.PackedRows) and table.reader.store.on_disk > 0
    assert table.reader.store.in_memory <= 1000 and any(spill.iterdir())
    assert (told(open_source(table)) == codes).all() and table.ids[3] == "r3" and table.labels["kind"][4] == "1"
    few = BernoulliMixture(2, n_init=1, random_state=0, block_rows=64, max_iter=300).fit(table)
    monkeypatch.setenv("LATENTBITS_MEMORY", "1 GB")
    whole = files.read_table(path, id_column="id", label_columns=["kind"])
    assert not whole.reader.lazy
    again = BernoulliMixture(2, n_init=1, random_state=0, block_rows=64, max_iter=300).fit(whole)
    assert np.array_equal(few.components_, again.components_)
    del table
    few.__dict__.clear()
    gc.collect()
    assert not any(spill.iterdir())


def test_a_bad_cell_of_packed_text_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PIECE_CELLS", 40)
    monkeypatch.setenv("LATENTBITS_MEMORY", "100")
    path = csv_file(tmp_path / "table.csv", cells(60, 4))
    lines = path.read_text().splitlines()
    lines[31] = "r30,0,0,1,maybe,0"
    path.write_text("\n".join(lines) + "\n")
    table = files.read_table(path, id_column="id", label_columns=["kind"])
    with pytest.raises(InputError, match="maybe"):
        told(open_source(table))


def test_text_for_which_the_disk_is_full_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PIECE_CELLS", 40)
    monkeypatch.setenv("LATENTBITS_MEMORY", "100")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "_mapped", full)
    with pytest.raises(FileError, match=r"No space left on device.*--memory"):
        files.read_table(csv_file(tmp_path / "table.csv", cells(60, 4)), id_column="id", label_columns=["kind"])


def test_the_memory_limit_holds_inside_and_is_taken_back(monkeypatch):
    monkeypatch.setenv("LATENTBITS_MEMORY", "5 GB")
    with store.memory_limit("1 MB"):
        assert store.memory_budget() == 10**6
        with store.memory_limit(None):
            assert store.memory_budget() == 10**6
    assert store.memory_budget() == 5 * 10**9
    monkeypatch.delenv("LATENTBITS_MEMORY")
    with store.memory_limit("1 MB"):
        pass
    assert store.memory_budget() > 10**6
