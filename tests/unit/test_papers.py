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


def test_aspect_results_are_complete():
    """Every experiment has its numbers, figure and verdicts; what is not met is named in the notes."""
    from papers import EXPERIMENTS
    from papers.common import table as verdicts

    folder = HERE.parent / "aspect" / "results"
    notes = (HERE.parent / "aspect" / "NOTES.md").read_text()
    for name in EXPERIMENTS:
        if name.startswith("aspect-"):
            record = json.loads((folder / f"{name}.json").read_text())
            assert record["full"] and record["claims"]
            assert name == "aspect-properties" or (folder / f"{name}.png").stat().st_size > 5000
            for claim in record["claims"]:
                assert claim["verdict"] == "met" or claim["claim"] in notes, claim
    assert verdicts(folder) == (folder / "table.md").read_text()
