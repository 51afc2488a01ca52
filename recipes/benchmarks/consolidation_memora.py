"""Does consolidation hide what was forgotten and keep what is remembered? Memora, dependency extractor, no LLM.

`python -m engrain.recipes.benchmarks.consolidation_memora PATH/TO/memora [--split weekly] [--persona NAME ...]`

Marked turns become records, the records are consolidated in one run. A forgotten value has an earlier stored assertion
when a record of an earlier session says it, by its text or by all of its content words, outside of the words that the
record itself takes back ("from A", "used to like A"). The value is still active when such a record is active and the
value is not in a superseded part of it. Remembered values count where any record says them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engrain.data_builders.sources.memora import MemoraSource
from engrain.recipes import console
from engrain.runtime.consolidation.engine import Consolidator
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.tokens import norms
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import MemoryRecord, Role, Scope, Status, Turn
from engrain.runtime.storage.protocol import Admission, Batch, NewTurn
from engrain.runtime.storage.sqlite import SQLiteStore


class Said:
    """A record, its session's number, and what of its text is asserted now."""

    def __init__(self, record: MemoryRecord) -> None:
        self.session = int(re.search(r"session_(\d+)", record.source_turn_ids[0])[1])  # type: ignore[index]
        self.active = record.status is Status.ACTIVE
        reading = Reading(record)
        self.text = record.content
        taken_back = [(retraction.old.start, retraction.old.end) for retraction in reading.retractions]
        self.asserted = blank(self.text, taken_back)
        spans = [(span.start, span.end) for span in record.superseded_spans]
        self.visible = blank(self.text, spans)
        self.still_asserted = blank(self.asserted, spans)


def blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with spaces in place of some stretches."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def says(text: str, value: str, exact: bool = False) -> bool:
    """Whether a text holds a value, by its letters or by all of its content words."""
    words = norms(value)
    return value.lower() in text.lower() or (not exact and bool(words) and words <= norms(text))


def fill(store: SQLiteStore, source: MemoraSource, extractor: DependencyExtractor) -> Counter[str]:
    """One record for every marked user turn that the extractor makes an entry of; its records a persona."""
    counts: Counter[str] = Counter()
    by_person: dict[str, list[Turn]] = {}
    for labelled in source.sessions():
        marked = [t for t in labelled.session.turns if t.role is Role.USER and labelled.labels[t.id].keep]
        by_person.setdefault(labelled.person, []).extend(marked)
    for person, turns in by_person.items():
        records = [
            MemoryRecord(
                id=turn.id, scope=Scope(user_id=person), content=entry.entry, source_time=turn.timestamp,
                ingest_time=turn.timestamp, source_turn_ids=(turn.id,), extractor=extractor.identity,
                embedder="none@0", **_dimensions(entry),
            )
            for turn, entry in zip(turns, extractor.extract_turns(turns), strict=True)
            if entry.entry
        ]  # fmt: skip
        new = tuple(NewTurn(turn, Admission.AS_GIVEN) for turn in turns)
        store.write(Batch(Scope(user_id=person), new, tuple(records), np.ones((len(records), 1), dtype=np.float32)))
        counts[person] = len(records)
    return counts


def _dimensions(entry: Any) -> dict[str, Any]:
    if entry.located is None:
        return {}
    found = entry.located.dimensions
    return {"memory_type": found.memory_type, "time": found.time, "keywords": found.keywords}


