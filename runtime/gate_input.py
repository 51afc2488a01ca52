"""The gate's input, rendered in one place for training, evaluation and the runtime (SLICE-Mem section 3.1, A.2, B.1).

The layout, inside whatever frame the tokenizer's own post-processor gives (`[CLS] … [SEP]`, `<s> … </s>`, or none):

    [CONTEXT] S2: oldest kept message S1: … [TARGET] S1: the turn that is judged

The markers are added special tokens. Special tokens that occur inside a message are read as ordinary text, so that
no message can pretend to be the target. Speakers are anonymous: the target's is S1, the others are numbered from the
nearest message backwards, so a message keeps its number however much context is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import AddedToken, Encoding, Tokenizer

from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Utterance

CONTEXT_MARKER = "[CONTEXT]"
TARGET_MARKER = "[TARGET]"
MARKERS = (CONTEXT_MARKER, TARGET_MARKER)
_MESSAGE = "{speaker}: {text}"
TEMPLATE_HASH = text_hash("gate-input", "1", *MARKERS, _MESSAGE, "S1=target, S2.. from the nearest message backwards")

Pair = tuple[Sequence[Utterance], Utterance]


@dataclass(frozen=True)
class PackedInput:
    """Token ids of one input, and how many tokens of context and target did not fit."""

    ids: list[int]
    context_tokens_cut: int
    target_tokens_cut: int


@dataclass(frozen=True)
class _Frame:
    """Ids that stand around and between the messages."""

    before: list[int]
    after: list[int]
    context_marker: int
    target_marker: int

    @property
    def size(self) -> int:
        return len(self.before) + len(self.after) + 2


@dataclass(frozen=True)
class _Message:
    """A tokenised message: `prefix` ids hold the speaker, `text` ids what was said."""

    prefix: list[int]
    text: list[int]

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.text)

    def last(self, budget: int) -> list[int]:
        """The speaker and the last tokens of the text, at most `budget` ids; empty when no text would be left."""
        if budget >= self.size:
            return self.prefix + self.text
        kept = budget - len(self.prefix)
        return self.prefix + self.text[-kept:] if kept > 0 else []


def prepare_tokenizer(tokenizer: Tokenizer) -> Tokenizer:
    """Add the markers, switch off padding and truncation, and read special tokens in messages as text.

    Changes the tokenizer in place and returns it. Doing it twice changes nothing.
    """
    tokenizer.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in MARKERS])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def pack(
    tokenizer: Tokenizer, context: Sequence[Utterance], target: Utterance, *, k: int, max_length: int
) -> PackedInput:
    """Render one target with the last `k` messages of its context (oldest first) into at most `max_length` ids.

    Tokens are cut from the oldest context first, and the message that is cut keeps its speaker and its end. A target
    that is too long alone loses its own start. Raises `InputError` for an unprepared tokenizer, an empty target, or
    a `max_length` that leaves no room for a target.
    """
    return pack_batch(tokenizer, [(context, target)], k=k, max_length=max_length)[0]


def pack_batch(tokenizer: Tokenizer, pairs: Sequence[Pair], *, k: int, max_length: int) -> list[PackedInput]:
    """`pack` for many (context, target) pairs, tokenised together; each result depends on its own pair only."""
    if k < 0:
        raise InputError(f"k is {k}; it counts preceding messages, so write 0 or more")
    frame = _frame(tokenizer)
    rendered = [_render(context, target, k) for context, target in pairs]
    encodings = iter(tokenizer.encode_batch([line for lines in rendered for line in lines], add_special_tokens=False))
    packed = []
    for lines in rendered:
        messages = [_message(line, next(encodings)) for line in lines]
        packed.append(_assemble(frame, messages[:-1], messages[-1], max_length))
    return packed


def _render(context: Sequence[Utterance], target: Utterance, k: int) -> list[str]:
    """The kept context, oldest first, then the target, each as `S<n>: text`."""
    if not target.text.strip():
        raise InputError("the target turn is empty; only turns with text can be scored")
    kept = list(context[-k:]) if k else []
    names = {target.speaker: "S1"}
    for utterance in reversed(kept):
        names.setdefault(utterance.speaker, f"S{len(names) + 1}")
    return [_MESSAGE.format(speaker=names[said.speaker], text=said.text) for said in [*kept, target]]


def _frame(tokenizer: Tokenizer) -> _Frame:
    """Read the ids around a text from the tokenizer's post-processor, whatever its special tokens are called."""
    context_marker, target_marker = (tokenizer.token_to_id(marker) for marker in MARKERS)
    plain = tokenizer.encode_special_tokens and not tokenizer.padding and not tokenizer.truncation
    if context_marker is None or target_marker is None or not plain:
        raise InputError("this tokenizer has not been prepared; call `prepare_tokenizer(tokenizer)` first")
    probe = tokenizer.encode("a")
    inner = [place for place, special in enumerate(probe.special_tokens_mask) if not special]
    if not inner:
        raise InputError("this tokenizer gives no token for the letter 'a'; its vocabulary cannot be used for text")
    return _Frame(probe.ids[: inner[0]], probe.ids[inner[-1] + 1 :], context_marker, target_marker)


def _message(line: str, encoding: Encoding) -> _Message:
    """Split the ids of `S<n>: text` after the colon, by character offsets."""
    colon = line.index(":") + 1
    prefix = sum(1 for _, end in encoding.offsets if end <= colon)
    return _Message(encoding.ids[:prefix], encoding.ids[prefix:])


def _assemble(frame: _Frame, context: list[_Message], target: _Message, max_length: int) -> PackedInput:
    room = max_length - frame.size
    if room <= len(target.prefix):
        raise InputError(f"max_length {max_length} leaves no room for a target; {frame.size + 16} is a sensible least")
    target_ids = target.last(room)
    room -= len(target_ids)
    kept: list[list[int]] = []
    for message in reversed(context):
        ids = message.last(room)
        kept.append(ids)
        # A message that was cut ends the context: an older one must not stand in for its missing start.
        room = room - len(ids) if len(ids) == message.size else 0
    context_ids = [token for ids in reversed(kept) for token in ids]
    return PackedInput(
        ids=[*frame.before, frame.context_marker, *context_ids, frame.target_marker, *target_ids, *frame.after],
        context_tokens_cut=sum(message.size for message in context) - len(context_ids),
        target_tokens_cut=target.size - len(target_ids),
    )
