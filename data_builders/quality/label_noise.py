"""Labels that are probably wrong: confident learning (Northcutt, Jiang and Chuang, JAIR 2021).

A classifier that never saw a row, nor another of its group, gives its probabilities. Each class has a threshold, the
mean probability of the class among the rows that carry it. A row whose other class passes that class's threshold, and
beats its own class, is counted as mislabelled; the counts, scaled to the labels given, estimate the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.data_builders.quality.rows import Row
from engrain.data_builders.quality.text import words
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract

Progress = Callable[[int, int], None]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to vectors `N x d`; the embedder of a bundle, for instance."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SMALL = 1000


class Suspect(Contract):
    """A row whose label the others contradict."""

    id: str
    corpus: str
    label: bool
    probability: float = Field(description="Out-of-fold probability that the label should be positive.")
    text: str


class NoiseReport(Contract):
    """Estimated label noise."""

    rows: int
    folds: int
    features: str = Field(description="`tfidf` or `embedding`.")
    average_precision: float = Field(
        description="Of the out-of-fold probabilities; near the share of positives, the "
        "classifier learned nothing and the estimate means nothing."
    )
    positive_threshold: float = Field(description="Mean probability of positive among positives.")
    negative_threshold: float = Field(description="Mean probability of negative among negatives.")
    false_positives: float = Field(description="Estimated share of positive labels that should be negative.")
    false_negatives: float = Field(description="Estimated share of negative labels that should be positive.")
    noise: float = Field(description="Estimated share of all labels that are wrong.")
    suspected: int
    suspects: tuple[Suspect, ...] = Field(description="The likeliest of them first.")


def label_noise(
    rows: Sequence[Row],
    *,
    embed: Embed | None = None,
    folds: int = 5,
    listed: int = 100,
    seed: int = 42,
    progress: Progress | None = None,
) -> NoiseReport | None:
    """Estimate noise from the target turns alone; None when the rows are too few or of one label.

    Features are TF-IDF of words and word pairs, or vectors of `embed`. Raises `InputError` without scikit-learn.
    """
    labels = np.array([row.label for row in rows], dtype=bool)
    groups = _fold_of([row.group for row in rows], folds, seed)
    if not _every_fold_learns(labels, groups, folds):
        return None
    texts = [row.text for row in rows]
    vectors = None if embed is None else np.asarray(embed(texts))
    probability = np.empty(len(rows))
    for fold in range(folds):
        asked = groups == fold
        probability[asked] = _probabilities(texts, vectors, labels, asked, seed)
        if progress is not None:
            progress(fold + 1, folds)
    return _report(rows, labels, probability, folds, "tfidf" if embed is None else "embedding", listed)


def confident_joint(labels: Flags, probability: Floats) -> tuple[Flags, tuple[float, float]]:
    """Which rows count as mislabelled, and the thresholds of negative and positive."""
    negative, positive = float((1 - probability)[~labels].mean()), float(probability[labels].mean())
    as_positive, as_negative = probability >= positive, (1 - probability) >= negative
    # A row that passes both goes to the likelier class.
    likely_positive = as_positive & (~as_negative | (probability >= 0.5))
    likely_negative = as_negative & ~likely_positive
    return np.where(labels, likely_negative, likely_positive), (negative, positive)


def _report(
    rows: Sequence[Row], labels: Flags, probability: Floats, folds: int, features: str, listed: int
) -> NoiseReport:
    wrong, (negative, positive) = confident_joint(labels, probability)
    confident = wrong | np.where(labels, probability >= positive, (1 - probability) >= negative)
    false_positives = _share(wrong[labels], confident[labels])
    false_negatives = _share(wrong[~labels], confident[~labels])
    margin = np.where(labels, probability, 1 - probability)
    order = [int(index) for index in np.argsort(margin, kind="stable") if wrong[index]]
    return NoiseReport(
        rows=len(rows),
        folds=folds,
        features=features,
        average_precision=float(_sklearn("metrics").average_precision_score(labels, probability)),
        positive_threshold=positive,
        negative_threshold=negative,
        false_positives=false_positives,
        false_negatives=false_negatives,
        noise=float(false_positives * labels.mean() + false_negatives * (~labels).mean()),
        suspected=len(order),
        suspects=tuple(_suspect(rows[index], float(probability[index])) for index in order[:listed]),
    )


def _suspect(row: Row, probability: float) -> Suspect:
    return Suspect(id=row.id, corpus=row.corpus, label=row.label, probability=round(probability, 4), text=row.text)


def _share(part: Flags, whole: Flags) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else 0.0


def _fold_of(groups: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """A fold for each row; a group is in one fold."""
    names, group = np.unique(np.array(groups), return_inverse=True)
    return np.asarray(np.random.default_rng(seed).permutation(len(names))[group] % folds, dtype=np.int64)


def _every_fold_learns(labels: Flags, fold_of: NDArray[np.int64], folds: int) -> bool:
    """Whether every fold has rows, and the others have both labels."""
    return all((fold_of == fold).any() and len(np.unique(labels[fold_of != fold])) == 2 for fold in range(folds))


def _probabilities(
    texts: Sequence[str], vectors: NDArray[np.float32] | None, labels: Flags, asked: Flags, seed: int
) -> Floats:
    if vectors is None:
        # A word of one row alone teaches nothing about others, but a small corpus has few words.
        least = 2 if len(texts) > _SMALL else 1
        tfidf = _sklearn("feature_extraction.text").TfidfVectorizer(
            tokenizer=words,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, 2),
            min_df=least,
            sublinear_tf=True,
            dtype=np.float32,
        )
        train = tfidf.fit_transform([text for text, held in zip(texts, asked, strict=True) if not held])
        test = tfidf.transform([text for text, held in zip(texts, asked, strict=True) if held])
    else:
        train, test = vectors[~asked], vectors[asked]
    model = _sklearn("linear_model").LogisticRegression(C=10.0, max_iter=1000, random_state=seed)
    model.fit(train, labels[~asked])
    return np.asarray(model.predict_proba(test)[:, 1], dtype=np.float64)


def _sklearn(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise InputError(
            "label noise needs scikit-learn; install it with: pip install 'engrain[data]', or set label_noise to false"
        ) from None
