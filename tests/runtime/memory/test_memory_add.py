from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from engrain.runtime.errors import BundleError, InputError, ModelServiceError, StoreError
from engrain.runtime.extraction.windows import Window
from engrain.runtime.memory import Memory
from engrain.runtime.schema import MemoryType, Role, WindowStyle
from engrain.runtime.settings import MemorySettings
from engrain.runtime.storage.protocol import Admission

Open = Callable[..., Memory]
NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
TALK = [
    {"role": "user", "content": "I adopted a dog"},
    {"role": "assistant", "content": "What is it called?"},
    {"role": "user", "content": "Rex"},
    {"role": "user", "content": "I walk it daily"},
]


def memories(*records: tuple[int, str], **dimension: Any) -> str:
    return json.dumps(
        {
            "memories": [
                {"source_id": source, "content": content, "dimension": {"memory_type": "fact"} | dimension}
                for source, content in records
            ]
        }
    )


def test_without_models_every_user_turn_is_a_record_as_given(memory: Memory) -> None:
    result = memory.add(TALK, user_id="ana", timestamp=NOON, metadata={"channel": "phone"})

    assert result.counts() == {
        "turns": 4, "duplicates": 0, "admitted": 3, "rejected": 0, "context": 1, "records": 3, "fell_back": 0,
        "failed": 0,
    }  # fmt: skip
    records = memory.list(user_id="ana")
    assert [record.content for record in records] == ["I adopted a dog", "Rex", "I walk it daily"]
    assert {record.id for record in records} == set(result.record_ids)
    assert records[1].source_time == NOON + timedelta(seconds=1)
    assert records[0].extractor == "as_given" and records[0].memory_type is None
    assert records[0].metadata == {"channel": "phone"} and records[0].embedder == "hashing@1"
    assert [source.turn.text for source in memory.sources(records[1])] == ["Rex"]


def test_adding_twice_is_adding_once(memory: Memory) -> None:
    memory.add(TALK, user_id="ana", timestamp=NOON)

    again = memory.add([*TALK, {"role": "user", "content": "I love it"}], user_id="ana", timestamp=NOON)
    later = memory.add("Rex", user_id="ana", timestamp=NOON + timedelta(days=1))

    assert (again.turns, again.duplicates, again.records) == (1, 4, 1)
    assert (later.turns, later.duplicates) == (1, 0)
    assert len(memory.list(user_id="ana")) == 5
    assert memory.counters(user_id="ana")["duplicates"] == 4


def test_an_id_with_other_words_is_refused_before_anything_is_written(memory: Memory) -> None:
    memory.add({"content": "I moved", "id": "m1"}, user_id="ana")

    with pytest.raises(InputError, match="message 2: the id 'm1' is already stored with another text"):
        memory.add(["new", {"content": "I moved back", "id": "m1"}], user_id="ana")

    assert len(memory.turns(user_id="ana")) == 1
    assert memory.add({"content": "I moved back", "id": "m1"}, user_id="ben").turns == 1


def test_the_gate_sees_one_batch_with_earlier_messages_as_context(open_memory: Open, gate: Any) -> None:
    memory = open_memory(gate=gate)
    memory.add(TALK, user_id="ana", session_id="s", timestamp=NOON)
    memory.add("I feed Rex", user_id="ana", session_id="s", timestamp=NOON + timedelta(minutes=5))
    memory.add("I ski", user_id="ana", session_id="other", timestamp=NOON + timedelta(minutes=9))

    assert gate.batches == [
        [
            ([], "I adopted a dog"),
            (["I adopted a dog", "What is it called?"], "Rex"),
            (["What is it called?", "Rex"], "I walk it daily"),
        ],
        [(["Rex", "I walk it daily"], "I feed Rex")],
        [([], "I ski")],
    ]


def test_rejected_turns_are_stored_with_their_probability(open_memory: Open, gate: Any) -> None:
    memory = open_memory(gate=gate)

    result = memory.add(TALK, user_id="ana")

    assert (result.admitted, result.rejected, result.context, result.records) == (2, 1, 1, 2)
    [rejected] = memory.turns(user_id="ana", admissions=[Admission.REJECTED])
    assert rejected.turn.text == "Rex" and rejected.gate_probability == pytest.approx(0.1)
    assert memory.add("Rex again", user_id="ana", gate=False).records == 1


def test_other_roles_can_be_remembered(open_memory: Open) -> None:
    memory = open_memory(settings=MemorySettings(remember_roles=(Role.USER, Role.ASSISTANT)))

    assert memory.add(TALK, user_id="ana").records == 4


def test_extracted_records_have_dimensions_and_provenance(open_memory: Open, make_extractor: Any) -> None:
    extractor = make_extractor(
        lambda window: memories((1, "The user adopted a dog."), time="2026-05", keywords=["dog"], reason="loneliness")
    )
    memory = open_memory(extractor=extractor)

    memory.add("I adopted a dog this month", user_id="ana", timestamp=NOON)

    [record] = memory.list(user_id="ana")
    assert record.content == "The user adopted a dog."
    assert (record.memory_type, record.keywords, record.reason) == (MemoryType.FACT, ("dog",), "loneliness")
    assert record.event_start == datetime(2026, 5, 1, tzinfo=UTC)
    assert record.event_end == datetime(2026, 6, 1, tzinfo=UTC)
    assert record.extractor == "scripted@1"
    assert memory.sources(record)[0].turn.text == "I adopted a dog this month"


