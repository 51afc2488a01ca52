"""Compression keeps what a record is made of, and never more than the share that may go goes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrain.data_builders.shipped import load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.compression import compress

WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")


@pytest.mark.parametrize(
    ("text", "keep", "expected"),
    [
        ("Well, I just moved to the Hague.", 1.0, "Well, I just moved to the Hague."),
        ("Well, I just moved to the Hague.", 0.7, "I moved to the Hague."),
        ("Well, I just moved to the Hague.", 0.5, "I moved to Hague."),
        ("I do not, you know, eat any meat.", 0.7, "I do not, eat any meat."),
        ("我真的搬到了海牙。", 0.5, "我真的搬到了海牙。"),
        ("Really?", 0.5, "Really?"),
        ("The the the", 0.01, "the"),
    ],
)
def test_fillers_go_before_articles(text: str, keep: float, expected: str) -> None:
    assert compress(text, keep) == expected


def test_negations_numbers_and_names_stay() -> None:
    text = "Honestly, I am not the one that was paid 1,200.50 kr on 3 May; Mara wasn't late, I'm so sorry."
    assert {"not", "1,200.50", "3", "May;", "Mara", "wasn't", "I'm", "late,"} <= set(compress(text, 0.3).split())


@given(st.text(alphabet="ab the,.is  so I9é\n", max_size=60), st.floats(min_value=0.05, max_value=1.0))
def test_the_rest_is_in_order_and_enough(text: str, keep: float) -> None:
    before, after = WORD.findall(text), WORD.findall(compress(text, keep))
    assert len(after) >= keep * len(before) - 1e-6
    rest = iter(before)
    assert all(word in rest for word in after), "a subsequence of the words"


def test_a_rate_of_four_fifths_shortens_the_shipped_messages() -> None:
    turns = [turn.text for one in load_shipped().sessions for turn in one.session.turns if turn.role.value == "user"]
    before, after = (
        sum(len(WORD.findall(text)) for text in texts) for texts in (turns, [compress(t, 0.8) for t in turns])
    )
    assert 0.8 <= after / before < 0.95


@pytest.mark.parametrize("keep", [0.0, -1.0, 1.01])
def test_a_rate_outside_its_bounds_is_refused(keep: float) -> None:
    with pytest.raises(InputError, match="up to 1"):
        compress("anything", keep)
