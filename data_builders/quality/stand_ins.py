"""Three raters that need no model service, to look at agreement, consensus and noise before any teacher is paid.

- `authors`: the labels that the corpus came with.
- `classifier`: TF-IDF and logistic regression, trained on the authors' labels of other groups.
- `words`: a first-person word in a statement of five words or more.

They stand in for teachers in notebooks and trials. Nothing about teachers follows from how far these three agree.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from engrain.data_builders.quality.text import words
from engrain.data_builders.teachers.records import Candidate, TeacherResult
from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, ContextDependence, GateExample, Vote

RATERS = ("authors", "classifier", "words")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|us)\b", re.IGNORECASE)
_AHEAD = re.compile(r"\b(?:will|going to|i'll|we'll|tomorrow|next|soon|plan|planning|by (?:mon|tues|wednes|thurs|fri))")
_BEHIND = re.compile(r"\b(?:was|were|had|did|went|got|came|yesterday|ago|last|\w+ed)\b")
_OPEN_START = re.compile(r"^(?:yes|no|it|that|this|they|he|she|so|and|but|the same|both|neither)\b", re.IGNORECASE)
_FEWEST_WORDS = 5
_FOLDS = 5


def stand_in_results(examples: Sequence[GateExample]) -> list[tuple[TeacherResult, ...]]:
    """The three raters' results for each example, in order.

    Raises `InputError` for an example without the authors' type or context dependence.
    """
    by_rater = (_authors(examples), _classifier(examples), [_by_words(example.target.text) for example in examples])
    return [
        tuple(TeacherResult(teacher=vote.teacher, vote=vote, attempts=1) for vote in votes)
        for votes in zip(*by_rater, strict=True)
    ]


def candidate_of(example: GateExample) -> Candidate:
    """The turn of an example, without its label."""
    return Candidate(
        id=example.id, corpus=example.corpus, group=example.group, context=example.context, target=example.target
    )


def _authors(examples: Sequence[GateExample]) -> list[Vote]:
    votes = []
    for example in examples:
        if example.auxiliary_type is None or example.context_dependence is None:
            raise InputError(
                f"'{example.id}' has no type or context dependence, so its authors cannot stand as a rater"
            )
        votes.append(_vote("authors", example.label, example.auxiliary_type, example.context_dependence, 1.0))
    return votes


def _classifier(examples: Sequence[GateExample]) -> list[Vote]:
    texts = [example.target.text for example in examples]
    groups = [example.group for example in examples]
    kinds, certainty = _out_of_fold(texts, [str(example.auxiliary_type) for example in examples], groups)
    dependence, _ = _out_of_fold(texts, [str(example.context_dependence) for example in examples], groups)
    return [
        _vote("classifier", kind != AuxiliaryType.NON_MEMORY, AuxiliaryType(kind), ContextDependence(open_), sure)
        for kind, open_, sure in zip(kinds, dependence, certainty, strict=True)
    ]


def _by_words(text: str) -> Vote:
    keep = bool(_FIRST_PERSON.search(text)) and not text.rstrip().endswith("?") and len(text.split()) >= _FEWEST_WORDS
    kind = AuxiliaryType.NON_MEMORY
    if keep and _AHEAD.search(text.lower()):
        kind = AuxiliaryType.PROSPECTIVE
    elif keep and _BEHIND.search(text.lower()):
        kind = AuxiliaryType.AUTOBIOGRAPHICAL_EPISODIC
    elif keep:
        kind = AuxiliaryType.PERSONAL_SEMANTIC
    leans = _OPEN_START.search(text) is not None or len(text.split()) < _FEWEST_WORDS
    dependence = ContextDependence.CONTEXT_DEPENDENT if leans else ContextDependence.SELF_CONTAINED
    return _vote("words", keep, kind, dependence, 0.5)


def _vote(rater: str, admit: bool, kind: AuxiliaryType, dependence: ContextDependence, confidence: float) -> Vote:
    return Vote(
        teacher=rater, admit=admit, auxiliary_type=kind, context_dependence=dependence, confidence=float(confidence)
    )


def _out_of_fold(texts: Sequence[str], classes: Sequence[str], groups: Sequence[str]) -> tuple[list[str], list[float]]:
    """The likeliest class of each text and its probability, from models that never saw its group."""
    selection: Any = importlib.import_module("sklearn.model_selection")
    model = importlib.import_module("sklearn.pipeline").make_pipeline(
        importlib.import_module("sklearn.feature_extraction.text").TfidfVectorizer(
            ngram_range=(1, 2), tokenizer=words, token_pattern=None, lowercase=False
        ),
        importlib.import_module("sklearn.linear_model").LogisticRegression(C=10.0, max_iter=1000),
    )
    names = np.unique(np.array(classes))
    folds = selection.GroupKFold(_FOLDS)
    shares = selection.cross_val_predict(model, texts, classes, groups=groups, cv=folds, method="predict_proba")
    return [str(names[row.argmax()]) for row in shares], [float(row.max()) for row in shares]
