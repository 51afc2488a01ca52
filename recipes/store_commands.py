"""`engrain memory …`: a store as a whole, and the life of one record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engrain.recipes import console
from engrain.recipes.memory_commands import (
    DEFAULT_BUNDLES,
    Bundles,
    JsonFlag,
    StorePath,
    User,
    memory,
    no_record,
    open_memory,
)
from engrain.runtime.errors import InputError
from engrain.runtime.storage.files import named

if TYPE_CHECKING:
    from engrain.runtime.storage.tabular import TabularStore

Target = Annotated[str, typer.Argument(help="The store to fill: a new file, or a postgresql:// address.")]
Lines = Annotated[str, typer.Argument(help="A file of JSON lines.")]


@memory.command()
def copy(target: Target, store: StorePath = "memory.db", json: JsonFlag = False) -> None:
    """Copy a whole store into an empty one, file or database: memories, vectors, logs, counters."""
    from engrain.runtime.storage.dump import dump, restore

    with _stored(store) as source, _opened(target, source.embedder, source.dimension) as filled:
        counts = restore(filled, dump(source))
    console.show_document(f"copied {named(store)} to {named(target)}", counts, json)


@memory.command()
def export(lines: Lines, store: StorePath = "memory.db", json: JsonFlag = False) -> None:
    """Write a whole store as JSON lines, vectors among them."""
    from engrain.runtime.storage.dump import to_lines

    path, count = Path(lines), 0
    if path.exists():
        raise InputError(f"{path} is there already; give another name")
    partial = path.with_name(path.name + ".part")
    with _stored(store) as source, partial.open("w", encoding="ascii") as stream:
        for line in to_lines(source):
            stream.write(line + "\n")
            count += 1
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)
    console.show_document(f"exported {named(store)} to {path}", {"lines": count}, json)


@memory.command("import")
def import_lines(lines: Lines, store: StorePath = "memory.db", json: JsonFlag = False) -> None:
    """Fill an empty store from what `export` wrote."""
    from engrain.runtime.storage.dump import from_lines, stated_embedder

    path = Path(lines)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with path.open(encoding="utf-8") as stream:
        identity, dimension = stated_embedder(stream.readline(), str(path))
    with path.open(encoding="utf-8") as stream, _opened(store, identity, dimension) as filled:
        counts = from_lines(stream, filled, str(path))
    console.show_document(f"imported {path} into {named(store)}", counts, json)


@memory.command()
def reembed(
    embedder: Annotated[str, typer.Argument(help="Folder of the new embedder's bundle.")],
    store: StorePath = "memory.db",
    json: JsonFlag = False,
) -> None:
    """Make every vector again with another embedder, in place, in one transaction."""
    from engrain.runtime.embedding import OnnxEmbedder
    from engrain.runtime.retrieval.search import embed
    from engrain.runtime.retrieval.surface import dense_text
    from engrain.runtime.storage.dump import reembed as make_again

    model = OnnxEmbedder.load(embedder)
    with _stored(store) as opened:
        before = opened.embedder
        done = make_again(
            opened,
            model.identity,
            model.dimension,
            lambda records: embed(model, [dense_text(record) for record in records]),
        )
    console.show_document(
        f"new vectors in {named(store)}", {"records": done, "before": before, "now": model.identity}, json
    )


@memory.command()
def update(
    record_id: Annotated[str, typer.Argument(help="A record's id.")],
    text: Annotated[str, typer.Argument(help="Its new text.")],
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    json: JsonFlag = False,
) -> None:
    """Give a record another text; all else stays, and what it was is kept."""
    with open_memory(store, bundles, existing=True) as opened:
        record = opened.update(record_id, text, user_id=user)
    if record is None:
        raise no_record(record_id, user, store)
    console.show_document(f"updated in {named(store)}", record.model_dump(mode="json"), json)


@memory.command()
def history(
    record_id: Annotated[str, typer.Argument(help="A record's id.")],
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    json: JsonFlag = False,
) -> None:
    """What happened to a record: added, updated, reconciled."""
    with open_memory(store, bundles, existing=True) as opened:
        events = opened.history(record_id, user_id=user)
    if not events:
        raise no_record(record_id, user, store)
    if json:
        console.show_json([event.model_dump(mode="json") for event in events])
        return
    rows = [(f"{event.at:%Y-%m-%d %H:%M}", event.action, event.before, event.after, event.by) for event in events]
    console.show_table(f"history of {record_id}", ("at", "what", "before", "after", "by"), rows)


@contextmanager
def _stored(store: str) -> Iterator[TabularStore]:
    from engrain.runtime.opening import open_stored

    opened = open_stored(store)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def _opened(store: str, identity: str, dimension: int) -> Iterator[TabularStore]:
    from engrain.runtime.opening import open_store

    opened = open_store(store, identity, dimension)
    try:
        yield opened
    finally:
        opened.close()
