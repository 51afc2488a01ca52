"""The contracts that every room shares: turns, training examples, memory records, queries, hits, changes.

All are frozen pydantic models that refuse unknown fields. Datasets on disk are Parquet files whose columns are
exactly the fields of `GateExample` and `ExtractionExample`. Sources: DimMem section 3.1 (record dimensions),
SLICE-Mem A.1 (gate supervision) and A.4 (statuses).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def require_aware(moment: datetime) -> datetime:
    """Refuse a datetime without a UTC offset: guessing a zone loses the order of events."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; write an offset, as in {moment.isoformat()}+00:00")
    return moment


def require_text(text: str) -> str:
    """Refuse text that is empty or only white space."""
    if not text.strip():
        raise ValueError("the text is empty")
    return text


AwareDatetime = Annotated[datetime, AfterValidator(require_aware)]
Text = Annotated[str, AfterValidator(require_text)]
Identifier = Annotated[str, AfterValidator(require_text)]
Model = TypeVar("Model", bound=BaseModel)


class Contract(BaseModel):
    """Frozen, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def assembled(model: type[Model], **values: Any) -> Model:
    """A model of all its fields' values, unchecked: for what was validated before, where many are made at once.

    Validation is most of the time that a small search takes. `model_construct` is no faster: it looks for each field.
    """
    made = model.__new__(model)
    put = object.__setattr__
    put(made, "__dict__", values)
    put(made, "__pydantic_fields_set__", set(values))
    put(made, "__pydantic_extra__", None)
    put(made, "__pydantic_private__", None)
    return made


class Role(StrEnum):
    """Who speaks. In a dialogue between two people the source's role map says which of them is the user."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class MemoryType(StrEnum):
    """DimMem section 3.1: fact (what is), episodic (what happened or is planned), profile (what someone is like)."""

    FACT = "fact"
    EPISODIC = "episodic"
    PROFILE = "profile"


class AuxiliaryType(StrEnum):
    """SLICE-Mem A.1: the semantic type of a turn, apart from whether it is worth keeping."""

    PERSONAL_SEMANTIC = "personal_semantic"
    AUTOBIOGRAPHICAL_EPISODIC = "autobiographical_episodic"
    PROSPECTIVE = "prospective"
    NON_MEMORY = "non_memory"


class ContextDependence(StrEnum):
    """SLICE-Mem A.1: whether the target alone yields the proposition."""

    SELF_CONTAINED = "self_contained"
    CONTEXT_DEPENDENT = "context_dependent"


class LabelSource(StrEnum):
    """Where a gate label comes from."""

    TEACHER_CONSENSUS = "teacher_consensus"
    RELEASED = "released"
    HUMAN = "human"
    AUTHORED = "authored"
    WEAK = "weak"


class Split(StrEnum):
    """The part of a corpus that an example belongs to."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Status(StrEnum):
    """SLICE-Mem A.4. `dropped` means redundant; no status deletes anything."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DROPPED = "dropped"


class Turn(Contract):
    """One message of a dialogue, with its provenance."""

    id: Identifier
    session_id: Identifier
    role: Role
    speaker: str = Field(description="Name as the source gives it; made anonymous only when packed for a model.")
    text: Text
    timestamp: AwareDatetime


class Session(Contract):
    """A dialogue in one sitting, turns in order."""

    id: Identifier
    started_at: AwareDatetime
    turns: tuple[Turn, ...]


class Utterance(Contract):
    """A speaker and what was said: what a gate sees of a turn."""

    speaker: str
    text: str


class Vote(Contract):
    """One teacher's answer for one turn (SLICE-Mem A.1)."""

    teacher: str
    admit: bool
    auxiliary_type: AuxiliaryType
    context_dependence: ContextDependence
    confidence: float = Field(ge=0.0, le=1.0)
    evidence: tuple[str, ...] = ()


class GateExample(Contract):
    """One labelled user turn with the messages before it. Its fields are the Parquet columns of a gate corpus."""

    id: Identifier
    split: Split
    context: tuple[Utterance, ...] = Field(description="Preceding messages, oldest first.")
    target: Utterance
    label: bool
    label_source: LabelSource
    votes: tuple[Vote, ...] = ()
    auxiliary_type: AuxiliaryType | None = None
    context_dependence: ContextDependence | None = None
    corpus: str
    group: Identifier = Field(description="Examples of one group are never split across train and validation.")


class WindowStyle(StrEnum):
    """DimMem's two data paths: `locomo` keeps every speaker, `longmemeval` keeps user messages only."""

    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


class Dimensions(Contract):
    """DimMem section 3.1. A field that the window does not support is empty; nothing is inferred."""

    memory_type: MemoryType
    time: str = Field(default="", description="YYYY, YYYY-MM, YYYY-MM-DD, an ISO datetime, or a range start/end.")
    location: str = ""
    reason: str = Field(default="", description="A stated cause or motive.")
    purpose: str = Field(default="", description="A stated goal.")
    keywords: tuple[str, ...] = Field(default=(), description="Short noun phrases.")


