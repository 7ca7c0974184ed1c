"""Model files with a whole seal and foreign content: refused with a reason, or the answers are the same.

Every mutation changes one thing that the class never holds, seals the file anew and loads it.  Values that are replaced by
other good values make another model, which nobody can refuse; such mutations are not drawn.
"""

from __future__ import annotations

import copy
import json
import zlib

import numpy as np
import pytest
from safetensors.numpy import save

import latentbits
from latentbits.engine import checkpoint
from latentbits.errors import FileError, LatentBitsError

from .families import FAMILIES

FEW, MANY = 4, 32  # mutations per family
FOREIGN = [
    None,
    {},
    [],
    "other",
    10**400,
    -(10**400),
    float("nan"),
    [[]],
    {"value": {}},
    {"array": "a"},
    [None, 1],
    -1e400,
]
NAMES = [
    "fit",
    "_ask",
    "__class__",
    "__dict__",
    "predict",
    "_check_fitted",
    "record_types",
    "n_free_",
    "_model_",
    "other_",
    "",
]
# Fields and attributes that may well be negative; their names in files are places.
REAL = {
    *("means", "means_", "centers", "cross_means", "cross_means_", "loadings", "offset", "offset_", "base", "visible"),
    *("hidden", "visible_bias_", "hidden_bias_", "couplings_", "values", "latent_sample_", "basis_weights_", "logits_"),
    *("latent_points_", "basis_centers_", "components_", "loss", "deletion_loss_", "trace_", "log_joint", "stability_"),
    *("class_log_prior_", "sums", "overall_", "pooled_", "scale_", "rating_values_", "keys", "items_", "users_"),
}
MAPS = ("BinaryGTM", "RestrictedBoltzmann")  # whose weights are real numbers


def reseal(path, header, arrays):
    """Write anything with a seal that holds."""
    text = json.dumps(header)
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    path.write_bytes(save(whole, metadata={checkpoint.MAGIC: json.dumps([text, checkpoint._seal(text, whole)])}))


def spot(rng, header):
    """A container somewhere in the header and a key of it, shallow and deep ones as often."""
    container, key = header, str(rng.choice(list(header)))
    while isinstance(container[key], (dict, list)) and container[key] and rng.random() < 0.75:
        container = container[key]
        keys = list(container) if isinstance(container, dict) else range(len(container))
        key = keys[rng.integers(len(keys))]
    return container, key


def change_header(rng, header, arrays):
    """Something else, nothing, one more or one less somewhere in the header."""
    container, key = spot(rng, header)
    how = rng.integers(4)
    value = container[key]
    if how == 0:
        del container[key]
    elif how == 1 and isinstance(value, (int, float)) and not isinstance(value, bool) and key != "threshold_":
        container[key] = [-abs(value) - 1, value + 0.5, bool(value), str(value)][rng.integers(4)]
    elif how == 2 and isinstance(value, list):
        value.append(copy.deepcopy(FOREIGN[rng.integers(len(FOREIGN))]))
    else:
        container[key] = copy.deepcopy(FOREIGN[rng.integers(len(FOREIGN))])
    return f"{how} at {key!r}: {value!r:.60} -> {container[key] if how and key in container else None!r:.60}"


def add_name(rng, header, arrays):
    """One more fitted attribute or option, under a name that is a method's or nobody's."""
    name = NAMES[rng.integers(len(NAMES))]
    part = "fitted" if rng.random() < 0.7 else "options"
    header[part][name] = [{"value": 1}, {"tuple": [1]}, 1][rng.integers(3)]
    return f"{part} {name!r}"


def meaning(header, name):
    """The last part of an array's name as a word: records name their arrays by places."""
    described, parts = header, name.split(".")
    packed = None
    while parts:
        part = parts.pop(0)
        if packed is None:
            packed = described["fitted"][part]
        elif "record" in packed:
            cls = latentbits.families.BY_CLASS[described["class"]].load().record_types[packed["record"]]
            packed, part = packed["items"][int(part)], cls._fields[int(part)]
        elif "fields" in packed:
            packed = packed["fields"][part]
        elif "list" in packed:
            packed = packed["list"][int(part)]
        if "estimator" in packed:
            described, packed = packed["estimator"], None
    return part


