"""Leaks: what stands in a benchmark is named; what shares a figure of speech is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engrain.data_builders.quality.leaks import (
    LeakFilter,
    Passage,
    PassageIndex,
    index_benchmarks,
    user_passages,
)
from engrain.data_builders.quality.row_leaks import row_leaks
from engrain.data_builders.quality.rows import row_of
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.data_builders.sources.ultrachat import UltraChatSource
from engrain.runtime.schema import GateExample, Split

Sessions = Callable[..., LabelledSession]
LONG = "I have been learning the cello for three years now and my teacher lives in a boat house near the old bridge."
OPENING = "Thank you for the recommendations, I will definitely look into supporting these organizations and people"


def test_coverage_counts_words_in_shared_runs_of_thirteen() -> None:
    index = PassageIndex(
        [Passage("s1", "unrelated words"), Passage("s2", LONG), Passage("s3", "No, not really today.")]
    )
    copied, quoting, short, other, empty = index.coverage(
        [f"Well: {LONG.upper()}", f"{OPENING}. {LONG[:70]}", "no, not REALLY, today", "something else", "🙂"]
    )
    assert (copied.words, copied.shared, copied.source) == (23, 22, "s2") and copied.proves
    assert (quoting.words, quoting.shared) == (29, 13) and not quoting.proves
    assert (short.words, short.shared, short.source) == (4, 4, "s3") and short.proves
    assert (other.shared, other.source, other.share) == (0, "", 0.0)
    assert (empty.words, empty.share) == (0, 0.0)


def test_a_very_short_turn_proves_nothing_and_twelve_words_are_no_run() -> None:
    twelve = " ".join(f"word{n}" for n in range(12))
    index = PassageIndex([Passage("s", "Yes, please."), Passage("s", f"{twelve} and so on and on")])
    yes, part = index.coverage(["yes please", twelve])
    assert yes.shared == 2 and not yes.proves
    assert part.shared == 0


def test_sessions_leak_by_their_user_words(session: Sessions) -> None:
    benchmark = [session("b1", LONG, "Yes, please."), session("b2", f"{OPENING}, as you say.")]
    whole, turn, shared, clean = (
        session("whole", LONG, "Yes, please."),
        session("turn", LONG, *(f"Another long remark, number {n}, about my garden and its roses." for n in range(9))),
        session(
            "shared",
            f"{OPENING}. Which of the two museums in the harbour district would you go to on a grey day in winter?",
        ),
        session("clean", "How many bones does a shark have?"),
    )
    leaks = LeakFilter(index_benchmarks({"bench": benchmark}))
    kept = list(leaks([whole, turn, shared, clean]))
    report = leaks.report
    assert [labelled.session.id for labelled in kept] == ["turn", "shared", "clean"]
    assert [(leak.id, leak.against, leak.source, leak.share) for leak in report.leaks] == [
        ("whole", "bench", "b1", 1.0)
    ]
    assert (report.sessions, report.touched) == (4, 2)


def test_only_user_turns_are_compared(session: Sessions) -> None:
    assert [passage.text for passage in user_passages([session("s", "One.", "Two.")])] == ["One.", "Two."]
    leaks = LeakFilter(index_benchmarks({"b": [session("x", "Another.")]}))
    assert len(list(leaks([session("a", "A question.")]))) == 1
    assert not leaks.report.leaks and not leaks.report.touched


def test_rows_against_benchmarks_and_held_out_rows_against_training(
    session: Sessions, example: Callable[..., GateExample]
) -> None:
    rows = [
        row_of(example(1, LONG)),
        row_of(example(2, "My sister keeps bees on the roof of the library.")),
        row_of(example(3, "My sister keeps bees on the roof of the library!", split=Split.VALIDATION)),
        row_of(example(4, "I never drink coffee after noon.", split=Split.TEST)),
    ]
    calls: list[tuple[int, int]] = []
    found = row_leaks(
        rows,
        index_benchmarks({"bench": [session("b", LONG)]}),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert found.benchmark_ids == {"t1"}
    assert found.benchmarks["bench"].rows == 4
    validation = found.splits[Split.VALIDATION]
    assert [(leak.id, leak.source, leak.against) for leak in validation.named] == [("t3", "t2", "train")]
    assert found.splits[Split.TEST].leaks == 0
    assert calls[-1] == (6, 6)
    assert row_leaks(rows[:2], {}).splits == {}


def test_an_empty_benchmark_finds_nothing(session: Sessions) -> None:
    index = PassageIndex([])
    assert [one.shared for one in index.coverage([LONG, "Yes."])] == [0, 0]
    assert index.coverage([]) == []
    for leaks in (LeakFilter({"none": index}), LeakFilter({})):
        assert len(list(leaks([session("s", LONG)]))) == leaks.report.sessions == 1
        assert leaks.report.touched == 0


@pytest.mark.full
def test_188_of_400_ultrachat_sessions_leak_from_longmemeval(real_data: Path) -> None:
    """Exactly the sessions that stand in the 100 items, which the two corpora's own ids tell, are dropped and named."""
    benchmark = LongMemEvalSource(next((real_data / "longmemeval").glob("*.json")))
    haystack: set[str] = set()

    def sessions() -> Iterator[LabelledSession]:
        for labelled in benchmark.sessions():
            haystack.add(labelled.session.id.split("/")[-1])
            yield labelled

    leaks = LeakFilter(index_benchmarks({"longmemeval": sessions()}))
    chats = list(UltraChatSource(real_data / "ultrachat").sessions())
    provable = {labelled.session.id for labelled in chats if published_id(labelled) in haystack}
    kept = list(leaks(chats))
    report = leaks.report
    assert len(chats) == 400 and len(provable) == 188
    assert report.ids == provable
    assert len(kept) == 212
    assert all(leak.source and leak.share >= 0.9 for leak in report.leaks)
    assert {leak.source.split("/")[-1] for leak in report.leaks} == {published_id(one) for one in chats} & haystack


def published_id(labelled: LabelledSession) -> str:
    """The session's id as UltraChat has it."""
    return labelled.session.id.split("/")[-1]
