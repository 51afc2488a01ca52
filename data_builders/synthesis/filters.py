"""The filters between a teacher's answer and a training example (DimMem 3.5): each counted, its rejects kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrain.data_builders.synthesis.rejects import OF_PARSER, Reject, SynthesisReject
from engrain.data_builders.synthesis.settings import FilterSettings
from engrain.runtime.extraction.parsing import ParseResult
from engrain.runtime.extraction.support import unsupported_dimensions
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractedRecord, WindowStyle

_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) (?:week|weekend|month|year|night|summer|winter|spring|"
    r"autumn|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?|\w+ (?:days?|weeks?|months?|years?) ago|in (?:a|two|three|"
    r"four|\d+) (?:days?|weeks?|months?))\b",
    re.IGNORECASE,
)
"""Words that mean another day once the window is gone."""
_DANGLING = re.compile(r"^(?:I|we|my|our|you|your|he|she|they|it|this|that|there|these|those)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"(?:\bI(?:'m|'ve|'d|'ll)?|\b[Mm]y|\b[Mm]e|\bmine|\b[Ww]e|\b[Oo]ur)\b(?!\.)")
_OWN = re.compile(r"\b(?:i|i'm|i've|my|we|our)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]")


def filter_window(
    name: str, window: Window, style: WindowStyle, result: ParseResult, settings: FilterSettings
) -> tuple[tuple[ExtractedRecord, ...] | None, list[Reject]]:
    """The records of a window that may be taught, or None when the window is refused; and every reject."""
    rejects = [Reject(id=name, reason=OF_PARSER[one.reason], detail=one.reason, raw=one.raw) for one in result.rejects]
    whole = {SynthesisReject.CUT, SynthesisReject.MALFORMED}
    if not result.valid_json or result.truncated:
        if not any(reject.reason in whole for reject in rejects):
            rejects.append(Reject(id=name, reason=SynthesisReject.MALFORMED, detail="no complete list of memories"))
        return None, rejects
    kept: dict[str, ExtractedRecord] = {}
    for record in result.records:
        fault = _fault(record, window, style, settings)
        if fault is None and _plain(record.content) in kept:
            fault = SynthesisReject.DUPLICATE, "the same content twice in one window"
        if fault is None:
            kept[_plain(record.content)] = record
        else:
            rejects.append(Reject(id=name, reason=fault[0], detail=fault[1], raw=record.model_dump_json()))
    refused = len(rejects)
    if refused and refused > settings.most_dropped * (refused + len(kept)):
        detail = f"{refused} of {refused + len(kept)} records were refused"
        return None, [*rejects, Reject(id=name, reason=SynthesisReject.MOSTLY_REFUSED, detail=detail)]
    if not kept and not refused and (speaks := _speaks_of_itself(window, settings.content_words)):
        return None, [*rejects, Reject(id=name, reason=SynthesisReject.EMPTY, detail=speaks)]
    return tuple(kept.values()), rejects


def _fault(
    record: ExtractedRecord, window: Window, style: WindowStyle, settings: FilterSettings
) -> tuple[SynthesisReject, str] | None:
    said = _QUOTED.sub("", record.content)
    relative = _RELATIVE.search(said) or _RELATIVE.search(record.dimension.time)
    if relative:
        return SynthesisReject.TIME, relative[0]
    dangling = _DANGLING.match(said.strip()) or _FIRST_PERSON.search(said)
    if dangling:
        return SynthesisReject.PRONOUN, dangling[0]
    if style is WindowStyle.LOCOMO and not _names_somebody(record, window):
        return SynthesisReject.PRONOUN, "no speaker and no other name in the sentence"
    missing = unsupported_dimensions(record, window, settings.support)
    if missing:
        return SynthesisReject.UNSUPPORTED, ", ".join(missing)
    return None


def _names_somebody(record: ExtractedRecord, window: Window) -> bool:
    names = {word for turn in window.turns for word in turn.speaker.split()}
    return any(name in record.content for name in names) or bool(re.search(r"(?<!^)\b[A-Z]\w+", record.content))


def _speaks_of_itself(window: Window, words: int) -> str:
    """The first new message that speaks of its author in at least so many words; empty when none does."""
    for turn in window.new_turns:
        if "?" not in turn.text and len(_OWN.findall(turn.text)) >= 2 and len(turn.text.split()) >= words:
            return turn.text[:200]
    return ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def drop_repeated(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Ids of rows (id, text) whose words occurred before, with the id of the first that had them."""
    first: dict[str, str] = {}
    repeated: dict[str, str] = {}
    for name, text in rows:
        key = _plain(text)
        if key in first:
            repeated[name] = first[key]
        else:
            first[key] = name
    return repeated
