"""LoCoMo in its published layout: a JSON list of conversations between two people, with questions.

`conversation` holds `session_N` (turns with `dia_id`, `speaker`, `text`, at times `blip_caption`) and
`session_N_date_time`, a local time without a zone, which is therefore stated by the caller. Turns of a session are
0.5 s apart. Nobody is an assistant: both speakers are users. A shared photo's caption follows the text in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo
from engrain.data_builders.sources.rows import parse_json
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, Role, Session, Turn
from engrain.runtime.timestamps import parse_timestamp, parse_zone, session_moments

CATEGORIES: dict[int, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""Names of the questions' categories, as the data set numbers them."""

CAPTION_FORM = " [shares a photo: {caption}]"
_KEYS = ("sample_id", "conversation", "qa")
_TURN_KEYS = ("dia_id", "speaker", "text")
_SESSION_KEY = re.compile(r"session_(\d+)")
_EVIDENCE_BREAK = re.compile(r"[;,\s]+")
_DIA_ID = re.compile(r"D:?(\d+):(\d+)")


class LocomoQuestion(Contract):
    """One question with the turns that answer it."""

    id: str
    conversation: str = Field(description="The conversation's `sample_id`.")
    question: str
    answer: str = Field(description="Empty for adversarial questions, which have no answer in the conversation.")
    category: int
    category_name: str
    evidence: tuple[str, ...] = Field(description="Ids of turns that exist, in the form of `Turn.id`.")
    unusable_evidence: tuple[str, ...] = Field(description="What the data gives as evidence but is no turn's id.")
    malformed_entries: int = Field(description="Evidence entries that are not one plain turn id, mended or not.")


class LocomoSource:
    """LoCoMo's conversations; turn ids are `<sample_id>/<dia_id>`, and a conversation is one person's memory.

    Raises `InputError` when the file is missing, cut, or not in the published layout.
    """

    def __init__(self, path: Path, *, time_zone: str = "UTC", conversations: tuple[str, ...] | None = None) -> None:
        self.path = path
        self.info = SourceInfo(
            name="locomo",
            licence="CC BY-NC 4.0",
            citation="Maharana et al. 2024, Evaluating Very Long-Term Conversational Memory of LLM Agents",
            roles={"*": Role.USER},
            time_zone=time_zone,
        )
        self._zone = parse_zone(time_zone)
        self._samples = _choose(_read(path), conversations, path)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The `sample_id`s, in file order."""
        return tuple(sample["sample_id"] for sample in self._samples)

    @property
    def dates_without_session(self) -> int:
        """Dated sessions without turns, which the published file has; they are skipped."""
        conversations = (sample["conversation"] for sample in self._samples)
        return sum(
            key.endswith("_date_time") and key.removesuffix("_date_time") not in conversation
            for conversation in conversations
            for key in conversation
        )

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions, conversation by conversation, in order of their number; there are no gate labels."""
        for sample in self._samples:
            for number in _session_numbers(sample["conversation"]):
                yield self._session(sample, number)

    def questions(self) -> Iterator[LocomoQuestion]:
        """Every question, evidence read tolerantly; what stays unusable is in `unusable_evidence`."""
        for sample in self._samples:
            known = _turn_ids(sample)
            for number, given in enumerate(sample["qa"], start=1):
                yield self._question(sample["sample_id"], number, given, known)

    def _session(self, sample: dict[str, Any], number: int) -> LabelledSession:
        conversation, name = sample["conversation"], sample["sample_id"]
        place = f"{self.path}, {name}, session_{number}"
        stamp = conversation.get(f"session_{number}_date_time")
        if not isinstance(stamp, str):
            raise InputError(f"{place}: expected session_{number}_date_time beside it, found none")
        given = conversation[f"session_{number}"]
        try:
            started_at = parse_timestamp(stamp, self._zone)
            moments = session_moments(started_at, len(given))
        except (InputError, OverflowError) as error:
            raise InputError(f"{place}: {error}") from None
        session_id = f"{name}/session_{number}"
        turns = tuple(
            Turn(
                id=f"{name}/{turn['dia_id']}",
                session_id=session_id,
                role=Role.USER,
                speaker=turn["speaker"],
                text=_text(turn, place),
                timestamp=moment,
            )
            for turn, moment in zip(given, moments, strict=True)
        )
        return LabelledSession(Session(id=session_id, started_at=started_at, turns=turns), name)

    def _question(self, name: str, number: int, given: dict[str, Any], known: set[str]) -> LocomoQuestion:
        place = f"{self.path}, {name}, question {number}"
        category = given.get("category")
        if not isinstance(category, int) or category not in CATEGORIES or not isinstance(given.get("question"), str):
            raise InputError(
                f"{place}: expected `question` and a `category` of 1 to 5, "
                f"found {', '.join(sorted(given))} and category {category!r}"
            )
        evidence = given.get("evidence") or []
        if not isinstance(evidence, list):
            raise InputError(f"{place}: expected `evidence` to be a list of turn ids, found {evidence!r:.60}")
        entries = [str(entry) for entry in evidence]
        usable, unusable = _evidence(entries, name, known)
        return LocomoQuestion(
            id=f"{name}/q{number:03d}",
            conversation=name,
            question=given["question"],
            answer=str(given.get("answer", "")),
            category=category,
            category_name=CATEGORIES[category],
            evidence=usable,
            unusable_evidence=unusable,
            malformed_entries=sum(f"{name}/{entry}" not in known for entry in entries),
        )


