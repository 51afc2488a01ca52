"""The rows that one persona gives to the Memora part of a gate corpus: drawn by label, naturally, or all of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engrain.data_builders.config import MemoraGateData
from engrain.data_builders.gate_corpus import Counts
from engrain.data_builders.sampling import Draw, draw
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.errors import InputError


@dataclass(frozen=True)
class Row:
    """A labelled turn that may become a row."""

    labelled: LabelledSession
    position: int
    keep: bool

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.labelled.session.turns[self.position].id

    @property
    def text(self) -> str:
        """What was said."""
        return self.labelled.session.turns[self.position].text


@dataclass(frozen=True)
class PersonDraw:
    """One persona's rows, and the counts of what was read and refused."""

    rows: tuple[Row, ...]
    sessions: int
    read: Counts
    discarded: int
    replaced: int


def rows_of(labelled: LabelledSession) -> Iterator[Row]:
    """The labelled turns of a session."""
    for position, turn in enumerate(labelled.session.turns):
        if (label := labelled.labels.get(turn.id)) is not None:
            yield Row(labelled, position, label.keep)


def draw_persona(
    persona: str,
    sessions: Iterable[LabelledSession],
    positives: int,
    guards: frozenset[str],
    settings: MemoraGateData,
) -> PersonDraw:
    """Draw one persona's rows: by label when stratified, from all its turns otherwise."""
    read = list(sessions)
    rows = [row for labelled in read for row in rows_of(labelled)]
    kept = [row for row in rows if row.keep]
    if settings.rows_per_persona is None:
        draws = [_take_all(rows, guards)]
    else:
        if settings.sampling == "natural":
            plan = [("labelled", rows, settings.rows_per_persona)]
        else:
            rest = [row for row in rows if not row.keep]
            plan = [("positive", kept, positives), ("negative", rest, settings.rows_per_persona - positives)]
        rng = random.Random(f"{settings.seed}/rows/{persona}")
        draws = [_draw_exactly(pool, count, kind, persona, guards, rng) for kind, pool, count in plan]
    taken = sorted((row for part in draws for row in part.rows), key=_place)
    return PersonDraw(
        rows=tuple(taken),
        sessions=len(read),
        read=Counts(rows=len(rows), positives=len(kept)),
        discarded=sum(part.discarded for part in draws),
        replaced=sum(part.replaced for part in draws),
    )


def _take_all(rows: Sequence[Row], guards: frozenset[str]) -> Draw[Row]:
    taken = [row for row in rows if row.text not in guards]
    return Draw(taken, discarded=len(rows) - len(taken), replaced=0)


def _draw_exactly(
    pool: Sequence[Row], count: int, kind: str, persona: str, guards: frozenset[str], rng: random.Random
) -> Draw[Row]:
    result = draw(pool, count, lambda row: row.text in guards, rng)
    if len(result.rows) < count:
        raise InputError(
            f"{persona}: {count} {kind} rows were asked for, but only {len(result.rows)} of {len(pool)} are left after "
            f"{result.discarded} were discarded by the overlap rule; lower rows_per_persona or change positive_share"
        )
    return result


def _place(row: Row) -> tuple[str, int]:
    return row.labelled.session.id, row.position
