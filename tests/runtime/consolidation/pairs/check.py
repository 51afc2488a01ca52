"""Checks the labelled pairs: python tests/runtime/consolidation/pairs/check.py

Prints counts only, never a sentence, so that it can be run without seeing the unseen half.
"""

import json
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIELDS = {"id", "kind", "older", "newer", "action", "merge_action", "basis", "scope", "trap", "partial"}
RECORD = {"content", "source_time", "memory_type", "keywords", "time", "source_turn_ids"}
BASES = {
    "ignore": {""},
    "qualify": {""},
    "dedup": {"same_fact", "same_event"},
    "supersede": {"event_correction", "state_change"},
}
TYPES = {"fact", "episodic", "profile"}
MERGES = {
    "ignore": {"KEEP_BOTH"},
    "qualify": {"KEEP_BOTH", "MERGE"},
    "dedup": {"MERGE"},
    "supersede": {"SUPERSEDE"},
}


def problems(pair: dict[str, Any]) -> list[str]:
    """What is wrong with one pair, in words."""
    if set(pair) != FIELDS:
        return ["fields of the pair"]
    found = []
    action, older, newer = pair["action"], pair["older"], pair["newer"]
    for record in (older, newer):
        if set(record) != RECORD or not record["content"].strip() or record["memory_type"] not in TYPES:
            return ["fields of a record"]
        if any(k != k.lower() or not k.strip() for k in record["keywords"]):
            found.append("keywords")
        if len(set(record["keywords"])) != len(record["keywords"]):
            found.append("keyword twice")
    start, end = (datetime.fromisoformat(r["source_time"]) for r in (older, newer))
    if action not in BASES or pair["basis"] not in BASES[action]:
        found.append("basis")
    elif pair["merge_action"] not in MERGES[action]:
        found.append("merge action")
    if older["memory_type"] != newer["memory_type"] and pair["merge_action"] != "KEEP_BOTH":
        found.append("merge over two types")
    if end < start and pair["kind"] != "time_direction":
        found.append("order")
    if action == "supersede" and end <= start:
        found.append("supersession without a strict order")
    shared = set(older["source_turn_ids"]) & set(newer["source_turn_ids"])
    dated = older["time"] and older["time"] == newer["time"]
    if pair["basis"] == "same_event" and not (shared or dated):
        found.append("same event without shared source or date")
    if not isinstance(pair["trap"], bool) or (pair["trap"] and action in ("dedup", "supersede")):
        found.append("trap")
    if pair["partial"] and not (older["content"].count(pair["partial"]) == 1 and action == "ignore" and pair["trap"]):
        found.append("partial")
    if not pair["scope"]:
        found.append("scope")
    return found


def main() -> int:
    """Read both files, report counts, fail if any pair or balance is wrong."""
    failed = 0
    ids: set[str] = set()
    texts: set[tuple[str, str]] = set()
    out = sys.stdout.write
    for name in ("seen", "unseen"):
        lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        pairs = [json.loads(line) for line in lines]
        for pair in pairs:
            text = (pair["older"]["content"], pair["newer"]["content"])
            bad = problems(pair)
            bad += ["id twice"] * (pair["id"] in ids) + ["text twice"] * (text in texts)
            ids.add(pair["id"])
            texts.add(text)
            if bad:
                failed += 1
                out(f"{name} {pair['id']}: {', '.join(bad)}\n")
        actions = Counter(p["action"] for p in pairs)
        traps = sum(p["trap"] for p in pairs)
        for action, share in {"ignore": 0.45, "qualify": 0.15, "dedup": 0.15, "supersede": 0.25}.items():
            if abs(actions[action] / len(pairs) - share) > 0.05:
                failed += 1
                out(f"{name}: {action} is {actions[action] / len(pairs):.2f} of the pairs, not about {share}\n")
        if len(pairs) < 170 or traps < 60:
            failed += 1
            out(f"{name}: too small\n")
        out(f"{name}: {len(pairs)} pairs, {traps} traps, {dict(actions)}\n")
        out(f"  merge actions {dict(Counter(p['merge_action'] for p in pairs))}\n")
        for (kind, action), n in Counter((p["kind"], p["action"]) for p in pairs).items():
            out(f"  {kind} {action} {n}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
