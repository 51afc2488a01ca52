"""Models for a memory, given as objects or as folders of their bundles; what each needs is imported here, when used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engrain.runtime.storage.files import is_address

if TYPE_CHECKING:
    from engrain.runtime.embedding import Embedder
    from engrain.runtime.extraction.extractor import Extractor
    from engrain.runtime.gate import Gate
    from engrain.runtime.settings import MemorySettings
    from engrain.runtime.storage.tabular import TabularStore

RULES = {"dependency": "spacy", "dependency/hanlp": "hanlp"}
"""Extractors without a model of their own (SLICE-Mem 3.2): their names, and the parser of each."""


def open_store(path: str | Path, identity: str, dimension: int, settings: MemorySettings | None = None) -> TabularStore:
    """The store at a path, or in the database of a `postgresql://` address; it is created when missing.

    Raises `StoreError` when it cannot be used, and `InputError` when the extra `postgres` is wanted and missing.
    """
    if is_address(path):
        from engrain.runtime.storage.postgres import PostgresStore

        return PostgresStore(str(path), identity, dimension, settings.postgres if settings else None)
    from engrain.runtime.storage.sqlite import SQLiteStore

    return SQLiteStore(path, identity, dimension, settings.sqlite if settings else None)


def open_stored(path: str | Path) -> TabularStore:
    """An existing store with the embedder that it names, without that embedder. Raises `StoreError` without one."""
    if is_address(path):
        from engrain.runtime.storage import postgres

        return postgres.open_stored(str(path))
    from engrain.runtime.storage import sqlite

    return sqlite.open_stored(path)


def open_embedder(embedder: Embedder | str | Path) -> Embedder:
    """The embedder itself, or the one in a bundle. Raises `BundleError` for a bundle that is missing or altered."""
    if isinstance(embedder, str | Path):
        from engrain.runtime.embedding import OnnxEmbedder

        return OnnxEmbedder.load(embedder)
    return embedder


def open_gate(gate: Gate | str | Path | None) -> Gate | None:
    """The gate itself, or the one in a bundle. Raises `BundleError` for a bundle that is missing or altered."""
    if isinstance(gate, str | Path):
        from engrain.runtime.gate import Gate

        return Gate.load(gate)
    return gate


def open_extractor(extractor: Extractor | str | Path | None) -> Extractor | None:
    """The extractor itself, one of `RULES` by name, or the one in a bundle, run in this process (extra `local`).

    `dependency` is SLICE-Mem's rules over spaCy's parser (extra `spacy`), `dependency/hanlp` over HanLP's (extra
    `hanlp`). Raises `BundleError` for a bundle that is missing or altered, `InputError` when an extra is not installed.
    """
    parser = RULES.get(str(extractor))
    if parser is not None:
        from engrain.runtime.extraction.dependency.extractor import DependencyExtractor

        return DependencyExtractor.load(parser)
    if isinstance(extractor, str | Path):
        from engrain.runtime.extraction.local import load_extractor

        return load_extractor(extractor)
    return extractor
