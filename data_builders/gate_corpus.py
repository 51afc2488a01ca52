"""Labelled sessions to gate examples, and what is counted on the way (SLICE-Mem A.1, A.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import Field

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.shipped import ShippedCorpus
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, GateExample, Split, Turn, Utterance

MAX_POSITIVE_WEIGHT = 10.0
"""w_max of SLICE-Mem B.1."""


class Counts(Contract):
    """Rows and how many of them are positive."""

    rows: int = 0
    positives: int = 0


class PersonCounts(Contract):
    """What one person gave: user turns read, rows taken, rows that validate, and rows refused by the overlap rule."""

    read: Counts
    taken: Counts
    validation: Counts
    discarded: int = 0


class GateCorpusReport(Contract):
    """Counts of one build. Nothing is left out of the corpus without standing here."""

    corpus: str
    sessions_read: int
    read: Counts = Field(description="Labelled user turns read.")
    splits: dict[Split, Counts]
    people: dict[str, PersonCounts]
    guard_utterances: int = Field(default=0, description="Distinct short user turns in the guard splits.")
    missing_guards: tuple[str, ...] = Field(default=(), description="Guard splits that were allowed to be absent.")
    discarded_overlap: int = Field(default=0, description="Drawn rows refused because a guard split has their words.")
    replaced: int = Field(default=0, description="Rows of the first draw that another row stands for.")
    groups: int = Field(description="Groups among the rows; none is in two splits.")
    shared_targets: int = Field(description="Validation rows whose target text is also a training row's.")
    positive_weight: float = Field(description="w+ = clip(N-/N+, 1, 10) over the training rows.")


@dataclass(frozen=True)
class GateCorpus:
    """Examples in source order, and the report of the build."""

    examples: tuple[GateExample, ...]
    report: GateCorpusReport


def gate_example(
    labelled: LabelledSession, position: int, *, split: Split, corpus: str, group: str, max_context: int
) -> GateExample:
    """The example of the turn at `position` (from 0), with up to `max_context` messages before it, oldest first.

    Raises `InputError` when that turn has no label.
    """
    turns = labelled.session.turns
    target = turns[position]
    label = labelled.labels.get(target.id)
    if label is None:
        raise InputError(f"turn '{target.id}' has no gate label; label it, or leave it out")
    return GateExample(
        id=target.id,
        split=split,
        context=tuple(_utterance(turn) for turn in turns[max(0, position - max_context) : position]),
        target=_utterance(target),
        label=label.keep,
        label_source=label.source,
        votes=label.votes,
        auxiliary_type=label.auxiliary_type,
        context_dependence=label.context_dependence,
        corpus=corpus,
        group=group,
    )


def label_rows(
    sessions: Iterable[LabelledSession], *, corpus: str, split: Split, max_context: int = 5
) -> Iterator[GateExample]:
    """An example for every labelled turn, each session a group of its own: the natural stream, as for a test split."""
    for labelled in sessions:
        for position, turn in enumerate(labelled.session.turns):
            if turn.id in labelled.labels:
                yield gate_example(
                    labelled,
                    position,
                    split=split,
                    corpus=corpus,
                    group=labelled.session.id,
                    max_context=max_context,
                )


def shipped_gate_corpus(corpus: ShippedCorpus, settings: ShippedSplit, *, max_context: int = 5) -> GateCorpus:
    """Every labelled user turn of the shipped corpus: held-out people test, whole sessions of the others validate."""
    splits = corpus.splits(settings)
    examples: list[GateExample] = []
    people: dict[str, list[GateExample]] = {}
    for labelled in corpus.sessions:
        split = splits[labelled.session.id]
        rows = list(label_rows([labelled], corpus=corpus.info.name, split=split, max_context=max_context))
        people.setdefault(labelled.person, []).extend(rows)
        examples.extend(rows)
    report = GateCorpusReport(
        corpus=corpus.info.name,
        sessions_read=len(corpus.sessions),
        read=count_rows(examples),
        splits=count_splits(examples),
        people={person: _person_counts(rows) for person, rows in people.items()},
        groups=len({example.group for example in examples}),
        shared_targets=shared_targets(examples),
        positive_weight=positive_weight(examples),
    )
    return GateCorpus(tuple(examples), report)


def positive_weight(examples: Sequence[GateExample]) -> float:
    """w+ = clip(N-/N+, 1, w_max) over the training rows (SLICE-Mem A.2, equation 3).

    Raises `InputError` when the training rows are all of one label: no gate can be learned from them.
    """
    counts = Counter(example.label for example in examples if example.split is Split.TRAIN)
    if not counts[True] or not counts[False]:
        raise InputError(
            f"the training rows hold {counts[True]} positives and {counts[False]} negatives; both are needed"
        )
    return min(max(counts[False] / counts[True], 1.0), MAX_POSITIVE_WEIGHT)


def count_rows(examples: Iterable[GateExample]) -> Counts:
    """Rows and positives."""
    labels = Counter(example.label for example in examples)
    return Counts(rows=labels.total(), positives=labels[True])


def count_splits(examples: Sequence[GateExample]) -> dict[Split, Counts]:
    """Rows and positives of every split that has rows."""
    present = {example.split for example in examples}
    return {split: count_rows(row for row in examples if row.split is split) for split in Split if split in present}


def shared_targets(examples: Sequence[GateExample]) -> int:
    """Validation rows whose target text is, word for word, also a training row's."""
    trained = {example.target.text for example in examples if example.split is Split.TRAIN}
    return sum(example.split is Split.VALIDATION and example.target.text in trained for example in examples)


def _person_counts(rows: Sequence[GateExample]) -> PersonCounts:
    counted = count_rows(rows)
    validation = count_rows(row for row in rows if row.split is Split.VALIDATION)
    return PersonCounts(read=counted, taken=counted, validation=validation)


def _utterance(turn: Turn) -> Utterance:
    return _shared(turn.speaker, turn.text)


@lru_cache(maxsize=1024)
def _shared(speaker: str, text: str) -> Utterance:
    """One object for a message that stands in the context of several rows: a third of the memory of a large corpus."""
    return Utterance(speaker=speaker, text=text)
