"""`engrain memory consolidate`, `log` and `undo`: reconcile a memory file, see every change, take any of them back."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrain.recipes import console
from engrain.recipes.memory_commands import (
    DEFAULT_BUNDLES,
    SHOWN_CHARACTERS,
    Bundles,
    JsonFlag,
    StorePath,
    User,
    memory,
    open_memory,
)
from engrain.runtime.errors import InputError
from engrain.runtime.storage.files import is_address, named
from engrain.runtime.timestamps import parse_timestamp

if TYPE_CHECKING:
    from engrain.runtime.consolidation.engine import PairModel
    from engrain.runtime.memory import Memory
    from engrain.runtime.schema import Change


@memory.command()
def consolidate(
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    endpoint: Annotated[
        str | None, typer.Option(help="Address of an OpenAI-compatible server; left out: rules alone.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name at the endpoint.")] = None,
    key: Annotated[str, typer.Option(help="Environment variable with the endpoint's key.")] = "",
    update: Annotated[bool, typer.Option(help="DimMem's update instead of SLICE-Mem's relations.")] = False,
    ledger: Annotated[
        str | None,
        typer.Option(help="Ledger of paid calls; beside the memory file if left out, ledger.db for a server."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Drop repetitions and supersede what is outdated, by status, with evidence; texts are never touched."""
    from engrain.runtime.consolidation.engine import Consolidator

    if (endpoint is None) != (model is None):
        raise InputError("--endpoint and --model go together; leave both out for rules alone")
    if update and endpoint is None:
        raise InputError("--update asks a model: name it with --endpoint and --model")
    with open_memory(store, bundles, existing=True) as opened:
        if endpoint is None or model is None:
            report = Consolidator(opened.store).run(user)
        else:
            from engrain.runtime.llm.ledger import Ledger

            with Ledger(Path(ledger or _ledger_beside(store))) as opened_ledger:
                asked = _model(opened, endpoint, model, key, update, opened_ledger)
                report = Consolidator(opened.store, models=[asked]).run(user)
        texts = _texts(opened, user)
    if json:
        changes = [change.model_dump(mode="json") for change in report.changes]
        console.show_json({"changes": changes, "counts": dict(sorted(report.counts.items()))})
        return
    _show_changes(f"{len(report.changes)} changes", report.changes, texts)
    console.show_fields("counts", dict(sorted(report.counts.items())))


def _ledger_beside(store: str) -> str:
    """Where paid calls are kept: an address of a server, with its password, is no place for a file."""
    return "ledger.db" if is_address(store) else f"{store}.ledger.db"


@memory.command()
def log(
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    undone: Annotated[bool, typer.Option(help="Show what was undone instead.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show every change of consolidation, oldest first, with its evidence."""
    with open_memory(store, bundles, existing=True) as opened:
        taken_back = opened.store.undone_changes(user) if undone else []
        changes = [change for change, _ in taken_back] if undone else opened.store.changes(user)
        texts = _texts(opened, user)
    if json:
        console.show_json([change.model_dump(mode="json") for change in changes])
        return
    _show_changes(f"{len(changes)} {'undone ' if undone else ''}changes of {user}", changes, texts)


@memory.command()
def undo(
    change_id: Annotated[str | None, typer.Argument(help="A change's id, from `engrain memory log`.")] = None,
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    since: Annotated[str | None, typer.Option(help="Undo every change from this time on, newest first.")] = None,
    json: JsonFlag = False,
) -> None:
    """Take back one change, or all since a time. Records are as they were before."""
    if (change_id is None) == (since is None):
        raise InputError("give either a change's id or --since, not both and not neither")
    with open_memory(store, bundles, existing=True) as opened:
        if change_id is not None:
            taken = list(opened.undo(change_id, user_id=user))
        else:
            taken = _undo_since(opened, user, parse_timestamp(str(since), UTC))
    if json:
        console.show_json([change.model_dump(mode="json") for change in taken])
        return
    console.show_fields(
        f"undone in {named(store)}", dict(Counter(change.relation.value for change in taken)) or {"changes": 0}
    )


def _undo_since(opened: Memory, user: str, moment: datetime) -> list[Change]:
    taken: list[Change] = []
    gone: set[str] = set()
    for change in reversed(opened.store.changes(user)):
        if change.decided_at >= moment and change.id not in gone:
            group = opened.undo(change.id, user_id=user)
            gone.update(member.id for member in group)
            taken.extend(group)
    return taken


def _model(opened: Memory, endpoint: str, model: str, key: str, update: bool, ledger: Any) -> PairModel:
    from engrain.runtime.consolidation.dimensional import DimensionUpdater
    from engrain.runtime.consolidation.relations import RelationModel
    from engrain.runtime.llm.connect import open_client
    from engrain.runtime.llm.endpoint import EndpointSettings

    settings = EndpointSettings(name=model, base_url=endpoint, model=model, api_key_env=key)
    client = open_client(settings, ledger=ledger, run="consolidate")
    return DimensionUpdater(client, opened.embedder) if update else RelationModel(client)


def _texts(opened: Memory, user: str) -> dict[str, str]:
    from engrain.runtime.schema import Status

    return {record.id: record.content for record in opened.list(user_id=user, statuses=tuple(Status))}


def _show_changes(title: str, changes: list[Change], texts: dict[str, str]) -> None:
    rows = [
        (
            change.id,
            change.relation.value + (" (part)" if change.part else ""),
            _struck(change, texts)[:SHOWN_CHARACTERS],
            texts.get(change.other_id or "", "")[:SHOWN_CHARACTERS],
            change.evidence or change.basis,
        )
        for change in changes
    ]
    console.show_table(title, ("change", "relation", "record", "by", "evidence"), rows)


def _struck(change: Change, texts: dict[str, str]) -> str:
    text = texts.get(change.record_id, "")
    return text[slice(*change.part)] if change.part else text
