"""The glossary is the authority: estimators have its names, for its concepts, and the same set for every kind."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from latentbits.base.options import ChainOptions, OptimiserOptions, RunOptions
from latentbits.datasets import make_mixture
from latentbits.evaluation import Imputer, StackedFill
from latentbits.families import FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "glossary.md"
ROW = re.compile(r"^\| (`.*?) \| (.*) \| (.*?) ?\|$", re.M)


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def table(heading):
    """Names of a part of the page, and names that are not used for the same concepts."""
    part = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = ROW.findall(part)
    assert rows
    listed = [name for row in rows for name in names(row[0])]
    assert len(set(listed)) == len(listed), "a name is defined twice"
    assert all(meaning.strip().endswith(".") for _, meaning, _ in rows)
    return set(listed), {name for row in rows for name in names(row[2])}


PARAMETERS, OTHER_PARAMETERS = table("Parameters")
ATTRIBUTES, OTHER_ATTRIBUTES = table("Fitted attributes")


CLASSES = [*(family.load() for family in FAMILIES), StackedFill, Imputer]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_parameters(cls):
    found = set(inspect.signature(cls).parameters)
    assert found <= PARAMETERS, f"not in the glossary: {sorted(found - PARAMETERS)}"
    assert not found & OTHER_PARAMETERS, "the glossary has another name for this"


def test_no_name_stands_on_both_sides():
    assert not PARAMETERS & OTHER_PARAMETERS and not ATTRIBUTES & OTHER_ATTRIBUTES
    used = {name for cls in CLASSES for name in inspect.signature(cls).parameters}
    assert used == PARAMETERS, f"nobody has: {sorted(PARAMETERS - used)}"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_kinds_have_the_same_parameters(family):
    """Optimisers share theirs, samplers theirs, and all that run something share the rest."""
    if family.cls == "BernoulliGaussSelector":
        pytest.skip("a selector runs what its estimator runs")
    found = set(inspect.signature(family.load()).parameters)
    shared = set(inspect.signature(RunOptions).parameters)
    if "n_chains" in found:
        shared |= set(inspect.signature(ChainOptions).parameters)
    elif "n_epochs" not in found:  # machines count epochs
        shared |= set(inspect.signature(OptimiserOptions).parameters)
    assert shared <= found, sorted(shared - found)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_documented_attributes(family):
    """What the docstring lists, and nothing under another name."""
    section = inspect.getdoc(family.load()).partition("\nAttributes\n----------\n")[2]
    section = re.split(r"\n\w+\n-{3,}\n", section)[0]
    listed = {name for line in re.findall(r"^\w[\w, ]*_\b", section, re.M) for name in re.findall(r"\w+_\b", line)}
    assert listed, "no attribute is documented"
    assert listed <= ATTRIBUTES, f"not in the glossary: {sorted(listed - ATTRIBUTES)}"


SHORT = {"n_chains": 2, "n_warmup": 3, "n_draws": 3, "max_iter": 3, "n_epochs": 2, "n_sweeps": 5, "n_init": 1}
BITS = make_mixture(60, 6, 2, unknown=0.05, random_state=0).data
NUMBERS = np.random.default_rng(0).poisson(2, (40, 6)).astype(float)
RATINGS = [(u, i, 1.0 + (u * i) % 5) for u in range(12) for i in range(8) if (u + i) % 3]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
@pytest.mark.filterwarnings("ignore::latentbits.errors.LatentBitsWarning")
def test_fitted_attributes(family):
    """All that a fit leaves behind."""
    known = inspect.signature(family.load()).parameters
    estimator = family.load()(**{name: value for name, value in SHORT.items() if name in known})
    if family.structure == "keywords":
        estimator.set_params(threshold=0.0, min_topic_rows=1, min_rows=1)
    if family.structure == "ratings":
        users, items, values = zip(*RATINGS)
        estimator.fit((users, items, values))
    elif family.structure in ("topics", "keywords"):
        estimator.fit(NUMBERS, *([[0, 1] * 20] if family.cls == "BernoulliGaussClassifier" else []))
    else:
        estimator.fit(BITS)
    kind = type(estimator)
    properties = [name for name in dir(kind) if isinstance(inspect.getattr_static(kind, name, None), property)]
    found = {name for name in [*vars(estimator), *properties] if name.endswith("_") and not name.startswith("_")}
    assert found <= ATTRIBUTES, f"not in the glossary: {sorted(found - ATTRIBUTES)}"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_every_parameter_is_documented(family):
    """Own ones in the class, shared ones by the classes of options."""
    cls = family.load()
    section = inspect.getdoc(cls).partition("\nParameters\n")[2]
    section = re.split(r"\n\w+\n-{3,}\n", section)[0]
    told = {name.strip() for line in re.findall(r"^(\w[\w, ]*) :", section, re.M) for name in line.split(",")}
    assert set(inspect.signature(cls).parameters) == told
