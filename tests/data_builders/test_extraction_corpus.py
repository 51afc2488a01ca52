"""Windows with gold records: every record exactly once, never from the overlap, and readable back."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.shipped import ShippedCorpus, load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.prompts import PROMPT_HASH, render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Role, Split, WindowStyle

SIZES = [(WindowStyle.LONGMEMEVAL, 6, 1), (WindowStyle.LONGMEMEVAL, 15, 3), (WindowStyle.LOCOMO, 25, 5)]


@pytest.fixture(scope="module")
def corpus() -> ShippedCorpus:
    return load_shipped()


@pytest.mark.parametrize(("style", "size", "overlap"), [*SIZES, (WindowStyle.LOCOMO, 3, 2)])
def test_every_gold_record_is_in_exactly_one_window(
    corpus: ShippedCorpus, style: WindowStyle, size: int, overlap: int
) -> None:
    settings = ExtractionWindows(style=style, size=size, overlap=overlap)
    built = extraction_corpus(corpus.sessions, corpus.records, settings, splits=corpus.splits(ShippedSplit()))
    placed = Counter(
        (example.window[record.source_id - 1].id, record.content)
        for example in built.examples
        for record in example.records
    )
    assert placed == Counter((record.source_turn_id, record.content) for record in corpus.records)
    assert all(record.source_id > example.overlap for example in built.examples for record in example.records)
    assert built.report.unplaced == () and built.report.other_sessions == 0
    assert sum(built.report.records.values()) == len(corpus.records)


@pytest.mark.parametrize(("style", "size", "overlap"), SIZES)
@pytest.mark.parametrize("prompt", ["full", "compact"])
def test_gold_answers_parse_back_equal(
    corpus: ShippedCorpus, style: WindowStyle, size: int, overlap: int, prompt: str
) -> None:
    settings = ExtractionWindows(style=style, size=size, overlap=overlap)
    built = extraction_corpus(corpus.sessions, corpus.records, settings, splits=corpus.splits(ShippedSplit()))
    for example in built.examples:
        result = parse_records(render_records(example.records, prompt), Window(example.window, example.overlap))
        assert result.records == example.records and result.valid_json and not result.rejects


def test_styles_splits_and_prompt_hash(corpus: ShippedCorpus) -> None:
    splits = corpus.splits(ShippedSplit())
    settings = ExtractionWindows(size=6, overlap=1, prompt="compact")
    built = extraction_corpus(corpus.sessions, corpus.records, settings, splits=splits)
    assert {turn.role for example in built.examples for turn in example.window} == {Role.USER}
    assert {example.prompt_hash for example in built.examples} == {PROMPT_HASH["compact"]}
    for example in built.examples:
        assert example.split is splits[example.window[0].session_id]
    assert set(built.report.windows) == set(Split)
    assert 0.3 < built.report.fill_rates["time"] < 0.6


def test_empty_windows_are_kept_or_counted(corpus: ShippedCorpus) -> None:
    splits = corpus.splits(ShippedSplit())
    kept, dropped = (
        extraction_corpus(
            corpus.sessions,
            corpus.records,
            ExtractionWindows(size=3, overlap=1, keep_empty=keep_empty),
            splits=splits,
        )
        for keep_empty in (True, False)
    )
    assert kept.report.empty_windows == dropped.report.empty_windows == dropped.report.dropped_empty > 0
    assert len(kept.examples) - len(dropped.examples) == kept.report.empty_windows
    assert kept.report.records == dropped.report.records


def test_records_of_assistant_turns_and_other_sessions_are_counted(corpus: ShippedCorpus) -> None:
    labelled = corpus.sessions[0]
    reply = next(turn for turn in labelled.session.turns if turn.role is Role.ASSISTANT)
    own = [record for record in corpus.records if record.session_id == labelled.session.id]
    records = [*corpus.records, own[0].model_copy(update={"id": "said", "source_turn_id": reply.id})]
    splits = {labelled.session.id: Split.TRAIN}
    built = extraction_corpus([labelled], records, ExtractionWindows(), splits=splits)
    assert built.report.unplaced == ("said",)
    assert built.report.other_sessions == len(corpus.records) - len(own)
    both = extraction_corpus([labelled], records, ExtractionWindows(style=WindowStyle.LOCOMO), splits=splits)
    assert both.report.unplaced == () and both.report.records == {Split.TRAIN: len(own) + 1}


def test_a_session_without_split_and_a_record_without_turn_are_refused(corpus: ShippedCorpus) -> None:
    labelled = corpus.sessions[0]
    with pytest.raises(InputError, match="has no split"):
        extraction_corpus([labelled], [], ExtractionWindows(), splits={})
    own = next(record for record in corpus.records if record.session_id == labelled.session.id)
    lost = own.model_copy(update={"source_turn_id": "t-none"})
    with pytest.raises(InputError, match=r"has no turn 't-none'"):
        extraction_corpus([labelled], [lost], ExtractionWindows(), splits={labelled.session.id: Split.TRAIN})


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValidationError, match="leaves no new message"):
        ExtractionWindows(size=3, overlap=3)
