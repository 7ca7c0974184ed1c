"""The result of a comparison in sentences, which say no more than was tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..families import STORIES
from .candidates import Candidate
from .plan import BEHIND, TIME, Plan
from .scores import ENOUGH_DRAWS, Paired, Questions

# In paired standard errors.  The best of ten families is the luckiest of ten, so that finding anything at all takes more.
APART = 2.0
CLEARLY = 4.0
SOMETHING = 2.5


# How a model stands to the best family.
STANDINGS = (
    *("best", "better", "near", "worse", "clearly worse"),
    *("improving", "hardly searched", "behind", "left out", "failed"),  # of these more time might bring more
)


def _joined(words: list[str]) -> str:
    """Words with commas and an 'and'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _sentence(text: str) -> str:
    """A text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def _named(row: dict[str, Any]) -> str:
    """A model in words."""
    return f"{row['title']} ({row['size_text']})" if row["size_text"] else str(row["title"])


@dataclass(frozen=True)
class Words:
    """The result in sentences."""

    table: list[dict[str, Any]]
    candidates: dict[str, Candidate]
    best: str
    finding: str
    rival: str | None
    against: dict[str, Paired]
    asked: Questions
    plan: Plan
    is_whole: bool  # models were fitted to all rows that were not held out; with more rows larger ones may win

    @property
    def scored(self) -> dict[str, dict[str, Any]]:
        """Rows of the models that were scored."""
        return {row["model"]: row for row in self.table if "log_loss" in row}

    @property
    def is_enough(self) -> bool:
        """Whether there are enough draws, each with fits of its own, to tell how much fits differ."""
        return self.plan.n_folds >= ENOUGH_DRAWS

    def headline(self) -> str:
        """What the best families say about rows."""
        if self.finding == "nothing":
            if self.rival is not None:
                return (
                    "No family predicts hidden cells better than independent columns do, but "
                    f"{self.scored[self.rival]['title']}, which claims no hidden structure, does."
                )
            return "Nothing to find: no family predicts hidden cells better than independent columns do."
        scored = self.scored
        families = [name for name in scored if self.candidates[name].is_family]
        near = [name for name in families if name != self.best and self.against[name].z <= APART]
        if self.against["tree"].z <= APART:
            near.append("tree")
        stories = list(dict.fromkeys(scored[name]["structure"] for name in (self.best, *near)))
        stories = [story for story in stories if story not in ("other", "none")]
        if scored[self.best]["structure"] == "other" or not stories:
            return "A model that was brought along predicts best; what it says about rows is its own."
        if self.finding == "pairs":
            return "Columns depend on each other in pairs: no family with hidden causes predicts better than a tree of pairs."
        if self.rival is not None:
            best = "the best says" if len(stories) == 1 else "the best, which cannot be told apart, say"
            return (
                f"{_sentence(scored[self.rival]['title'])}, which claims no hidden structure, predicts better than every "
                f"family; of the families {best}: {'; or '.join(STORIES[s] for s in stories)}."
            )
        tried = [row for row in self.table if self.candidates[row["model"]].is_family and self.was_tried(row)]
        if len(tried) == 1 and len(stories) == 1:
            return f"One family was tried, {tried[0]['title']}: {STORIES[stories[0]]}."
        if len(stories) == 1:
            story = STORIES[stories[0]]
            if not self.is_enough or self.is_unfinished(stories[0]):
                return f"As far as was tried, {story}."
            return f"{story[0].upper()}{story[1:]}."
        who = "the data" if self.is_enough and not self.is_unfinished() else "these fits"
        return f"One of these, and {who} cannot tell which: {'; or '.join(STORIES[s] for s in stories)}."

    def was_tried(self, row: dict[str, Any]) -> bool:
        """Whether there was time for a model."""
        return row["model"] not in self.plan.left_out

    def is_unfinished(self, but: str = "") -> bool:
        """Whether more time might bring more to a family, of other stories than one."""
        open_ended = ("improving", "hardly searched", "left out")
        families = [row for row in self.table if self.candidates[row["model"]].is_family and row["structure"] != but]
        return any(self.standing(row) in open_ended or row["at_edge"] for row in families)

    def verdict(self, chosen: str) -> str:
        """All that belongs to the headline."""
        top, alone = self.scored[self.best], self.scored["independent"]["log_loss"]
        if self.finding == "nothing":
            gain = self.against["independent"]
            if self.rival is not None:
                return " ".join([*self.outside(top), *self.left_out()])
            lines = [
                f"The best of them, {_named(top)}, {'gains' if gain.difference > 0 else 'loses'} "
                f"{abs(gain.difference):.4f} nats per cell (standard error {gain.se:.4f}, {len(self.asked.values):,} hidden "
                "cells). What looks like structure here is chance, or takes more rows to be seen."
            ]
            return " ".join([*lines, *self.left_out()])
        lines = [self.opening(top, alone), *self.outside(top), *self.rivals()]
        if chosen != self.best:
            shown = self.scored[chosen]
            lines.append(f"Of those within one standard error of the best, {_named(shown)} is the easiest to read.")
        failed = [row["title"] for row in self.table if "log_loss" not in row and self.was_tried(row)]
        if failed:
            lines.append(f"Could not be fitted: {_joined(failed)} (see the notes).")
        return " ".join([*lines, *self.left_out()])

    def opening(self, top: dict[str, Any], alone: float) -> str:
        """What the best family gains, on how much data, and beside a tree of pairs."""
        share = 1 - top["log_loss"] / alone
        draws = "one draw" if self.plan.n_folds == 1 else f"{self.plan.n_folds} draws"
        told = (
            f"{_sentence(_named(top))} predicts hidden cells best: log-loss {top['log_loss']:.4f} nats per cell, {share:.0%} "
            f"below independent columns ({alone:.4f}; {len(self.asked.values):,} cells in {draws}, fits to "
            f"{self.plan.n_rows:,} rows)"
        )
        tree = self.against["tree"]
        if self.finding == "pairs":
            verb = "predicts them better still" if tree.z < -APART else "does as well"
            told += f". But a tree of column pairs (Chow-Liu) {verb}: pairs explain what hidden causes do."
        else:
            how = "clearly " if tree.z > CLEARLY and self.is_enough else "" if tree.z > APART else "not surely "
            told += f", and {how}better than a tree of column pairs (Chow-Liu)."
        if top["at_edge"]:
            told += f" It was still improving at {top['size_text']}, the largest size that was tried."
        return told

    def outside(self, top: dict[str, Any]) -> list[str]:
        """How models without hidden structure did."""
        found = [row for row in self.scored.values() if self.candidates[row["model"]].is_rival]
        if not found:
            return []
        best = min(found, key=lambda row: float(row["log_loss"]))
        against = self.against[best["model"]]
        if against.z < -APART:
            return [
                f"{_sentence(best['title'])} predicts better by {-against.difference:.4f} (log-loss "
                f"{best['log_loss']:.4f}), without a story about rows: take it, or the stack, to fill blanks, and the "
                "family to read."
            ]
        if against.z <= APART:
            return [f"{_sentence(best['title'])}, which claims no hidden structure, predicts as well."]
        return []

    def standing(self, row: dict[str, Any]) -> str:
        """How a model stands to the best family: one of :data:`STANDINGS`."""
        name = row["model"]
        if "log_loss" not in row:
            return "left out" if name in self.plan.left_out else "failed"
        z = self.against[name].z
        if name == self.best:
            return "best"
        if z < -APART:
            return "better"
        if z <= APART:
            return "near"
        if row["ended"] == BEHIND:
            return "behind"
        if row["ended"] == TIME and row["n_tried"] <= 1:
            return "hardly searched"
        if row["at_edge"]:
            return "improving"
        fits = min(row["n_draws"], self.scored[self.best]["n_draws"])
        is_sure = z > CLEARLY and fits >= ENOUGH_DRAWS and row["ended"] != TIME and not row["shortened"]
        return "clearly worse" if is_sure and self.is_whole else "worse"

    def rivals(self) -> list[str]:
        """The other families, by how far they are from the best."""
        groups: dict[str, list[str]] = {name: [] for name in STANDINGS}
        for name, row in self.scored.items():
            if name != self.best and self.candidates[name].is_family:
                told, standing = _named(row), self.standing(row)
                groups[standing].append(f"{told}, {row['above_best']:.3f}" if standing == "behind" else told)
        lines = []
        if groups["near"]:
            one = "is" if len(groups["near"]) == 1 else "are"
            lines.append(
                f"{_sentence(_joined(groups['near']))} {one} indistinguishable from it (within {APART:g} paired standard "
                "errors)."
            )
        if groups["worse"]:
            told = "" if self.is_enough and self.is_whole else " in these fits"
            lines.append(f"Worse{told}: {_joined(groups['worse'])}.")
        if groups["improving"]:
            lines.append(
                f"Worse so far, but still improving at the largest size that was tried: {_joined(groups['improving'])}."
            )
        if groups["hardly searched"]:
            lines.append(f"Worse in the one fit that there was time for: {_joined(groups['hardly searched'])}.")
        if groups["behind"]:
            lines.append(f"Stopped, too far behind to catch up: {'; '.join(groups['behind'])} behind.")
        if groups["clearly worse"]:
            lines.append(f"Clearly worse: {_joined(groups['clearly worse'])}.")
        return lines

    def left_out(self) -> list[str]:
        """Who was not tried, and who was searched and then not compared."""
        told = []
        for words, was_searched in (
            ("Not tried, to keep to the budget", False),
            ("Searched, but no time was left to compare", True),
        ):
            names = [name for name in self.plan.left_out if bool(self.plan.steps.get(name)) == was_searched]
            told += [f"{words}: {_joined([self.candidates[name].title for name in names])}."] if names else []
        return told
