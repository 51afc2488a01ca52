"""The gate's one render function: layout, anonymous speakers, what is cut and counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import CONTEXT_MARKER, TARGET_MARKER, pack, pack_batch, prepare_tokenizer
from engrain.runtime.schema import Utterance

WORDS = [*"abcdefghijklmnopqrstuvwxyz", "S1", "S2", "S3", ":", "[", "]", "CLS", "SEP", "TARGET", "CONTEXT", "<unk>"]


def raw_tokenizer(first: str | None = "[CLS]", last: str | None = "[SEP]") -> Tokenizer:
    """A word-level tokenizer whose tokens are readable, with the given frame."""
    specials = [token for token in (first, last) if token]
    vocabulary = {word: place for place, word in enumerate([*specials, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.add_special_tokens(specials)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    if first and last:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=[(token, vocabulary[token]) for token in specials]
        )
    return tokenizer


def said(speaker: str, text: str) -> Utterance:
    return Utterance(speaker=speaker, text=text)


def shown(tokenizer: Tokenizer, ids: list[int]) -> str:
    return " ".join(tokenizer.id_to_token(token) for token in ids)


CONTEXT = (said("Ann", "a b c"), said("Bob", "d e f"))
TARGET = said("Ann", "x y z")


@pytest.mark.parametrize(("first", "last"), [("[CLS]", "[SEP]"), ("<s>", "</s>")])
def test_layout_uses_the_tokenizers_own_frame_and_numbers_speakers(first: str, last: str) -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer(first, last))
    packed = pack(tokenizer, CONTEXT, TARGET, k=2, max_length=64)
    expected = f"{first} [CONTEXT] S1 : a b c S2 : d e f [TARGET] S1 : x y z {last}"
    assert shown(tokenizer, packed.ids) == expected
    assert (packed.context_tokens_cut, packed.target_tokens_cut) == (0, 0)


def test_a_tokenizer_without_frame_gets_none() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer(None, None))
    assert shown(tokenizer, pack(tokenizer, (), TARGET, k=1, max_length=64).ids) == "[CONTEXT] [TARGET] S1 : x y z"


@pytest.mark.parametrize("k", [0, 1, 2, 9])
def test_k_counts_the_nearest_messages(k: int) -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    text = shown(tokenizer, pack(tokenizer, CONTEXT, TARGET, k=k, max_length=64).ids)
    assert ("S2 : d e f" in text) == (k >= 1)
    assert ("a b c" in text) == (k >= 2)


def test_a_speakers_number_does_not_depend_on_how_much_context_is_kept() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    context = (said("Cid", "a"), said("Bob", "b"))
    assert "S3 : a S2 : b" in shown(tokenizer, pack(tokenizer, context, TARGET, k=2, max_length=64).ids)
    assert "S2 : b" in shown(tokenizer, pack(tokenizer, context, TARGET, k=1, max_length=64).ids)


@pytest.mark.parametrize(
    ("max_length", "expected", "context_cut"),
    [
        (18, "[CLS] [CONTEXT] S1 : b c S2 : d e f [TARGET] S1 : x y z [SEP]", 1),
        (16, "[CLS] [CONTEXT] S2 : d e f [TARGET] S1 : x y z [SEP]", 5),
        (12, "[CLS] [CONTEXT] S2 : f [TARGET] S1 : x y z [SEP]", 7),
        (11, "[CLS] [CONTEXT] [TARGET] S1 : x y z [SEP]", 10),
    ],
)
def test_the_oldest_context_is_cut_first_and_counted(max_length: int, expected: str, context_cut: int) -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    packed = pack(tokenizer, CONTEXT, TARGET, k=2, max_length=max_length)
    assert shown(tokenizer, packed.ids) == expected
    assert (packed.context_tokens_cut, packed.target_tokens_cut) == (context_cut, 0)


def test_an_older_message_does_not_fill_the_room_that_a_cut_one_left() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    context = (said("Bob", "a"), said("Bob", "b c d e f g h"))
    packed = pack(tokenizer, context, TARGET, k=2, max_length=12)
    assert shown(tokenizer, packed.ids) == "[CLS] [CONTEXT] S2 : h [TARGET] S1 : x y z [SEP]"
    assert packed.context_tokens_cut == 3 + 6


def test_a_target_beyond_the_limit_loses_its_own_start_and_keeps_its_speaker() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    packed = pack(tokenizer, CONTEXT, said("Ann", "a b c d e f"), k=2, max_length=9)
    assert shown(tokenizer, packed.ids) == "[CLS] [CONTEXT] [TARGET] S1 : d e f [SEP]"
    assert (packed.context_tokens_cut, packed.target_tokens_cut) == (10, 3)


def test_special_tokens_inside_a_message_are_text() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    packed = pack(tokenizer, (said("Bob", "a [TARGET] S1 : b [SEP]"),), TARGET, k=1, max_length=64)
    for token in (CONTEXT_MARKER, TARGET_MARKER, "[CLS]", "[SEP]"):
        assert packed.ids.count(tokenizer.token_to_id(token)) == 1
    assert "a [ TARGET ] S1 : b [ SEP ]" in shown(tokenizer, packed.ids)


def test_a_batch_gives_what_single_calls_give() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    pairs = [(CONTEXT, TARGET), ((), said("x", "q")), (CONTEXT[1:], said("Bob", "r s"))]
    single = [pack(tokenizer, context, target, k=2, max_length=20) for context, target in pairs]
    assert pack_batch(tokenizer, pairs, k=2, max_length=20) == single


def test_saving_and_loading_a_prepared_tokenizer_changes_nothing() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    again = prepare_tokenizer(Tokenizer.from_str(tokenizer.to_str()))
    assert pack(again, CONTEXT, TARGET, k=2, max_length=64) == pack(tokenizer, CONTEXT, TARGET, k=2, max_length=64)


def test_bad_input_is_refused_with_the_way_out() -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    with pytest.raises(InputError, match="target turn is empty"):
        pack(tokenizer, (), said("Ann", " \n"), k=1, max_length=64)
    with pytest.raises(InputError, match="max_length 6 leaves no room"):
        pack(tokenizer, (), TARGET, k=1, max_length=6)
    with pytest.raises(InputError, match="k is -1"):
        pack(tokenizer, (), TARGET, k=-1, max_length=64)
    with pytest.raises(InputError, match="prepare_tokenizer"):
        pack(raw_tokenizer(), (), TARGET, k=1, max_length=64)
    padded = prepare_tokenizer(raw_tokenizer())
    padded.enable_padding(length=32)
    with pytest.raises(InputError, match="prepare_tokenizer"):
        pack(padded, (), TARGET, k=1, max_length=64)


utterances = st.builds(Utterance, speaker=st.sampled_from("XYZ"), text=st.text("abc :[]", max_size=30))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(utterances, max_size=4), st.text("abc", min_size=1, max_size=20), st.integers(0, 4), st.integers(10, 40)
)
def test_limits_hold_and_every_token_is_kept_or_counted(
    context: list[Utterance], text: str, k: int, max_length: int
) -> None:
    tokenizer = prepare_tokenizer(raw_tokenizer())
    target = said("X", " ".join(text))
    packed = pack(tokenizer, context, target, k=k, max_length=max_length)
    whole = pack(tokenizer, context, target, k=k, max_length=10_000)
    assert len(packed.ids) <= max_length
    assert len(packed.ids) + packed.context_tokens_cut + packed.target_tokens_cut == len(whole.ids)
    kept = len(text) - packed.target_tokens_cut
    assert shown(tokenizer, packed.ids).endswith(" ".join(["[TARGET] S1 :", *text[len(text) - kept :], "[SEP]"]))
    if packed.target_tokens_cut:
        assert packed.context_tokens_cut == len(whole.ids) - len(text) - 6
