"""Plots draw what they say; data sets are what they say."""

from __future__ import annotations

import copy
import hashlib
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import latentbits
from latentbits import BernoulliMixture, BinaryGTM, datasets, plots
from latentbits.datasets.embedded import FILES
from latentbits.errors import InputError, LatentBitsWarning

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    zoo = datasets.load_zoo()
    return BernoulliMixture(3, random_state=0).fit(zoo.frame), zoo.frame


@pytest.fixture(scope="module")
def zoo_map():
    zoo = datasets.load_zoo()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return BinaryGTM((5, 4), max_iter=20).fit(zoo.frame), zoo


def test_maps(zoo_map):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fitted, zoo = zoo_map
    for landscape in ("u-matrix", "prior", "magnification"):
        ax = plots.latent_map(fitted, landscape=landscape)
        assert ax.images[0].get_array().shape == (4, 5)
    ax = plots.latent_map(fitted, zoo.frame, zoo.target, words=4, landscape=None)
    assert not ax.images and [text.get_text() for text in ax.get_legend().get_texts()] == sorted(set(zoo.target))
    # A mark is as large as the rows it stands for are many.
    shown = sum(marks.get_sizes().sum() / 16 for marks in ax.collections)
    assert shown == pytest.approx(101) and len(ax.texts) == 4
    place = ax.collections[0].get_offsets()[0]
    assert np.abs(fitted.transform(zoo.frame, kind="refined") - place).sum(axis=1).min() < 1e-5
    assert len(plots.latent_map(fitted, zoo.frame, kind="mean").collections) == 1
    partly = [None, *zoo.target[1:]]
    assert len(plots.latent_map(fitted, zoo.frame, partly).collections) == 8
    assert plots.latent_map(fitted, zoo.frame, np.arange(101.0), landscape=None).get_legend() is None
    axes = plots.component_planes(fitted, ["milk", "eggs", "fins"])
    np.testing.assert_array_equal(axes.ravel()[0].images[0].get_array(), fitted.component_planes("milk")[0].T)
    assert [ax.get_title() for ax in axes.ravel()[:3]] == ["milk", "eggs", "fins"]
    canvas = plots.node_images(fitted, (3, 5)).images[0].get_array()
    assert canvas.shape == (4 * 4 - 1, 5 * 6 - 1)
    # The first node is at the lower left.
    np.testing.assert_array_equal(canvas[-3:, :5], fitted.components_[0].reshape(3, 5))
    plt.close("all")
    with pytest.raises(InputError, match="not a fitted map"):
        plots.latent_map(BernoulliMixture(2, n_init=1).fit(zoo.data))
    with pytest.raises(InputError, match="landscape must be one of"):
        plots.latent_map(fitted, landscape="alps")
    with pytest.raises(InputError, match="one class per row"):
        plots.latent_map(fitted, zoo.frame, ["a"])
    with pytest.raises(InputError, match="1 dimension"):
        plots.node_images(BinaryGTM(8, tol=1e-2).fit(zoo.data), (3, 5))
    with pytest.raises(InputError, match="one column or more"):
        plots.component_planes(fitted, [])
    with pytest.raises(InputError, match="Did you mean 'milk'"):
        plots.component_planes(fitted, "milkk")
    with pytest.raises(InputError, match="has 4 cells"):
        plots.node_images(fitted, (2, 2))


