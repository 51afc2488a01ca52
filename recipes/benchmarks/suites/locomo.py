"""LoCoMo as a benchmark: questions of categories 1 to 4 over two-person conversations, evidence turn by turn."""

from __future__ import annotations

from pathlib import Path

from engrain.data_builders.sources.locomo import CATEGORIES, LocomoSource
from engrain.recipes.benchmarks.suites.suite import Provenance, Question, Suite, file_hashes
from engrain.runtime.schema import Session

ANSWERABLE = (1, 2, 3, 4)
DEVELOPMENT = frozenset({"conv-26", "conv-30", "conv-41"})
CONVERSATIONS = 10
PINS = {"12870247837b98424cec8e4b2ab129e65a9a07865246df98af0b5e7cd7f3e781": "five of the ten conversations"}
"""SHA-256 of the known files."""
TRAPS = (
    "categories: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial; 5 is left out (DimMem)",
    "some evidence ids are malformed; those that can be read are mended, the others counted",
    "times are local and carry no zone; UTC is assumed",
)


def load(path: Path) -> Suite:
    """Read LoCoMo's file; `path` is the JSON file, or a folder that holds exactly one."""
    file = _single_file(path)
    source = LocomoSource(file)
    sessions: dict[str, list[Session]] = {name: [] for name in source.conversations}
    for labelled in source.sessions():
        sessions[labelled.person].append(labelled.session)
    asked, unusable, without = [], 0, 0
    for given in source.questions():
        if given.category not in ANSWERABLE:
            continue
        unusable += len(given.unusable_evidence)
        without += not given.evidence
        asked.append(
            Question(
                id=given.id,
                group=given.conversation,
                task=CATEGORIES[given.category],
                question=given.question,
                # LoCoMo dates no question: it is asked after the last session.
                asked_at=sessions[given.conversation][-1].turns[-1].timestamp,
                answer=given.answer,
                evidence=given.evidence,
            )
        )
    hashes = file_hashes([file], file.parent)
    traps = (*TRAPS, f"{unusable} evidence entries name no turn; {without} questions have no usable evidence")
    missing = CONVERSATIONS - len(sessions)
    partial = f"{len(sessions)} of {CONVERSATIONS} conversations" if missing > 0 else ""
    pinned = all(digest in PINS for digest in hashes.values())
    return Suite(
        name="locomo",
        groups=tuple(sessions),
        questions=tuple(asked),
        sessions_of=lambda group: sessions[group],
        unit="turn",
        provenance=Provenance(hashes, pinned, partial, traps),
        scored_by="answer",
        development=DEVELOPMENT,
    )


def _single_file(path: Path) -> Path:
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return found[0] if len(found) == 1 else path
