"""What the filter by dimensions saves (DimMem, table 5), and how candidate generation grows.

`python -m engrain.recipes.benchmarks.consolidation_speed embeddings locomo|longmemeval FILE BUNDLE`
`python -m engrain.recipes.benchmarks.consolidation_speed pairs PAIRS.jsonl BUNDLE`
`python -m engrain.recipes.benchmarks.consolidation_speed growth LOCOMO.json`

`embeddings`: records by the dependency extractor, per conversation or item; vectors are made anew (no cache), by the
update and by the embed-all baseline in the same run. `pairs`: true merges among the labelled pairs that each finds.
`growth`: time of candidate generation over records drawn from LoCoMo's keyword sets, and the exponent of its growth.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.runtime.consolidation.candidates import filtered_pairs
from engrain.runtime.consolidation.decisions import Report
from engrain.runtime.consolidation.dimensional import candidate_pairs, embed_all_pairs
from engrain.runtime.consolidation.settings import ConsolidationSettings, FilterSettings
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import MemoryRecord, MemoryType, Role, Scope, Turn

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (10_000, 20_000, 50_000, 100_000)


def locomo_groups(path: Path) -> Iterator[list[Turn]]:
    """The turns of each conversation, both speakers."""
    from engrain.data_builders.sources.locomo import LocomoSource

    groups: dict[str, list[Turn]] = {}
    for labelled in LocomoSource(path, time_zone="UTC").sessions():
        groups.setdefault(labelled.person, []).extend(labelled.session.turns)
    yield from groups.values()


def longmemeval_groups(path: Path, items: int = 10) -> Iterator[list[Turn]]:
    """The user turns of the first items' haystacks."""
    for number, item in enumerate(json.loads(path.read_text(encoding="utf-8"))[:items]):
        turns: list[Turn] = []
        for session_id, session in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True):
            for place, said in enumerate(session):
                if said["role"] == "user" and said["content"].strip():
                    turns.append(_turn(f"{number}/{session_id}/{place}", said["content"], len(turns)))
        yield list({turn.id: turn for turn in turns}.values())


def _turn(name: str, text: str, place: int) -> Turn:
    moment = MOMENT + timedelta(minutes=place)
    return Turn(id=name, session_id="s", role=Role.USER, speaker="user", text=text, timestamp=moment)


GROUPS = {"locomo": locomo_groups, "longmemeval": longmemeval_groups}


def records_of(turns: list[Turn], extractor: DependencyExtractor) -> list[MemoryRecord]:
    """Dimensional records of these turns, in time order."""
    users = [turn.model_copy(update={"role": Role.USER}) for turn in turns]
    records = []
    for entry in extractor.extract_turns(users):
        if entry.entry and entry.located is not None:
            found = entry.located.dimensions
            records.append(_record(entry.turn.id, entry.entry, found.memory_type, found.keywords, entry.turn.timestamp))
    return sorted(records, key=lambda record: record.source_time)


def _record(name: str, text: str, kind: MemoryType, keywords: tuple[str, ...], moment: datetime) -> MemoryRecord:
    return MemoryRecord(
        id=name, scope=Scope(user_id="u"), content=text, memory_type=kind, keywords=keywords, source_time=moment,
        ingest_time=moment, source_turn_ids=(name,), extractor="dependency", embedder="none",
    )  # fmt: skip


def embeddings(kind: str, path: Path, bundle: Path, groups: int) -> dict[str, Any]:
    """Records embedded by the update and by the baseline, and the pairs each would ask a model about."""
    extractor, embedder = DependencyExtractor.load("spacy"), OnnxEmbedder.load(bundle, threads=1)
    totals = {
        "records": 0,
        "embedded by update": 0,
        "embedded by baseline": 0,
        "pairs of update": 0,
        "pairs of baseline": 0,
    }
    for turns in islice(GROUPS[kind](path), groups):
        records = records_of(turns, extractor)
        report = Report()
        pairs = candidate_pairs(records, {record.id for record in records}, embedder, ConsolidationSettings(), report)
        baseline, embedded = embed_all_pairs(records, embedder)
        totals["records"] += len(records)
        totals["embedded by update"] += report.counts["embedded"]
        totals["embedded by baseline"] += embedded
        totals["pairs of update"] += len(pairs)
        totals["pairs of baseline"] += len(baseline)
    saved = 1 - totals["embedded by update"] / totals["embedded by baseline"]
    return {"data": kind, **totals, "fewer embeddings": round(saved, 4)}


