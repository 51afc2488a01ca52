"""From windows to examples: the teacher's records under the extraction prompt, filtered, split by story or chat."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engrain.data_builders.quality.leaks import PassageIndex
from engrain.data_builders.synthesis.asking import ask
from engrain.data_builders.synthesis.filters import drop_repeated, filter_window
from engrain.data_builders.synthesis.rejects import Reject, SynthesisReject
from engrain.data_builders.synthesis.settings import SynthesisSettings
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.prompts import PROMPT_HASH, extraction_messages
from engrain.runtime.extraction.windows import Window, cut_windows
from engrain.runtime.llm.chat import ModelClient
from engrain.runtime.schema import ExtractionExample, Session, Split, WindowStyle

Progress = Callable[[int, int], None]
PROMPT = "full"
"""Teachers and the paper's 4B model read the whole instruction."""


@dataclass(frozen=True)
class NamedWindow:
    """A window to annotate; windows of one group never stand in both splits."""

    id: str
    group: str
    style: WindowStyle
    window: Window


def story_windows(sessions: Sequence[Session], size: int, overlap: int) -> list[NamedWindow]:
    """The windows of written dialogues; a story is a group."""
    style = WindowStyle.LOCOMO
    return [
        NamedWindow(f"{session.id}/w{number:02d}", session.id.partition("/")[0], style, window)
        for session in sessions
        for number, window in enumerate(cut_windows(session.turns, style=style, size=size, overlap=overlap), start=1)
    ]


def annotate(
    client: ModelClient,
    windows: Sequence[NamedWindow],
    settings: SynthesisSettings,
    *,
    teacher: str,
    benchmarks: Mapping[str, PassageIndex] | None = None,
    progress: Progress | None = None,
) -> tuple[list[ExtractionExample], list[Reject]]:
    """Ask for the records of every window and keep what passes every filter, in the order of the windows.

    Nothing is asked for a window that is another's repetition or stands in a benchmark: that would be paid in vain.
    """
    rejects = [*_repetitions(windows), *_leaks(windows, benchmarks or {})]
    refused = {reject.id for reject in rejects}
    asked = {one.id: one for one in windows if one.id not in refused}
    prompts = [(one.id, extraction_messages(one.window, one.style, PROMPT)) for one in asked.values()]
    temperature = settings.asking.annotate_temperature
    answers, failed = ask(client, prompts, settings.asking, temperature=temperature, progress=progress)
    rejects += failed
    examples = []
    for answer in answers:
        one = asked[answer.id]
        result = parse_records(answer.text, one.window)
        records, found = filter_window(one.id, one.window, one.style, result, settings.filters)
        rejects += found
        if records is not None:
            examples.append(
                ExtractionExample(
                    id=one.id,
                    split=_split(one.group, settings),
                    style=one.style,
                    window=one.window.turns,
                    overlap=one.window.overlap,
                    records=records,
                    teacher=teacher,
                    prompt_hash=PROMPT_HASH[PROMPT],
                )
            )
    return examples, rejects


def wanted(examples: Sequence[ExtractionExample], settings: SynthesisSettings) -> list[ExtractionExample]:
    """At most as many examples of each style as the settings ask for, the first ones."""
    most = {WindowStyle.LOCOMO: settings.stories.examples, WindowStyle.LONGMEMEVAL: settings.chats.examples}
    taken: Counter[WindowStyle] = Counter()
    kept = []
    for example in examples:
        if taken[example.style] < most[example.style]:
            taken[example.style] += 1
            kept.append(example)
    return kept


def _split(group: str, settings: SynthesisSettings) -> Split:
    drawn = random.Random(f"{settings.seed}/{group}").random()
    return Split.VALIDATION if drawn < settings.validation_share else Split.TRAIN


def _said(window: Window) -> str:
    return " ".join(turn.text for turn in window.new_turns)


def _repetitions(windows: Sequence[NamedWindow]) -> list[Reject]:
    repeated = drop_repeated([(one.id, _said(one.window)) for one in windows])
    return [
        Reject(id=name, reason=SynthesisReject.DUPLICATE, detail=f"the same messages as {first}")
        for name, first in repeated.items()
    ]


def _leaks(windows: Sequence[NamedWindow], benchmarks: Mapping[str, PassageIndex]) -> list[Reject]:
    """Windows of which a message stands in a benchmark by half or more of its words."""
    rejects: dict[str, Reject] = {}
    for name, index in benchmarks.items():
        rows = [(one.id, turn.text) for one in windows for turn in one.window.new_turns]
        for (window, text), found in zip(rows, index.coverage([text for _, text in rows]), strict=True):
            if found.proves:
                detail = f"{name}, {found.source}: {found.share:.0%} of a message"
                rejects.setdefault(window, Reject(id=window, reason=SynthesisReject.LEAK, detail=detail, raw=text))
    return list(rejects.values())
