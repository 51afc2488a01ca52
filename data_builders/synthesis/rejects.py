"""What did not become an example: why, and the piece as it was, kept beside the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.schema import Contract


class SynthesisReject(StrEnum):
    """Why a story, a window or a record was refused. What the parser refuses keeps the parser's reason in `detail`."""

    NO_ANSWER = "no_answer"
    FILTERED = "filtered_by_the_service"
    CUT = "answer_cut_off"
    MALFORMED = "malformed"
    BAD_STORY = "story_inconsistent"
    EMPTY = "empty_where_content_exists"
    SCHEMA = "schema_inconsistent"
    OUTSIDE_WINDOW = "source_outside_window"
    IN_OVERLAP = "source_in_overlap"
    TIME = "time_not_normalised"
    UNSUPPORTED = "dimension_not_supported"
    PRONOUN = "unresolved_pronoun"
    DUPLICATE = "duplicate"
    LEAK = "leak"
    MOSTLY_REFUSED = "too_many_records_refused"


class Reject(Contract):
    """One refused piece."""

    id: str = Field(description="Story, session or window.")
    reason: SynthesisReject
    detail: str = ""
    raw: str = Field(default="", description="The record or the answer as the teacher wrote it.")


OF_PARSER: dict[RejectReason, SynthesisReject] = {
    RejectReason.NO_JSON: SynthesisReject.MALFORMED,
    RejectReason.TRUNCATED: SynthesisReject.CUT,
    RejectReason.NOT_AN_OBJECT: SynthesisReject.SCHEMA,
    RejectReason.NO_CONTENT: SynthesisReject.SCHEMA,
    RejectReason.BAD_SOURCE: SynthesisReject.SCHEMA,
    RejectReason.UNKNOWN_TYPE: SynthesisReject.SCHEMA,
    RejectReason.BAD_DIMENSION: SynthesisReject.SCHEMA,
    RejectReason.OUTSIDE_WINDOW: SynthesisReject.OUTSIDE_WINDOW,
    RejectReason.IN_OVERLAP: SynthesisReject.IN_OVERLAP,
    RejectReason.BAD_TIME: SynthesisReject.TIME,
    RejectReason.REPEATED: SynthesisReject.DUPLICATE,
}


def write_rejects(path: Path, rejects: Iterable[Reject]) -> None:
    """One JSON object a line; the file appears whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text("".join(reject.model_dump_json() + "\n" for reject in rejects), encoding="utf-8")
    part.replace(path)
