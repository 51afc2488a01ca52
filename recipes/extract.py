"""`engrain extract`: what the dependency extractor makes of one turn, with its reasons when asked."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from engrain.recipes import console
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.explain import explain_html, explain_text
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor, TurnEntry
from engrain.runtime.schema import Role, Turn
from engrain.runtime.timestamps import parse_timestamp


def command(
    text: str,
    explain: bool = False,
    html: str | None = None,
    time: str | None = None,
    parser: str = "spacy",
    model: str | None = None,
    json: bool = False,
) -> None:
    """Extract the memory entry of one turn, said at `time` (now when left out), and print it with its dimensions.

    `explain` adds clauses, scored candidates, filters, spans and units; `html` names a file for the same with graphs.
    """
    if not text.strip():
        raise InputError("the text is empty; give the turn in quotation marks")
    moment = parse_timestamp(time, UTC) if time else datetime.now(UTC)
    turn = Turn(id="turn", session_id="session", role=Role.USER, speaker="user", text=text, timestamp=moment)
    entry = DependencyExtractor.load(parser, model).extract_turns([turn])[0]
    if html:
        Path(html).write_text(explain_html(entry.analysis), encoding="utf-8")
    if json:
        console.show_json(_document(entry))
        return
    if explain:
        console.out.print(explain_text(entry.analysis), markup=False)
    console.show_fields(entry.entry or "no entry", _fields(entry))
    if html:
        console.say(f"explanation written to {html}")


def _document(entry: TurnEntry) -> dict[str, object]:
    analysis = entry.analysis
    return {
        "text": entry.turn.text,
        "entry": entry.entry,
        "route": analysis.route,
        "reason": analysis.reason,
        "coverage": analysis.coverage,
        "units": [asdict(unit) for unit in analysis.units],
        "dimensions": entry.located.dimensions.model_dump(mode="json") if entry.located else None,
        "spans": entry.located.spans if entry.located else {},
    }


def _fields(entry: TurnEntry) -> dict[str, object]:
    fields: dict[str, object] = {"route": entry.analysis.route, "reason": entry.analysis.reason or None}
    if entry.located is not None:
        for name, value in entry.located.dimensions.model_dump(mode="json").items():
            fields[name] = ", ".join(value) if isinstance(value, list) else value or None
    return fields
