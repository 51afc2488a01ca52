"""Leaks: training turns that stand in a benchmark, or in a split that is kept for evaluation.

What counts is how much of a turn stands there word for word: the words inside runs of 13 that the other side has too
(the usual n-gram of contamination checks), or the whole of a shorter turn. Half or more is a leak; a smaller part is a
quotation or a figure of speech ("Thank you for the recommendations, I will definitely look into ..."), counted but no
proof. A whole session leaks when half or more of its user words do. Only user turns are compared: they are what a gate
learns and what a benchmark asks about, and assistants share boilerplate ("As an AI language model ...").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.data_builders.quality.text import Hashes, Positions, WordHasher, WordHashes
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.schema import Contract, Role

RUN = 13
"""Words in a run."""
PROOF = 0.5
"""Share of a turn's or a session's words from which it is a leak."""
SHORT_WORDS = 4
"""A turn of fewer words ("Yes, please.") proves nothing by itself; within a session its words count."""
_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and where it stands: a turn, session or row id."""

    place: str
    text: str


class Coverage(Contract):
    """How much of a text stands on the other side."""

    words: int
    shared: int = Field(description="Words inside shared runs of 13, or all words of a shorter text found whole.")
    source: str = Field(default="", description="Where the first of them stands; empty when there are none.")

    @property
    def share(self) -> float:
        """Shared words over words."""
        return self.shared / self.words if self.words else 0.0

    @property
    def proves(self) -> bool:
        """Whether the text by itself is a leak."""
        return self.words >= SHORT_WORDS and self.share >= PROOF

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            words=self.words + other.words, shared=self.shared + other.shared, source=self.source or other.source
        )


NOTHING = Coverage(words=0, shared=0)


class PassageIndex:
    """The runs and short texts of one side, as sorted hashes with the place where each was first seen."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._hasher = WordHasher()
        self._places: list[str] = []
        runs: list[tuple[Hashes, Positions]] = []
        whole: list[tuple[Hashes, Positions]] = []
        for batch in _batches(passages):
            offset = len(self._places)
            self._places += [passage.place for passage in batch]
            hashed = self._hasher(passage.text for passage in batch)
            for found, (hashes, owners) in ((runs, hashed.grams(RUN)), (whole, _short_texts(hashed))):
                found.append(_first((hashes, owners + offset)))
        self._runs, self._run_places = _first(_joined(runs))
        self._whole, self._whole_places = _first(_joined(whole))
        self.passages = len(self._places)

    def coverage(self, texts: Sequence[str]) -> list[Coverage]:
        """How much of each text stands in the passages."""
        hashed = self._hasher(texts)
        words = np.diff(hashed.starts)
        shared = np.zeros(len(hashed), dtype=np.int64)
        source = np.full(len(hashed), -1, dtype=np.int64)
        runs, owners = hashed.grams(RUN)
        hits, places = _look_up(runs, self._runs, self._run_places)
        if hits.any():
            shared += _covered_words(hashed, owners, hits)
            source[owners[hits][::-1]] = places[::-1]
        short, owners = _short_texts(hashed)
        hits, places = _look_up(short, self._whole, self._whole_places)
        shared[owners[hits]] = words[owners[hits]]
        source[owners[hits]] = places
        return [
            Coverage(words=int(count), shared=int(part), source=self._places[place] if place >= 0 else "")
            for count, part, place in zip(words, shared, source, strict=True)
        ]


class Leak(Contract):
    """A row or a session that stands on the other side."""

    id: str
    against: str = Field(description="The benchmark or split.")
    source: str = Field(description="Where it stands there.")
    share: float = Field(description="Share of its words that do.")
    text: str


class SessionLeaks(Contract):
    """Sessions compared with the benchmarks; every leak is named."""

    sessions: int
    leaks: tuple[Leak, ...] = Field(description="Sessions of which half or more stands in a benchmark.")
    touched: int = Field(description="Other sessions that share some run of 13 words, or a short turn, with one.")

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the sessions that leak."""
        return frozenset(leak.id for leak in self.leaks)


def user_passages(sessions: Iterable[LabelledSession]) -> Iterator[Passage]:
    """Every user turn of some sessions, with its session's id as place."""
    for labelled in sessions:
        for turn in labelled.session.turns:
            if turn.role is Role.USER:
                yield Passage(labelled.session.id, turn.text)


