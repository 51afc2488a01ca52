"""The rules against the labelled questions that may be read while writing rules, and on words no rule expects."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.retrieval.cues import needs_assistant
from engrain.runtime.retrieval.query import parse_question
from engrain.runtime.schema import ParsedQuery
from engrain.runtime.timestamps import record_interval

QUESTIONS = Path(__file__).parent / "questions"
ASKED = datetime(2024, 5, 15, 9, tzinfo=UTC)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (QUESTIONS / name).read_text(encoding="utf-8").splitlines()]


def labelled_times(row: dict[str, Any]) -> set[tuple[str, datetime, datetime]]:
    """Labels as intervals; a period under way ends with the day of asking on both sides of the comparison."""
    asked = datetime.fromisoformat(row["question_date"])
    found = set()
    for label in row["time"]:
        relation, _, rest = label.partition(" ")
        first, _, last = rest.partition(" and ")
        start, end = record_interval(first, asked.tzinfo or UTC)
        end = record_interval(last, asked.tzinfo or UTC)[1] if last else end
        found.add(as_interval(relation, start, end, asked))
    return found


def as_interval(relation: str, start: datetime, end: datetime, asked: datetime) -> tuple[str, datetime, datetime]:
    after_today = (asked + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    within = relation in {"on", "between"}
    return ("within" if within else relation, start, min(end, after_today) if within else end)


def parsed_times(parsed: ParsedQuery, asked: datetime) -> set[tuple[str, datetime, datetime]]:
    return {as_interval(one.relation, one.start, one.end, asked) for one in parsed.time_constraints}


def words(texts: tuple[str, ...] | list[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def test_assistant_recall_reaches_f1_090_on_questions_written_before_the_rules() -> None:
    halves = [rows(f"assistant_recall_{half}.jsonl") for half in ("seen", "unseen")]
    # The rules were written with the seen half in view; the other half is what they are judged by.
    for half in [*halves, halves[0] + halves[1]]:
        labelled = [(row["needs_assistant"], needs_assistant(row["question"])) for row in half]
        hits = sum(wanted and found for wanted, found in labelled)
        assert 2 * hits / (sum(wanted for wanted, _ in labelled) + sum(found for _, found in labelled)) >= 0.90


@pytest.mark.parametrize("part", ["time", "location", "answer_dimension", "target_types", "keywords", "history"])
def test_parts_of_seen_questions_are_read_right_nine_times_of_ten(part: str) -> None:
    right = []
    for row in rows("parsed_seen.jsonl"):
        asked = datetime.fromisoformat(row["question_date"])
        parsed = parse_question(row["question"], asked)
        if part == "time":
            right.append(parsed_times(parsed, asked) == labelled_times(row))
        elif part == "location":
            right.append(parsed.location.casefold() == row["location"].casefold())
        elif part == "answer_dimension":
            right.append(parsed.answer_dimension == row["answer_dimension"])
        elif part == "target_types" and row["target_types"]:
            right.append(bool({kind.value for kind in parsed.target_types} & set(row["target_types"])))
        elif part == "keywords":
            right.append(words(row["keywords_include"]) <= words(parsed.keywords))
        elif part == "history" and "history_arguable" not in row:
            right.append(parsed.wants_history == row["wants_history"])
    assert sum(right) / len(right) >= 0.9


def test_the_anchor_speaks_of_the_user() -> None:
    parsed = parse_question("What did I tell my sister when I'm home?", ASKED)

    assert parsed.anchor == "What did the user tell the user's sister when the user is home?"


@pytest.mark.parametrize("question", ["?", "\x00", "a" * 5_000, "what " * 1_000, "'" * 1_000, "在哪里", "\U0001f600"])
def test_any_text_is_read(question: str) -> None:
    parsed = parse_question(question, ASKED)

    assert parsed.anchor == " ".join(question.split()) and not parsed.time_constraints and not parsed.location