def _evidence(entries: list[str], name: str, known: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Turn ids of the evidence, and what is none: `D8:6; D9:17` is two ids, `D:11:26` and `D11:026` are `D11:26`."""
    usable: dict[str, None] = {}
    unusable = []
    for part in (part for entry in entries for part in _EVIDENCE_BREAK.split(entry) if part):
        match = _DIA_ID.fullmatch(part)
        turn_id = f"{name}/D{int(match[1])}:{int(match[2])}" if match else ""
        if turn_id in known:
            usable[turn_id] = None
        else:
            unusable.append(part)
    return tuple(usable), tuple(unusable)


def _text(turn: dict[str, Any], place: str) -> str:
    text, caption = str(turn["text"]).strip(), str(turn.get("blip_caption") or "").strip()
    if caption:
        text = (text + CAPTION_FORM.format(caption=caption)).strip()
    if not text:
        raise InputError(f"{place}: turn {turn['dia_id']} has neither text nor a caption")
    return text


def _session_numbers(conversation: dict[str, Any]) -> list[int]:
    """Numbers of the sessions that have turns."""
    matches = (_SESSION_KEY.fullmatch(key) for key in conversation)
    return sorted(int(match[1]) for match in matches if match and conversation[match[0]])


def _turn_ids(sample: dict[str, Any]) -> set[str]:
    conversation = sample["conversation"]
    return {
        f"{sample['sample_id']}/{turn['dia_id']}"
        for number in _session_numbers(conversation)
        for turn in conversation[f"session_{number}"]
    }


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"{path} is missing; give the path of LoCoMo's JSON file")
    try:
        data = parse_json(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error}); download it again") from None
    if not isinstance(data, list):
        raise InputError(f"{path}: expected LoCoMo's list of conversations, found {type(data).__name__}")
    for number, sample in enumerate(data, start=1):
        _check_sample(sample, path, number)
    return data


def _check_sample(sample: Any, path: Path, number: int) -> None:
    item = f"{path}, item {number}"
    _require_keys(sample, _KEYS, item)
    _require_kinds(sample, {"sample_id": str, "conversation": dict, "qa": list}, item)
    place = f"{path}, {sample['sample_id']}"
    for question in sample["qa"]:
        _require_keys(question, (), f"{place}, qa")
    for number in _session_numbers(sample["conversation"]):
        session = f"session_{number}"
        _require_kinds(sample["conversation"], {session: list}, place)
        for turn in sample["conversation"][session]:
            _require_keys(turn, _TURN_KEYS, f"{place}, {session}")
            _require_kinds(turn, {"dia_id": str, "speaker": str, "text": str}, f"{place}, {session}")


def _require_keys(value: Any, keys: tuple[str, ...], place: str) -> None:
    if isinstance(value, dict) and all(key in value for key in keys):
        return
    found = ", ".join(sorted(value)) if isinstance(value, dict) else type(value).__name__
    raise InputError(f"{place}: not LoCoMo's layout; expected an object with {', '.join(keys)}; found {found}")


def _require_kinds(value: dict[str, Any], kinds: dict[str, type], place: str) -> None:
    for key, kind in kinds.items():
        if not isinstance(value[key], kind):
            raise InputError(
                f"{place}: not LoCoMo's layout; expected `{key}` to be a {kind.__name__}, found {value[key]!r:.60}"
            )


def _choose(samples: list[dict[str, Any]], wanted: tuple[str, ...] | None, path: Path) -> list[dict[str, Any]]:
    if wanted is None:
        return samples
    by_id = {sample["sample_id"]: sample for sample in samples}
    missing = [name for name in wanted if name not in by_id]
    if missing:
        raise InputError(f"{path} has no conversation {', '.join(missing)}; it has {', '.join(by_id)}")
    return [by_id[name] for name in wanted]
