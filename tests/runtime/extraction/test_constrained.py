"""The answer's automaton, and models that are held to it: always complete JSON, whatever they would rather write."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.grammar import Automaton, compile_answer
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.prompts import render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType, Role, Turn

ANSWER = compile_answer()
TURN = Turn(
    id="t1", session_id="s", role=Role.USER, speaker="", text="hello", timestamp=datetime(2026, 3, 2, tzinfo=UTC)
)


def accepted(text: str, automaton: Automaton = ANSWER) -> bool:
    state = automaton.start
    for byte in text.encode():
        state = automaton.step(state, byte)
    return automaton.accepts(state)


def record(**changes: Any) -> ExtractedRecord:
    fields = {"memory_type": MemoryType.EPISODIC, "keywords": ("泳池", 'say "hi"'), "reason": "line\nbreak \\ 🙂"}
    return ExtractedRecord(source_id=12, content="Ana, 3½, swims.", dimension=Dimensions(**{**fields, **changes}))


@pytest.mark.parametrize("prompt", ["full", "compact"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_a_model_is_taught_to_write_is_accepted(prompt: str, count: int) -> None:
    assert accepted(render_records([record()] * count, prompt))


@pytest.mark.parametrize(
    "time", ["", "2026", "2026-02", "2026-02-09", "2026-02-09T08:30", "2026-02-09T08:30:00+01:00", "2026-01/2026-03-04"]
)
def test_times_of_the_schema_are_accepted(time: str) -> None:
    assert accepted(render_records([record(time=time)], "full"))


@pytest.mark.parametrize("time", ["soon", "2026-13", "2026-02-32", "26", "2026-02-09T25:00", "2026/", " 2026"])
def test_other_times_are_not(time: str) -> None:
    assert not accepted(render_records([record(time=time)], "full"))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('"source_id":12', '"source_id":0'),
        ('"source_id":12', '"source_id":"12"'),
        ('"content":"Ana', '"content":"An\na'),
        ('"content":"Ana, 3½, swims."', '"content":""'),
        ('"episodic"', '"event"'),
        ("]}}]}", "]}},]}"),
        ("]}}]}", "]}}]"),
        ('{"memories"', '```{"memories"'),
    ],
)
def test_anything_else_is_not(wrong: str, right: str) -> None:
    answer = render_records([record()], "compact")
    assert accepted(answer) and wrong in answer
    assert not accepted(answer.replace(wrong, right))


def test_random_walks_end_in_answers_that_parse() -> None:
    rng = random.Random(4)
    for _ in range(200):
        state, written, patience = ANSWER.start, bytearray(), rng.randrange(10, 400)
        while not ANSWER.accepts(state):
            ways = [(byte, ANSWER.step(state, byte)) for byte in range(256)]
            ways = [(byte, after) for byte, after in ways if after]
            if len(written) > patience:
                ways.sort(key=lambda way: ANSWER.bytes_to_end(way[1]))
                ways = ways[:1]
            byte, state = rng.choice(ways)
            written.append(byte)
        assert isinstance(json.loads(written.decode())["memories"], list)


def test_the_shortest_ending_is_as_long_as_it_says() -> None:
    state, steps = ANSWER.start, ANSWER.bytes_to_end(ANSWER.start)
    assert steps == len('{"memories":[]}')
    for left in range(steps, 0, -1):
        assert ANSWER.bytes_to_end(state) == left
        state = min((ANSWER.step(state, byte) for byte in range(256)), key=ANSWER.bytes_to_end)
    assert ANSWER.accepts(state)


torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from engrain.runtime.extraction.constrained import AnswerMasks, token_bytes  # noqa: E402
from engrain.runtime.extraction.local import LocalGenerator  # noqa: E402


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def wide(model: Any) -> Any:
    """The tiny Llama with room for an answer."""
    model.config.max_position_embeddings = 2048
    return model


@pytest.mark.parametrize("budget", [16, 40, 90, 300])
def test_a_random_model_writes_valid_json_within_any_budget(wide: Any, tokenizer: Any, budget: int) -> None:
    free = LocalGenerator(wide, tokenizer, max_new_tokens=budget)
    held = LocalGenerator(wide, tokenizer, max_new_tokens=budget, batch_size=3, constrain=True)
    chats = [chat("a" * length) for length in (20, 3, 41, 1, 12)]
    window = Window((TURN,))
    assert not any(parse_records(answer.text, window).valid_json for answer in free.generate(chats))
    answers = held.generate(chats)
    for answer in answers:
        assert isinstance(json.loads(answer.text)["memories"], list)
        assert len(tokenizer.encode(answer.text, add_special_tokens=False)) < budget
    alone = LocalGenerator(wide, tokenizer, max_new_tokens=budget, batch_size=1, constrain=True)
    assert [alone.generate([one])[0] for one in chats] == answers


def test_an_answer_that_the_budget_closed_says_so(wide: Any, tokenizer: Any) -> None:
    chats = [chat("a" * length) for length in range(1, 25, 3)]
    short, long = (
        LocalGenerator(wide, tokenizer, max_new_tokens=budget, constrain=True).generate(chats) for budget in (70, 700)
    )
    # Same model, same greedy choices: what differs was closed by the smaller budget.
    for cut, free in zip(short, long, strict=True):
        assert cut.finish_reason == ("stop" if cut.text == free.text and free.finish_reason == "stop" else "length")
    assert {answer.finish_reason for answer in short} == {"stop", "length"}


def test_masks_agree_with_the_automaton_token_by_token(tokenizer: Any) -> None:
    masks = AnswerMasks(tokenizer)
    state = masks.automaton.start
    for token in tokenizer.encode('{"memories":[{"source_id":3,"content":"é', add_special_tokens=False):
        assert masks.needs(state)[token] < 1000
        state = masks.advance(state, token)
    for token, written in enumerate(token_bytes(tokenizer)):
        after = state
        for byte in written:
            after = masks.automaton.step(after, byte)
        expected = bool(written and after) or (token == tokenizer.eos_token_id and masks.automaton.accepts(state))
        assert (masks.needs(state)[token] < 1000) == expected, written


def test_sentencepiece_tokens_are_read_as_bytes(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models

    pieces = [("<unk>", 0.0), ("\u2581a", -1.0), ("<0xC3>", -2.0), ("b", -2.0)]
    inner = Tokenizer(models.Unigram(pieces, 0, byte_fallback=True))
    inner.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    assert token_bytes(fast)[1:] == [b" a", b"\xc3", b"b"]


@pytest.mark.parametrize("settings", [{"max_new_tokens": 15}, {"max_new_tokens": 50, "thinking": True}])
def test_settings_that_cannot_be_constrained_are_refused(model: Any, tokenizer: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="constrain"):
        LocalGenerator(model, tokenizer, constrain=True, **settings)
