"""What `Memory.add` and `Memory.search` answer."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.schema import Contract, Hit


class AddResult(Contract):
    """What one add came to. Every message is counted once: as a turn stored, or as a duplicate."""

    turns: int = Field(default=0, description="New turns stored.")
    duplicates: int = Field(default=0, description="Messages that were stored already.")
    admitted: int = Field(default=0, description="Stored turns that are kept: admitted by the gate, or as given.")
    rejected: int = Field(default=0, description="Stored turns that the gate rejected.")
    context: int = Field(default=0, description="Stored turns of roles that are not remembered.")
    records: int = Field(default=0, description="Records written.")
    fell_back: int = Field(default=0, description="Turns stored in their own words, the extractor having given none.")
    failed: int = Field(default=0, description="Pieces of extractor answers that could not be used; they are kept.")
    turn_ids: tuple[str, ...] = Field(default=(), description="Ids of the new turns.")
    record_ids: tuple[str, ...] = Field(default=(), description="Ids of the new records.")

    def counts(self) -> dict[str, int]:
        """The numbers by name, without the ids."""
        return {name: value for name, value in self if isinstance(value, int)}


class SearchResult(Contract):
    """Hits, best first."""

    results: tuple[Hit, ...]
    query_characters_cut: int = Field(default=0, description="Characters at the end of the query that were not read.")
