"""A gate corpus from several parts: counts, balance, groups, checks, and every k from one build."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from engrain.data_builders.gate_corpus_build import build_gate_corpus
from engrain.data_builders.gate_corpus_parts import apportion, build_part, share_out
from engrain.data_builders.gate_corpus_settings import ExpectedWeight, PartSettings
from engrain.data_builders.teachers.consensus import annotate
from engrain.data_builders.teachers.records import Annotation
from engrain.data_builders.teachers.settings import ConsensusSettings
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import pack, prepare_tokenizer
from engrain.runtime.schema import GateExample, LabelSource, Split

sys.path.insert(0, str(Path(__file__).parent / "teachers"))

from label_samples import candidate, result

PAPER = PartSettings()
# What a dialogue corpus tends to hold: type, admission, share. One in six candidates finds no consensus.
MIX = [
    ("personal_semantic", True, 16),
    ("personal_semantic", False, 10),
    ("prospective", True, 14),
    ("prospective", False, 8),
    ("autobiographical_episodic", True, 9),
    ("autobiographical_episodic", False, 15),
    ("non_memory", False, 28),
]


def annotated(corpus: str, count: int = 600, mix: list[tuple[str, bool, int]] = MIX) -> tuple[Annotation, ...]:
    """`count` annotated turns of two to a group, five messages of context each."""
    rng = random.Random(corpus)
    kinds = rng.choices([(kind, admit) for kind, admit, _ in mix], [share for *_, share in mix], k=count)
    before = tuple(("bob", f"earlier {place}") for place in range(5))
    made = [candidate(f"{corpus} turn {n}", *before, corpus=corpus, group=f"{corpus}/g{n // 2}") for n in range(count)]
    results = [
        tuple(result(f"t{t}", admit != (t == 2 and number % 6 == 0), kind) for t in range(3))
        if not (number % 6 == 0 and kind == "non_memory")
        else (result("t0", False), result("t1", False), result("t2", None))
        for number, (kind, admit) in enumerate(kinds)
    ]
    return annotate(made, results, ConsensusSettings())


def test_share_out_is_even_and_apportion_is_proportional() -> None:
    assert share_out(10, {"a": 2, "b": 9, "c": 9}) == {"a": 2, "b": 4, "c": 4}
    assert share_out(300, dict.fromkeys("abcd", 500)) == dict.fromkeys("abcd", 75)
    assert share_out(9, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert apportion(60, {"a": 75, "b": 75, "c": 150}) == {"a": 15, "b": 15, "c": 30}
    assert sum(apportion(60, {"a": 7, "b": 11, "c": 282}).values()) == 60


def test_the_papers_five_corpora_come_to_1500_rows_and_the_papers_weight() -> None:
    corpora = {name: annotated(name) for name in ("msc", "esconv", "chronicles", "led", "taskmaster")}
    built = build_gate_corpus(corpora, PAPER, expected=ExpectedWeight())
    report = built.report
    assert {split: counts.rows for split, counts in report.splits.items()} == {Split.TRAIN: 1200, Split.VALIDATION: 300}
    for corpus, part in report.parts.items():
        assert (part.candidates, part.taken.rows, part.validation.rows) == (600, 300, 60), corpus
        assert set(part.types.values()) == {75}, "balanced by auxiliary type"
        assert part.accepted + sum(part.refused.values()) == 600
    assert report.positive_weight == pytest.approx(1.40, abs=0.05)
    assert report.weight_check.endswith("within 1.4 +- 0.15 (SLICE-Mem B.1)")
    assert {example.label_source for example in built.examples} == {LabelSource.TEACHER_CONSENSUS}
    assert all(len(example.votes) == 3 for example in built.examples)


def test_validation_keeps_groups_whole_and_mirrors_types_and_labels() -> None:
    part = build_part(annotated("msc"), PAPER)
    splits = {example.group: example.split for example in part.examples}
    assert all(splits[example.group] is example.split for example in part.examples)
    assert part.split_by == "type and label"
    validating = Counter(example.auxiliary_type for example in part.examples if example.split is Split.VALIDATION)
    assert set(validating.values()) == {15}


def test_builds_are_seeded_and_in_the_order_of_the_corpus() -> None:
    first, again = build_part(annotated("msc"), PAPER), build_part(annotated("msc"), PAPER)
    other = build_part(annotated("msc"), PartSettings(seed=43))
    assert first == again and first.examples != other.examples
    places = [int(example.id.rsplit(" ", 1)[1]) for example in first.examples]
    assert places == sorted(places)


def test_a_type_that_is_short_is_filled_from_the_others() -> None:
    mix = [("personal_semantic", True, 40), ("prospective", True, 2), ("non_memory", False, 58)]
    part = build_part(annotated("led", mix=mix), PartSettings(count=100, validation=20))
    types = Counter(example.auxiliary_type for example in part.examples)
    assert types["autobiographical_episodic"] == 0 < types["prospective"] < 20
    assert abs(types["personal_semantic"] - types["non_memory"]) <= 1


def test_natural_sampling_keeps_the_pools_own_share() -> None:
    found = annotated("msc", 3000)
    pool = [one.verdict.label for one in found if one.verdict.accepted]
    part = build_part(found, PartSettings(count=1000, validation=200, sampling="natural"))
    taken = sum(example.label for example in part.examples) / 1000
    assert taken == pytest.approx(sum(map(bool, pool)) / len(pool), abs=0.03)


def test_too_few_with_consensus_names_the_reasons() -> None:
    with pytest.raises(InputError, match=r"msc: 600 rows.*of 600 candidates.*refused: \d+ disagreement, \d+ invalid"):
        build_part(annotated("msc"), PartSettings(count=600))


def test_a_corpus_without_negatives_is_an_error() -> None:
    with pytest.raises(InputError, match="hold 500 positives and 0 negatives; a gate needs both"):
        build_part(annotated("msc", mix=[("prospective", True, 1)]), PAPER)


def test_groups_that_are_too_large_are_told_with_the_way_out() -> None:
    whole = tuple(
        one.model_copy(update={"candidate": one.candidate.model_copy(update={"group": "all"})})
        for one in annotated("msc")
    )
    with pytest.raises(InputError, match=r"filled with whole groups \(1 groups\); set candidates.group_by"):
        build_part(whole, PAPER)


def test_a_weight_that_is_off_is_an_error_unless_unchecked() -> None:
    settings = PartSettings(positive_share=0.2)
    with pytest.raises(InputError, match=r"w\+ is 4\.000, expected 1\.4 \+- 0\.15.*msc 60/300.*expected_weight: null"):
        build_gate_corpus({"msc": annotated("msc")}, settings, expected=ExpectedWeight())
    assert build_gate_corpus({"msc": annotated("msc")}, settings).report.weight_check == "w+ 4.000, not checked"


def test_a_turn_may_not_be_in_the_corpus_twice() -> None:
    found = annotated("msc")
    with pytest.raises(InputError, match="turns are in the corpus twice, such as 'msc turn"):
        build_gate_corpus({"msc": found, "again": found}, PAPER)


def test_every_k_is_taken_from_one_build() -> None:
    """A gate that packs k messages of the five reads what a corpus built with k messages would give it (C.1)."""
    built = build_gate_corpus({"msc": annotated("msc")}, PAPER)
    assert built.report.most_context == 5
    words = sorted({word for n in range(5) for word in ("earlier", str(n), "S1", "S2", ":", "msc", "turn", "[UNK]")})
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    prepare_tokenizer(tokenizer)

    def packed(example: GateExample, k: int, kept: int) -> list[int]:
        return pack(tokenizer, example.context[-kept:], example.target, k=k, max_length=512).ids

    for example in built.examples[:20]:
        inputs = {k: packed(example, k, 5) for k in (1, 3, 5)}
        assert all(inputs[k] == packed(example, k, k) for k in inputs)
        assert len(inputs[1]) < len(inputs[3]) < len(inputs[5])
