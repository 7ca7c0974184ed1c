"""The committed experiment results are complete, within their bands, and what the table shows."""

from __future__ import annotations

import json

from papers.debd.__main__ import EXPECTED, HERE, table, verdict


def test_density_estimation_results():
    results = [json.loads((HERE / "results" / f"{name}.json").read_text()) for name in EXPECTED["mixture"]]
    assert len(results) == 20 and [verdict(result) for result in results] == ["met"] * 20
    for result in results:  # chosen on validation rows
        assert result["chosen"] == max(result["fits"], key=lambda fit: fit["valid"])
    for name, (independent, tree) in EXPECTED["baselines"].items():
        result = next(result for result in results if result["set"] == name)
        assert abs(result["independent"] - independent) < 5e-4 and abs(result["chow_liu"] - tree) < 5e-4
    assert table(results) == (HERE / "results" / "table.md").read_text()