def forgotten(question: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Values that must not be said any more, with the number of the session that ended them."""
    for item in (question.get("forgetting_evidence") or {}).get("forgotten_items", []):
        value = item.get("value", item.get("item"))
        if value is not None:
            yield _written(value), int(item["session_id"])


def remembered(evidence: Any) -> Iterator[str]:
    """Values that must be remembered."""
    if isinstance(evidence, list):
        for entry in evidence:
            yield from remembered(entry)
    elif isinstance(evidence, dict):
        named = next((key for key in ("item", "value", "amount", "step_count") if key in evidence), None)
        if named is not None and "session_id" in evidence:
            yield _written(evidence[named])
            return
        for key, entry in evidence.items():
            if key == "content_data" and isinstance(entry, dict):
                values = [v for field in entry.values() for v in (field if isinstance(field, list) else [field])]
                yield from map(_written, values)
            else:
                yield from remembered(entry)


def _written(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and value >= 1000 else str(value)


def questions(folder: Path, person: str) -> Iterator[dict[str, Any]]:
    """The evaluation questions of one persona."""
    document = json.loads((folder / person / f"evaluation_questions_{person}.json").read_text(encoding="utf-8"))
    for group in document["questions"].values():
        yield from group


def measure(store: SQLiteStore, folder: Path, people: Sequence[str], exact: bool) -> Counter[str]:
    """Forgotten and remembered values over all questions of these people, as the store stands."""
    totals: Counter[str] = Counter()
    for person in people:
        said = [Said(record) for record in store.records(person, statuses=tuple(Status))]
        for question in questions(folder, person):
            for value, session in forgotten(question):
                totals["forgotten"] += 1
                asserting = [s for s in said if s.session < session and says(s.asserted, value, exact)]
                totals["forgotten with an earlier assertion"] += bool(asserting)
                totals["of these still active"] += any(
                    s.active and says(s.still_asserted, value, exact) for s in asserting
                )
            for value in remembered(question.get("memory_evidence")):
                totals["remembered"] += 1
                totals["remembered in active records"] += any(s.active and says(s.visible, value, exact) for s in said)
        totals["records"] += len(said)
        totals["active records"] += sum(s.active for s in said)
        totals["records outdated in part"] += sum(s.active and s.visible != s.text for s in said)
    return totals


def run(root: Path, split: str, personas: Sequence[str] | None, path: Path) -> dict[str, Any]:
    """Fill a new memory file at `path`, measure, consolidate, measure again."""
    source = MemoraSource(root, split, personas=personas)
    store = SQLiteStore(path, "none@0", 1)
    try:
        people = sorted(fill(store, source, DependencyExtractor.load("spacy")))
        before = {exact: measure(store, source.folder, people, exact) for exact in (False, True)}
        engine = Consolidator(store)
        counts: Counter[str] = Counter()
        for person in people:
            counts.update(engine.run(person).counts)
        after = {exact: measure(store, source.folder, people, exact) for exact in (False, True)}
    finally:
        store.close()
    names = {False: "by content words", True: "by exact text"}
    return {
        "split": split,
        "personas": people,
        "changes": dict(counts),
        "online": {names[exact]: dict(totals) for exact, totals in before.items()},
        "consolidated": {names[exact]: dict(totals) for exact, totals in after.items()},
        "figures": {names[exact]: figures(before[exact], after[exact]) for exact in (False, True)},
    }


def figures(before: Counter[str], after: Counter[str]) -> dict[str, float]:
    """Shares of what was asserted that is still active, and of remembered values, in both states."""

    def shares(totals: Counter[str]) -> tuple[float, float]:
        asserted = max(1, totals["forgotten with an earlier assertion"])
        return totals["of these still active"] / asserted, totals["remembered in active records"] / max(
            1, totals["remembered"]
        )

    (still_before, kept_before), (still_after, kept_after) = shares(before), shares(after)
    return {
        "forgotten still active, online": round(still_before, 4),
        "forgotten still active, consolidated": round(still_after, 4),
        "remembered, online": round(kept_before, 4),
        "remembered, consolidated": round(kept_after, 4),
    }


def main() -> None:
    """Run from the command line."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--split", default="weekly")
    parser.add_argument("--persona", action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        console.show_json(run(options.root, options.split, options.persona, Path(folder) / "memora.db"))


if __name__ == "__main__":
    main()
