"""The audit set, an annotator's file, and agreement against hand-counted values."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from label_samples import candidate, result

from engrain.data_builders.gate_corpus_parts import build_part
from engrain.data_builders.gate_corpus_settings import PartSettings
from engrain.data_builders.teachers.audit import (
    AuditItem,
    Choice,
    DecisionLog,
    audit_examples,
    audited_ids,
    sample_audit,
)
from engrain.data_builders.teachers.audit_agreement import TEACHERS, audit_report
from engrain.data_builders.teachers.consensus import annotate
from engrain.data_builders.teachers.records import Annotation, read_rows, write_rows
from engrain.data_builders.teachers.settings import AuditSettings, ConsensusSettings
from engrain.runtime.errors import InputError
from engrain.runtime.schema import LabelSource, Split


def annotated(corpus: str, count: int = 600) -> tuple[Annotation, ...]:
    """Turns of which a fifth is contested and a third depends on context."""
    rng = random.Random(corpus)
    made, results = [], []
    for number in range(count):
        admit, contested = rng.random() < 0.45, rng.random() < 0.2
        dependence = "context_dependent" if rng.random() < 0.33 else "self_contained"
        made.append(candidate(f"{corpus} turn {number}", corpus=corpus, group=f"{corpus}/g{number // 3}"))
        votes = (admit, admit, admit != contested)
        results.append(tuple(result(f"t{n}", vote, dependence=dependence) for n, vote in enumerate(votes)))
    return annotate(made, results, ConsensusSettings())


CORPORA = {name: annotated(name) for name in ("msc", "esconv", "chronicles", "led", "taskmaster")}
BUILT = [example for found in CORPORA.values() for example in build_part(found, PartSettings()).examples]


def test_the_papers_150_turns_are_30_a_corpus_stratified_and_disjoint() -> None:
    items = sample_audit(CORPORA, BUILT, AuditSettings())
    assert Counter(item.candidate.corpus for item in items) == dict.fromkeys(CORPORA, 30)
    used = {example.id for example in BUILT}
    assert not used & {item.candidate.id for item in items}
    strata = Counter((item.candidate.corpus, item.context_dependence, item.teachers_agree) for item in items)
    assert len(strata) == 20 and set(strata.values()) <= {7, 8}, "four strata of 30 turns"
    assert sample_audit(CORPORA, BUILT, AuditSettings()) == items
    assert [item.candidate.corpus for item in items] != sorted(item.candidate.corpus for item in items)


def test_turns_with_the_words_of_a_training_row_are_left_out() -> None:
    found = annotated("msc", 40)
    trained = build_part(found, PartSettings(count=10, validation=2, positive_share=None)).examples
    copies = [example.model_copy(update={"id": f"other {example.id}"}) for example in trained]
    items = sample_audit({"msc": found}, copies, AuditSettings(per_corpus=30))
    assert not {example.target.text for example in copies} & {item.candidate.target.text for item in items}


def test_too_few_turns_left_is_an_error_with_the_counts() -> None:
    with pytest.raises(InputError, match="msc: 301 turns are wanted for the audit, but 300 of 600"):
        sample_audit({"msc": CORPORA["msc"]}, BUILT, AuditSettings(per_corpus=301))


def items_of(votes: list[tuple[bool, bool, bool]]) -> tuple[AuditItem, ...]:
    made = [candidate(f"x{n}") for n in range(len(votes))]
    results = [tuple(result(f"t{t}", vote) for t, vote in enumerate(given)) for given in votes]
    found = annotate(made, results, ConsensusSettings())
    return sample_audit({"c": found}, [], AuditSettings(per_corpus=len(votes)))


def test_agreement_by_hand() -> None:
    """Ten turns; the teachers' majority is yes on six. eve agrees on nine of ten: kappa (0.9 - 0.5) / 0.5 = 0.8."""
    votes = [(True, True, number % 2 == 0) for number in range(6)] + [(False, False, False)] * 4
    items = sorted(items_of(votes), key=lambda item: item.candidate.id)
    eve = {item.candidate.id: number < 5 for number, item in enumerate(items)}
    bob = {item.candidate.id: number < 5 for number, item in enumerate(items[:8])}
    report = audit_report(items, {"eve": eve, "bob": bob}, resamples=500)
    first, second = report.with_teachers
    assert (first.first, first.second, first.turns, first.agreeing) == ("eve", TEACHERS, 10, 9)
    assert first.kappa == pytest.approx(0.8)
    assert first.low is not None and first.high is not None and first.low < 0.8 < first.high + 1e-9
    assert (second.turns, second.agreeing) == (8, 7)
    [people] = report.between_people
    assert (people.turns, people.agreeing, people.kappa) == (8, 8, 1.0)
    assert report.alpha == pytest.approx(1.0)
    third = next(one for one in report.with_each_teacher if (one.first, one.second) == ("eve", "t2"))
    assert third.agreeing == sum(eve[item.candidate.id] == item.votes[2].admit for item in items)
    assert report.judged == {"eve": 10, "bob": 8} and report.positives == {"eve": 5, "bob": 5}
    assert report.by_dependence["context_dependent"][0].turns == 0