def test_windows_are_cut_with_the_last_earlier_messages_as_context(open_memory: Open, make_extractor: Any) -> None:
    extractor = make_extractor(lambda window: memories(), size=3, overlap=1)
    memory = open_memory(extractor=extractor)
    memory.add(["a", "b"], user_id="ana", session_id="s", timestamp=NOON)
    memory.add(["c", "d", "e"], user_id="ana", session_id="s", timestamp=NOON + timedelta(minutes=1))

    seen = [([turn.text for turn in window.turns], window.overlap) for window in extractor.windows]
    assert seen == [(["a", "b"], 0), (["b", "c", "d"], 1), (["d", "e"], 1)]


def test_with_a_gate_only_windows_with_an_admitted_turn_are_read(
    open_memory: Open, gate: Any, make_extractor: Any
) -> None:
    extractor = make_extractor(lambda window: memories((2, "Rejected, yet told.")), size=2, overlap=0)
    memory = open_memory(gate=gate, extractor=extractor)

    result = memory.add(["I ski", "sure", "ok", "fine"], user_id="ana", timestamp=NOON)

    assert [[turn.text for turn in window.turns] for window in extractor.windows] == [["I ski", "sure"]]
    # "I ski" was admitted and got no record of its own, so it is kept in its own words.
    assert [record.content for record in memory.list(user_id="ana")] == ["I ski", "Rejected, yet told."]
    assert (result.fell_back, result.records) == (1, 2)


@pytest.mark.parametrize("answer", ["no json at all", memories((9, "from nowhere")), '{"memories": [{"sour'])
def test_what_the_extractor_fails_at_falls_back_and_is_kept(
    open_memory: Open, make_extractor: Any, answer: str
) -> None:
    memory = open_memory(extractor=make_extractor(lambda window: answer))

    result = memory.add("I adopted a dog", user_id="ana")

    assert (result.records, result.fell_back) == (1, 1) and result.failed >= 1
    assert memory.list(user_id="ana")[0].extractor == "as_given"
    assert len(memory.store.failures("ana")) == result.failed


def test_a_readable_window_without_records_is_the_extractors_decision(open_memory: Open, make_extractor: Any) -> None:
    memory = open_memory(extractor=make_extractor(lambda window: memories()))

    assert memory.add("hello there", user_id="ana").records == 0


def test_records_from_the_assistant_are_refused_and_counted(open_memory: Open, make_extractor: Any) -> None:
    def second(window: Window) -> str:
        return memories((2, "The assistant asked for a name."))

    memory = open_memory(extractor=make_extractor(second, style=WindowStyle.LOCOMO))

    result = memory.add(TALK, user_id="ana")

    assert result.failed == 1 and result.records == 0
    assert memory.store.failures("ana")[0].reason == "source_not_remembered"


def test_a_failing_service_leaves_nothing_and_a_retry_stores_all(open_memory: Open, make_extractor: Any) -> None:
    def fail(window: Window) -> str:
        raise ModelServiceError("the endpoint is down")

    extractor = make_extractor(fail)
    memory = open_memory(extractor=extractor)
    with pytest.raises(ModelServiceError):
        memory.add("I adopted a dog", user_id="ana", timestamp=NOON)
    assert memory.turns(user_id="ana") == []

    extractor.script = lambda window: memories((1, "A dog."))
    assert memory.add("I adopted a dog", user_id="ana", timestamp=NOON).records == 1


def test_records_are_embedded_in_one_batch(memory: Memory, embedder: Any) -> None:
    memory.add([f"turn {number}" for number in range(50)], user_id="ana")

    assert embedder.calls == [50]


@pytest.mark.parametrize("broken", [np.full((1, 64), np.nan), np.full((1, 64), np.inf), np.ones((1, 3)), np.ones(64)])
def test_broken_vectors_are_refused_and_nothing_is_stored(memory: Memory, embedder: Any, broken: Any) -> None:
    embedder.embed = lambda texts: broken

    with pytest.raises(StoreError, match="embedder 'hashing@1' gave"):
        memory.add("I adopted a dog", user_id="ana")

    assert memory.turns(user_id="ana") == []


def test_bad_arguments_are_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="metadata"):
        memory.add("x", user_id="ana", metadata={"when": NOON})
    with pytest.raises(InputError, match="metadata"):
        memory.add("x", user_id="ana", metadata={"score": float("nan")})
    with pytest.raises(TypeError, match="userid"):
        memory.add("x", userid="ana")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="user_id"):
        memory.add("x", user_id="")
    assert memory.turns(user_id="ana") == []


def test_a_missing_bundle_leaves_no_file_behind(open_memory: Open, path: Any, tmp_path: Any) -> None:
    with pytest.raises(BundleError):
        open_memory(gate=tmp_path / "no-gate")

    assert not path.exists()


def test_memory_is_exported_without_being_loaded() -> None:
    code = (
        "import sys, engrain.runtime as runtime; assert 'engrain.runtime.memory' not in sys.modules; "
        "runtime.Memory; heavy = {'torch', 'transformers', 'openai', 'datasets'} & set(sys.modules); "
        "assert not heavy, heavy"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
