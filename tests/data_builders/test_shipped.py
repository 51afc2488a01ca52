"""Loading the shipped form, its division into splits, and what the installed corpus has to be."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.shipped import QuestionKind, ShippedCorpus, load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.schema import LabelSource, Role, Split

Json = dict[str, Any]
NEAR_DUPLICATE = 0.7
"""Jaccard similarity of word sets above which two turns are nearly the same."""


@pytest.fixture(scope="module")
def corpus() -> ShippedCorpus:
    return load_shipped()


def rows_of(people: tuple[str, ...] = ("ana", "ben", "cy"), sessions: int = 4) -> dict[str, list[Json]]:
    """A corpus of a few people in the files' own form."""
    made: dict[str, list[Json]] = {"sessions": [], "records": [], "questions": []}
    for person in people:
        for number in range(1, sessions + 1):
            name = f"{person}-s{number}"
            day = f"2026-01-{number:02d}T10:00"
            made["sessions"].append(
                {
                    "session_id": name,
                    "user_id": person,
                    "started_at": f"{day}:00+00:00",
                    "turns": [
                        {
                            "id": f"{name}-t{turn}",
                            "role": "user",
                            "speaker": person,
                            "text": f"{person} says {number} {turn}",
                            "timestamp": f"{day}:{turn:02d}+00:00",
                            "gate": {"keep": turn == 1},
                        }
                        for turn in (1, 2)
                    ],
                }
            )
            made["records"].append(
                {
                    "id": f"{name}-r",
                    "user_id": person,
                    "session_id": name,
                    "source_turn_id": f"{name}-t1",
                    "content": "The user says so.",
                    "memory_type": "fact",
                    "time": "2026-01",
                }
            )
        made["questions"].append(
            {
                "id": f"{person}-q",
                "user_id": person,
                "asked_at": "2026-02-01T10:00:00+00:00",
                "kind": "single_fact",
                "question": "What?",
                "answer": "so",
                "evidence": [f"{person}-s1-t1"],
            }
        )
    return made


def load(folder: Path, rows: dict[str, list[Json]]) -> ShippedCorpus:
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return load_shipped(folder)


def test_people_sessions_and_questions(tmp_path: Path) -> None:
    corpus = load(tmp_path, rows_of())
    assert corpus.people == ("ana", "ben", "cy")
    assert [labelled.session.id for labelled in corpus.sessions_of("ben")] == [f"ben-s{n}" for n in (1, 2, 3, 4)]
    assert [question.id for question in corpus.questions_of(["cy"])] == ["cy-q"]


def test_whole_people_test_and_whole_sessions_validate(tmp_path: Path) -> None:
    corpus = load(tmp_path, rows_of())
    settings = ShippedSplit(held_out=("ben",), validation_share=0.25)
    splits = corpus.splits(settings)
    assert {splits[f"ben-s{n}"] for n in (1, 2, 3, 4)} == {Split.TEST}
    for person in ("ana", "cy"):
        assert Counter(splits[f"{person}-s{n}"] for n in (1, 2, 3, 4)) == {Split.TRAIN: 3, Split.VALIDATION: 1}
    assert splits == corpus.splits(settings)


def test_a_single_session_trains(tmp_path: Path) -> None:
    splits = load(tmp_path, rows_of(sessions=1)).splits(ShippedSplit(held_out=("ben",)))
    assert splits == {"ana-s1": Split.TRAIN, "ben-s1": Split.TEST, "cy-s1": Split.TRAIN}


def test_the_last_sessions_of_everybody_test(tmp_path: Path) -> None:
    corpus = load(tmp_path, rows_of())
    settings = ShippedSplit(held_out_sessions=0.5, validation_share=0.2)
    splits = corpus.splits(settings)
    assert {name for name, split in splits.items() if split is Split.TEST} == {
        f"{person}-s{n}" for person in corpus.people for n in (3, 4)
    }
    assert Counter(splits.values()) == {Split.TEST: 6, Split.TRAIN: 5, Split.VALIDATION: 1}
    assert splits == corpus.splits(settings)
    validating = {
        name
        for seed in range(9)
        for name, split in corpus.splits(settings.model_copy(update={"seed": seed})).items()
        if split is Split.VALIDATION
    }
    assert len(validating) > 1, "the seed chooses who validates"


