"""Every corpus reader by name: the one table that recipes and commands open a corpus through."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engrain.data_builders.sources.chat import ChatSource
from engrain.data_builders.sources.conversation_chronicles import ConversationChroniclesSource
from engrain.data_builders.sources.dialogue import LabelledSession, Source, SourceInfo
from engrain.data_builders.sources.esconv import EsconvSource
from engrain.data_builders.sources.jsonl import JsonlSource
from engrain.data_builders.sources.led import LedSource
from engrain.data_builders.sources.locomo import LocomoSource
from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.data_builders.sources.memora import MemoraSource
from engrain.data_builders.sources.msc import MscPersonaSource, MscSource
from engrain.data_builders.sources.reader import START, DialogueSource
from engrain.data_builders.sources.taskmaster2 import Taskmaster2Source
from engrain.data_builders.sources.ultrachat import UltraChatSource
from engrain.runtime.errors import InputError
from engrain.runtime.timestamps import parse_zone

LOCAL_ZONE = "UTC"
"""Zone of the local times of LoCoMo, LongMemEval and Memora, and of assigned ones, when none is stated."""


@dataclass(frozen=True)
class Choice:
    """What of a corpus is read: splits, zone of times without an offset, and people (personas, conversations)."""

    splits: tuple[str, ...] | None = None
    allow_missing: tuple[str, ...] = ()
    zone: str | None = None
    people: tuple[str, ...] | None = None


Opener = Callable[[Path | None, Choice], Source]


def open_source(
    name: str,
    root: Path | None = None,
    *,
    splits: Sequence[str] | None = None,
    allow_missing: Sequence[str] = (),
    zone: str | None = None,
    people: Sequence[str] | None = None,
) -> Source:
    """Open the corpus `name` at `root`, a folder or file; without a root it is read from a hub.

    Raises `InputError` for an unknown name, a corpus that is not at `root` in its published layout, a split that is
    absent and not in `allow_missing`, or a choice that this corpus cannot make.
    """
    if name not in SOURCES:
        close = difflib.get_close_matches(name, SOURCES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the corpora are {', '.join(SOURCES)}"
        raise InputError(f"no corpus is called {name!r}; {hint}")
    choice = Choice(tuple(splits) if splits else None, tuple(allow_missing), zone, tuple(people) if people else None)
    source = SOURCES[name](root, choice)
    if choice.people and name not in _CHOOSE_PEOPLE:
        return _OnlyPeople(source, choice.people)
    return source


def _dialogues(kind: Callable[..., DialogueSource]) -> Opener:
    def opened(root: Path | None, choice: Choice) -> Source:
        start: datetime = START.replace(tzinfo=parse_zone(choice.zone)) if choice.zone else START
        return kind(root, splits=choice.splits, allow_missing=choice.allow_missing, start=start)

    return opened


def _jsonl(root: Path | None, choice: Choice) -> Source:
    path = _required(root, "jsonl", choice)
    return JsonlSource(path, zone=parse_zone(choice.zone) if choice.zone else None)


def _locomo(root: Path | None, choice: Choice) -> Source:
    path = _required(root, "locomo", choice)
    return LocomoSource(path, time_zone=choice.zone or LOCAL_ZONE, conversations=choice.people)


def _longmemeval(root: Path | None, choice: Choice) -> Source:
    path = _required(root, "longmemeval", choice)
    return LongMemEvalSource(path, time_zone=choice.zone or LOCAL_ZONE, items=choice.people)


def _memora(root: Path | None, choice: Choice) -> Source:
    """With one split named, `root` is the data folder; otherwise it is the split's own folder."""
    if choice.splits is None or root is None:
        path = Path(os.path.normpath(Path.cwd() / _required(root, "memora", choice)))
        root, split = path.parent, path.name
    elif len(choice.splits) == 1:
        split = choice.splits[0]
    else:
        raise InputError(f"memora is read one split at a time; of {', '.join(choice.splits)} name one")
    return MemoraSource(root, split, time_zone=choice.zone or LOCAL_ZONE, personas=choice.people)


def _required(root: Path | None, name: str, choice: Choice) -> Path:
    if root is None:
        raise InputError(f"{name} is read from a folder or file; give its path")
    if (choice.splits or choice.allow_missing) and name != "memora":
        raise InputError(f"{name} has no splits; it is one file")
    return root


SOURCES: Mapping[str, Opener] = {
    "chat": _dialogues(ChatSource),
    "conversation-chronicles": _dialogues(ConversationChroniclesSource),
    "esconv": _dialogues(EsconvSource),
    "jsonl": _jsonl,
    "led": _dialogues(LedSource),
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "memora": _memora,
    "msc": _dialogues(MscSource),
    "msc-persona": _dialogues(MscPersonaSource),
    "taskmaster-2": _dialogues(Taskmaster2Source),
    "ultrachat": _dialogues(UltraChatSource),
}
"""Corpus name to what opens it."""

_CHOOSE_PEOPLE = frozenset({"locomo", "longmemeval", "memora"})
"""Readers that choose people themselves, and so need not read the others."""


class _OnlyPeople:
    """A source whose sessions are those of some people."""

    def __init__(self, source: Source, people: tuple[str, ...]) -> None:
        self._source = source
        self._people = people

    @property
    def info(self) -> SourceInfo:
        """The source's own."""
        return self._source.info

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions of the chosen people; an error at the end when one of them has none."""
        others: dict[str, None] = {}
        missing = set(self._people)
        for labelled in self._source.sessions():
            if labelled.person in self._people:
                missing.discard(labelled.person)
                yield labelled
            elif len(others) < _OTHERS_SHOWN:
                others[labelled.person] = None
        if missing:
            raise InputError(
                f"nobody of that name in {self.info.name}: {', '.join(sorted(missing))}; it has {', '.join(others)}"
            )


_OTHERS_SHOWN = 10
