"""Conversation groups: sessions so alike that a row of one gives away a row of the other (SLICE-Mem A.1).

A session is always whole. Two sessions, of whatever person, belong to one group when
- they share at least two user turns of more than 60 characters word for word, and these are at least half of such turns
  in the one that has fewer; or
- they share a labelled-positive user turn of more than 60 characters.
Shorter turns, and turns found in more than 50 sessions, are boilerplate ("It's going well, thanks!") and say nothing.
Groups are the connected components: 19,829 in the 19,913 sessions of Memora quarterly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.schema import Role

_LONG = 60
"""Characters above which an identical turn is evidence; the overlap rule of A.1 deals with what is shorter."""
_BOILERPLATE = 50
_SHARED_TURNS = 2
_SHARED_PART = 0.5


def conversation_groups(sessions: Sequence[LabelledSession]) -> dict[str, str]:
    """Session id to group id, which is the smallest session id of the group."""
    parents = {labelled.session.id: labelled.session.id for labelled in sessions}
    for first, second in _alike(sessions):
        a, b = _root(parents, first), _root(parents, second)
        parents[max(a, b)] = min(a, b)
    return {name: _root(parents, name) for name in parents}


def _alike(sessions: Sequence[LabelledSession]) -> Iterable[tuple[str, str]]:
    long_turns = {labelled.session.id: _long_user_turns(labelled) for labelled in sessions}
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for name, texts in long_turns.items():
        for text in texts:
            holders[text].append(name)
    positives = {text for labelled in sessions for text, keep in _long_user_turns(labelled).items() if keep}
    shared: Counter[tuple[str, str]] = Counter()
    for text, names in holders.items():
        if text in positives:
            yield from ((names[0], name) for name in names[1:])
        if len(names) <= _BOILERPLATE:
            shared.update(combinations(sorted(names), 2))
    for (first, second), count in shared.items():
        smaller = min(len(long_turns[first]), len(long_turns[second]))
        if count >= _SHARED_TURNS and count >= _SHARED_PART * smaller:
            yield first, second


def _long_user_turns(labelled: LabelledSession) -> dict[str, bool]:
    """Long user turns of a session, and whether any of that text is labelled positive."""
    found: dict[str, bool] = {}
    for turn in labelled.session.turns:
        if turn.role is Role.USER and len(turn.text) > _LONG:
            label = labelled.labels.get(turn.id)
            found[turn.text] = found.get(turn.text, False) or bool(label and label.keep)
    return found


def _root(parents: dict[str, str], name: str) -> str:
    while parents[name] != name:
        parents[name] = parents[parents[name]]
        name = parents[name]
    return name
