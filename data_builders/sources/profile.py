"""What a corpus consists of, counted in one pass: sessions, turns, roles, languages, lengths, times, examples."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice

import numpy as np
from pydantic import Field
from tokenizers import Tokenizer

from engrain.data_builders.quality.language import language_of
from engrain.data_builders.sources.dialogue import LabelledSession, Source, SourceInfo
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import pack, prepare_tokenizer
from engrain.runtime.schema import Contract, Role, Turn, Utterance

WINDOWS = (1, 3, 5)
"""Numbers of context messages that SLICE-Mem compares (C.1)."""

MAX_LENGTH = 512
"""Tokens of the gate's input (SLICE-Mem B.1)."""

_SPEAKERS_SHOWN = 12
_TEXT_SHOWN = 300

Progress = Callable[[int], None]


class TokenLengths(Contract):
    """Lengths of the gate's inputs, in tokens, for one number of context messages."""

    k: int = Field(description="Context messages.")
    mean: float
    median: float
    p95: float
    longest: int
    over_limit: int = Field(description="User turns whose input does not fit and loses its oldest context.")
    target_over_limit: int = Field(description="Those that do not even fit without context.")


class CorpusProfile(Contract):
    """Counts of a corpus, or of its first sessions."""

    info: SourceInfo
    splits: dict[str, int] = Field(description="Sessions by split, for corpora that have splits.")
    complete: bool = Field(description="Whether the whole corpus was read.")
    sessions: int
    people: int
    turns: int
    roles: dict[Role, int] = Field(description="Turns by role.")
    speakers: dict[str, int] = Field(description="Turns of the most frequent speakers.")
    labelled: int = Field(description="User turns with a gate label.")
    positives: int
    languages: dict[str, int] = Field(description="User turns by language.")
    characters: float = Field(description="Mean characters of a user turn.")
    turns_a_session: float = Field(description="Mean turns of a session.")
    first: datetime | None
    last: datetime | None
    left_out: dict[str, int] = Field(description="What the reader left out or mended, by kind.")
    limit: int = Field(default=MAX_LENGTH, description="Tokens of the gate's input.")
    lengths: tuple[TokenLengths, ...] = Field(description="Empty when there is no tokenizer.")
    examples: tuple[tuple[str, ...], ...] = Field(description="Turns of the first sessions, `speaker (role): text`.")


def profile_corpus(
    source: Source,
    *,
    tokenizer: Tokenizer | None = None,
    limit: int | None = None,
    examples: int = 2,
    progress: Progress | None = None,
) -> CorpusProfile:
    """Read `source`, or its first `limit` sessions, and count. `progress` is called with the sessions read.

    Raises `InputError` as the source does, and when it has no session.
    """
    counts = _Counts(tokenizer, examples)
    stream = iter(source.sessions())
    for number, labelled in enumerate(islice(stream, limit), start=1):
        counts.add(labelled)
        if progress is not None:
            progress(number)
    complete = limit is None or next(stream, None) is None
    if not counts.sessions:
        raise InputError(f"{source.info.name} has no sessions at that place")
    return counts.profile(source, complete)


def _left_out(source: Source) -> dict[str, int]:
    """What a reader counted, in `counts` or in a property of its own."""
    own = {name: getattr(source, name, 0) for name in ("empty_turns", "dates_without_session")}
    return {kind: count for kind, count in getattr(source, "counts", own).items() if count}


