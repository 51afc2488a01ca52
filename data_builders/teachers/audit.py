"""The human audit (SLICE-Mem C.2): turns that no gate was trained on or chosen with, judged by people.

30 turns of each corpus, stratified by context dependence and by whether the teachers agree, disjoint from the gate
corpus. The decisions measure labels and gates; nothing is trained, stopped or chosen by them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from engrain.data_builders.gate_corpus_parts import share_out
from engrain.data_builders.teachers.consensus import majority
from engrain.data_builders.teachers.records import Annotation, Candidate, read_rows
from engrain.data_builders.teachers.settings import AuditSettings
from engrain.runtime.errors import InputError
from engrain.runtime.schema import (
    AwareDatetime,
    ContextDependence,
    Contract,
    GateExample,
    Identifier,
    LabelSource,
    Split,
    Vote,
)

SAMPLE_FILE = "audit/sample.jsonl"
"""The audit set, below a run's folder; each annotator's decisions lie beside it."""

_Stratum = tuple[ContextDependence | None, bool]


class AuditItem(Contract):
    """A turn to be judged, with the teachers' votes, which an annotator is not shown."""

    candidate: Candidate
    votes: tuple[Vote, ...]
    context_dependence: ContextDependence | None = Field(description="The teachers' majority.")
    teachers_agree: bool
    shares_group: bool = Field(description="Whether the gate corpus has other turns of the same person or session.")

    @property
    def teacher_label(self) -> bool | None:
        """The majority of the teachers on admission; None when they are split evenly."""
        return majority(vote.admit for vote in self.votes)


class Choice(StrEnum):
    """What an annotator enters."""

    YES = "yes"
    NO = "no"
    SKIP = "skip"
    UNDO = "undo"


class Decision(Contract):
    """One line of an annotator's file, which is only ever appended to. `undo` takes back the last one of that turn."""

    id: Identifier
    choice: Choice
    at: AwareDatetime


def sample_audit(
    annotated: Mapping[str, Sequence[Annotation]], corpus: Iterable[GateExample], settings: AuditSettings
) -> tuple[AuditItem, ...]:
    """Draw the audit set in the order in which turns are shown, corpora mixed.

    A turn is left out when its id or its very words are in the gate corpus; turns of people that the corpus does not
    know come first. Raises `InputError` when a corpus has too few turns left.
    """
    examples = list(corpus)
    used = {example.id for example in examples} | {example.target.text for example in examples}
    groups = {example.group for example in examples}
    items: list[AuditItem] = []
    for name, found in annotated.items():
        free = [one for one in found if one.votes and not used & {one.candidate.id, one.candidate.target.text}]
        if len(free) < settings.per_corpus:
            raise InputError(
                f"{name}: {settings.per_corpus} turns are wanted for the audit, but {len(free)} of {len(found)} "
                "annotated ones are not in the gate corpus; raise candidates.count, or lower audit.per_corpus"
            )
        rng = random.Random(f"{settings.seed}/audit/{name}")
        items += _stratified([_item(one, groups) for one in free], settings.per_corpus, rng)
    random.Random(f"{settings.seed}/audit").shuffle(items)
    return tuple(items)


def _item(annotation: Annotation, groups: set[str]) -> AuditItem:
    return AuditItem(
        candidate=annotation.candidate,
        votes=annotation.votes,
        context_dependence=annotation.verdict.context_dependence,
        teachers_agree=len({vote.admit for vote in annotation.votes}) == 1,
        shares_group=annotation.candidate.group in groups,
    )


def _stratified(items: Sequence[AuditItem], count: int, rng: random.Random) -> list[AuditItem]:
    strata: defaultdict[_Stratum, list[AuditItem]] = defaultdict(list)
    for item in items:
        strata[item.context_dependence, item.teachers_agree].append(item)
    chosen: list[AuditItem] = []
    for stratum, quota in share_out(count, {stratum: len(held) for stratum, held in strata.items()}).items():
        rng.shuffle(strata[stratum])
        chosen += sorted(strata[stratum], key=lambda item: item.shares_group)[:quota]
    return chosen


def audited_ids(path: Path) -> frozenset[str]:
    """Ids of the turns in an audit set; none where there is no set yet."""
    return frozenset(item.candidate.id for item in read_rows(path, AuditItem)) if path.is_file() else frozenset()


class DecisionLog:
    """One annotator's decisions in a JSONL file: every entry is on the disk before the next turn is shown."""

    def __init__(self, path: Path, known: Iterable[str]) -> None:
        self.path = path
        entries = read_rows(path, Decision, whole=False) if path.is_file() else ()
        known = frozenset(known)
        strange = [entry.id for entry in entries if entry.id not in known]
        if strange:
            raise InputError(f"{path} judges '{strange[0]}', which is not in the audit set; use another annotator name")
        self._order: list[Decision] = []
        for entry in entries:
            self._apply(entry)
        if entries and not path.read_bytes().endswith(b"\n"):
            # A line that was cut while it was written is given up: the turn is shown again.
            self._rewrite(entries)

    @property
    def decisions(self) -> dict[str, Choice]:
        """Turn id to what stands, undone entries left out."""
        return {entry.id: entry.choice for entry in self._order}

    def labels(self) -> dict[str, bool]:
        """Turn id to yes or no; skipped turns have none."""
        return {name: choice is Choice.YES for name, choice in self.decisions.items() if choice is not Choice.SKIP}

    def record(self, turn_id: str, choice: Choice) -> None:
        """Append one decision."""
        self._append(Decision(id=turn_id, choice=choice, at=datetime.now(UTC)))

    def undo(self) -> str | None:
        """Take the last decision back; the id of its turn, or None when there is none."""
        if not self._order:
            return None
        last = self._order[-1].id
        self._append(Decision(id=last, choice=Choice.UNDO, at=datetime.now(UTC)))
        return last

    def _append(self, entry: Decision) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(entry.model_dump_json() + "\n")
        self._apply(entry)

    def _apply(self, entry: Decision) -> None:
        self._order = [one for one in self._order if one.id != entry.id]
        if entry.choice is not Choice.UNDO:
            self._order.append(entry)

    def _rewrite(self, entries: Sequence[Decision]) -> None:
        self.path.write_text("".join(entry.model_dump_json() + "\n" for entry in entries), encoding="utf-8")


def audit_examples(items: Sequence[AuditItem], labels: Mapping[str, bool]) -> tuple[GateExample, ...]:
    """The judged turns as test rows, for evaluating a gate on them. Their split is `test`, whatever reads them."""
    return tuple(
        GateExample(
            id=item.candidate.id,
            split=Split.TEST,
            context=item.candidate.context,
            target=item.candidate.target,
            label=labels[item.candidate.id],
            label_source=LabelSource.HUMAN,
            votes=item.votes,
            context_dependence=item.context_dependence,
            corpus=item.candidate.corpus,
            group=item.candidate.group,
        )
        for item in items
        if item.candidate.id in labels
    )
