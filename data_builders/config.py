"""Settings of the data builders, composed by recipes. The papers' values are the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from engrain.runtime.extraction.windows import PAPER_WINDOWS
from engrain.runtime.schema import Contract, WindowStyle

_SIZE, _OVERLAP = PAPER_WINDOWS[WindowStyle.LONGMEMEVAL]


class MemoraReading(Contract):
    """Where Memora lies, and the times that it does not give."""

    root: Path = Field(description="Folder that holds the splits, `data/` or `memora/data/`.")
    time_zone: str = Field(default="UTC", description="IANA zone in which the sessions' days are read.")
    start_hour: int = Field(default=8, ge=0, le=23, description="Hour at which a day's first session starts.")
    session_gap_minutes: int = Field(
        default=10, ge=1, le=120, description="Minutes between the starts of a day's sessions; 89 fit into one day."
    )


class MemoraGateData(MemoraReading):
    """The Memora part of the gate corpus (SLICE-Mem A.1): 50 rows a persona, 40 to train and 10 to validate."""

    split: str = Field(default="quarterly", description="Split that the rows come from.")
    guard_splits: tuple[str, ...] = Field(
        default=("weekly", "monthly"), description="Splits whose short user turns may not occur among the rows."
    )
    allow_missing: tuple[str, ...] = Field(default=(), description="Guard splits that may be absent from `root`.")
    personas: int | None = Field(
        default=None, ge=1, description="Personas that the split must hold; SLICE-Mem A.1 has ten. Empty: any number."
    )
    rows_per_persona: int | None = Field(
        default=50, ge=2, description="Rows of each persona, validation included; empty takes every row there is."
    )
    validation_per_persona: int = Field(default=10, ge=1, description="Rows of each persona that validate.")
    sampling: Literal["stratified", "natural"] = Field(
        default="stratified", description="`stratified` fixes the share of positives, `natural` keeps the split's own."
    )
    positive_share: float = Field(
        default=0.42, gt=0.0, lt=1.0, description="Share of positives under `stratified`; 0.42 gives w+ near 1.40."
    )
    overlap_length: int = Field(
        default=60, ge=0, description="Characters up to which a turn found word for word in a guard split is replaced."
    )
    max_context: int = Field(default=5, ge=0, description="Preceding messages kept; k is taken from them later.")
    seed: int = Field(default=42, ge=0, description="Seed of sampling and of the split (SLICE-Mem B.1).")

    @model_validator(mode="after")
    def _validation_leaves_rows_to_train(self) -> MemoraGateData:
        if self.rows_per_persona is None:
            if self.sampling == "stratified":
                raise ValueError("rows_per_persona is empty, so every row is taken: write sampling: natural")
            return self
        if self.validation_per_persona >= self.rows_per_persona:
            raise ValueError(
                f"validation_per_persona {self.validation_per_persona} leaves no row to train on; "
                f"use less than rows_per_persona, {self.rows_per_persona}"
            )
        return self


class ShippedSplit(Contract):
    """How the shipped corpus is divided: whole people or everybody's last sessions test, other sessions validate."""

    held_out: tuple[str, ...] | None = Field(
        default=None, description="People whose sessions are the test split; None takes the corpus's own choice."
    )
    held_out_sessions: float | None = Field(
        default=None,
        gt=0.0,
        lt=1.0,
        description="In place of people: share of each person's sessions, the latest, that are the test split.",
    )
    validation_share: float = Field(
        default=0.15,
        gt=0.0,
        lt=1.0,
        description="Share of each other person's sessions, at least one, that validate; with held_out_sessions a "
        "share of all other sessions, at least one.",
    )
    seed: int = Field(default=42, ge=0, description="Seed of the choice of validation sessions.")

    @model_validator(mode="after")
    def _people_or_sessions(self) -> ShippedSplit:
        if self.held_out is not None and self.held_out_sessions is not None:
            raise ValueError("held_out names people and held_out_sessions a share of everybody's sessions; set one")
        return self


class ExtractionWindows(Contract):
    """How sessions are cut for an extractor (DimMem section 3.2)."""

    style: WindowStyle = Field(
        default=WindowStyle.LONGMEMEVAL, description="`longmemeval`: user messages only; `locomo`: every speaker."
    )
    size: int = Field(default=_SIZE, ge=1, description="Messages in a window; the paper has 15, and 25 for locomo.")
    overlap: int = Field(default=_OVERLAP, ge=0, description="Messages of it that are context; 3, and 5 for locomo.")
    prompt: Literal["full", "compact"] = Field(default="full", description="Prompt that the examples are made for.")
    keep_empty: bool = Field(default=True, description="Keep windows without records: they teach restraint.")

    @model_validator(mode="after")
    def _overlap_leaves_new_messages(self) -> ExtractionWindows:
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} leaves no new message in a window of {self.size}; lower it")
        return self
