"""Weak gate labels from annotations that public corpora already carry: cheap, noisy, for transfer and pre-training.

- `msc`: a turn is positive where annotators wrote a persona summary for it.
- `led`: a turn is positive where it brings a life event that the dialogue did not have before.

Only dialogues that were annotated give examples; a turn without an annotation is a negative. Both people are users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from engrain.data_builders.gate_corpus import label_rows
from engrain.data_builders.sources.dialogue import LabelledSession, TurnLabel
from engrain.data_builders.sources.led import LedSource
from engrain.data_builders.sources.msc import MscPersonaSource
from engrain.data_builders.sources.reader import DialogueSource
from engrain.runtime.schema import GateExample, LabelSource, Role, Split

WEAK_SOURCES: dict[str, Callable[[Path], DialogueSource]] = {"msc": MscPersonaSource, "led": LedSource}
"""Corpora with annotations from which a gate label follows."""

_SPLITS = {"valid": Split.VALIDATION, "test": Split.TEST}


def weak_gate_examples(source: Literal["msc", "led"], root: Path, *, max_context: int = 5) -> Iterator[GateExample]:
    """An example for every user turn of every annotated session, `label_source` weak, a session's group its person.

    The corpus's own splits are kept; what has none counts as training. Raises `InputError` as the source does.
    """
    reader = WEAK_SOURCES[source](root)
    for labelled in reader.sessions():
        if "notes" not in labelled.metadata:
            continue
        split = _SPLITS.get(_published_split(labelled), Split.TRAIN)
        weak = replace(labelled, labels=weak_labels(labelled))
        for example in label_rows([weak], corpus=reader.info.name, split=split, max_context=max_context):
            yield example.model_copy(update={"group": labelled.person})


def weak_labels(labelled: LabelledSession) -> dict[str, TurnLabel]:
    """Turn id to weak label, for the user turns of an annotated session: positive exactly where there is a note."""
    notes = labelled.metadata["notes"]
    return {
        turn.id: TurnLabel(keep=turn.id in notes, source=LabelSource.WEAK, reason=notes.get(turn.id, ""))
        for turn in labelled.session.turns
        if turn.role is Role.USER
    }


def _published_split(labelled: LabelledSession) -> str:
    return str(labelled.metadata.get("published_split", labelled.metadata["split"]))
