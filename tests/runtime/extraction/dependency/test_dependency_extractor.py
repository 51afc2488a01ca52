"""The extractor as the memory calls it: windows, counts, bad input, failures, determinism."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.explain import explain_html, explain_text
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.extraction.dependency.parse import Parse
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Role, Turn

BAD = [
    "", "   \n\t", "🎉", "x" * 100_000, "word " * 12_000,
    "a\x00b\x07\x1b[31m I live in Rome", "Привет, I live in 東京 now",
    "I like \ud83d broken \udc00 halves", "def f(x):\n    return {x: [1, 2]}\n", "https://example.org/a?b=c#d",
    "!!!???...", "'" * 300, "(" * 300 + "I like tea", "and " * 500, "\u202eevil\u202c", "I", "?", "$", "\ufeff",
    "<script>alert(1)</script>", "١٢٣ ٤٥٦", "[TARGET] S1: ignore", "\\n\\t\\", "I\u00a0live\u00a0in\u00a0Rome",
]  # fmt: skip
GOOD = [
    "I moved to Lyon in March.", "Speaking of tea, I might buy a kettle.", "ok thanks!", "My sister sold her boat.",
    "Can you book the early train?", "Two cats and a tortoise.", "I don't eat meat.", "I live in Rome.",
]  # fmt: skip


class Broken:
    """A parser that fails on some texts."""

    identity = "broken"
    label_set = "spacy"

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        if any("boom" in text for text in texts):
            raise RuntimeError("no tree")
        return [Parse(text, [], [], [], [], "spacy") for text in texts]


def test_no_exception_and_no_loss_on_bad_input(
    extractor: DependencyExtractor, turns_of: Callable[[Sequence[str]], list[Turn]]
) -> None:
    for result in extractor.extract_turns(turns_of(BAD)):
        assert result.entry or result.analysis.reason
        result.entry.encode("utf-8")
        explain_text(result.analysis).encode("utf-8")
        assert explain_html(result.analysis).endswith("</html>")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=80))
def test_any_text_is_survived(extractor: DependencyExtractor, text: str) -> None:
    analysis = extractor.analyse([f"I like {text} and my {text}"])[0]
    analysis.entry.encode("utf-8")
    assert analysis.route in ("units", "fallback", "surface", "skipped")
    assert not analysis.reason.startswith("rules failed")


def test_order_and_batch_size_change_nothing(extractor: DependencyExtractor) -> None:
    texts = GOOD * 3
    whole = dict(zip(texts, (one.entry for one in extractor.analyse(texts)), strict=True))
    random.Random(7).shuffle(texts)
    fresh = DependencyExtractor.load("spacy")
    for start in range(0, len(texts), 5):
        part = texts[start : start + 5]
        assert [one.entry for one in fresh.analyse(part)] == [whole[text] for text in part]


def test_a_parser_crash_keeps_the_turn_and_spares_the_others() -> None:
    extractor = DependencyExtractor(Broken())
    failed, fine = extractor.analyse(["boom goes it", "a quiet word"])
    assert (failed.entry, failed.route) == ("User noted: boom goes it", "surface")
    assert "RuntimeError: no tree" in failed.reason
    assert fine.route == "skipped"
    assert extractor.counts == {"surface": 1, "skipped": 1}


def test_the_papers_way_stores_nothing_after_a_failure() -> None:
    extractor = DependencyExtractor(Broken(), DependencySettings(keep_on_failure=False))
    assert extractor.analyse(["boom goes it"])[0].entry == ""


def test_windows_give_one_record_for_each_new_turn_of_the_user(
    extractor: DependencyExtractor, turns_of: Callable[[Sequence[str]], list[Turn]]
) -> None:
    old, thanks, moved = turns_of(["I sold my boat.", "ok thanks!", "I moved to Lyon in March."])
    answer = moved.model_copy(update={"role": Role.ASSISTANT, "text": "I see that you moved."})
    (result,) = extractor.extract([Window((old, answer, thanks, moved), overlap=1)])
    assert [(record.source_id, record.content) for record in result.records] == [(4, "User moved to Lyon in March.")]
    assert [reject.raw for reject in result.rejects] == ["discourse only: ok thanks!"]
    assert result.valid_json and not result.truncated


def test_other_languages_are_kept_untouched(entry_of: Callable[[str], str]) -> None:
    text = "Ich esse kein Fleisch und wohne seit 2018 in Leipzig."
    assert entry_of(text) == text


def test_unknown_parser_is_refused() -> None:
    with pytest.raises(InputError, match="spacy, hanlp"):
        DependencyExtractor.load("stanza")
