"""From Python: what is hidden in the votes of the U.S. House of 1984, and what would the abstainers have voted?"""

from __future__ import annotations

import sys
from pathlib import Path

import latentbits


def main(out: str = "out/votes") -> None:
    """Explore the embedded votes with a few families, and ask the fitted model about one member."""
    votes = latentbits.datasets.load_votes()
    found = latentbits.explore(
        votes.frame, out, labels={"party": votes.target}, models=["mixture", "aspect", "trait"], folds=1, budget=10
    )
    print(found.comparison.verdict)
    member = votes.frame.iloc[[0]]
    filled = found.winner.model.impute(member)
    for name in member.columns[member.isna().iloc[0]]:
        print(f"the first member did not vote on {name}; a yea has probability {filled[name].iloc[0]:.2f}")
    print(f"report: {Path(out) / 'report.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
