"""What a teacher is sent: rubric, `[CONTEXT]` and `[TARGET]`, and correction requests (SLICE-Mem A.1, A.5, B.1).

    [CONTEXT]
    S2: an earlier message
    S1: another one
    [TARGET]
    S1: the turn that is judged

Speakers are anonymous as in the gate's own input: the target's is S1, the others are numbered from the nearest message
backwards. A message of the context is one line, so that none can pretend to be the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from engrain.data_builders.teachers.calibration import NO_CONTEXT
from engrain.data_builders.teachers.records import Candidate
from engrain.data_builders.teachers.rubric import Rubric
from engrain.data_builders.teachers.settings import AnnotationSettings
from engrain.runtime.gate_input import CONTEXT_MARKER, TARGET_MARKER
from engrain.runtime.llm.chat import ChatMessage, ChatRequest
from engrain.runtime.schema import Utterance


def render_item(context: Sequence[Utterance], target: Utterance, k: int) -> str:
    """The last `k` messages of the context and the target, as a teacher or a person reads them."""
    kept = list(context[-k:]) if k else []
    names = {target.speaker: "S1"}
    for said in reversed(kept):
        names.setdefault(said.speaker, f"S{len(names) + 1}")
    before = [f"{names[said.speaker]}: {' '.join(said.text.split())}" for said in kept] or [NO_CONTEXT]
    return "\n".join((CONTEXT_MARKER, *before, render_target(target)))


def render_target(target: Utterance) -> str:
    """The target as it is: evidence is copied from it character for character."""
    return f"{TARGET_MARKER}\nS1: {target.text}"


def annotation_request(candidate: Candidate, rubric: Rubric, settings: AnnotationSettings) -> ChatRequest:
    """The first request for a candidate."""
    item = render_item(candidate.context, candidate.target, settings.context)
    return _request((_system(rubric), ChatMessage(role="user", content=item)), settings)


def correction_request(
    candidate: Candidate, rubric: Rubric, settings: AnnotationSettings, answer: str, faults: Sequence[str]
) -> ChatRequest:
    """The request after an invalid answer: that answer, what is wrong with it, and the target.

    An empty answer is left out: some endpoints refuse an empty message.
    """
    item = render_item(candidate.context, candidate.target, settings.context)
    feedback = rubric.correction.format(
        faults="\n".join(f"- {fault}" for fault in faults), target=render_target(candidate.target)
    )
    given = (ChatMessage(role="assistant", content=answer),) if answer.strip() else ()
    asked = ChatMessage(role="user", content=item if given else f"{item}\n\n{feedback}")
    then = (ChatMessage(role="user", content=feedback),) if given else ()
    return _request((_system(rubric), asked, *given, *then), settings)


def _system(rubric: Rubric) -> ChatMessage:
    return ChatMessage(role="system", content=rubric.system)


def _request(messages: tuple[ChatMessage, ...], settings: AnnotationSettings) -> ChatRequest:
    return ChatRequest(
        messages=messages, temperature=settings.temperature, max_tokens=settings.max_tokens, json_object=True
    )
