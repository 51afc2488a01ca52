"""The report of a build: one JSON, one page, one card, all from one pass over the examples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.quality.language import language_of
from engrain.data_builders.quality.report import QualityReport, measure, quality_report
from engrain.data_builders.quality.settings import QualitySettings
from engrain.data_builders.quality.votes import RatedTurn
from engrain.data_builders.shipped import INFO, load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample, Split

FAST = QualitySettings(resamples=100, folds=2)


def shipped() -> Iterator[GateExample]:
    """The shipped corpus, as a stream that can be read once."""
    yield from shipped_gate_corpus(load_shipped(), ShippedSplit()).examples


def test_a_build_gets_json_page_and_card(tmp_path: Path) -> None:
    corpus = load_shipped()
    stages: list[tuple[str, int, int]] = []
    report = quality_report(
        shipped(),
        tmp_path / "corpus",
        benchmarks={"own": corpus.sessions_of("mara")},
        sources=(INFO,),
        settings=FAST,
        progress=lambda *stage: stages.append(stage),
    )
    assert sorted(path.name for path in (tmp_path / "corpus").iterdir()) == [
        "README.md",
        "quality.html",
        "quality.json",
    ]
    assert QualityReport.model_validate(json.loads((tmp_path / "corpus/quality.json").read_text())) == report
    page = (tmp_path / "corpus/quality.html").read_text()
    assert page.count("<svg") >= 3
    assert not re.search(r'(src|href)="(?!#)', page), "the page must not need another file"
    card = (tmp_path / "corpus/README.md").read_text()
    assert "552 user turns" in card and INFO.licence in card and "| shipped | train | 353 |" in card
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["pretty_name"] == "corpus" and "en" in front["language"] and "unknown" not in front["language"]
    mara = report.leaks.benchmarks["own"]
    assert mara.leaks == sum(len(one.labels) for one in corpus.sessions_of("mara"))
    assert {name for name, *_ in stages} == {"balance", "duplicates", "leaks", "label noise"}
    assert all(done <= total for _, done, total in stages)


def test_composition_is_counted(example: Callable[..., GateExample]) -> None:
    rows = [
        example(1, "I moved to Rotterdam in March.", group="g"),
        example(2, "Ich habe einen Hund und zwei Katzen.", group="g", label=False),
        example(3, "x" * 61, split=Split.VALIDATION, corpus="d"),
    ]
    balance = measure(rows, settings=FAST).balance
    assert [(part.corpus, part.split, part.rows, part.positives, part.groups) for part in balance.parts] == [
        ("c", Split.TRAIN, 2, 1, 1),
        ("d", Split.VALIDATION, 1, 1, 1),
    ]
    assert balance.languages == {"en": 1, "de": 1, "unknown": 1}
    assert balance.short == (2, 1)
    assert balance.context_messages == {1: 3}
    assert sum(balance.target_length.positive) + sum(balance.target_length.negative) == 3
    assert balance.target_length.quantiles["100%"] == 61


def test_agreement_is_over_every_rated_turn_not_only_those_taken(example: Callable[..., GateExample]) -> None:
    taken = [example(number, f"text {number}", votes=votes) for number, votes in enumerate(("yyy", "nnn"))]
    refused = [RatedTurn.of(example(9, "text 9", votes="yyn"))]
    alone = measure(taken, settings=FAST).agreement
    whole = measure(taken, rated=[*map(RatedTurn.of, taken), *refused], settings=FAST).agreement
    assert alone is not None and alone.field().alpha.value == 1.0
    assert whole is not None and whole.turns == 3
    assert whole.field().alpha.value is not None and whole.field().alpha.value < 1.0


def test_hostile_texts_stay_text_on_the_page(tmp_path: Path, example: Callable[..., GateExample]) -> None:
    nasty = "<script>alert(1)</script> I said it"
    quality_report([example(n, nasty, label=bool(n)) for n in range(2)], tmp_path, settings=FAST)
    page = (tmp_path / "quality.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page


def test_no_examples_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no examples"):
        quality_report([], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I'm moving to Madrid because of my job.", "en"),
        ("Ich esse kein Fleisch und trinke nicht.", "de"),
        ("Je ne mange pas de viande, et vous ?", "fr"),
        ("Estoy muy cansado, pero no puedo dormir.", "es"),
        ("Vorrei sapere come sono gli orari della biblioteca.", "it"),
        ("Eu não gosto de café, obrigado.", "pt"),
        ("Ik heb een hond, maar geen kat.", "nl"),
        ("我不吃肉。", "zh"),
        ("私は肉を食べません。", "ja"),
        ("저는 고기를 먹지 않아요.", "ko"),
        ("Я не ем мяса.", "ru"),
        ("أنا لا آكل اللحم", "ar"),
        ("He quoted 東京 in the middle of a long English sentence.", "en"),
        ("12:30!", "unknown"),
        ("", "unknown"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of(text) == language