def test_plots(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fitted, X = model
    ax = latentbits.plots.profile(fitted, X)
    assert len(ax.images) == 1 and len(ax.texts) == 45
    assert ax.texts[0].get_text().startswith(f"{fitted.components_[0, 0]:.2f}\n")
    assert [text.get_text() for text in ax.get_yticklabels()] == list(X.columns)
    assert len(latentbits.plots.components(fitted, top=4, component=1).patches) == 4
    named = copy.copy(fitted).name_components({2: "pop $ voters"})
    assert latentbits.plots.components(named, component="pop $ voters").get_title() == "pop $ voters"
    assert "pop $ voters" in latentbits.plots.profile(named).get_xticklabels()[1].get_text()
    assert latentbits.plots.components(fitted).get_title() == "class 1"
    assert len(latentbits.plots.restarts(fitted).lines) == 5
    chosen = latentbits.select(BernoulliMixture(random_state=0), X, [1, 2, 3])
    own = plt.subplots()[1]
    assert chosen.plot(ax=own) is own and "BIC" in own.get_ylabel()
    plt.close("all")


def test_plots_of_causes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = datasets.make_aspect(120, 12, 2, loss=0.6, random_state=0)
    fitted = latentbits.AspectBernoulli(3, n_phantom=1, n_init=1, tol=1e-5, random_state=0).fit(made.data)
    axes = latentbits.plots.tiles(fitted, (3, 4))
    assert len(axes) == 3 and axes[2].get_title() == "cause 3 (phantom)"
    np.testing.assert_allclose(axes[0].images[0].get_array(), fitted.components_[0].reshape(3, 4))
    axes = latentbits.plots.cause_pictures(fitted, made.data, [0, 5], (3, 4))
    assert axes.shape == (3, 4)
    shown = np.array([axes[1, 1 + k].images[0].get_array() for k in range(3)])
    np.testing.assert_allclose(shown.sum(axis=0), 1)
    ax = latentbits.plots.causes(fitted)
    np.testing.assert_allclose(ax.images[0].get_array(), fitted.components_.T)
    assert [label.get_text().split("\n")[1] for label in ax.get_xticklabels()][2] == "phantom"
    wide = datasets.make_aspect(150, 40, 2, random_state=0).data
    model = latentbits.AspectBernoulli(2, n_init=1, tol=1e-4, random_state=0).fit(wide)
    ax = latentbits.plots.causes(model, top=3)
    assert len(ax.get_yticks()) == 6  # three that tell each from the other
    strongest = ax.images[0].get_array()
    assert (strongest[:3, 0] > strongest[:3, 1]).all() and (strongest[3:, 1] > strongest[3:, 0]).all()
    ax = latentbits.plots.expansion(fitted, made.data, [3, 4], top=2)
    found = fitted.expand(made.data, [3, 4], 2)
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(row["feature"]) for row in found]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [row["lost"] for row in found])
    assert "row 3 has" in ax.texts[0].get_text()
    with pytest.raises(InputError, match="an image of 3 × 5 has 15 cells"):
        latentbits.plots.tiles(fitted, (3, 5))
    for picture in (latentbits.plots.causes, lambda m: latentbits.plots.expansion(m, made.data, [0])):
        with pytest.raises(InputError, match="needs an AspectBernoulli"):
            picture(BernoulliMixture(2, random_state=0).fit(made.data))
    with pytest.raises(InputError, match="component must be a number from 0 to 2"):
        latentbits.plots.components(fitted, component=9)
    linear = latentbits.LogisticPCA(2, ridge=1.0, n_init=1, random_state=0).fit(made.data)
    assert "loading" in latentbits.plots.components(linear, top=3).get_xlabel()
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "shape", "blanks", "classes"),
    [("votes", (435, 16), 392, 2), ("zoo", (101, 15), 0, 7), ("diabetes", (520, 14), 0, 2), ("spect", (267, 22), 0, 2),
     ("plants", (1814, 70), 0, 1814)],
)  # fmt: skip
def test_embedded_sets(name, shape, blanks, classes):
    loaded = datasets.load(name)
    assert loaded.data.shape == shape and int(np.isnan(loaded.data).sum()) == blanks
    assert len(loaded.feature_names) == shape[1] and len(set(loaded.target)) == classes
    assert "CC BY 4.0" in loaded.description and list(loaded.frame.columns) == loaded.feature_names


def test_unknown_sets():
    with pytest.raises(InputError, match="no embedded set"):
        datasets.load("nothing")
    with pytest.raises(InputError, match="no prepared set"):
        datasets.find("nothing")


def test_embedded_files_are_the_originals():
    seals = {
        "votes": "fb20443c9ab4fdfa653711c18a319a82dc0c569219fc82ae8db6bb069c09a97a",
        "zoo": "db5bc1c34cb2777df55615455de9abf0b2fa216b8ccfb46e3c6dcdd08dc3fc1a",
        "diabetes": "4dec25b18f39ca3ea706cd73c65d192a98b920de20d58f50788503a710636b56",
        "spect": "2b247d4cad1a949cb502c662f288c223eb4534d6e7555024cdfb051e04dbc7c9",
        "plants": "43d405475f5bfc2dbd0b4a2b557c3015bb9ea298c499fb87a479d2e02a884397",
    }
    assert set(seals) == set(FILES)
    for name, seal in seals.items():
        assert hashlib.sha256(datasets.embedded.path_of(name).read_bytes()).hexdigest() == seal


def test_generator_follows_its_truth():
    made = datasets.make_mixture(20000, 6, 2, unknown=0.2, random_state=1)
    for k in range(2):
        mine = made.data[made.causes == k]
        np.testing.assert_allclose(np.nanmean(mine, axis=0), made.probs[k], atol=0.03)
    assert np.isnan(made.data).mean() == pytest.approx(0.2, abs=0.01)


def test_example_runs(tmp_path):
    pytest.importorskip("pandas")
    ran = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / "explore_votes.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "predicts hidden cells best" in ran.stdout and "a yea has probability 0." in ran.stdout
    assert (tmp_path / "out" / "votes" / "report.html").exists()