def labelled_pairs(path: Path, bundle: Path) -> dict[str, Any]:
    """True merges that become candidates, pair by pair."""
    embedder = OnnxEmbedder.load(bundle, threads=1)
    found = {"true merges": 0, "update": 0, "baseline": 0}
    for line in path.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        if pair["merge_action"] != "MERGE":
            continue
        records = [
            _record(
                f"{pair['id']}-{side}", given["content"], MemoryType(given["memory_type"]), tuple(given["keywords"]),
                datetime.fromisoformat(given["source_time"]),
            )
            for side, given in (("older", pair["older"]), ("newer", pair["newer"]))
        ]  # fmt: skip
        found["true merges"] += 1
        names = {record.id for record in records}
        found["update"] += bool(candidate_pairs(records, names, embedder, ConsolidationSettings(), Report()))
        found["baseline"] += bool(embed_all_pairs(records, embedder)[0])
    return found


def growth(path: Path, conversations: int) -> dict[str, Any]:
    """Seconds of candidate generation by number of records, and the exponent between the smallest and the largest."""
    extractor = DependencyExtractor.load("spacy")
    shapes = [
        (record.memory_type, record.keywords)
        for turns in islice(locomo_groups(path), conversations)
        for record in records_of(turns, extractor)
        if record.keywords
    ]
    seconds: dict[int, float] = {}
    for size in SIZES:
        records = drawn(shapes, size)
        began = time.process_time()
        pairs = sum(1 for _ in filtered_pairs(records, FilterSettings()))
        seconds[size] = round(time.process_time() - began, 2)
        console.say(f"{size} records: {seconds[size]} s, {pairs} pairs")
    exponent = math.log(seconds[SIZES[-1]] / seconds[SIZES[0]]) / math.log(SIZES[-1] / SIZES[0])
    return {"records with keywords": len(shapes), "cpu seconds": seconds, "exponent": round(exponent, 3)}


def drawn(shapes: list[tuple[MemoryType | None, tuple[str, ...]]], size: int) -> list[MemoryRecord]:
    """Records whose keyword sets are LoCoMo's, each keyword replaced by one of its own rank in a larger vocabulary.

    Drawing the same sets again and again would make every record a copy of many: a memory ten times as large has more
    topics, too. A keyword becomes one of as many variants as the memory is larger than LoCoMo.
    """
    rng = random.Random(42)
    variants = max(1, size // len(shapes))
    records = []
    for number in range(size):
        kind, keywords = rng.choice(shapes)
        topic = rng.randrange(variants)
        words = tuple(f"{word}#{topic}" if rng.random() < 0.9 else word for word in keywords)
        moment = MOMENT + timedelta(seconds=number)
        records.append(_record(str(number), "text", kind or MemoryType.FACT, words, moment))
    return records


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    saved = commands.add_parser("embeddings")
    saved.add_argument("kind", choices=sorted(GROUPS))
    saved.add_argument("path", type=Path)
    saved.add_argument("bundle", type=Path)
    saved.add_argument("--groups", type=int, default=10, help="Conversations or items.")
    pairs = commands.add_parser("pairs")
    pairs.add_argument("path", type=Path)
    pairs.add_argument("bundle", type=Path)
    grown = commands.add_parser("growth")
    grown.add_argument("path", type=Path)
    grown.add_argument("--conversations", type=int, default=10, help="Whose keyword sets are drawn from.")
    options = parser.parse_args()
    if options.what == "embeddings":
        console.show_json(embeddings(options.kind, options.path, options.bundle, options.groups))
    elif options.what == "pairs":
        console.show_json(labelled_pairs(options.path, options.bundle))
    else:
        console.show_json(growth(options.path, options.conversations))


if __name__ == "__main__":
    main()
