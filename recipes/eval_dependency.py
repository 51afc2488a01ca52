"""`engrain eval dependency`: SLICE-Mem C.4's diagnostics of the dependency extractor on Memora's turns.

Without a file of admitted turns a stand-in of the paper's size is used: every positive turn, and the other user turns
with the most first-person words, the longer first.
"""

from __future__ import annotations

import json as json_lines
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.memora import MemoraSource
from engrain.recipes import console
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.analysis import Analysis, surface_entry
from engrain.runtime.extraction.dependency.diagnostics import Diagnostics, is_fragment, measure, retained
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import Turn

ADMITTED = 3327
"""Turns that the paper's gate admits of Memora weekly (C.4): 28.05% of 11,860."""
PAPER: dict[str, float | int | None] = {
    "turns": 3327,
    "empty": 0.0051,
    "fragment": 0.0096,
    "fallback": 0.0664,
    "content_tokens": 18986,
    "retention": 0.8280,
    "units": 1.08,
}
"""C.4's figures: rates on admitted turns, content tokens and retention on positive ones."""
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|our|us)\b", re.IGNORECASE)
_CHUNK = 256


def command(
    source: str,
    split: str = "weekly",
    admitted: str | None = None,
    parser: str = "spacy",
    model: str | None = None,
    limit: int | None = None,
    worst: int = 10,
    json: bool = False,
) -> None:
    """Print the diagnostics of admitted and of positive turns, a copy baseline beside them, and the worst cases.

    `source` is Memora's folder, `admitted` a Parquet, JSONL or text file with the ids of admitted turns.
    """
    turns, positive = read_turns(Path(source), split)
    chosen = _listed(turns, Path(admitted)) if admitted else stand_in(turns, positive)
    chosen = chosen[:limit] if limit else chosen
    extractor = DependencyExtractor.load(parser, model)
    with console.progress("extracting") as advance:
        report = evaluate(extractor, chosen, positive, worst=worst, progress=advance)
    report["admitted_by"] = admitted or "stand-in: positives, then first-person words and length"
    report["parser"] = extractor.parser.identity
    if json:
        console.show_json(report)
    else:
        _show(report)


def read_turns(root: Path, split: str) -> tuple[list[Turn], frozenset[str]]:
    """Every labelled user turn of a Memora split, and the ids of those that the release marks as memory."""
    turns: list[Turn] = []
    positive: set[str] = set()
    for labelled in MemoraSource(root, split).sessions():
        for turn in labelled.session.turns:
            label = labelled.labels.get(turn.id)
            if label is not None:
                turns.append(turn)
                positive.update([turn.id] if label.keep else [])
    return turns, frozenset(positive)


def stand_in(turns: Sequence[Turn], positive: frozenset[str], admitted: int = ADMITTED) -> list[Turn]:
    """`admitted` turns without a gate: the positive ones, then those with most first-person words, longer first."""
    kept = [turn for turn in turns if turn.id in positive]
    others = sorted(
        (turn for turn in turns if turn.id not in positive),
        key=lambda turn: (-len(_FIRST_PERSON.findall(turn.text.replace("’", "'"))), -len(turn.text), turn.id),
    )
    return kept + others[: max(0, admitted - len(kept))]


def evaluate(
    extractor: DependencyExtractor,
    turns: Sequence[Turn],
    positive: frozenset[str],
    *,
    worst: int = 10,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Diagnostics by set of turns and by way of making the entry, and the turns that lose most."""
    analyses: list[Analysis] = []
    for start in range(0, len(turns), _CHUNK):
        analyses += extractor.analyse([turn.text for turn in turns[start : start + _CHUNK]])
        if progress is not None:
            progress(len(analyses), len(turns))
    surfaces = [
        surface_entry(one.parse, extractor.settings) if one.parse is not None else one.entry for one in analyses
    ]
    flags = [turn.id in positive for turn in turns]
    copies = [Analysis(one.text, None, [], [], one.text, "units") for one in analyses]
    report: dict[str, Any] = {"paper": PAPER}
    for name, wanted in (("admitted", (True, False)), ("positive", (True,))):
        rows = [index for index, flag in enumerate(flags) if flag in wanted]
        report[name] = asdict(measure([analyses[i] for i in rows], [surfaces[i] for i in rows]))
        report[f"{name}_copy"] = asdict(measure([copies[i] for i in rows], [surfaces[i] for i in rows]))
    report["worst"] = worst_cases(turns, analyses, flags, worst)
    return report


def worst_cases(
    turns: Sequence[Turn], analyses: Sequence[Analysis], flags: Sequence[bool], count: int
) -> list[dict[str, Any]]:
    """Empty and fragmentary entries, then the positive turns that lose the largest share of their content tokens."""
    scored = []
    for turn, analysis, flag in zip(turns, analyses, flags, strict=True):
        total, kept = retained(analysis.text, analysis.entry)
        lost = 1 - kept / total if total else 0.0
        why = "empty" if not analysis.entry else "fragment" if is_fragment(analysis) else f"lost {lost:.0%}"
        scored.append((not analysis.entry and flag, is_fragment(analysis) and flag, flag, lost, turn, analysis, why))
    scored.sort(key=lambda row: (*row[:4], row[4].id), reverse=True)
    return [
        {"id": turn.id, "why": why, "source": turn.text, "entry": analysis.entry}
        for *_, turn, analysis, why in scored[:count]
    ]


def _listed(turns: Sequence[Turn], path: Path) -> list[Turn]:
    wanted = read_ids(path)
    found = [turn for turn in turns if turn.id in wanted]
    if not found:
        raise InputError(f"{path}: none of its {len(wanted)} ids is a user turn of this split, such as {turns[0].id}")
    return found


def read_ids(path: Path) -> frozenset[str]:
    """Turn ids from a Parquet or JSONL file with a column `id` (rows whose `admitted` is false are left out), or from a
    text file with one id a line."""
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a Parquet, JSONL or text file with the ids of admitted turns")
    if path.suffix == ".parquet":
        try:
            from datasets import Dataset
        except ImportError:
            raise InputError("reading Parquet needs the extra `data`; pip install 'engrain[data]'") from None
        rows = Dataset.from_parquet(str(path)).to_list()
    elif path.suffix == ".jsonl":
        rows = [json_lines.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    else:
        rows = [{"id": line.strip()} for line in path.read_text("utf-8").splitlines() if line.strip()]
    if any("id" not in row for row in rows):
        raise InputError(f"{path}: every row needs a column `id`, the id of a turn")
    return frozenset(str(row["id"]) for row in rows if row.get("admitted", True))


def _show(report: dict[str, Any]) -> None:
    columns = ("paper", "admitted", "positive", "admitted_copy", "positive_copy")
    rows = [(name, *(report[column].get(name) for column in columns)) for name in Diagnostics.__dataclass_fields__]
    console.show_table(f"dependency extractor, {report['parser']}", ("", *columns), rows)
    console.show_table(
        "worst positive turns",
        ("why", "source", "entry"),
        [(case["why"], case["source"], case["entry"]) for case in report["worst"]],
    )
