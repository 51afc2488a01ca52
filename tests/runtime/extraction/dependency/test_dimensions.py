"""Dimensions without a language model, and times resolved against the timestamp of their turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.extraction.dependency.times import resolve
from engrain.runtime.schema import MemoryType, Turn
from engrain.runtime.timestamps import record_interval

WEDNESDAY = datetime(2025, 6, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "past", "value"),
    [
        ("today", False, "2025-06-04"),
        ("this morning", True, "2025-06-04"),
        ("yesterday", True, "2025-06-03"),
        ("tomorrow", False, "2025-06-05"),
        ("Friday", False, "2025-06-06"),
        ("on Friday", True, "2025-05-30"),
        ("next Friday", False, "2025-06-13"),
        ("last week", True, "2025-05-26/2025-06-01"),
        ("this weekend", False, "2025-06-07/2025-06-08"),
        ("next month", False, "2025-07"),
        ("last year", True, "2024"),
        ("in 2019", True, "2019"),
        ("in March", True, "2025-03"),
        ("March", False, "2026-03"),
        ("last March", True, "2025-03"),
        ("in August", True, "2024-08"),
        ("May 2023", True, "2023-05"),
        ("3 weeks ago", True, "2025-05-14"),
        ("in two months", False, "2025-08"),
        ("14 September 2026", False, "2026-09-14"),
        ("October 7th", False, "2025-10-07"),
        ("four months", True, ""),
        ("every Tuesday", False, ""),
        ("Sundays", False, ""),
        ("half past", False, ""),
    ],
)
def test_times(phrase: str, past: bool, value: str) -> None:
    assert resolve(phrase, WEDNESDAY, past=past) == value
    if value:
        record_interval(value, UTC)


@pytest.mark.parametrize(
    ("text", "kind", "filled"),
    [
        ("I moved to Berlin last March because my job changed.", MemoryType.EPISODIC,
         {"time": "2025-03", "location": "Berlin", "reason": "because User's job changed"}),
        ("I love jazz.", MemoryType.PROFILE, {}),
        ("I joined a gym to strengthen my back.", MemoryType.EPISODIC, {"purpose": "to strengthen User's back"}),
        ("I'm meeting Anna on Friday at the library.", MemoryType.EPISODIC,
         {"time": "2025-06-06", "location": "library"}),
        ("Please add the invoice to the list.", MemoryType.EPISODIC, {}),
        ("The capital of Chile is Santiago.", MemoryType.FACT, {"location": "Chile"}),
    ],
)  # fmt: skip
def test_dimensions(
    extractor: DependencyExtractor,
    turns_of: Callable[[Sequence[str]], list[Turn]],
    text: str,
    kind: MemoryType,
    filled: dict[str, str],
) -> None:
    located = extractor.extract_turns(turns_of([text]))[0].located
    assert located is not None
    given = located.dimensions
    assert given.memory_type is kind
    assert {
        name: getattr(given, name) for name in ("time", "location", "reason", "purpose") if getattr(given, name)
    } == (filled)
    assert set(located.spans) == set(filled)
    for start, end in located.spans.values():
        assert text[start:end].strip()


def test_keywords_are_names_and_noun_compounds(
    extractor: DependencyExtractor, turns_of: Callable[[Sequence[str]], list[Turn]]
) -> None:
    text = "I bought running shoes in Gdansk with Marek for $80 on Monday."
    located = extractor.extract_turns(turns_of([text]))[0].located
    assert located is not None
    assert {"Gdansk", "Marek"} <= set(located.dimensions.keywords)
    assert not {"Monday", "80", "$80"} & set(located.dimensions.keywords)
