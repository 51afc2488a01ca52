"""Memora's evaluation questions in their published layout: `<split>/<persona>/evaluation_questions_<persona>.json`.

Each question carries what the answer must mention (presence criteria), what it must not (forgetting criteria), and the
values behind them with session ids. Trap: the session id of a forgotten value names the session that deleted or updated
it, not the one that stated it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from engrain.data_builders.sources.memora import find_split
from engrain.data_builders.sources.rows import parse_json
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, Identifier

Task = Literal["remembering", "reasoning", "recommending"]
TASKS: tuple[Task, ...] = ("remembering", "reasoning", "recommending")
_KEYS = ("question_id", "question", "question_date", "memory_evidence", "evaluation")
_CRITERIA = {"memory_presence": "presence", "forgetting_absence": "forgetting"}
# Fields of `memory_evidence` that hold a value a user stated; sums and counts are derived, so they are left out.
_VALUE_KEYS = frozenset({"value", "item", "amount", "step_count"})
_DERIVED = frozenset({"goal_data", "step_count"})


class Criterion(Contract):
    """One yes-no question about an answer; `satisfied_by` is the reply that counts."""

    id: Identifier
    kind: Literal["presence", "forgetting"]
    question: str
    satisfied_by: Literal["yes", "no"]


class EvidenceValue(Contract):
    """A value as the data gives it. `session` is empty where the data names none."""

    value: str = Field(min_length=1)
    session: str = Field(
        default="", description="Session id as in `Session.id`; for a forgotten value the deleting one."
    )


class MemoraQuestion(Contract):
    """One question of a persona."""

    id: Identifier
    persona: Identifier
    task: Task
    question: str
    asked_on: date
    remembered: tuple[EvidenceValue, ...]
    forgotten: tuple[EvidenceValue, ...]
    evidence_sessions: tuple[str, ...] = Field(description="Sessions that the presence evidence names.")
    criteria: tuple[Criterion, ...]


def memora_questions(root: Path, split: str, personas: Sequence[str] | None = None) -> Iterator[MemoraQuestion]:
    """Questions of a split, persona by persona in alphabetical order.

    Raises `InputError` for a split or persona that is missing, and for a file that is not in the published layout,
    naming the file and the question.
    """
    folder = find_split(root, split)
    if folder is None:
        raise InputError(f"no split '{split}' of Memora below {root}; expected <split>/<persona>/conversations")
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    unknown = sorted(set(personas or ()) - set(names))
    if unknown:
        raise InputError(f"{folder} has no persona {', '.join(unknown)}; it has {', '.join(names)}")
    for name in names:
        if personas is None or name in personas:
            yield from _persona_questions(folder / name / f"evaluation_questions_{name}.json", split, name)


def session_id(split: str, persona: str, number: object) -> str:
    """The id that `MemoraSource` gives the session of that number."""
    return f"{split}/{persona}/session_{int(str(number)):04d}"


def _persona_questions(path: Path, split: str, persona: str) -> Iterator[MemoraQuestion]:
    if not path.is_file():
        raise InputError(f"{path} is missing; every persona of Memora has its evaluation questions there")
    try:
        document = parse_json(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} cannot be read: {error}; fetch the file again") from None
    tasks = document.get("questions") if isinstance(document, dict) else None
    if not isinstance(tasks, dict) or set(tasks) - set(TASKS):
        raise InputError(f"{path}: expected `questions` by task ({', '.join(TASKS)})")
    for task in TASKS:
        for number, given in enumerate(tasks.get(task, []), start=1):
            place = f"{path}, {task}, question {number}"
            missing = [key for key in _KEYS if not isinstance(given, dict) or key not in given]
            if missing:
                raise InputError(f"{place}: expected {', '.join(missing)}, found none")
            yield _question(given, split, persona, task, place)


def _question(given: dict[str, Any], split: str, persona: str, task: Task, place: str) -> MemoraQuestion:
    evidence = given["memory_evidence"]
    forgetting = (given.get("forgetting_evidence") or {}).get("forgotten_items") or []
    sessions = [session_id(split, persona, number) for number in _session_numbers(evidence)]
    return MemoraQuestion(
        id=f"{split}/{persona}/{given['question_id']}",
        persona=persona,
        task=task,
        question=given["question"],
        asked_on=date.fromisoformat(given["question_date"]),
        remembered=tuple(_values(evidence, split, persona)),
        forgotten=tuple(
            EvidenceValue(value=_shown(item["value"]), session=session_id(split, persona, item["session_id"]))
            for item in forgetting
            if _shown(item.get("value", ""))
        ),
        evidence_sessions=tuple(dict.fromkeys(sessions)),
        criteria=tuple(_criterion(one, place) for one in given["evaluation"]["evaluation_questions"]),
    )


def _criterion(given: dict[str, Any], place: str) -> Criterion:
    kind = _CRITERIA.get(given.get("evaluation_type", ""))
    if kind is None or given.get("expected_answer") not in ("yes", "no"):
        raise InputError(
            f"{place}: expected an `evaluation_type` of {', '.join(_CRITERIA)} with an `expected_answer` of yes or no, "
            f"found {given.get('evaluation_type')!r} and {given.get('expected_answer')!r}"
        )
    return Criterion.model_validate(
        {
            "id": given["evaluation_question_id"],
            "kind": kind,
            "question": given["evaluation_question"],
            "satisfied_by": given["expected_answer"],
        }
    )


def _values(evidence: dict[str, Any], split: str, persona: str) -> Iterator[EvidenceValue]:
    """Every value that a user stated: list items, amounts, steps, preferences, and the fields of a document."""

    def walk(node: Any, key: str, document: bool, session: str) -> Iterator[EvidenceValue]:
        if isinstance(node, dict):
            inner = session_id(split, persona, node["session_id"]) if "session_id" in node else session
            for name, child in node.items():
                yield from walk(child, name, document or name == "content_data", inner)
        elif isinstance(node, list):
            for child in node:
                yield from walk(child, key, document, session)
        elif (document or key in _VALUE_KEYS) and not isinstance(node, bool) and _shown(node):
            yield EvidenceValue(value=_shown(node), session=session)

    # The goal and the totals of a question are not statements; a document's fields are.
    stated = {name: child for name, child in evidence.items() if name not in _DERIVED}
    yield from walk(stated, "", False, "")


def _session_numbers(node: Any, key: str = "") -> Iterator[object]:
    if isinstance(node, dict):
        for name, child in node.items():
            yield from _session_numbers(child, name)
    elif isinstance(node, list):
        for child in node:
            yield from _session_numbers(child, key)
    elif key in ("session_id", "session_history"):
        yield node


def _shown(value: Any) -> str:
    """A value as text; 180.0 is 180, since no user writes the zero."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()
