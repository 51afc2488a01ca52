"""Figures of one question that need no LLM: its evidence in the ranking, its values in the packed context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engrain.recipes.benchmarks.pipeline.context import Packed, pack_words
from engrain.recipes.benchmarks.scores.evidence import distinct, ndcg_at, precision_at, recall_at
from engrain.recipes.benchmarks.scores.fama import Criteria
from engrain.recipes.benchmarks.scores.values import occurs
from engrain.recipes.benchmarks.suites.suite import EvidenceUnit, Question
from engrain.recipes.benchmarks.systems.system import Found
from engrain.runtime.llm.pricing import text_tokens

DEPTHS = (5, 10, 20)
SESSION_DEPTHS = (3, 5, 10)


def question_figures(
    question: Question, ranking: Sequence[Found], session_of: Mapping[str, str], unit: EvidenceUnit, context_words: int
) -> dict[str, Any]:
    """Figures by name; shares are between 0 and 1. What the question has no ground for is left out."""
    packed = pack_words(ranking, context_words)
    figures: dict[str, Any] = {
        "context_words": packed.words,
        "context_tokens": sum(text_tokens(entry.text) for entry in packed.entries),
        "context_entries": len(packed.entries),
    }
    if question.evidence:
        figures |= _evidence(question, ranking, session_of, unit)
    if question.remembered or question.forgotten:
        figures |= _values(question, packed, session_of)
    return figures


def retrieval_criteria(question: Question, figures: Mapping[str, Any]) -> Criteria:
    """The evidence values as criteria of the retrieval-level FAMA: present in the context, or absent from it."""
    return Criteria(
        persona=question.group,
        task=question.task,
        presence=figures["values_remembered"],
        present=figures["values_present"],
        forgetting=figures["values_forgotten"],
        absent=figures["values_forgotten"] - figures["forgotten_present"],
    )


def _evidence(
    question: Question, ranking: Sequence[Found], session_of: Mapping[str, str], unit: EvidenceUnit
) -> dict[str, Any]:
    wanted = question.evidence
    if unit == "session":
        sessions = [session_of[turn] for entry in ranking for turn in entry.turn_ids if turn in session_of]
        found = [[session] for session in distinct(sessions, max(SESSION_DEPTHS))]
        return {f"sessions@{k}": recall_at(found, wanted, k) for k in SESSION_DEPTHS}
    # A hit credits one turn, the first that it names.
    found = [list(entry.turn_ids[:1]) for entry in ranking]
    figures = {f"recall@{k}": recall_at(found, wanted, k) for k in DEPTHS}
    return figures | {"precision@10": precision_at(found, wanted, 10), "ndcg@10": ndcg_at(found, wanted, 10)}


def _values(question: Question, packed: Packed, session_of: Mapping[str, str]) -> dict[str, Any]:
    texts = [entry.text for entry in packed.entries]
    sessions = [{session_of[turn] for turn in entry.turn_ids if turn in session_of} for entry in packed.entries]
    stale = deleting = anywhere = 0
    for gone in question.forgotten:
        holding = [own for text, own in zip(texts, sessions, strict=True) if occurs(gone.value, [text])]
        anywhere += bool(holding)
        # Session ids carry their number, zero-padded: the order of strings is the order of time.
        stale += any(min(own, default=gone.session) < gone.session for own in holding)
        deleting += any(gone.session in own for own in holding)
    return {
        "values_remembered": len(question.remembered),
        "values_present": sum(occurs(value.value, texts) for value in question.remembered),
        "values_forgotten": len(question.forgotten),
        "forgotten_present": anywhere,
        "stale_leakage": stale,
        "deleting_turn": deleting,
    }
