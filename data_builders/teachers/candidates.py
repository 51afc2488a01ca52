"""Candidates for annotation: user turns drawn at random from a corpus, each with the messages before it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.teachers.records import Candidate
from engrain.data_builders.teachers.settings import CandidateSettings
from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role, Turn, Utterance


@dataclass(frozen=True)
class Drawn:
    """Candidates in the order of the corpus, and what was read for them."""

    candidates: tuple[Candidate, ...]
    sessions: int
    user_turns: int
    repeated: int


def draw_candidates(
    sessions: Iterable[LabelledSession], *, corpus: str, context: int, settings: CandidateSettings
) -> Drawn:
    """Draw `settings.count` user turns in one pass, so that memory does not grow with the corpus.

    A turn that repeats an earlier one word for word, context included, is left out and counted. Raises `InputError`
    when the corpus has fewer user turns than asked.
    """
    rng = random.Random(f"{settings.seed}/candidates/{corpus}")
    reservoir: list[tuple[int, Candidate]] = []
    seen: set[str] = set()
    read = turns = repeated = 0
    for labelled in islice(sessions, settings.sessions):
        read += 1
        for candidate in _user_turns(labelled, corpus, context, settings.group_by):
            said = text_hash(*(part.text for part in (*candidate.context, candidate.target)))
            if said in seen:
                repeated += 1
                continue
            seen.add(said)
            turns += 1
            if len(reservoir) < settings.count:
                reservoir.append((turns, candidate))
            elif (place := rng.randrange(turns)) < settings.count:
                reservoir[place] = (turns, candidate)
    if turns < settings.count:
        raise InputError(
            f"{corpus}: {settings.count} candidates were asked for, but {read} sessions hold {turns} distinct user "
            "turns; lower candidates.count, or give more of the corpus"
        )
    drawn = tuple(candidate for _, candidate in sorted(reservoir, key=lambda entry: entry[0]))
    return Drawn(drawn, read, turns, repeated)


def _user_turns(labelled: LabelledSession, corpus: str, context: int, group_by: str) -> Iterator[Candidate]:
    turns = labelled.session.turns
    group = labelled.person if group_by == "person" else labelled.session.id
    if not group.startswith(f"{corpus}/"):
        group = f"{corpus}/{group}"
    for position, turn in enumerate(turns):
        if turn.role is Role.USER:
            yield Candidate(
                id=turn.id,
                corpus=corpus,
                group=group,
                context=tuple(_said(before) for before in turns[max(0, position - context) : position]),
                target=_said(turn),
            )


def _said(turn: Turn) -> Utterance:
    return Utterance(speaker=turn.speaker, text=turn.text)
