"""Negation, modality and intention survive: no kept clause loses its "not", its "might" or its "want to"."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engrain.runtime.extraction.dependency.extractor import DependencyExtractor

LEADS = ["", "Honestly, ", "Speaking of food, ", "Well, ", "That reminds me, ", "Just so you know, ", "Also, "]
# Marker as the user says it; the forms of which one must be in the entry.
MARKERS: list[tuple[str, tuple[str, ...]]] = [
    ("I don't {base}", ("n't", "not")),
    ("I do not {base}", ("not",)),
    ("I never {base}", ("never",)),
    ("I no longer {base}", ("no longer",)),
    ("I can't {base}", ("can't", "cannot")),
    ("I won't {base}", ("won't", "will not")),
    ("I might {base}", ("might",)),
    ("I may {base}", ("may",)),
    ("I should {base}", ("should",)),
    ("I would {base}", ("would",)),
    ("Maybe I will {base}", ("maybe",)),
    ("I probably {base}", ("probably",)),
    ("I think I {base}", ("think",)),
    ("I want to {base}", ("want",)),
    ("I don't want to {base}", ("n't",)),
    ("I'd like to {base}", ("would like to",)),
    ("I plan to {base}", ("plan",)),
    ("I'm hoping to {base}", ("hop",)),
    ("I'm going to {base}", ("going to",)),
    ("I used to {base}", ("used to",)),
    ("I stopped wanting to {base}", ("stopped",)),
    ("I hardly {base}", ("hardly",)),
    ("My sister doesn't {base}", ("n't",)),
    ("None of us {base}", ("none",)),
    ("i dont {base}", ("dont", "n't")),
]
ACTIONS = [
    ("eat meat", "meat"),
    ("drink coffee in the morning", "coffee"),
    ("live in Lisbon", "Lisbon"),
    ("buy a red bicycle", "bicycle"),
    ("visit my parents on Sundays", "parents"),
    ("sell the house because it is too big", "house"),
    ("work at Siemens with Petra", "Siemens"),
    ("pay $900 for the flat", "$900"),
]
TAILS = [
    "", " anymore", ", to be honest", ", and my brother lives in Rome", " but Petra does", ", which is fine",
    " if it rains",
    ". It was a long day", ". The weather is nice. I love it", " these days, actually",
]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(LEADS), st.sampled_from(MARKERS), st.sampled_from(ACTIONS), st.sampled_from(TAILS))
def test_a_kept_clause_keeps_its_marker(
    extractor: DependencyExtractor,
    lead: str,
    marker: tuple[str, tuple[str, ...]],
    action: tuple[str, str],
    tail: str,
) -> None:
    template, forms = marker
    base, anchor = action
    entry = extractor.analyse([lead + template.format(base=base) + tail + "."])[0].entry
    lower = entry.lower()
    if anchor.lower() in lower:
        assert any(form in lower for form in forms), entry
    assert anchor.lower() in lower or tail, f"lost the whole clause: {entry}"


@pytest.mark.parametrize(
    ("turn", "never", "needed"),
    [
        ("I don't eat meat.", "user eats", "n't eat meat"),
        ("I don't think I want to move to Berlin.", "user moves", "doesn't think user wants"),
        ("I'm not planning to sell the boat anymore.", "user is planning", "not planning to sell"),
        ("Please don't book the early train.", "asks to book", "not to book"),
        ("I neither smoke nor drink.", "user smokes.", "neither"),
        ("My doctor said I shouldn't run.", "user runs", "shouldn't run"),
        ("I wouldn't say I like opera.", "noted", "wouldn't say user likes"),
        ("If I get the job, I'll move to Oslo.", "user moves", "if user gets the job"),
        ("Not once did I miss a lesson.", "user misses", "not once"),
        ("I was about to buy the house, but I didn't.", "user bought", "about to buy"),
    ],
)
def test_known_traps(entry_of: Callable[[str], str], turn: str, never: str, needed: str) -> None:
    entry = entry_of(turn).lower()
    assert never not in entry
    assert needed in entry