def change_array(rng, header, arrays):
    """Another shape, another type, or numbers that cannot be."""
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    word = meaning(header, name)
    real = word in REAL or (word == "weights" and header["class"] in MAPS)
    ways = {
        "one axis more": lambda: array[None],
        "flat": lambda: array.ravel() if array.ndim > 1 else array[:, None],
        "one less": lambda: array[:-1],
        "one more": lambda: (
            np.concatenate((array, array[:1])) if len(array) else np.zeros((1, *array.shape[1:]), array.dtype)
        ),
        "nothing": lambda: array[:0],
        "a single number": lambda: np.array(1, array.dtype),
        "other floats": lambda: array.astype(np.float32 if array.dtype != np.float32 else np.float16),
        "other whole numbers": lambda: np.nan_to_num(array).astype(np.int16),
        "bytes": lambda: np.frombuffer(array.tobytes(), np.uint8),
        "gone": lambda: None,
    }
    if array.ndim == 2 and array.shape[0] != array.shape[1]:
        ways["transposed"] = lambda: array.T
    if array.ndim > 1:
        ways["a column less"] = lambda: array[:, :-1]
    if array.size and array.dtype.kind == "f":
        ways["NaN"] = lambda: put(array, np.nan)
        ways["inf"] = lambda: put(array, [np.inf, -np.inf][rng.integers(2)])
        if not real:
            ways["negative"] = lambda: put(array, -0.5)
    if array.size and array.dtype.kind in "iu" and not real:
        limits = np.iinfo(array.dtype)
        ways["out of range"] = lambda: put(
            array, [min(10**9, limits.max), limits.max, -1 if limits.min else limits.max][rng.integers(3)]
        )

    def put(array, value):
        changed = array.copy()
        changed.flat[rng.integers(array.size)] = value
        return changed

    way = str(rng.choice(list(ways)))
    changed = ways[way]()
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = changed
    return f"{name} ({word}): {way}"


def answers(family, estimator):
    """What a model says of a small table."""
    table = family.table(12, seed=5)
    told = [estimator.transform(table) if hasattr(estimator, "transform") else estimator.predict_proba(table)]
    told += [getattr(estimator, how)(table) for how in ("score_samples", "reconstruct") if hasattr(estimator, how)]
    if family.kind == "ratings":
        told.append(estimator.predict(3, [1, 2]))
    return told


def attack(family, folder, n, seed):
    """Mutate a file ``n`` times, one thing at a time."""
    path, foul = folder / "model.latentbits", folder / "foul.latentbits"
    family.fitted().save(path)
    header, arrays = checkpoint.read_sealed(path, "model")
    honest = answers(family, latentbits.load(path))
    rng = np.random.default_rng([seed, zlib.crc32(family.name.encode())])
    for i in range(n):
        mutated, held = copy.deepcopy(header), dict(arrays)
        change = (change_header, change_array, change_header, change_array, add_name)[i % 5]
        told = change(rng, mutated, held)
        reseal(foul, mutated, held)
        try:
            loaded = latentbits.load(foul)
        except FileError as error:
            assert str(foul) in str(error)
            continue
        for ours, theirs in zip(honest, answers(family, loaded)):
            assert ours.tobytes() == theirs.tobytes(), told


def saved(folder, **options):
    """A small mixture, saved, and what its file holds."""
    path = folder / "model.latentbits"
    table = latentbits.datasets.make_mixture(60, 6, 2, random_state=0).data
    latentbits.BernoulliMixture(2, random_state=0, n_init=1, **options).fit(table).save(path)
    return path, *checkpoint.read_sealed(path, "model")


@pytest.mark.parametrize("header", [{}, None, [], "model", 3, {"kind": "model"}, {"kind": "model", "format": True}])
def test_foreign_headers_are_refused(header, tmp_path):
    path, _, arrays = saved(tmp_path)
    reseal(path, header, arrays)
    with pytest.raises(FileError, match="not written by latentbits"):
        latentbits.load(path)


def test_headers_of_any_depth_are_refused(tmp_path):
    path, header, arrays = saved(tmp_path)
    deep = []
    for _ in range(300):
        deep = [deep]
    header["fitted"]["restarts_"] = {"value": [{"deep": deep}] * 2, "list": deep}
    header["options"]["init"] = {"tuple": deep}
    reseal(path, header, arrays)
    with pytest.raises(FileError):
        latentbits.load(path)
    text = "[" * 100_000
    path.write_bytes(save({}, metadata={checkpoint.MAGIC: json.dumps([text, checkpoint._seal(text, {})])}))
    with pytest.raises(FileError, match="header cannot be read"):
        latentbits.load(path)


