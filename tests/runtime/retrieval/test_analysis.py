from __future__ import annotations

import pytest

from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.stopwords import STOP_WORDS


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running RUNS run", ["run", "run", "run"]),
        ("Melanie's and Melanie’s", ["melani", "melani"]),
        ("She didn't go, won't go", ["not", "go", "not", "go"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),
        ("你好吗", ["你好", "好吗"]),
        ("在 Lisbon 住", ["在", "lisbon", "住"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("กินข้าว", ["กิ", "ิน", "นข", "ข้", "้า", "าว"]),
        ("हिन्दी", ["हिन्दी"]),
        ("¡canción, niño!", ["canción", "niño"]),
        ("🙂 ... --", []),
        ("", []),
        ("who is it", ["who", "is", "it"]),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


def test_polarity_survives() -> None:
    assert {"no", "not", "never", "none", "without", "nothing", "nor"}.isdisjoint(STOP_WORDS)
    assert index_terms("I do not eat meat") != index_terms("I do eat meat")


def test_a_very_long_word_is_cut_not_refused() -> None:
    assert index_terms("x" * 10_000) == ["x" * 64]


def test_plain_text_takes_a_short_way_to_the_same_terms() -> None:
    text = "Don't o'clock Ana's rock'n'roll 'quoted' a_b x\x00y 3.5% " + "q" * 70 + " " + "w" * 70 + "'s \x1f"

    assert index_terms(text) == index_terms(text + "\u2002")