class ExtractedRecord(Contract):
    """One record as the extractor writes it: what DimMem's JSON holds for one memory."""

    source_id: int = Field(ge=1, description="1-based message number inside the window.")
    content: Text
    dimension: Dimensions


class ExtractionExample(Contract):
    """One window with its gold records. Its fields are the Parquet columns of an extraction corpus."""

    id: Identifier
    split: Split
    style: WindowStyle
    window: tuple[Turn, ...]
    overlap: int = Field(ge=0, description="The first `overlap` messages are context only.")
    records: tuple[ExtractedRecord, ...]
    teacher: str = Field(description="A model's name, `rules` or `authored`.")
    prompt_hash: str


class Scope(Contract):
    """Whose memory a record is. `user_id` is required; the others narrow it."""

    user_id: Identifier
    agent_id: str | None = None
    run_id: str | None = None


class SupersededSpan(Contract):
    """A part of a record's content that a later record outdated; the rest stays active."""

    start: int = Field(ge=0, description="First character.")
    end: int = Field(ge=0, description="One past the last character.")
    change_id: Identifier


class Link(Contract):
    """A directed relation to another record, as consolidation wrote it."""

    relation: str
    record_id: Identifier


class MemoryRecord(Contract):
    """One stored memory: content, dimensions, provenance, status."""

    id: Identifier
    scope: Scope
    content: Text
    memory_type: MemoryType | None = None
    time: str = ""
    location: str = ""
    reason: str = ""
    purpose: str = ""
    keywords: tuple[str, ...] = ()
    event_start: AwareDatetime | None = None
    event_end: AwareDatetime | None = None
    source_time: AwareDatetime = Field(description="Timestamp of the message the record comes from.")
    source_speaker: str = ""
    ingest_time: AwareDatetime
    source_turn_ids: tuple[str, ...]
    status: Status = Status.ACTIVE
    superseded_spans: tuple[SupersededSpan, ...] = ()
    links: tuple[Link, ...] = ()
    extractor: str = Field(description="Identity of the extractor, or `as_given`.")
    embedder: str = Field(description="Identity of the embedder that made the vector.")
    metadata: dict[str, Any] = Field(default_factory=dict)
    updated_at: AwareDatetime | None = Field(default=None, description="Last update of the text; none when as written.")


class TimeConstraint(Contract):
    """An explicit time condition of a question, resolved against the question date (DimMem section 3.3)."""

    relation: str = Field(description="on, before, after, around or between.")
    start: AwareDatetime
    end: AwareDatetime


class ParsedQuery(Contract):
    """A question in the schema of the records (DimMem section 3.3)."""

    anchor: str
    target_types: tuple[MemoryType, ...] = ()
    keywords: tuple[str, ...] = ()
    time_constraints: tuple[TimeConstraint, ...] = ()
    location: str = ""
    answer_dimension: str = ""
    needs_assistant_context: bool = False
    wants_history: bool = False


OUTDATED_MARK = "[OUTDATED; superseded]"
"""In front of the text of a superseded record, wherever a model or a person reads it (SLICE-Mem A.4)."""


class Reply(Contract):
    """What the assistant said directly after a message (DimMem section 3.3, assistant recall)."""

    turn_id: Identifier
    text: str
    answers: Identifier = Field(description="Id of the message that it follows.")


class Hit(Contract):
    """One search result and how each route scored it."""

    record: MemoryRecord
    score: float
    route_scores: dict[str, float]
    why: str = ""
    reply: Reply | None = Field(default=None, description="Attached when the question needs the assistant's words.")
    linked_from: str | None = Field(
        default=None, description="Id of the hit whose supersession link led here; none for hits of the search itself."
    )

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def memory(self) -> str:
        """The record's text, marked where the record is outdated."""
        outdated = self.record.status is Status.SUPERSEDED
        return f"{OUTDATED_MARK} {self.record.content}" if outdated else self.record.content

    @property
    def created_at(self) -> datetime:
        """When it was said."""
        return self.record.source_time

    @property
    def updated_at(self) -> datetime | None:
        """When its text was last updated."""
        return self.record.updated_at

    @property
    def metadata(self) -> dict[str, Any]:
        """What the caller gave along with it."""
        return self.record.metadata


class Relation(StrEnum):
    """What consolidation decided between two records (SLICE-Mem A.4; merge from DimMem section 3.4)."""

    DEDUP = "dedup"
    SUPERSEDE = "supersede"
    QUALIFY = "qualify"
    MERGE = "merge"


class Change(Contract):
    """One reversible entry of the consolidation log."""

    id: Identifier
    record_id: Identifier
    other_id: str | None = Field(default=None, description="The record it duplicates, is replaced by or qualifies.")
    before: Status
    after: Status
    relation: Relation
    part: tuple[int, int] | None = Field(
        default=None, description="Characters, from and up to, of what alone is outdated; `after` is then `before`."
    )
    basis: str = ""
    scope: str = ""
    anchor: str = ""
    evidence: str = ""
    decided_by: str = Field(description="`rules` or a model's name.")
    decided_at: AwareDatetime
