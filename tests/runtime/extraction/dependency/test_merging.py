"""Near-duplicates, merging by cue and limit, coverage and its fallback, recovery."""

from __future__ import annotations

from collections.abc import Callable

from engrain.runtime.extraction.dependency.analysis import Analysis
from engrain.runtime.extraction.dependency.coverage import near_duplicates, retained_share
from engrain.runtime.extraction.dependency.merging import Unit, combine
from engrain.runtime.extraction.dependency.recovery import amounts, append
from engrain.runtime.extraction.dependency.settings import DependencySettings

SETTINGS = DependencySettings()


def units(*texts: str) -> list[Unit]:
    return [Unit(text, n, n + 1, "own", (str(n),)) for n, text in enumerate(texts)]


def test_two_units_without_a_cue_stay_apart() -> None:
    assert len(combine(units("User sold the flat.", "Petra bought a kayak."), SETTINGS)) == 2


def test_an_anaphoric_or_contrast_cue_merges() -> None:
    assert len(combine(units("User made a quilt.", "It took four months."), SETTINGS)) == 1
    assert len(combine(units("User likes tea.", "User however avoids coffee."), SETTINGS)) == 1


def test_more_than_the_limit_is_merged_and_nothing_is_lost() -> None:
    texts = ("User sold a flat.", "User quit work.", "User bought vans.")
    (merged,) = combine(units(*texts), SETTINGS)
    assert merged.text == " ".join(texts)
    assert merged.predicates == ("0", "1", "2")


def test_near_duplicates_need_the_same_polarity() -> None:
    assert near_duplicates("User eats fish on Fridays.", "User eats fish on Fridays too.", 0.85)
    assert not near_duplicates("User eats fish.", "User never eats fish.", 0.85)
    assert not near_duplicates("User doesn't eat fish.", "User does eat fish.", 0.85)


def test_coverage_is_by_substring_and_counts_repeats() -> None:
    assert retained_share(["cat", "cat", "dog", "art"], "The cart of cats") == 0.75


def test_low_coverage_keeps_the_surface(analysis_of: Callable[[str], Analysis]) -> None:
    analysis = analysis_of("Whoever among them sleeps, sings, swims, jumps or dreams, dances, laughs and smiles.")
    assert analysis.entry
    assert analysis.coverage >= SETTINGS.coverage


def test_recovery_appends_in_brackets() -> None:
    assert append("User paid the bill.", ["$60", "Oslo"]) == "User paid the bill ($60; Oslo)."
    assert amounts("from $1,200 to €5 or 40 dollars") == ["$1,200", "€5", "40 dollars"]


def test_comments_give_way_to_what_tells_something(entry_of: Callable[[str], str]) -> None:
    assert entry_of("I adopted a cat. It's so wonderful!") == "User adopted a cat."
    assert "nurse" in entry_of("My sister lives in Lyon. She is a nurse.")
    assert "too slow" in entry_of("I left the choir in May. It was too slow for me.")
