"""What a teacher answered: a vote, or everything that is wrong with the answer (SLICE-Mem A.1, A.5)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from engrain.runtime.schema import AuxiliaryType, ContextDependence, Vote

FIELDS = ("primary_memory_type", "context_dependency", "candidate_memory", "confidence", "evidence", "reason")
MOST_EVIDENCE = 3
"""Excerpts at most (A.1)."""
_SHOWN = 80


@dataclass(frozen=True)
class ValidAnswer:
    """A vote without its teacher's name, and the teacher's rationale."""

    admit: bool
    memory_type: AuxiliaryType
    dependence: ContextDependence
    confidence: float
    evidence: tuple[str, ...]
    reason: str

    def vote(self, teacher: str) -> Vote:
        """The vote of a named teacher."""
        return Vote(
            teacher=teacher,
            admit=self.admit,
            auxiliary_type=self.memory_type,
            context_dependence=self.dependence,
            confidence=self.confidence,
            evidence=self.evidence,
        )


class _Faults(list[str]):
    """Faults found so far; each check adds its own and goes on, so that a correction request names all of them."""

    def choice(self, answer: dict[str, Any], field: str, choices: type[StrEnum]) -> str | None:
        value = answer.get(field)
        allowed = [choice.value for choice in choices]
        if isinstance(value, str) and value in allowed:
            return value
        self.append(f"{field} is {_shown(value)}; write one of {', '.join(allowed)}")
        return None


def validate(text: str, target: str) -> ValidAnswer | list[str]:
    """Check an answer against A.1: field types, allowed labels, confidence in [0, 1], rejection of `non_memory`, and
    evidence that stands in `target`. Evidence that differs from the target in case only takes the target's case.

    Returns the valid answer, or a sentence for each fault.
    """
    answer, fault = _read_object(text)
    if answer is None:
        return [fault]
    faults = _Faults()
    unknown = sorted(answer.keys() - set(FIELDS))
    if unknown:
        faults.append(f"unknown fields: {', '.join(unknown)[:_SHOWN]}; the fields are {', '.join(FIELDS)}")
    memory_type = faults.choice(answer, "primary_memory_type", AuxiliaryType)
    dependence = faults.choice(answer, "context_dependency", ContextDependence)
    admit = answer.get("candidate_memory")
    if not isinstance(admit, bool):
        faults.append(f"candidate_memory is {_shown(admit)}; write true or false without quotes")
    elif admit and memory_type == AuxiliaryType.NON_MEMORY:
        faults.append("candidate_memory is true for non_memory; a turn of that type is never kept")
    confidence = _confidence(answer.get("confidence"), faults)
    evidence = _evidence(answer.get("evidence"), target, faults)
    reason = answer.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        faults.append(f"reason is {_shown(reason)}; write one short sentence")
    if faults:
        return [_encodable(fault) for fault in faults]
    return ValidAnswer(
        admit=bool(admit),
        memory_type=AuxiliaryType(memory_type or ""),
        dependence=ContextDependence(dependence or ""),
        confidence=confidence,
        evidence=evidence,
        reason=_encodable(str(reason).strip()),
    )


def _read_object(text: str) -> tuple[dict[str, Any] | None, str]:
    """The one JSON object of an answer; words or a Markdown fence around it are passed over."""
    start = text.find("{")
    if start < 0:
        return None, f"the answer holds no JSON object: {_shown(text)}"
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        return None, f"the answer is not valid JSON: {error}"
    if "{" in text[end:]:
        return None, "the answer holds more than one JSON object; return exactly one"
    return value, ""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field stands there twice")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _confidence(value: Any, faults: _Faults) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    faults.append(f"confidence is {_shown(value)}; write a number from 0 to 1")
    return 0.0


def _evidence(value: Any, target: str, faults: _Faults) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_EVIDENCE:
        faults.append(f"evidence is {_shown(value)}; write a list of 1 to {MOST_EVIDENCE} excerpts of the target")
        return ()
    grounded = []
    for excerpt in value:
        found = _in_target(excerpt, target)
        if found is None:
            faults.append(f"evidence {_shown(excerpt)} does not stand in the target; copy it character for character")
        else:
            grounded.append(found)
    return tuple(grounded)


def _in_target(excerpt: Any, target: str) -> str | None:
    """The excerpt as the target writes it, or None when it is not there."""
    if not isinstance(excerpt, str) or not excerpt.strip():
        return None
    if excerpt in target:
        return excerpt
    match = re.search(re.escape(excerpt), target, re.IGNORECASE)
    return match[0] if match else None


def _encodable(text: str) -> str:
    """Half of a surrogate pair, as a cut escape leaves it, can neither be sent back nor stored: a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        # Writing reaches less deep than reading.
        return "nested too deeply"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
