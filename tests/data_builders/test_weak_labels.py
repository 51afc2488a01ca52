"""Weak gate labels from persona summaries and life events."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.weak_labels import WEAK_SOURCES, weak_gate_examples
from engrain.runtime.errors import InputError
from engrain.runtime.schema import LabelSource, Split


def summaries(name: str, *turns: tuple[str, str | None]) -> dict[str, Any]:
    """A row of MSC's persona summaries."""
    dialog = [
        {"id": f"bot_{n % 2}", "text": text} | ({"persona_text": persona} if persona is not None else {})
        for n, (text, persona) in enumerate(turns)
    ]
    return {"dialog": dialog, "initial_data_id": name}


def test_a_turn_is_positive_exactly_where_it_has_a_summary(tmp_path: Path) -> None:
    rows = {
        "train": summaries("t1", ("I keep bees.", "I keep bees."), ("Nice!", None), ("Thanks.", " ")),
        "valid": summaries("v1", ("I sail.", "I sail.")),
    }
    for split, row in rows.items():
        for session in (1, 2):
            path = tmp_path / "msc_personasummary" / f"session_{session}" / f"{split}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(row))
    examples = list(weak_gate_examples("msc", tmp_path, max_context=1))
    train = [example for example in examples if example.split is Split.TRAIN]
    assert [example.label for example in train] == [True, False, False] * 2
    assert {example.label_source for example in examples} == {LabelSource.WEAK}
    assert {example.group for example in train} == {"msc-persona/train/t1"}, "both sessions of a pair are one group"
    assert [[said.text for said in example.context] for example in train[:3]] == [[], ["I keep bees."], ["Nice!"]]
    assert [example.label for example in examples if example.split is Split.VALIDATION] == [True, True]


def test_sources_are_lazy_and_their_faults_come_through(tmp_path: Path) -> None:
    path = tmp_path / "personasummary_session_2_valid.txt"
    path.write_text(json.dumps(summaries("a", ("hi", None))) + "\n{cut")
    examples = weak_gate_examples("msc", tmp_path)
    assert next(examples).label is False
    with pytest.raises(InputError, match="line 2: not valid JSON"):
        next(examples)
    with pytest.raises(InputError, match="led needs train"):
        next(weak_gate_examples("led", tmp_path))


@pytest.mark.parametrize(("source", "rows", "positives"), [("msc", 5897, 3808), ("led", 2991, 1370)])
def test_real_counts(real_data: Path, source: Any, rows: int, positives: int) -> None:
    examples = list(weak_gate_examples(source, real_data / source))
    assert (len(examples), sum(example.label for example in examples)) == (rows, positives)
    assert len({example.id for example in examples}) == rows
    splits = Counter(example.split for example in examples)
    assert splits[Split.VALIDATION] > 0
    split_of = {example.group: example.split for example in examples}
    assert all(split_of[example.group] is example.split for example in examples)
    assert set(WEAK_SOURCES) == {"msc", "led"}
