"""Settings of a memory, composed from those of its parts."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.schema import Contract, Role
from engrain.runtime.storage.connections import SQLiteSettings
from engrain.runtime.storage.postgres import PostgresSettings


class MemorySettings(Contract):
    """What is remembered, how it is searched, how the file is used."""

    remember_roles: tuple[Role, ...] = Field(
        default=(Role.USER,), min_length=1, description="Roles whose turns become records; the others are context."
    )
    search: SearchSettings = SearchSettings()
    sqlite: SQLiteSettings = SQLiteSettings()
    postgres: PostgresSettings = PostgresSettings()
