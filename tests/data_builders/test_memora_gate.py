"""SLICE-Mem A.1 on a small generated Memora, and on the real one."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engrain.data_builders.config import MemoraGateData, MemoraReading
from engrain.data_builders.memora_gate import memora_gate_corpus, memora_test_rows
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample, LabelSource, Split

Make = Callable[..., dict[str, Any]]
Write = Callable[[str, list[dict[str, Any]]], Path]
PERSONAS = ("cook", "writer")
SMALL = {"rows_per_persona": 10, "validation_per_persona": 2, "allow_missing": ("monthly",)}


@pytest.fixture
def root(write_memora: Write, memora_session: Make) -> Path:
    """Two personas with 30 quarterly sessions each; half of the short turns also occur in the weekly split."""

    def session(persona: str, number: int) -> dict[str, Any]:
        shared = "Thanks, bye!" if number % 2 else f"Bye number {number}"
        messages = [
            ("ai_agent", "Hello!", False),
            ("user_agent", f"{persona} bought item {number}", True),
            ("ai_agent", "Great.", False),
            ("user_agent", shared, False),
            ("user_agent", f"What is fact {number}?", False),
        ]
        return memora_session(number, persona, messages)

    write_memora("quarterly", [session(persona, number) for persona in PERSONAS for number in range(1, 31)])
    weekly = [("user_agent", "Thanks, bye!", False), ("user_agent", "cook bought item 3", True)]
    return write_memora("weekly", [memora_session(1, persona, weekly) for persona in PERSONAS])


def groups_are_whole(examples: Iterable[GateExample]) -> bool:
    splits: defaultdict[str, set[Split]] = defaultdict(set)
    for example in examples:
        splits[example.group].add(example.split)
    return all(len(found) == 1 for found in splits.values())


def test_counts_splits_and_provenance(root: Path) -> None:
    corpus = memora_gate_corpus(MemoraGateData(root=root, **SMALL))
    report = corpus.report
    assert {split: counts.rows for split, counts in report.splits.items()} == {Split.TRAIN: 16, Split.VALIDATION: 4}
    assert [(person.taken.rows, person.validation.rows) for person in report.people.values()] == [(10, 2), (10, 2)]
    assert report.sessions_read == 60 and (report.read.rows, report.read.positives) == (180, 60)
    assert sum(example.label for example in corpus.examples) == round(0.42 * 20)
    assert groups_are_whole(corpus.examples)
    assert {example.label_source for example in corpus.examples} == {LabelSource.RELEASED}
    assert report.missing_guards == ("monthly",)
    train = report.splits[Split.TRAIN]
    assert report.positive_weight == max(1.0, (train.rows - train.positives) / train.positives)


def test_short_turns_of_the_guard_splits_are_replaced(root: Path) -> None:
    corpus = memora_gate_corpus(MemoraGateData(root=root, **{**SMALL, "rows_per_persona": 40, "positive_share": 0.5}))
    texts = [example.target.text for example in corpus.examples]
    assert "Thanks, bye!" not in texts and "cook bought item 3" not in texts
    assert "Thanks, bye!" in {utterance.text for example in corpus.examples for utterance in example.context}
    assert corpus.report.discarded_overlap >= corpus.report.replaced > 0
    assert corpus.report.discarded_overlap == sum(person.discarded for person in corpus.report.people.values())
    unguarded = memora_gate_corpus(
        MemoraGateData(root=root, overlap_length=0, **{**SMALL, "rows_per_persona": 60, "positive_share": 0.5})
    )
    assert "Thanks, bye!" in [example.target.text for example in unguarded.examples]
    assert unguarded.report.discarded_overlap == 0


def test_context_is_what_came_before_oldest_first(root: Path) -> None:
    corpus = memora_gate_corpus(MemoraGateData(root=root, max_context=3, **SMALL))
    last = next(example for example in corpus.examples if example.target.text.startswith("What"))
    assert len(last.context) == 3
    assert [utterance.speaker for utterance in last.context] == ["user_agent", "ai_agent", "user_agent"]
    assert "bought" in last.context[0].text


def test_seeds_repeat_and_differ(root: Path) -> None:
    ids = [
        [(example.id, example.split) for example in memora_gate_corpus(settings).examples]
        for settings in (MemoraGateData(root=root, seed=seed, **SMALL) for seed in (42, 42, 43))
    ]
    assert ids[0] == ids[1] != ids[2]


def test_natural_sampling_keeps_the_splits_own_share(root: Path) -> None:
    settings = MemoraGateData(root=root, sampling="natural", **{**SMALL, "rows_per_persona": 40})
    corpus = memora_gate_corpus(settings)
    share = sum(example.label for example in corpus.examples) / len(corpus.examples)
    assert 0.25 < share < 0.6
    assert corpus.report.splits[Split.VALIDATION].rows == 4


def test_every_row_is_taken_when_none_are_counted(root: Path) -> None:
    settings = MemoraGateData(root=root, sampling="natural", **{**SMALL, "rows_per_persona": None})
    corpus = memora_gate_corpus(settings)
    texts = [example.target.text for example in corpus.examples]
    assert len(texts) == 180 - 30 - 1 and "Thanks, bye!" not in texts, "all but what the overlap rule refuses"
    assert corpus.report.discarded_overlap == 31
    assert groups_are_whole(corpus.examples)
    with pytest.raises(ValidationError, match="write sampling: natural"):
        MemoraGateData(root=root, rows_per_persona=None)


def test_a_missing_persona_is_named(root: Path) -> None:
    assert memora_gate_corpus(MemoraGateData(root=root, personas=2, **SMALL)).report.people.keys() == set(PERSONAS)
    shutil.rmtree(root / "memora" / "data" / "quarterly" / "writer")
    with pytest.raises(InputError, match=r"2 personas are wanted, but 1 are there \(cook\); missing: writer"):
        memora_gate_corpus(MemoraGateData(root=root, personas=2, **SMALL))


def test_progress_counts_personas(root: Path) -> None:
    seen: list[tuple[int, int]] = []
    memora_gate_corpus(MemoraGateData(root=root, **SMALL), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_missing_guard_split_is_an_error_unless_allowed(root: Path) -> None:
    with pytest.raises(InputError, match=r"found quarterly, weekly; the overlap rule.*allow_missing: \[monthly\]"):
        memora_gate_corpus(MemoraGateData(root=root, rows_per_persona=10, validation_per_persona=2))


def test_too_few_turns_name_persona_label_and_counts(root: Path) -> None:
    with pytest.raises(InputError, match="cook: 42 positive rows were asked for, but only 29 of 30 are left after 1"):
        memora_gate_corpus(MemoraGateData(root=root, **{**SMALL, "rows_per_persona": 100}))


def test_settings_that_cannot_be(root: Path) -> None:
    with pytest.raises(ValidationError, match="leaves no row to train on"):
        MemoraGateData(root=root, rows_per_persona=10, validation_per_persona=10)


def test_the_test_split_is_the_whole_stream(root: Path) -> None:
    rows = list(memora_test_rows(MemoraReading(root=root)))
    assert [row.label for row in rows] == [False, True, False, True]
    assert {row.split for row in rows} == {Split.TEST} and rows[0].corpus == "memora-weekly"


def test_real_weekly_stream(real_data: Path) -> None:
    rows = list(memora_test_rows(MemoraReading(root=real_data)))
    assert (len(rows), sum(row.label for row in rows)) == (11860, 1613)
    assert max(len(row.context) for row in rows) == 5


def test_real_gate_corpus_has_the_papers_counts(real_data: Path) -> None:
    started = time.perf_counter()
    corpus = memora_gate_corpus(MemoraGateData(root=real_data, personas=10, allow_missing=("monthly",)))
    assert time.perf_counter() - started < 60
    report = corpus.report
    assert (report.read.rows, report.read.positives, report.sessions_read) == (151617, 17147, 19913)
    assert {split: counts.rows for split, counts in report.splits.items()} == {Split.TRAIN: 400, Split.VALIDATION: 100}
    assert [(person.taken.rows, person.validation.rows) for person in report.people.values()] == [(50, 10)] * 10
    assert report.positive_weight == pytest.approx(1.40, abs=0.05)
    assert groups_are_whole(corpus.examples)
    weekly = {row.target.text for row in memora_test_rows(MemoraReading(root=real_data))}
    assert not [row for row in corpus.examples if len(row.target.text) <= 60 and row.target.text in weekly]
    assert report.discarded_overlap > 0 and report.missing_guards == ("monthly",)


@pytest.mark.full
def test_real_corpus_of_8000_training_rows(real_data: Path) -> None:
    settings = MemoraGateData(
        root=real_data, allow_missing=("monthly",), rows_per_persona=1000, validation_per_persona=200
    )
    corpus = memora_gate_corpus(settings)
    assert {split: counts.rows for split, counts in corpus.report.splits.items()} == {
        Split.TRAIN: 8000,
        Split.VALIDATION: 2000,
    }
    assert groups_are_whole(corpus.examples)