class _Counts:
    """Running counts of one pass."""

    def __init__(self, tokenizer: Tokenizer | None, examples: int) -> None:
        self.sessions = self.turns = self.characters = self.labelled = self.positives = 0
        self.people: set[str] = set()
        self.roles: Counter[Role] = Counter()
        self.speakers: Counter[str] = Counter()
        self.splits: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.examples: list[tuple[str, ...]] = []
        self._wanted = examples
        self._lengths = _Lengths(tokenizer) if tokenizer is not None else None

    def add(self, labelled: LabelledSession) -> None:
        """Count one session."""
        turns = labelled.session.turns
        self.sessions += 1
        self.turns += len(turns)
        self.people.add(labelled.person)
        self.labelled += len(labelled.labels)
        self.positives += sum(label.keep for label in labelled.labels.values())
        if "split" in labelled.metadata:
            self.splits[str(labelled.metadata["split"])] += 1
        for turn in turns:
            self._add_turn(turn)
        if self._lengths is not None:
            self._lengths.add(turns)
        if len(self.examples) < self._wanted:
            self.examples.append(tuple(_shown(turn) for turn in turns[:4]))

    def _add_turn(self, turn: Turn) -> None:
        self.roles[turn.role] += 1
        self.speakers[turn.speaker] += 1
        if turn.role is Role.USER:
            self.languages[language_of(turn.text)] += 1
            self.characters += len(turn.text)
        self.first = turn.timestamp if self.first is None else min(self.first, turn.timestamp)
        self.last = turn.timestamp if self.last is None else max(self.last, turn.timestamp)

    def profile(self, source: Source, complete: bool) -> CorpusProfile:
        """The finished counts."""
        return CorpusProfile(
            info=source.info,
            splits=dict(self.splits),
            complete=complete,
            sessions=self.sessions,
            people=len(self.people),
            turns=self.turns,
            roles=dict(self.roles),
            speakers=dict(self.speakers.most_common(_SPEAKERS_SHOWN)),
            labelled=self.labelled,
            positives=self.positives,
            languages=dict(self.languages.most_common()),
            characters=self.characters / max(self.roles[Role.USER], 1),
            turns_a_session=self.turns / self.sessions,
            first=self.first,
            last=self.last,
            left_out=_left_out(source),
            lengths=self._lengths.summary() if self._lengths is not None else (),
            examples=tuple(self.examples),
        )


class _Lengths:
    """Lengths of the inputs that the gate would be given, for every window; each turn is tokenised once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = prepare_tokenizer(tokenizer)
        # Frame and markers, which every input has once.
        probe = Utterance(speaker="a", text="b")
        self._overhead = len(pack(tokenizer, (), probe, k=0, max_length=MAX_LENGTH).ids) - self._count(["b"])[0]
        self._targets = array("L")
        self._inputs = {k: array("L") for k in WINDOWS}

    def add(self, turns: Sequence[Turn]) -> None:
        """Count the inputs of a session's user turns."""
        before: deque[int] = deque(maxlen=max(WINDOWS))
        for turn, count in zip(turns, self._count([turn.text for turn in turns]), strict=True):
            if turn.role is Role.USER:
                self._targets.append(count + self._overhead)
                for k, lengths in self._inputs.items():
                    lengths.append(count + self._overhead + sum(list(before)[-k:]))
            before.append(count)

    def summary(self) -> tuple[TokenLengths, ...]:
        """Lengths by window; nothing when there was no user turn."""
        targets = np.array(self._targets)
        return tuple(_summary(k, np.array(lengths), targets) for k, lengths in self._inputs.items() if lengths)

    def _count(self, texts: Iterable[str]) -> list[int]:
        encodings = self._tokenizer.encode_batch([f"S1: {text}" for text in texts], add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]


def _summary(k: int, lengths: np.typing.NDArray[np.int_], targets: np.typing.NDArray[np.int_]) -> TokenLengths:
    return TokenLengths(
        k=k,
        mean=float(lengths.mean()),
        median=float(np.median(lengths)),
        p95=float(np.quantile(lengths, 0.95)),
        longest=int(lengths.max()),
        over_limit=int((lengths > MAX_LENGTH).sum()),
        target_over_limit=int((targets > MAX_LENGTH).sum()),
    )


def _shown(turn: Turn) -> str:
    text = turn.text if len(turn.text) <= _TEXT_SHOWN else turn.text[: _TEXT_SHOWN - 1] + "…"
    return f"{turn.speaker} ({turn.role.value}): {text}"