def index_benchmarks(benchmarks: Mapping[str, Iterable[LabelledSession]]) -> dict[str, PassageIndex]:
    """An index a benchmark, over its user turns."""
    return {name: PassageIndex(user_passages(sessions)) for name, sessions in benchmarks.items()}


class LeakFilter:
    """Passes on sessions that do not leak, one by one, and remembers the others: `report` names every one dropped."""

    def __init__(self, benchmarks: Mapping[str, PassageIndex]) -> None:
        self._benchmarks = benchmarks
        self._leaks: list[Leak] = []
        self._sessions = self._touched = 0

    def __call__(self, sessions: Iterable[LabelledSession]) -> Iterator[LabelledSession]:
        """The sessions of which less than half of the user words stand in a benchmark."""
        for labelled in sessions:
            self._sessions += 1
            leak = self._leak_of(labelled) if self._benchmarks else None
            if leak is None:
                yield labelled
            else:
                self._leaks.append(leak)

    @property
    def report(self) -> SessionLeaks:
        """What was seen so far."""
        return SessionLeaks(sessions=self._sessions, leaks=tuple(self._leaks), touched=self._touched)

    def _leak_of(self, labelled: LabelledSession) -> Leak | None:
        texts = [turn.text for turn in labelled.session.turns if turn.role is Role.USER]
        found = {name: sum(index.coverage(texts), NOTHING) for name, index in self._benchmarks.items()}
        worst = max(found, key=lambda name: found[name].share)
        if found[worst].share >= PROOF:
            return _leak(labelled.session.id, worst, found[worst], " / ".join(texts))
        self._touched += found[worst].shared > 0
        return None


def _leak(name: str, against: str, coverage: Coverage, text: str) -> Leak:
    return Leak(id=name, against=against, source=coverage.source, share=round(coverage.share, 4), text=text)


def _batches(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    iterator = iter(passages)
    while batch := list(islice(iterator, _AT_ONCE)):
        yield batch


def _short_texts(hashed: WordHashes) -> tuple[Hashes, Positions]:
    """A hash for each text shorter than a run, over all its words, and which text it is."""
    words = np.diff(hashed.starts)
    hashes = [np.empty(0, dtype=np.uint64)]
    owners = [np.empty(0, dtype=np.int64)]
    for size in range(1, RUN):
        those = np.flatnonzero(words == size)
        if len(those):
            grams, _ = hashed.of(those).grams(size)
            # The length goes into the hash: "yes" and "yes yes" start alike.
            hashes.append(grams + np.uint64(size))
            owners.append(those)
    return np.concatenate(hashes), np.concatenate(owners)


def _joined(parts: Sequence[tuple[Hashes, Positions]]) -> tuple[Hashes, Positions]:
    if not parts:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    return np.concatenate([hashes for hashes, _ in parts]), np.concatenate([places for _, places in parts])


def _first(found: tuple[Hashes, Positions]) -> tuple[Hashes, Positions]:
    """Distinct hashes in order, each with the place of its first occurrence."""
    hashes, at = np.unique(found[0], return_index=True)
    return hashes, found[1][at]


def _look_up(asked: Hashes, known: Hashes, places: Positions) -> tuple[NDArray[np.bool_], Positions]:
    """Which hashes are known, and the places of those that are."""
    if not len(known):
        return np.zeros(len(asked), dtype=bool), np.empty(0, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    hits = known[at] == asked
    return hits, places[at[hits]]


def _covered_words(hashed: WordHashes, owners: Positions, hits: NDArray[np.bool_]) -> Positions:
    """Words of each text that lie inside at least one shared run."""
    first_of = np.searchsorted(owners, owners)
    begins = hashed.starts[owners[hits]] + (np.arange(len(owners)) - first_of)[hits]
    steps = np.zeros(len(hashed.hashes) + 1, dtype=np.int64)
    np.add.at(steps, begins, 1)
    np.add.at(steps, begins + RUN, -1)
    inside = np.concatenate([[0], np.cumsum(np.cumsum(steps[:-1]) > 0)])
    return np.asarray(inside[hashed.starts[1:]] - inside[hashed.starts[:-1]], dtype=np.int64)