FOUL = {
    "no class": (lambda header: header.pop("class"), "'class'"),
    "a class that is a list": (lambda header: header.update({"class": []}), "'class'"),
    "no options": (lambda header: header.pop("options"), "'options'"),
    "options that are a list": (lambda header: header.update(options=[]), "'options'"),
    "an option too many": (lambda header: header["options"].update(colour=1), "no option 'colour'"),
    "an option too few": (lambda header: header["options"].pop("tol"), "option 'tol'"),
    "a bad option": (lambda header: header["options"].update(tol=float("nan")), "tol must be a number"),
    "a truth for a number": (lambda header: header["options"].update(n_components=True), "n_components"),
    "an option that cannot be": (lambda header: header["options"].update(init={"array": [[1], [1, 2]]}), "init"),
    "a random state in words": (lambda header: header["options"].update(random_state="a"), "random_state"),
    "a method": (lambda header: header["fitted"].update(predict={"value": 1}), "'predict' is no fitted attribute"),
    "a property": (lambda header: header["fitted"].update(n_free_={"value": 1}), "'n_free_' is no fitted"),
    "its class": (lambda header: header["fitted"].update(__class__={"value": 1}), "'__class__' is no fitted"),
    "no parameters": (lambda header: header["fitted"].pop("_params"), "_params is missing"),
    "other parameters": (
        lambda header: header["fitted"].update(_params={"value": 1}),
        "_params must be a MixtureParams",
    ),
    "a field too many": (lambda header: header["fitted"]["_params"]["items"].append({"value": 1}), "2 fields"),
    "a strange record": (lambda header: header["fitted"]["_params"].update(record="object"), "'object'"),
    "a huge number": (lambda header: header["fitted"].update(n_iter_={"value": 10**400}), "n_iter_ is too large"),
    "the array of another": (lambda header: header["fitted"]["weights_"].update(name="_params.0"), "weights_"),
    "no columns": (lambda header: header["fitted"].update(n_features_in_={"value": 5}), "shape"),
    "a name that is a number": (
        lambda header: header["fitted"].update(component_names_={"value": [1]}),
        "component_names_",
    ),
}


@pytest.mark.parametrize("change, reason", FOUL.values(), ids=FOUL)
def test_foreign_content_is_refused_with_the_reason(change, reason, tmp_path):
    path, header, arrays = saved(tmp_path)
    change(header)
    reseal(path, header, arrays)
    with pytest.raises(FileError, match=reason) as caught:
        latentbits.load(path)
    assert str(path) in str(caught.value)


ARRAYS = {
    "transposed": ("_params.1", lambda array: array.T, "_params.probs must have the shape"),
    "another type": ("_params.1", lambda array: array.astype(np.float32), "float32"),
    "NaN": ("_params.0", lambda array: array * np.nan, "_params.weights holds NaN"),
    "more than all": ("_params.0", lambda array: array * 2, "_params.weights must"),
    "no probabilities": ("_params.1", lambda array: array + 1, "_params.probs must hold numbers from 0 to 1"),
    "not there": ("components_", lambda array: None, "components_ has no array"),
}


