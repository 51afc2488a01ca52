"""What the quality measures need of a corpus, gathered in one pass: a row is a few words, not a whole example."""

from __future__ import annotations

from dataclasses import dataclass

from engrain.runtime.schema import GateExample, LabelSource, Split


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled turn of a corpus. Lengths are in characters."""

    id: str
    corpus: str
    split: Split
    group: str
    label: bool
    source: LabelSource
    kind: str
    text: str
    context_messages: int
    context_length: int


def row_of(example: GateExample) -> Row:
    """The row of an example; `kind` is its auxiliary type, or empty."""
    return Row(
        id=example.id,
        corpus=example.corpus,
        split=example.split,
        group=example.group,
        label=example.label,
        source=example.label_source,
        kind=example.auxiliary_type or "",
        text=example.target.text,
        context_messages=len(example.context),
        context_length=sum(len(utterance.text) for utterance in example.context),
    )
