"""Scores of partitions and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .errors import InputError


def clustering_accuracy(truth: Any, found: Any) -> float:
    """Share of rows that agree under the best matching of clusters to classes (Kuhn-Munkres).

    Parameters
    ----------
    truth, found : (n,) array-like
        Labels of any kind.

    Returns
    -------
    float

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    truth, found = np.asarray(truth), np.asarray(found)
    if truth.shape != found.shape or truth.ndim != 1 or not len(truth):
        raise InputError("clustering_accuracy: two label arrays of the same length are needed.")
    _, rows = np.unique(truth, return_inverse=True)
    _, columns = np.unique(found, return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    matched = linear_sum_assignment(-table)
    return float(table[matched].sum() / len(truth))


def cell_log_loss(values: Any, probabilities: Any, clip: float = 1e-6) -> float:
    """Mean negative log probability of cells in nats.

    Parameters
    ----------
    values : (m,) array-like of 0 and 1
    probabilities : (m,) array-like
        Predicted P(cell = 1).
    clip : float
        Predictions are kept this far from 0 and 1.

    Examples
    --------
    >>> round(cell_log_loss([1, 0], [0.5, 0.5]), 4)
    0.6931
    """
    values = np.asarray(values)
    on = np.clip(np.asarray(probabilities, float), clip, 1 - clip)
    return float(-np.log(np.where(values == 1, on, 1 - on)).mean())


def weighted_cosine_matching(
    components: Any, gold: Any, weights: Any = None, n_pairs: int | None = None
) -> dict[str, Any]:
    """How well components match given vectors, one to one (Šingliar & Hauskrecht 2006, section 5.4.2).

    Chooses ``n_pairs`` pairs of a component i and a vector g, none used twice, with the largest sum of
    ``weights[i] cos(components[i], gold[g])``.  (The paper prints a minimum where its text asks for the maximum.)

    Parameters
    ----------
    components : (K, D) array
    gold : (G, D) array
    weights : (K,) array, optional
        Weight of every component; scaled to sum one.  By default equal.
    n_pairs : int, optional
        By default as many as possible.

    Returns
    -------
    dict
        With ``value`` (the weighted sum), ``renormalised`` (divided by the weight of the matched components), ``cosine``
        (plain mean of the matched cosines) and ``pairs`` (list of (component, vector, cosine)).

    Examples
    --------
    >>> found = weighted_cosine_matching([[1, 0], [0, 1]], [[0, 1], [1, 0]], weights=[3, 1])
    >>> found["value"], found["pairs"]
    (1.0, [(0, 1, 1.0), (1, 0, 1.0)])
    """
    components, gold = np.asarray(components, float), np.asarray(gold, float)
    if components.ndim != 2 or gold.ndim != 2 or components.shape[1] != gold.shape[1]:
        raise InputError(
            f"weighted_cosine_matching: two matrices with equal columns are needed; got {components.shape} and {gold.shape}."
        )
    k, g = len(components), len(gold)
    weights = np.full(k, 1.0 / k) if weights is None else np.asarray(weights, float)
    if weights.shape != (k,) or not (weights >= 0).all() or not weights.sum() > 0:
        raise InputError(f"weighted_cosine_matching: {k} weights of 0 or more are needed.")
    weights = weights / weights.sum()
    n_pairs = min(k, g) if n_pairs is None else n_pairs
    if not 1 <= n_pairs <= min(k, g):
        raise InputError(f"weighted_cosine_matching: n_pairs must be from 1 to {min(k, g)}; got {n_pairs!r}.")
    cosine = _cosines(components, gold)
    # Partners that stand for "not matched" are added, so that exactly n_pairs real pairs are left.
    value = np.zeros((k + g - n_pairs, k + g - n_pairs))
    value[:k, :g] = weights[:, None] * cosine
    value[k:, g:] = -1e6
    rows, columns = linear_sum_assignment(-value)
    pairs = [(int(i), int(j), float(cosine[i, j])) for i, j in zip(rows, columns) if i < k and j < g]
    total = float(sum(weights[i] * c for i, _, c in pairs))
    used = float(sum(weights[i] for i, _, _ in pairs))
    return {
        "value": total,
        "renormalised": total / used if used > 0 else 0.0,
        "cosine": float(np.mean([c for _, _, c in pairs])),
        "pairs": pairs,
    }


def _cosines(a: Any, b: Any) -> Any:
    """Cosines (len(a), len(b)) of the rows of two matrices, 0 where one is empty."""
    lengths = np.outer(np.sqrt((a**2).sum(axis=1)), np.sqrt((b**2).sum(axis=1)))
    return np.where(lengths > 0, a @ b.T / np.where(lengths > 0, lengths, 1.0), 0.0)


def community_recovery(components: Any, labels: Any, top: int = 7) -> dict[str, Any]:
    """How well components recover given communities of columns: a judge without a person.

    The purity of a component for a community is the share of its strongest columns (``top``, or as many as the community has)
    that belong to it; components are matched to communities one to one for the largest sum.  A match counts 1 from a purity
    of 0.8, ½ from 0.5, else 0.

    Parameters
    ----------
    components : (K, D) array
        Larger is stronger.
    labels : (D,) array-like
        Community of every column.
    top : int
        Columns of a component to look at.

    Returns
    -------
    dict
        With ``score`` (mean over communities), ``purity``, ``points`` and ``component``, each by community (component None
        if there are fewer components than communities).

    Examples
    --------
    >>> community_recovery([[0.9, 0.8, 0.0], [0.1, 0.0, 0.7]], ["a", "a", "b"])["score"]
    1.0
    """
    components, labels = np.asarray(components, float), np.asarray(labels)
    if components.ndim != 2 or labels.shape != (components.shape[1],):
        raise InputError("community_recovery: one label per column of the components is needed.")
    names = np.unique(labels)
    purity = np.zeros((len(components), len(names)))
    order = np.argsort(-components, axis=1, kind="stable")
    for g, name in enumerate(names):
        size = min(top, int((labels == name).sum()))
        purity[:, g] = (labels[order[:, :size]] == name).mean(axis=1)
    rows, columns = linear_sum_assignment(-purity)
    matched = {int(g): int(k) for k, g in zip(rows, columns)}
    found = [float(purity[matched[g], g]) if g in matched else 0.0 for g in range(len(names))]
    points = [1.0 if p >= 0.8 else 0.5 if p >= 0.5 else 0.0 for p in found]
    keys = names.tolist()
    return {
        "score": float(np.mean(points)),
        "purity": dict(zip(keys, found)),
        "points": dict(zip(keys, points)),
        "component": {name: matched.get(g) for g, name in enumerate(keys)},
    }


def document_cross_entropy(log_probabilities: Any) -> dict[str, float]:
    """Mean negative log probability of rows, in nats and bits, with its spread, and the perplexity.

    A lower bound of the log probability gives an upper bound of the cross-entropy.

    Parameters
    ----------
    log_probabilities : (n,) array-like
        In nats, as ``score_samples`` gives them.

    Returns
    -------
    dict
        With ``nats``, ``bits``, ``sd`` (over rows, nats), ``se`` (of the mean, nats) and ``perplexity`` (2 to the bits).

    Examples
    --------
    >>> document_cross_entropy(np.log([0.25, 0.25]))["bits"]
    2.0
    """
    values = -np.asarray(log_probabilities, float)
    if values.ndim != 1 or not len(values):
        raise InputError("document_cross_entropy: an array with one log probability per row is needed.")
    mean, spread = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    with np.errstate(over="ignore"):
        perplexity = float(np.exp(mean))
    bits = mean / float(np.log(2))
    return {"nats": mean, "bits": bits, "sd": spread, "se": spread / len(values) ** 0.5, "perplexity": perplexity}


def rating_errors(truth: Any, predicted: Any) -> Any:
    """Mean absolute and root mean squared error of predicted ratings, with standard errors.

    Parameters
    ----------
    truth, predicted : (n,) array-like
        All ratings are predicted, none is left out.

    Returns
    -------
    Errors
        ``errors``, ``mae``, ``rmse``, ``mae_se``, ``rmse_se``; equal lengths of ``errors`` make paired comparisons.

    Examples
    --------
    >>> rating_errors([4, 2, 5], [3, 3, 5])
    MAE 0.6667 ± 0.3333, RMSE 0.8165 ± 0.2041 (3 ratings)
    """
    from .base.recommending import errors_of

    truth, predicted = np.asarray(truth, dtype=float), np.asarray(predicted, dtype=float)
    if truth.shape != predicted.shape or truth.ndim != 1 or not len(truth):
        raise InputError(
            f"rating_errors: two equally long lists are needed; got shapes {truth.shape} and {predicted.shape}."
        )
    return errors_of(predicted - truth)


def confusion_share(truth: Any, predicted: Any) -> Any:
    """Confusion table whose cells are shares of all rows: rows are the true classes, columns the predicted ones.

    Parameters
    ----------
    truth, predicted : (n,) array-like

    Returns
    -------
    (n_classes, n_classes) array
        In the order of the sorted classes.

    Examples
    --------
    >>> confusion_share([0, 0, 1, 1], [0, 1, 1, 1]).tolist()
    [[0.25, 0.25], [0.0, 0.5]]
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if truth.shape != predicted.shape or truth.ndim != 1 or not len(truth):
        raise InputError(
            f"confusion_share: two equally long lists are needed; got shapes {truth.shape} and {predicted.shape}."
        )
    classes = np.unique(np.concatenate((truth, predicted)))
    out = np.zeros((len(classes), len(classes)))
    np.add.at(out, (np.searchsorted(classes, truth), np.searchsorted(classes, predicted)), 1.0 / len(truth))
    return out


def fill_in_auc(truth: Any, probability: Any, by_row: bool = False) -> float:
    """Area under the ROC curve of filled cells: how often a one got a higher probability than a zero, ties one half.

    Parameters
    ----------
    truth : (n_rows, n_cells) array of 0 and 1
        What the cells are.
    probability : (n_rows, n_cells) array
        What they were given.
    by_row : bool
        Mean over rows (those with both values) instead of all cells together.

    Returns
    -------
    float

    Examples
    --------
    >>> fill_in_auc([[1, 0], [1, 0]], [[0.9, 0.2], [0.4, 0.6]])
    0.75
    """
    from sklearn.metrics import roc_auc_score

    truth, probability = np.asarray(truth), np.asarray(probability, np.float64)
    if truth.shape != probability.shape:
        raise InputError(f"truth and probability differ in shape: {truth.shape} and {probability.shape}.")
    if not by_row:
        return float(roc_auc_score(truth.ravel(), probability.ravel()))
    both = [(t, p) for t, p in zip(truth, probability) if 0 < t.sum() < len(t)]
    return float(np.mean([roc_auc_score(t, p) for t, p in both]))
