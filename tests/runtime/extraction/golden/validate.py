"""Check the golden table and print its counts by rule: python validate.py"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BASE = {"id", "rule", "text", "predicates", "must_contain", "must_not_contain", "starts_with_user", "empty_allowed"}
EXTRA = {"must_contain_any", "predicates_optional", "at_most_once", "also", "note", "generator", "parts"}
GRAPH = {"tok", "pos", "lem", "ner", "sdp/psd", "sdp/dm", "sdp/pas"}
# Forms that only the realised entry has, so that they need not occur in the turn.
REALISED = {
    "hates to cook", "hates waiting", "is allergic", "is left-handed", "likes baking", "loves painting",
    "loves watching", "prefers to work", "User asks", "User asks to", "User asks to fix", "User noted", "User wants",
    "User's cousin", "User's grandmother", "User's nephew", "User's sister", "User's uncle", "wants to buy",
    "wants to learn",
}  # fmt: skip
LONG_WORDS = 2000


def turn(row: dict[str, Any]) -> str:
    """The user turn, long ones built from their parts."""
    if "parts" not in row:
        return str(row["text"])
    paragraphs: list[str] = []
    while sum(len(p.split()) for p in paragraphs) < LONG_WORDS:
        paragraphs += row["parts"]
    return "\n\n".join(paragraphs)


def check_graph(row: dict[str, Any], fail: Callable[[str], None]) -> None:
    n, text = len(row["tok"]), row["text"]
    keys = [k for k in row if k.startswith("sdp/")]
    if len(keys) != 1 or any(len(row[k]) != n for k in ["pos", "lem", *keys]):
        fail("columns differ in length, or not exactly one graph")
        return
    at = 0
    for t in row["tok"]:
        at = text.find(t, at)
        if at < 0:
            fail(f"token {t!r} is not in the text, in order")
            return
        at += len(t)
    if "".join(row["tok"]) != "".join(text.split()):
        fail("the tokens do not spell the text")
    edges = [(h, d, lab) for d, heads in enumerate(row[keys[0]], 1) for h, lab in heads]
    if any(not 0 <= h <= n or h == d or not lab for h, d, lab in edges) or sum(h == 0 for h, _, _ in edges) != 1:
        fail("a head is out of range, or not exactly one root")
    if len({(h, d) for h, d, _ in edges}) != len(edges):
        fail("two edges between one pair")
    if any(" ".join(row["tok"][b:e]) != s or not 0 <= b < e <= n for s, _, b, e in row["ner"]):
        fail("an entity does not match its tokens")


def main() -> int:
    faults: list[str] = []
    ids: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    table: dict[str, Counter[str]] = {}
    also: dict[str, Counter[str]] = {}
    for name in ("seen", "unseen", "graphs"):
        rows = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]
        table[name] = Counter(r["rule"] for r in rows)
        also[name] = Counter(p for r in rows for p in r.get("also", []))
        for r in rows:

            def fail(why: str, r: dict[str, Any] = r) -> None:
                faults.append(f"{r['id']}: {why}")

            ids[r["id"]] += 1
            source = turn(r)
            texts[source] += 1
            low = source.lower()
            if BASE - set(r) or set(r) - BASE - EXTRA - (GRAPH if name == "graphs" else set()):
                fail("fields")
            if not source.strip() or any(p != p.lower() for p in r["predicates"]):
                fail("empty turn or a predicate that is not lower case")
            for s in r["must_contain"]:
                if s.lower() not in low and s not in REALISED:
                    fail(f"must_contain {s!r} is not in the turn")
                if any(b.lower() in s.lower() for b in r["must_not_contain"]):
                    fail(f"must_contain {s!r} contradicts must_not_contain")
            for s in r.get("at_most_once", []):
                if low.count(s.lower()) < 2:
                    fail(f"at_most_once {s!r} does not occur twice")
            if any(len(a) < 1 for a in r.get("must_contain_any", [])) or set(r["predicates"]) & set(
                r.get("predicates_optional", [])
            ):
                fail("alternatives or optional predicates")
            if r["empty_allowed"] and (r["predicates"] or r["must_contain"] or r["starts_with_user"]):
                fail("an entry that may be empty demands content")
            if "parts" in r and (r["text"] or len(source.split()) < LONG_WORDS):
                fail("long turn")
            if name == "graphs":
                check_graph(r, fail)
    faults += [f"{i}: used {n} times" for i, n in ids.items() if n > 1]
    faults += [f"repeated turn: {t[:50]!r}" for t, n in texts.items() if n > 1]
    if table["seen"] != table["unseen"]:
        faults.append("seen and unseen do not cover the same phenomena equally")
    lines = ["Turns by their rule; in brackets, further turns that also show it."]
    lines.append(f"{'rule':32}" + "".join(f"{name:>10}" for name in table))
    for rule in sorted(set().union(*table.values(), *also.values())):
        cells = [f"{table[n][rule]}" + (f" ({also[n][rule]})" if also[n][rule] else "") for n in table]
        lines.append(f"{rule:32}" + "".join(f"{c:>10}" for c in cells))
    lines.append(f"{'all':32}" + "".join(f"{table[n].total():>10}" for n in table))
    sys.stdout.write("\n".join([*lines, *(faults or ["no faults"])]) + "\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