@pytest.mark.parametrize("name, change, reason", ARRAYS.values(), ids=ARRAYS)
def test_foreign_arrays_are_refused_with_the_reason(name, change, reason, tmp_path):
    path, header, arrays = saved(tmp_path)
    arrays[name] = change(arrays[name])
    reseal(path, header, {name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(FileError, match=reason):
        latentbits.load(path)


def test_checkpoints_and_callbacks_do_not_travel(tmp_path):
    at = str(tmp_path / "fit.checkpoint")
    path, header, arrays = saved(tmp_path, checkpoint=at, callbacks=[lambda event: None])
    assert latentbits.load(path).checkpoint is None and at not in json.dumps(header)
    header["options"]["checkpoint"] = at  # as older files have it
    reseal(path, header, arrays)
    assert latentbits.load(path).checkpoint is None
    X, y = np.abs(np.random.default_rng(0).normal(size=(20, 3))), [0, 1] * 10
    latentbits.BernoulliGaussClassifier(1, checkpoint=at).fit(X, y).save(path)
    assert [part.checkpoint for part in latentbits.load(path).estimators_] == [None, None]


def test_plain_attributes_travel(tmp_path):
    path, *_ = saved(tmp_path)
    model = latentbits.load(path)
    model.reading_ = {"one": ["yes", "x"], "rules": [{"columns": ["q1"], "above": 4.5}], "id_column": "who"}
    model.name_components({1: "pop voters"}).save(path)
    again = latentbits.load(path)
    assert (again.reading_, again.component_names_) == (model.reading_, model.component_names_)
    model.reading_ = {"rules": {"q1": 4.5}}
    model.save(path)
    with pytest.raises(FileError, match="reading_ says rules"):
        latentbits.load(path)


def test_files_of_other_versions_may_lack_what_they_did_not_have(tmp_path):
    path, header, arrays = saved(tmp_path)
    del header["options"]["average"], header["fitted"]["_model"]["fields"]["keep_all"]
    header["fitted"]["_online"] = {"value": None}
    reseal(path, header, arrays)
    with pytest.raises(FileError):
        latentbits.load(path)
    header["version"] = "0.0.9"
    reseal(path, header, arrays)
    assert latentbits.load(path).average == "mean" and not hasattr(latentbits.load(path), "_online")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_resealed_files_are_refused_or_give_the_same_answers(family, tmp_path):
    attack(family, tmp_path, FEW, 0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_many_resealed_files_are_refused_or_give_the_same_answers(family, tmp_path):
    attack(family, tmp_path, MANY, 1)


def interrupted(family, folder):
    """Where a fit left its checkpoint when it was stopped on its way."""
    path, passes = folder / "fit.checkpoint", 0

    def interrupt(event):
        nonlocal passes
        passes += 1
        if passes == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        family.fit(family.table(), n_init=2, max_iter=5, checkpoint=path, callbacks=[interrupt])
    return min(folder.glob("fit.checkpoint*"))  # a classifier has one for every class


def attack_checkpoint(family, folder, n, seed):
    """Mutate the content of a checkpoint ``n`` times, keeping what it says of whose it is."""
    if not family.takes("checkpoint", "callbacks"):
        pytest.skip("it keeps no checkpoints")
    path = interrupted(family, folder)
    header, arrays = checkpoint.read_sealed(path, "checkpoint")
    rng = np.random.default_rng([seed, zlib.crc32(family.name.encode())])
    for i in range(n):
        mutated, held = copy.deepcopy(header), dict(arrays)
        own = {key: mutated.pop(key) for key in ("identity", "kind", "format")}
        if i % 2:
            told = change_header(rng, mutated, held)
        else:
            name = sorted(held)[rng.integers(len(held))]
            array = held[name]
            ways = [
                array[None],
                array[:0] if array.ndim else array[None],
                array.astype(np.float32),
                -array.astype(float) - 9,
            ]
            held[name] = (array.T if array.ndim == 2 and rng.random() < 0.5 else ways[rng.integers(4)]).copy()
            told = f"{name}: {array.dtype} {array.shape} -> {held[name].dtype} {held[name].shape}"
        reseal(path, {**mutated, **own}, held)
        try:
            family.fit(family.table(), n_init=2, max_iter=5, checkpoint=folder / "fit.checkpoint")
        except LatentBitsError:
            pass
        except Exception as error:
            raise AssertionError(told) from error
        for other in folder.glob("fit.checkpoint*"):
            other.unlink()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_resealed_checkpoints_do_no_harm(family, tmp_path):
    attack_checkpoint(family, tmp_path, 2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_many_resealed_checkpoints_do_no_harm(family, tmp_path):
    attack_checkpoint(family, tmp_path, 20, 1)


@pytest.mark.parametrize("header", [{}, {"identity": None}, {"identity": {}}, {"identity": {"seed": "a"}}])
def test_foreign_checkpoints_are_refused(header, tmp_path):
    path = tmp_path / "fit.checkpoint"
    checkpoint.write_sealed(path, "checkpoint", header, {})
    for random_state in (None, 0):
        model = latentbits.BernoulliMixture(2, checkpoint=path, random_state=random_state)
        with pytest.raises(FileError, match=r"fit\.checkpoint (is no checkpoint of a fit|belongs to another fit)"):
            model.fit([[0, 1], [1, 0], [1, 1]])
