"""A gate corpus from its parts: teacher-labelled corpora and released labels, counted and checked (SLICE-Mem A.1).

One build serves every k: the examples hold up to five messages of context, and a gate takes the last k of them (C.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from engrain.data_builders.gate_corpus import (
    Counts,
    GateCorpus,
    GateCorpusReport,
    count_rows,
    count_splits,
    positive_weight,
    shared_targets,
)
from engrain.data_builders.gate_corpus_parts import build_part
from engrain.data_builders.gate_corpus_settings import ExpectedWeight, PartSettings
from engrain.data_builders.teachers.records import Annotation
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, GateExample, Split

NO_TYPE = "none"
"""How rows without a majority type are counted."""


class PartCounts(Contract):
    """What became of one teacher-labelled corpus."""

    candidates: int = Field(description="Turns that teachers were asked about.")
    accepted: int = Field(description="Those that reached consensus.")
    refused: dict[str, int] = Field(description="Why the others did not.")
    taken: Counts
    validation: Counts
    types: dict[str, int] = Field(description="Rows taken by auxiliary type.")
    groups: int
    split_by: str = Field(description="What the validation rows are balanced by.")


class GateBuildReport(Contract):
    """Counts of one build. Nothing is left out of the corpus without standing here."""

    parts: dict[str, PartCounts]
    released: GateCorpusReport | None = Field(description="The part that takes its source's own labels.")
    splits: dict[Split, Counts]
    positive_weight: float = Field(description="w+ = clip(N-/N+, 1, 10) over the training rows.")
    weight_check: str
    shared_targets: int = Field(description="Validation rows whose target text is also a training row's.")
    most_context: int = Field(
        description="Messages of context in the fullest row: the largest k that the corpus serves."
    )


@dataclass(frozen=True)
class GateBuild:
    """All examples, part after part, and the report."""

    examples: tuple[GateExample, ...]
    report: GateBuildReport


def build_gate_corpus(
    annotated: Mapping[str, Sequence[Annotation]],
    settings: PartSettings,
    released: GateCorpus | None = None,
    expected: ExpectedWeight | None = None,
) -> GateBuild:
    """Put the parts together. `annotated` maps a corpus to everything that was annotated of it.

    Raises `InputError` for a part that cannot be filled, an id that occurs twice, or a positive weight that is not the
    expected one.
    """
    parts = {corpus: build_part(annotations, settings) for corpus, annotations in annotated.items()}
    examples = [example for part in parts.values() for example in part.examples]
    examples += released.examples if released else ()
    if not examples:
        raise InputError("the recipe names no corpus to build from; give corpora, or memora, or both")
    _require_unique(examples)
    counts = {corpus: _count(annotated[corpus], part.examples, part.split_by) for corpus, part in parts.items()}
    weight = positive_weight(examples)
    report = GateBuildReport(
        parts=counts,
        released=released.report if released else None,
        splits=count_splits(examples),
        positive_weight=weight,
        weight_check=check_weight(weight, expected, counts),
        shared_targets=shared_targets(examples),
        most_context=max(len(example.context) for example in examples),
    )
    return GateBuild(tuple(examples), report)


def check_weight(weight: float, expected: ExpectedWeight | None, parts: Mapping[str, PartCounts]) -> str:
    """Say how w+ compares with what B.1 reports; `InputError` when it is further away than allowed."""
    if expected is None:
        return f"w+ {weight:.3f}, not checked"
    allowed = f"{expected.value:g} +- {expected.tolerance:g}"
    if abs(weight - expected.value) <= expected.tolerance:
        return f"w+ {weight:.3f}, within {allowed} (SLICE-Mem B.1)"
    shares = ", ".join(f"{name} {part.taken.positives}/{part.taken.rows}" for name, part in parts.items())
    raise InputError(
        f"w+ is {weight:.3f}, expected {allowed} (SLICE-Mem B.1); positives by corpus: {shares or 'none'}: raise "
        "candidates.count for a fuller pool, or set expected_weight: null to build without the check"
    )


def _count(annotations: Sequence[Annotation], examples: Sequence[GateExample], split_by: str) -> PartCounts:
    refused = Counter(one.verdict.rejected_because.value for one in annotations if one.verdict.rejected_because)
    return PartCounts(
        candidates=len(annotations),
        accepted=len(annotations) - refused.total(),
        refused=dict(refused),
        taken=count_rows(examples),
        validation=count_rows(example for example in examples if example.split is Split.VALIDATION),
        types=dict(Counter(example.auxiliary_type or NO_TYPE for example in examples)),
        groups=len({example.group for example in examples}),
        split_by=split_by,
    )


def _require_unique(examples: Sequence[GateExample]) -> None:
    twice = [name for name, count in Counter(example.id for example in examples).items() if count > 1]
    if twice:
        raise InputError(f"{len(twice)} turns are in the corpus twice, such as '{twice[0]}'; name each corpus once")
