"""What every reader of a dialogue corpus offers: where it comes from, and its sessions, one after the other.

A reader names its licence and citation, says who counts as the user (the role map) and in which zone its local times
are read, keeps speakers' names, and yields sessions lazily. Names are made anonymous only when packed for a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import Field, model_validator

from engrain.runtime.errors import InputError
from engrain.runtime.schema import (
    AuxiliaryType,
    ContextDependence,
    Contract,
    LabelSource,
    Role,
    Session,
    Vote,
)


class SourceInfo(Contract):
    """Where a corpus comes from and how it is read."""

    name: str = Field(description="Short name; the `corpus` of every example made from it.")
    licence: str = Field(description="Licence under which its authors publish it.")
    citation: str = Field(description="What to cite.")
    roles: dict[str, Role] = Field(description="Speaker as the source names it, to role. `*` stands for any speaker.")
    time_zone: str = Field(description="Zone of local times, or `stated` when every time carries its offset.")
    dates: Literal["stated", "assigned", "either"] = Field(
        default="stated",
        description="`assigned`: the reader gives dates that the corpus lacks; `either`: where a row lacks them.",
    )


class TurnLabel(Contract):
    """The gate label of one user turn, as the source gives it."""

    keep: bool
    source: LabelSource
    reason: str = ""
    auxiliary_type: AuxiliaryType | None = None
    context_dependence: ContextDependence | None = None
    votes: tuple[Vote, ...] = ()

    @model_validator(mode="after")
    def _non_memory_is_rejected(self) -> TurnLabel:
        """SLICE-Mem A.1: the type `non_memory` requires a negative admission label."""
        if self.keep and self.auxiliary_type is AuxiliaryType.NON_MEMORY:
            raise ValueError("a turn of type non_memory cannot have keep = true")
        return self


@dataclass(frozen=True, slots=True)
class LabelledSession:
    """A session with what its source says about it.

    `labels` maps turn ids to gate labels; a source without labels leaves it empty. `person` is whose memory the
    session belongs to: a persona, a user, or a conversation between two people.
    """

    session: Session
    person: str
    labels: Mapping[str, TurnLabel] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """A dialogue corpus on disk."""

    @property
    def info(self) -> SourceInfo:
        """Licence, citation, role map and zone."""
        ...

    def sessions(self) -> Iterator[LabelledSession]:
        """Every session in the source's order, read as it is asked for.

        Raises `InputError` at the first session that is not in the published layout: what was expected, what was
        found, in which file, and how many sessions before it were good.
        """
        ...


def role_of(speaker: str, roles: Mapping[str, Role], place: str) -> Role:
    """The role of `speaker` under a role map; `InputError` naming `place` when the map does not hold it."""
    role = roles.get(speaker, roles.get("*"))
    if role is None:
        raise InputError(f"{place}: the speaker '{speaker}' is unknown; the role map has {', '.join(sorted(roles))}")
    return role
