"""Check the form and the counts of the labelled questions, without printing any of them."""

import json
import re
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DAY = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
POINT = re.compile(rf"(?:on|before|after|around) ({DAY})")
SPAN = re.compile(rf"between ({DAY}) and ({DAY})")
RECALL_KEYS = {"id", "question", "needs_assistant", "note"}
PARSED_KEYS = {
    "id",
    "question",
    "question_date",
    "target_types",
    "keywords_include",
    "time",
    "location",
    "answer_dimension",
    "wants_history",
    "note",
}
Row = dict[str, Any]
ANSWERS = {"time", "location", "reason", "purpose", "content", ""}


def read(name: str) -> list[Row]:
    text = (HERE / name).read_text(encoding="utf-8")
    rows: list[Row] = [json.loads(line) for line in text.splitlines()]
    return rows


def need(condition: bool, row: Row, what: str) -> None:
    if not condition:
        raise SystemExit(f"{row['id']}: {what}")


def first_day(text: str) -> date:
    year, month, day = [*(int(p) for p in text.split("-")), 1, 1][:3]
    return date(year, month, day)


def check_recall(row: Row) -> None:
    need(set(row) == RECALL_KEYS, row, "keys")
    need(isinstance(row["needs_assistant"], bool), row, "needs_assistant")
    need(bool(row["question"].strip() and row["note"].strip()), row, "empty text")


def check_parsed(row: Row) -> None:
    need(set(row) - {"history_arguable"} == PARSED_KEYS, row, "keys")
    asked = datetime.fromisoformat(row["question_date"])
    need(asked.tzinfo is not None, row, "question_date")
    need(set(row["target_types"]) <= {"episodic", "fact", "profile"}, row, "target_types")
    question = row["question"].lower()
    for word in row["keywords_include"]:
        need(word == word.lower() and word in question, row, "keywords_include")
    need(row["location"].lower() in question, row, "location")
    need(row["answer_dimension"] in ANSWERS, row, "answer_dimension")
    need(not (row["answer_dimension"] == "time" and row["time"]), row, "time asked and given")
    need(isinstance(row["wants_history"], bool), row, "wants_history")
    need(not (row["wants_history"] and "history_arguable" in row), row, "history_arguable")
    for constraint in row["time"]:
        match = POINT.fullmatch(constraint) or SPAN.fullmatch(constraint)
        need(match is not None, row, "time")
        days = [first_day(t) for t in (match.groups() if match else ())]
        need(bool(days) and days == sorted(days) and days[-1] <= asked.date(), row, "time order")


def main() -> None:
    sizes = (("assistant_recall", 100, "a", 200), ("parsed", 60, "q", 120))
    for stem, size, letter, total in sizes:
        halves = {half: read(f"{stem}_{half}.jsonl") for half in ("seen", "unseen")}
        rows = [row for half in halves.values() for row in half]
        check = check_recall if letter == "a" else check_parsed
        for row in rows:
            check(row)
        if sorted(r["id"] for r in rows) != [f"{letter}{n:03d}" for n in range(1, total + 1)]:
            raise SystemExit(f"{stem}: ids")
        if len({re.sub(r"\W+", " ", r["question"].lower()).strip() for r in rows}) != total:
            raise SystemExit(f"{stem}: repeated question")
        kinds = {half: Counter(r["note"] for r in part) for half, part in halves.items()}
        if kinds["seen"] != kinds["unseen"]:
            raise SystemExit(f"{stem}: kinds are not spread evenly")
        for half, part in halves.items():
            if len(part) != size:
                raise SystemExit(f"{stem}_{half}: {len(part)} rows")
            if letter == "a":
                positive = sum(r["needs_assistant"] for r in part)
                if positive != 40:
                    raise SystemExit(f"{stem}_{half}: {positive} positive")
                sys.stdout.write(f"{stem}_{half}: {size} rows, {positive} positive\n")
            else:
                sys.stdout.write(
                    f"{stem}_{half}: {size} rows, {sum(bool(r['time']) for r in part)} with a time, "
                    f"{sum(bool(r['location']) for r in part)} with a place, "
                    f"{sum(r['wants_history'] for r in part)} want history, "
                    f"{sum('history_arguable' in r for r in part)} arguable, "
                    f"answers {dict(Counter(r['answer_dimension'] or 'none' for r in part))}\n"
                )


if __name__ == "__main__":
    main()
