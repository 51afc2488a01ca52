"""The Memora part of the gate corpus, as SLICE-Mem A.1 builds it from the released `share_memory` labels.

A number of rows is drawn from each persona of the quarterly split; user turns of at most 60 characters that occur word
for word in the weekly or monthly split are discarded and replaced from the remaining pool; conversation groups
(`groups.py`) stay in one split. The weekly split, on which systems are compared, gives no training row.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from engrain.data_builders.config import MemoraGateData, MemoraReading
from engrain.data_builders.gate_corpus import (
    Counts,
    GateCorpus,
    GateCorpusReport,
    PersonCounts,
    count_splits,
    gate_example,
    label_rows,
    positive_weight,
    shared_targets,
)
from engrain.data_builders.groups import conversation_groups
from engrain.data_builders.memora_rows import PersonDraw, Row, draw_persona, rows_of
from engrain.data_builders.sampling import carve, spread
from engrain.data_builders.sources.memora import MemoraSource, find_split
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample, Split

Progress = Callable[[int, int], None]
_Stratum = tuple[str, bool]
"""Persona and label."""
_NATURAL_SLACK = 50
"""Under natural sampling one validation row in so many may stay unfilled; the report has the rows that there are."""


def memora_gate_corpus(settings: MemoraGateData, *, progress: Progress | None = None) -> GateCorpus:
    """Draw, filter and split the rows; `progress` is called with personas done and in all.

    Raises `InputError` when a split is missing (a guard split may be, if `allow_missing` names it), a persona has too
    few turns of a label, or groups are too large for the validation rows asked for.
    """
    guards, missing = _guard_texts(settings)
    source = _source(settings, settings.split)
    _require_personas(source, settings)
    targets = _positive_targets(settings, len(source.personas))
    drawn: dict[str, PersonDraw] = {}
    for number, (persona, sessions) in enumerate(groupby(source.sessions(), key=lambda labelled: labelled.person)):
        drawn[persona] = draw_persona(persona, sessions, targets[number], guards, settings)
        if progress is not None:
            progress(number + 1, len(source.personas))
    examples = _split_examples(drawn, source.info.name, settings)
    return GateCorpus(tuple(examples), _report(source.info.name, examples, drawn, len(guards), missing))


def _require_personas(source: MemoraSource, settings: MemoraGateData) -> None:
    """Every persona that is wanted is there; those of the other splits say which one is not."""
    if settings.personas is None or len(source.personas) == settings.personas:
        return
    folders = [folder for name in settings.guard_splits if (folder := find_split(settings.root, name)) is not None]
    elsewhere = {path.parent.name for folder in folders for path in folder.glob("*/conversations")}
    absent = sorted(elsewhere - set(source.personas))
    named = f"; missing: {', '.join(absent)}" if absent else ""
    raise InputError(
        f"{source.folder}: {settings.personas} personas are wanted, but {len(source.personas)} are there "
        f"({', '.join(source.personas)}){named}; add them, or set personas to what there is"
    )


def memora_test_rows(reading: MemoraReading, split: str = "weekly", max_context: int = 5) -> Iterator[GateExample]:
    """Every user turn of a Memora split as a test row: the stream that a gate is evaluated on."""
    source = _source(reading, split)
    return label_rows(source.sessions(), corpus=source.info.name, split=Split.TEST, max_context=max_context)


def _source(reading: MemoraReading, split: str) -> MemoraSource:
    return MemoraSource(
        reading.root,
        split,
        time_zone=reading.time_zone,
        start_hour=reading.start_hour,
        session_gap=timedelta(minutes=reading.session_gap_minutes),
    )


def _guard_texts(settings: MemoraGateData) -> tuple[frozenset[str], tuple[str, ...]]:
    """Short user turns of the guard splits, and the guard splits that are absent."""
    texts: set[str] = set()
    missing = []
    for split in settings.guard_splits:
        if find_split(settings.root, split) is None and split in settings.allow_missing:
            missing.append(split)
            continue
        try:
            source = _source(settings, split)
        except InputError as error:
            raise InputError(
                f"{error}; the overlap rule needs this split: add it, or set allow_missing: [{split}]"
            ) from None
        for labelled in source.sessions():
            texts.update(row.text for row in rows_of(labelled) if len(row.text) <= settings.overlap_length)
    return frozenset(texts), tuple(missing)


def _positive_targets(settings: MemoraGateData, personas: int) -> list[int]:
    return spread(round(settings.positive_share * (settings.rows_per_persona or 0) * personas), personas)


def _split_examples(drawn: Mapping[str, PersonDraw], corpus: str, settings: MemoraGateData) -> list[GateExample]:
    rows = [row for person in drawn.values() for row in person.rows]
    group_of = conversation_groups(list({row.labelled.session.id: row.labelled for row in rows}.values()))
    strata: dict[str, list[_Stratum]] = {}
    for row in rows:
        strata.setdefault(group_of[row.labelled.session.id], []).append((row.labelled.person, row.keep))
    quotas = _validation_quotas(drawn, settings)
    # SLICE-Mem's counts are met exactly; a natural stream's to within two in a hundred, since whole sessions go over.
    slack = 0 if settings.sampling == "stratified" else sum(quotas.values()) // _NATURAL_SLACK
    chosen, unfilled = carve(strata, quotas, random.Random(f"{settings.seed}/split"), slack=slack)
    if unfilled.total() > slack:
        (persona, _), short = unfilled.most_common(1)[0]
        raise InputError(
            f"{persona}: {short} validation rows could not be filled with whole conversation groups; "
            f"lower validation_per_persona or raise rows_per_persona"
        )
    return [
        gate_example(
            row.labelled,
            row.position,
            split=Split.VALIDATION if group_of[row.labelled.session.id] in chosen else Split.TRAIN,
            corpus=corpus,
            group=group_of[row.labelled.session.id],
            max_context=settings.max_context,
        )
        for row in rows
    ]


def _validation_quotas(drawn: Mapping[str, PersonDraw], settings: MemoraGateData) -> dict[_Stratum, int]:
    """Validation rows by persona and label, in the proportion of the rows that were drawn."""
    shares = [settings.validation_per_persona / len(person.rows) for person in drawn.values()]
    positives = [sum(row.keep for row in person.rows) for person in drawn.values()]
    if settings.sampling == "stratified":
        wanted = spread(round(shares[0] * sum(positives)), len(drawn))
    else:
        wanted = [round(share * count) for share, count in zip(shares, positives, strict=True)]
    quotas: dict[_Stratum, int] = {}
    for persona, count in zip(drawn, wanted, strict=True):
        quotas[persona, True] = count
        quotas[persona, False] = settings.validation_per_persona - count
    return quotas


def _report(
    corpus: str,
    examples: Sequence[GateExample],
    drawn: Mapping[str, PersonDraw],
    guard_utterances: int,
    missing: tuple[str, ...],
) -> GateCorpusReport:
    split_of = {example.id: example.split for example in examples}
    people = {}
    for persona, person in drawn.items():
        validating = [row for row in person.rows if split_of[row.id] is Split.VALIDATION]
        people[persona] = PersonCounts(
            read=person.read,
            taken=_counts(person.rows),
            validation=_counts(validating),
            discarded=person.discarded,
        )
    return GateCorpusReport(
        corpus=corpus,
        sessions_read=sum(person.sessions for person in drawn.values()),
        read=_sum([person.read for person in drawn.values()]),
        splits=count_splits(examples),
        people=people,
        guard_utterances=guard_utterances,
        missing_guards=missing,
        discarded_overlap=sum(person.discarded for person in drawn.values()),
        replaced=sum(person.replaced for person in drawn.values()),
        groups=len({example.group for example in examples}),
        shared_targets=shared_targets(examples),
        positive_weight=positive_weight(examples),
    )


def _counts(rows: Sequence[Row]) -> Counts:
    return Counts(rows=len(rows), positives=sum(row.keep for row in rows))


def _sum(counts: Sequence[Counts]) -> Counts:
    return Counts(rows=sum(part.rows for part in counts), positives=sum(part.positives for part in counts))
