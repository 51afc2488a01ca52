"""Discourse prefixes, discourse-only text, harmless characters, language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrain.runtime.extraction.dependency.language import is_english
from engrain.runtime.extraction.dependency.surface import harmless, is_discourse_only, prefix_end


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Well, I moved.", "I moved."),
        ("Speaking of tea, coffee and art, I love jazz.", "I love jazz."),
        ("That reminds me, I finished it.", "I finished it."),
        ("Oh, by the way, my name is Ada.", "my name is Ada."),
        ("Thanks so much! I moved.", "I moved."),
        ("Maybe I will move.", "Maybe I will move."),
        ("Not really, I moved.", "Not really, I moved."),
        ("So many people came.", "many people came."),
    ],
)
def test_prefixes(text: str, rest: str) -> None:
    assert text[prefix_end(text) :] == rest


@pytest.mark.parametrize(
    "text", ["ok thanks!", "Haha, great, sounds good.", "That's a really great point.", "Hi there"]
)
def test_discourse_only(text: str) -> None:
    assert is_discourse_only(text)


@pytest.mark.parametrize("text", ["I'm a vegan.", "I hate it", "Call me at 9", "My dog is ill", "No meat please"])
def test_not_discourse_only(text: str) -> None:
    assert not is_discourse_only(text)


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_harmless_text_keeps_its_length_and_can_be_stored(text: str) -> None:
    clean = harmless(text)
    assert len(clean) == len(text)
    clean.encode("utf-8")
    assert prefix_end(clean) <= len(clean)
    is_discourse_only(clean)
    is_english(clean)


@pytest.mark.parametrize(
    "text",
    ["Ich wohne seit 2018 in Leipzig.", "Vivo en Sevilla y no como gluten.", "J'habite à Lyon avec mes deux chats.",
     "我下个月要搬到成都。", "Я живу в Москве.", "Abito a Torino con mia moglie.", "안녕하세요 저는 서울에 살아요"],
)  # fmt: skip
def test_other_languages(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize(
    "text",
    ["I live in Москва now.", "im moving to dublin lol", "Moved!", "Passport renewal, visa photos, travel insurance",
     "I ordered crème brûlée at Chez Panisse", "def f(x): return x", "42", ""],
)  # fmt: skip
def test_english(text: str) -> None:
    assert is_english(text)
