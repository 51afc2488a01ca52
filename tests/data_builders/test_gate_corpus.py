"""Rows from labelled sessions, and the positive-class weight."""

from __future__ import annotations

import pytest

from engrain.data_builders.gate_corpus import gate_example, label_rows, positive_weight, shared_targets
from engrain.data_builders.shipped import ShippedCorpus, load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample, LabelSource, Role, Split, Utterance


@pytest.fixture(scope="module")
def corpus() -> ShippedCorpus:
    return load_shipped()


def rows(positives: int, negatives: int, split: Split = Split.TRAIN) -> list[GateExample]:
    return [
        GateExample(
            id=f"{split}-{number}",
            split=split,
            context=(),
            target=Utterance(speaker="u", text=f"text {number}"),
            label=number < positives,
            label_source=LabelSource.WEAK,
            corpus="c",
            group=f"g{number}",
        )
        for number in range(positives + negatives)
    ]


@pytest.mark.parametrize(("positives", "negatives", "weight"), [(5, 7, 1.4), (7, 5, 1.0), (1, 40, 10.0)])
def test_the_positive_weight_is_clipped_and_of_training_rows(positives: int, negatives: int, weight: float) -> None:
    examples = rows(positives, negatives) + rows(0, 90, Split.VALIDATION)
    assert positive_weight(examples) == pytest.approx(weight)


@pytest.mark.parametrize(("positives", "negatives"), [(0, 4), (4, 0), (0, 0)])
def test_one_label_only_is_refused(positives: int, negatives: int) -> None:
    with pytest.raises(InputError, match=f"hold {positives} positives and {negatives} negatives; both are needed"):
        positive_weight(rows(positives, negatives))


def test_targets_in_both_splits_are_counted() -> None:
    assert shared_targets(rows(2, 2) + rows(1, 5, Split.VALIDATION)) == 4


def test_a_row_holds_only_what_came_before(corpus: ShippedCorpus) -> None:
    labelled = corpus.sessions[0]
    turns = labelled.session.turns
    for row in label_rows([labelled], corpus="c", split=Split.TEST, max_context=3):
        position = [turn.id for turn in turns].index(row.id)
        assert row.target.text == turns[position].text
        assert [utterance.text for utterance in row.context] == [
            turn.text for turn in turns[max(0, position - 3) : position]
        ]


def test_a_turn_without_label_makes_no_row(corpus: ShippedCorpus) -> None:
    labelled = corpus.sessions[0]
    reply = next(n for n, turn in enumerate(labelled.session.turns) if turn.role is Role.ASSISTANT)
    with pytest.raises(InputError, match="has no gate label"):
        gate_example(labelled, reply, split=Split.TRAIN, corpus="c", group="g", max_context=5)