def test_one_annotator_has_no_agreement_among_people() -> None:
    items = items_of([(True, True, True), (False, False, False)])
    report = audit_report(items, {"eve": {items[0].candidate.id: bool(items[0].teacher_label)}}, resamples=100)
    assert report.alpha is None and report.between_people == ()
    assert report.with_teachers[0].kappa is None, "one category only: undefined, not zero"


def test_decisions_are_appended_undone_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "audit" / "eve.jsonl"
    log = DecisionLog(path, "abc")
    assert log.undo() is None
    log.record("a", Choice.YES)
    log.record("b", Choice.NO)
    assert log.undo() == "b"
    log.record("b", Choice.SKIP)
    again = DecisionLog(path, "abc")
    assert again.decisions == {"a": Choice.YES, "b": Choice.SKIP} and again.labels() == {"a": True}
    assert len(path.read_text().splitlines()) == 4, "nothing is taken out of the file"


def test_a_line_cut_by_a_crash_is_given_up_and_the_rest_kept(tmp_path: Path) -> None:
    path = tmp_path / "eve.jsonl"
    log = DecisionLog(path, "abc")
    for name in "abc":
        log.record(name, Choice.YES)
    path.write_bytes(path.read_bytes()[:-20])
    again = DecisionLog(path, "abc")
    assert again.labels() == {"a": True, "b": True}
    again.record("c", Choice.NO)
    assert DecisionLog(path, "abc").labels() == {"a": True, "b": True, "c": False}


def test_a_file_of_another_audit_set_is_refused(tmp_path: Path) -> None:
    DecisionLog(tmp_path / "eve.jsonl", "a").record("a", Choice.YES)
    with pytest.raises(InputError, match=r"eve.jsonl judges 'a', which is not in the audit set"):
        DecisionLog(tmp_path / "eve.jsonl", "b")


def test_judged_turns_are_test_rows_with_human_labels() -> None:
    items = items_of([(True, True, True), (False, False, False), (True, True, False)])
    labels = {items[0].candidate.id: False, items[2].candidate.id: True}
    rows = audit_examples(items, labels)
    assert {row.id: row.label for row in rows} == labels
    assert {(row.split, row.label_source) for row in rows} == {(Split.TEST, LabelSource.HUMAN)}


def test_rows_round_trip_and_a_bad_line_is_named(tmp_path: Path) -> None:
    items = items_of([(True, True, True), (False, False, False)])
    write_rows(tmp_path / "sample.jsonl", items)
    assert read_rows(tmp_path / "sample.jsonl", AuditItem) == items
    assert audited_ids(tmp_path / "sample.jsonl") == {item.candidate.id for item in items}
    assert audited_ids(tmp_path / "absent.jsonl") == frozenset()
    (tmp_path / "sample.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InputError, match=r"sample.jsonl:1: not a AuditItem"):
        read_rows(tmp_path / "sample.jsonl", AuditItem)
