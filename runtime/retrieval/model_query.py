"""A question in the schema of the records, read by a model (DimMem section 3.3), with the rules as its net.

Temperature 0 and at most 2,048 tokens, as in DimMem. Answers are kept by question and day of asking; the ledger of the
client keeps them over runs too. A call that fails, is cut or answers outside the schema falls back to the rules, and
is counted: a search never fails for its parser. Whether history is wanted is always read by the rules (SLICE-Mem A.4).
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, OrderedDict
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Literal

from pydantic import Field, field_validator

from engrain.runtime.errors import EngrainError, InputError
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatMessage, ChatRequest, ModelClient, Stage
from engrain.runtime.retrieval.query import parse_question
from engrain.runtime.schema import Contract, MemoryType, ParsedQuery, TimeConstraint
from engrain.runtime.timestamps import WEEKDAYS, record_interval

MAX_TOKENS = 2_048
_KEPT_ANSWERS = 4_096
_CONDITION = re.compile(r"(?P<relation>on|before|after|around)\s+(?P<time>\S.*)", re.IGNORECASE)
_BETWEEN = re.compile(r"between\s+(?P<start>\S+)\s+and\s+(?P<end>\S+)", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:;|,)\s*")

SYSTEM_PROMPT = """\
You turn a question to a memory of past conversations into search conditions. Answer with one JSON object, no prose:
{"query_anchor": "", "need_assistant_context": false,
 "dimension": {"target_memory_type": [], "keywords": [], "time": "", "location": ""}, "answer_dim": ""}
- query_anchor: the question as a statement to search for; the person who asks is "the user".
- need_assistant_context: true only when the question recalls what the assistant itself said, recommended or made.
- target_memory_type: any of fact (what is), episodic (what happened or is planned), profile (what someone is like).
- keywords: the names and short noun phrases of the question that a matching memory would hold.
- time: a condition that the question states, as "on T", "before T", "after T", "around T" or "between T and T", T being
  YYYY, YYYY-MM or YYYY-MM-DD; several are joined by "; ". Work relative words out from the day of asking. Leave it
  empty when the time itself is what is asked.
- location: a place that the question limits itself to; empty when the place is what is asked.
- answer_dim: where the answer lies: content, time, location, reason, purpose, keywords, or empty.
"""


class _Dimension(Contract):
    target_memory_type: tuple[MemoryType, ...] = ()
    keywords: tuple[str, ...] = ()
    time: str = ""
    location: str = ""

    @field_validator("target_memory_type", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) and value else value or []


class _Answer(Contract):
    query_anchor: str = Field(min_length=1)
    need_assistant_context: bool
    dimension: _Dimension
    answer_dim: Literal["content", "time", "location", "reason", "purpose", "keywords", ""] = ""


class ModelParser:
    """Reads questions through a client. Safe to share between threads.

    `counts` holds how many were `asked`, found in the `cache`, and `fell_back`, with the reason of each fallback.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, date, str], ParsedQuery] = OrderedDict()
        self.counts: Counter[str] = Counter()

    def parse(self, question: str, asked_at: datetime) -> ParsedQuery:
        """The question as the model reads it, or the rules where it cannot be used."""
        key = (question, asked_at.date(), str(asked_at.tzinfo))
        with self._lock:
            if key in self._kept:
                self.counts["cached"] += 1
                self._kept.move_to_end(key)
                return self._kept[key]
            self.counts["asked"] += 1
        try:
            parsed = self._ask(question, asked_at)
        except EngrainError as error:
            with self._lock:
                self.counts["fell_back"] += 1
                self.counts[f"fell_back: {_kind(error)}"] += 1
            return parse_question(question, asked_at)
        with self._lock:
            self._kept[key] = parsed
            while len(self._kept) > _KEPT_ANSWERS:
                self._kept.popitem(last=False)
        return parsed

    def _ask(self, question: str, asked_at: datetime) -> ParsedQuery:
        [outcome] = answer_all(self._client, [Call(parse_request(question, asked_at), Stage.PARSE)])
        if outcome.answer is None:
            raise _UnusableError("service", outcome.failure.message if outcome.failure else "no answer")
        if outcome.answer.truncated:
            raise _UnusableError("cut", f"the answer was cut at {MAX_TOKENS} tokens")
        return read_answer(outcome.answer.text, question, asked_at)


class _UnusableError(EngrainError):
    """An answer that cannot be used. `kind` is what is counted."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _kind(error: EngrainError) -> str:
    return error.kind if isinstance(error, _UnusableError) else "service"


def parse_request(question: str, asked_at: datetime) -> ChatRequest:
    """The request for one question. It holds the day of asking and not the time of day, so that answers are kept."""
    day = f"{asked_at.date().isoformat()} ({WEEKDAYS[asked_at.weekday()]})"
    return ChatRequest(
        messages=(
            ChatMessage(role="system", content=SYSTEM_PROMPT),
            ChatMessage(role="user", content=f"Day of asking: {day}\nQuestion: {question}"),
        ),
        temperature=0.0,
        max_tokens=MAX_TOKENS,
        json_object=True,
    )


def read_answer(text: str, question: str, asked_at: datetime) -> ParsedQuery:
    """A model's JSON as a parsed question. Raises `EngrainError` for anything outside the schema."""
    try:
        answer = _Answer.model_validate(json.loads(_outer_object(text)))
    except (ValueError, RecursionError) as error:
        raise _UnusableError("schema", f"not the asked JSON: {error}") from None
    return ParsedQuery(
        anchor=answer.query_anchor,
        target_types=answer.dimension.target_memory_type,
        keywords=tuple(word for word in answer.dimension.keywords if word.strip()),
        time_constraints=read_conditions(answer.dimension.time, asked_at.tzinfo or UTC),
        location=answer.dimension.location,
        answer_dimension=answer.answer_dim,
        needs_assistant_context=answer.need_assistant_context,
        wants_history=parse_question(question, asked_at).wants_history,
    )


def read_conditions(text: str, zone: tzinfo) -> tuple[TimeConstraint, ...]:
    """`on|before|after|around T` and `between A and B` (both inside), several joined by `;`, in `zone`.

    Raises `EngrainError` for any other form.
    """
    parts = [part for part in _SEPARATOR.split(text.strip()) if part]
    return tuple(_condition(part, zone) for part in parts)


def _condition(text: str, zone: tzinfo) -> TimeConstraint:
    between, single = _BETWEEN.fullmatch(text), _CONDITION.fullmatch(text)
    try:
        if between:
            first, last = (record_interval(between[name], zone) for name in ("start", "end"))
            if last[1] <= first[0]:
                raise InputError("it ends before it starts")
            return TimeConstraint(relation="between", start=first[0], end=last[1])
        if single:
            start, end = record_interval(single["time"], zone)
            return TimeConstraint(relation=single["relation"].lower(), start=start, end=end)
    except InputError as error:
        raise _UnusableError("time", f"'{text}' is no time condition: {error}") from None
    raise _UnusableError("time", f"'{text}' is no time condition")


def _outer_object(text: str) -> str:
    """From the first brace to the last: models like to fence their JSON."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if start >= 0 else text