def test_a_division_by_sessions_leaves_something_to_everybody(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leaves 0 sessions to test and 3"):
        load(tmp_path, rows_of(sessions=1)).splits(ShippedSplit(held_out_sessions=0.5))
    with pytest.raises(ValueError, match="set one"):
        ShippedSplit(held_out=("ben",), held_out_sessions=0.2)


def test_held_out_people_must_exist_and_leave_somebody(tmp_path: Path) -> None:
    corpus = load(tmp_path, rows_of())
    with pytest.raises(InputError, match="zoe is not in the corpus; it has ana, ben, cy"):
        corpus.splits(ShippedSplit(held_out=("zoe",)))
    with pytest.raises(InputError, match="leave somebody"):
        corpus.splits(ShippedSplit(held_out=("ana", "ben", "cy")))


def test_gate_rows_carry_authored_labels_in_their_sessions_split(tmp_path: Path) -> None:
    corpus = load(tmp_path, rows_of())
    gate = shipped_gate_corpus(corpus, ShippedSplit(held_out=("ben",)), max_context=5)
    assert len(gate.examples) == 24
    assert {row.label_source for row in gate.examples} == {LabelSource.AUTHORED}
    assert {row.group for row in gate.examples if row.split is Split.TEST} == {f"ben-s{n}" for n in (1, 2, 3, 4)}
    assert gate.report.splits[Split.TEST].positives == 4
    assert [len(row.context) for row in gate.examples[:2]] == [0, 1]


@pytest.mark.parametrize(
    ("file", "change", "fault"),
    [
        ("records", {"source_turn_id": "x"}, r"records\.jsonl, line 1: record 'ana-s1-r', source_turn_id: x does not"),
        ("records", {"memory_type": "event"}, "line 1: memory_type: Input should be"),
        ("records", {"time": "next week"}, "line 1: 'next week' is not a record time"),
        ("records", {"supersedes": ["x"]}, "supersedes: x does not exist"),
        ("records", {"id": "ana-s2-r"}, "the id 'ana-s2-r' was used before"),
        ("questions", {"evidence": ["x"]}, r"questions\.jsonl, line 1: question 'ana-q', evidence: x does not exist"),
        ("questions", {"asked_at": "2026-02-01T10:00:00"}, "line 1: .* has no time zone"),
        ("questions", {"kind": "riddle"}, "line 1: kind: Input should be"),
    ],
)
def test_broken_references_and_fields_are_named(tmp_path: Path, file: str, change: Json, fault: str) -> None:
    rows = rows_of()
    rows[file][0].update(change)
    with pytest.raises(InputError, match=fault):
        load(tmp_path, rows)


def test_installed_corpus_has_the_promised_size(corpus: ShippedCorpus) -> None:
    turns = [turn for labelled in corpus.sessions for turn in labelled.session.turns]
    assert len(corpus.people) >= 6 and len(corpus.sessions) >= 40 and len(turns) >= 600
    assert len(corpus.records) >= 250 and len(corpus.questions) >= 60
    assert {question.kind for question in corpus.questions} == set(QuestionKind)


def test_installed_corpus_labels_every_user_turn_with_a_reason(corpus: ShippedCorpus) -> None:
    for labelled in corpus.sessions:
        user_turns = {turn.id for turn in labelled.session.turns if turn.role is Role.USER}
        assert set(labelled.labels) == user_turns
        assert all(label.reason.strip() for label in labelled.labels.values())


def test_installed_records_come_from_kept_turns_and_cover_them(corpus: ShippedCorpus) -> None:
    kept = {name for labelled in corpus.sessions for name, label in labelled.labels.items() if label.keep}
    assert {record.source_turn_id for record in corpus.records} == kept


def test_installed_questions_have_evidence_unless_unanswerable(corpus: ShippedCorpus) -> None:
    for question in corpus.questions:
        assert bool(question.evidence) is (question.kind is not QuestionKind.UNANSWERABLE)
        assert all(name.startswith(question.user_id) for name in question.evidence)


def test_installed_splits_hold_out_people(corpus: ShippedCorpus) -> None:
    report = shipped_gate_corpus(corpus, ShippedSplit()).report
    assert set(report.splits) == set(Split)
    assert all(0.2 < counts.positives / counts.rows < 0.5 for counts in report.splits.values())


def test_installed_turns_are_hardly_ever_nearly_the_same(corpus: ShippedCorpus) -> None:
    words = [frozenset(turn.text.lower().split()) for labelled in corpus.sessions for turn in labelled.session.turns]
    words = [found for found in words if len(found) >= 4]
    near: set[int] = set()
    for (first, a), (second, b) in combinations(enumerate(words), 2):
        if len(a & b) > NEAR_DUPLICATE * len(a | b):
            near.update((first, second))
    assert len(near) < 0.01 * len(words)


def test_no_installed_phrase_of_eight_words_is_in_more_than_two_sessions(corpus: ShippedCorpus) -> None:
    holders: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for labelled in corpus.sessions:
        for turn in labelled.session.turns:
            words = turn.text.lower().split()
            for start in range(len(words) - 7):
                holders[tuple(words[start : start + 8])].add(labelled.session.id)
    assert not [phrase for phrase, sessions in holders.items() if len(sessions) > 2]


def test_installed_corpus_speaks_more_than_english(corpus: ShippedCorpus) -> None:
    text = "".join(turn.text for labelled in corpus.sessions for turn in labelled.session.turns)
    assert any("\u4e00" <= character <= "\u9fff" for character in text)
    assert "¿" in text or "ñ" in text
    assert any(ord(character) > 0x1F300 for character in text)
