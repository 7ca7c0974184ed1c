"""Pages stay small enough to be mailed: all of a middling table, a sample of a large one.  Slow; ``make test-slow``."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits.errors import LatentBitsWarning

pytestmark = pytest.mark.slow


def page_of_blocks(n_rows, n_columns, n_classes, tmp_path, density=0.3):
    """The page of a mixture on rows that each have ones in one of several blocks of columns, with a label; its content."""
    rng = np.random.default_rng(0)
    causes, width = rng.integers(0, n_classes, n_rows), n_columns // n_classes
    per_row = rng.poisson(density * width, n_rows)
    rows = np.repeat(np.arange(n_rows), per_row)
    columns = np.where(
        rng.random(len(rows)) < 0.8,
        causes[rows] * width + rng.integers(0, width, len(rows)),
        rng.integers(0, n_columns, len(rows)),
    )
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_columns))
    X.data[:] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = latentbits.BernoulliMixture(n_classes, n_init=1, max_iter=20, random_state=0).fit(X)
        path = model.report(X, tmp_path / "page.html", labels={"kind": np.array([f"kind {c}" for c in causes])})
    page = path.read_text(encoding="utf-8")
    content = json.loads(page.split('id="content">', 1)[1].split("</script>", 1)[0])
    return len(page.encode()) / 1e6, content


def test_all_of_a_middling_table_in_three_megabytes(tmp_path):
    megabytes, content = page_of_blocks(5_000, 200, 8, tmp_path)
    assert megabytes < 3.0, megabytes
    assert len(content["rows"]["number"]) == 5_000 and len(content["columns"]) == 200


def test_a_sample_of_a_large_table_in_eight_megabytes_and_said_so(tmp_path):
    megabytes, content = page_of_blocks(100_000, 2_000, 20, tmp_path, density=0.1)
    assert megabytes < 8.0, megabytes
    assert content["shape"] == [100_000, 2_000]
    assert (
        len(content["rows"]["number"]) < 100_000 and content["n_columns_left_out"] > 0
    )  # the page says how many it has