def test_pictures_of_comparisons(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = datasets.make_mixture(200, 8, 2, spread=3.0, unknown=0.1, random_state=0)
    found = latentbits.compare(made.data, ["mixture", "gtm"], n_components=[2, 3], folds=1, budget=5)
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    n_scored = sum("log_loss" in row for row in found.table)
    assert len(labels) == n_scored >= 4 and labels[0].startswith(found.table[0]["title"])
    ax = plots.calibration(found)
    assert [line.get_marker() for line in ax.lines[1:]] == ["o", "s", "D"] and len(ax.get_legend().get_texts()) == 3
    with pytest.raises(InputError, match="no curve of 'aspect'"):
        plots.calibration(found, ["aspect"])
    model = BernoulliMixture(2, random_state=0).fit(made.data)
    ax = plots.recovery(model.components_, made.probs)
    assert ax.get_images()[0].get_array().diagonal().min() > 0.95  # matched, in the order of the truth
    with pytest.raises(InputError, match="equal columns"):
        plots.recovery(model.components_, made.probs[:, 1:])
    ax = plots.explanation(model, made.data, rows=[0, 1, 2])
    assert ax.get_images()[0].get_array().shape == (3, 8, 3)
    blanks = ax.lines[1].get_xydata()
    assert {(int(y), int(x)) for x, y in blanks} == {(i, j) for i, j in zip(*np.nonzero(np.isnan(made.data[:3])))}
    with pytest.raises(InputError, match="does not explain"):
        plots.explanation(latentbits.MixtureOfUnigrams(2), made.data)
    plt.close("all")


def test_plots_of_chains():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X = datasets.make_mixture(80, 12, 2, unknown=0.1, random_state=0).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = latentbits.DPBernoulliMixture(n_chains=2, n_warmup=10, n_draws=10, random_state=0).fit(X)
        other = latentbits.BernoulliMixture(random_state=0).fit(X)
    ax = plots.traces(model, "n_blocks")
    assert len(ax.lines) == 2 and ax.get_xlabel() == "sweep" and len(ax.lines[0].get_xdata()) == 30
    image = plots.coclustering(model).images[0].get_array()
    assert image.shape == (80, 80) and (np.diag(image) == 1).all()
    assert plots.coclustering(model, rows=[3, 5, 60]).images[0].get_array().shape == (3, 3)
    axes = plots.fill_ins({"dp": model, "em": other}, X[:3], (3, 4), truth=np.nan_to_num(X[:3]))
    assert axes.shape == (4, 3) and axes[2, 0].get_ylabel() == "dp"
    np.testing.assert_allclose(axes[2, 1].images[0].get_array().ravel(), model.impute(X[:3])[1])
    with pytest.raises(InputError, match="has no chains"):
        plots.traces(other)
    with pytest.raises(InputError, match="quantity must be one of 'log_joint'"):
        plots.traces(model, "volume")
    plt.close("all")


def test_pictures_match_columns_by_name():
    pd = pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = datasets.make_aspect(120, 12, 2, loss=0.6, random_state=0).data
    frame = pd.DataFrame(made, columns=[f"q{j}" for j in range(12)])
    turned = frame[list(frame.columns[::-1])]
    words = frame.replace({0: "no", 1: "yes"}).astype(object)
    fitted = latentbits.AspectBernoulli(3, n_phantom=1, n_init=1, tol=1e-5, random_state=0).fit(frame)
    other = BernoulliMixture(2, n_init=1, random_state=0).fit(turned)
    for X in (frame, turned, words):
        axes = plots.cause_pictures(fitted, X, [0, 5], (3, 4))
        np.testing.assert_array_equal(axes[2, 0].images[0].get_array().ravel(), made[5])
        shown = [axes[2, 1 + k].images[0].get_array().ravel() for k in range(3)]
        np.testing.assert_array_equal(np.transpose(shown), fitted.cause_posterior(frame, [5])[0])
    first, second = (plots.expansion(fitted, X, [3, 4], top=2) for X in (frame, turned))
    for read in (lambda ax: ax.texts, lambda ax: ax.get_yticklabels()):
        assert [text.get_text() for text in read(first)] == [text.get_text() for text in read(second)] != []
    holed = turned.iloc[:2].copy()
    holed.iloc[0, 0] = np.nan  # of the last pixel
    axes = plots.fill_ins({"aspect": fitted, "mixture": other}, holed, (3, 4), truth=turned.iloc[:2])
    seen = made[0].astype(float)
    seen[11] = 0.5
    np.testing.assert_array_equal(axes[0, 0].images[0].get_array().ravel(), seen)
    np.testing.assert_array_equal(axes[1, 1].images[0].get_array().ravel(), made[1])
    for line, model in ((2, fitted), (3, other)):
        filled = model.impute(holed)[list(frame.columns)].to_numpy()
        np.testing.assert_array_equal(axes[line, 0].images[0].get_array().ravel(), filled[0])
    plt.close("all")


@pytest.mark.parametrize("name", plots.__all__)
def test_pictures_of_the_wrong_thing_say_what_they_need(name):
    from inspect import Parameter, signature

    from latentbits.errors import InputTypeError

    picture = getattr(plots, name)
    wanted = [one for one in signature(picture).parameters.values() if one.default is Parameter.empty]
    for wrong in (None, 3, "model", BernoulliMixture(2), BernoulliMixture, {"a": 1}):
        others = [(2, 2) if one.name == "image" else [[0, 1]] for one in wanted[1:]]
        with pytest.raises(InputTypeError if name != "recovery" else InputError, match=f"plots.{name}"):
            picture(wrong, *others)
