"""Evidence recall: the share of a question's evidence turns that the first k hits draw on. Needs no LLM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engrain.runtime.schema import Hit, Turn

Search = Callable[[str, int], Sequence[Hit]]


@dataclass(frozen=True)
class Asked:
    """One question with its evidence and the hits it got, best first."""

    id: str
    kind: str
    question: str
    answer: str
    evidence: tuple[str, ...]
    hits: tuple[Hit, ...]

    def recall(self, k: int) -> float:
        """Share of the evidence turns among the sources of the first `k` hits, between 0 and 1."""
        found = {turn for hit in self.hits[:k] for turn in hit.record.source_turn_ids}
        return len(found & set(self.evidence)) / len(self.evidence)


def mean_recall(asked: Sequence[Asked], k: int) -> float:
    """Mean over questions; 0 when there is none."""
    return sum(question.recall(k) for question in asked) / len(asked) if asked else 0.0


def recall_by_kind(asked: Sequence[Asked], k: int) -> dict[str, float]:
    """Mean recall of every kind of question."""
    kinds = sorted({question.kind for question in asked})
    return {kind: mean_recall([question for question in asked if question.kind == kind], k) for kind in kinds}


def credited_turns(turns: Sequence[Turn]) -> Mapping[str, str]:
    """Assistant turn id to the user turn right before it in the session.

    An assistant's reply is reached through the user message that it answers (DimMem section 3.3, source pointers), so
    finding that message credits the reply.
    """
    pairs: dict[str, str] = {}
    for before, after in pairwise(turns):
        if after.role.value == "assistant" and before.role.value == "user" and after.session_id == before.session_id:
            pairs[after.id] = before.id
    return pairs
