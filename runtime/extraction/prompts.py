"""Prompts for dimensional extraction (DimMem section 3), and the JSON that a model has to answer with.

Two prompts: `full` explains every rule, for large models behind an endpoint and for the paper's 4B model; `compact` is
a reminder for a small model that is tuned on the task and has only a few hundred tokens. Their hashes travel with
every training example and extractor bundle, so that a model is never run under a prompt it was not tuned for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.windows import Window, message_line
from engrain.runtime.schema import ExtractedRecord, WindowStyle

_VERSION = "1"
_LINE_FORM = "[ISO timestamp, Wkd] n.Speaker: text"
_CONTEXT_HEADING = "Context only, already processed:"
_NEW_HEADING = "New messages:"

_FULL = """\
You keep the long-term memory of a conversation. You are given a window of numbered messages, one per line, written as
  [ISO timestamp, weekday] number.Speaker: text
Turn what is worth remembering into memory records: anything that could matter in a later conversation, such as facts \
about a person and their world, plans, events, preferences, habits, opinions, numbers, names and dates. Leave out \
greetings, thanks, small talk and general knowledge. One record holds one memory; a message that states two things \
gives two records, and a message that states nothing lasting gives none.

Each record has these fields.
- source_id: the number of the message that states the memory, as an integer.
- content: one sentence that can be understood on its own, without the conversation. {subject} Replace pronouns and \
words such as "there" or "that one" with what they refer to, using earlier messages where needed. Keep names, amounts \
and units exactly as given, and keep negations and corrections.
- dimension: an object with
  - memory_type: "fact" for what is, exists, relates or is the current status; "episodic" for what happened, was done \
or is planned; "profile" for what someone is like, likes, dislikes, believes or usually does.
  - time: when the remembered thing happens or holds, as YYYY, YYYY-MM, YYYY-MM-DD, an ISO datetime, or a range \
start/end. Work out words such as "yesterday", "next Friday" or "in March" from the timestamp of the message that says \
them. In content, too, write the date and not the relative word.
  - location: the place, if one is stated.
  - reason: the cause or motive, if one is stated.
  - purpose: the goal, if one is stated.
  - keywords: two to five short noun phrases from the memory.

Rules.
- Write only what the messages say. A dimension that they do not support is an empty string; never guess, and never \
infer one from general knowledge.
- Messages under "{context}" are there to resolve references. No record may have one of them as its source.
- Write content, reason, purpose, location and keywords in the language of the message; do not translate.
- Do not write the same memory twice.

Answer with one JSON object and nothing before or after it:
{{"memories":[{{"source_id":1,"content":"","dimension":{{"memory_type":"","time":"","location":"","reason":"",\
"purpose":"","keywords":[]}}}}]}}
If there is nothing to remember, answer {{"memories":[]}}"""

_COMPACT = """\
Extract lasting memories from the new messages as JSON: {{"memories":[{{"source_id","content","dimension"}}]}}. \
{subject} Self-contained, no pronouns, absolute dates, same language. dimension: memory_type fact|episodic|profile, \
keywords, and only if stated time, location, reason, purpose. Nothing from context messages."""

_SUBJECTS = {
    "full": {
        WindowStyle.LONGMEMEVAL: 'The speaker is the user of an assistant: call them "The user" (or the same words in '
        "the language of the message).",
        WindowStyle.LOCOMO: "Call every person by the name that the line gives as speaker, never by a pronoun.",
    },
    "compact": {
        WindowStyle.LONGMEMEVAL: 'content: one sentence about "The user".',
        WindowStyle.LOCOMO: "content: one sentence naming the speaker.",
    },
}
_TEMPLATES = {"full": _FULL, "compact": _COMPACT}
_SPARSE_PROMPTS = frozenset({"compact"})
"""Prompts under which empty dimensions are left out of the answer; the parser fills them."""


def _hash_of(name: str) -> str:
    subjects = [_SUBJECTS[name][style] for style in sorted(WindowStyle)]
    headings = (_CONTEXT_HEADING, _NEW_HEADING, _LINE_FORM)
    return text_hash("extraction-prompt", _VERSION, name, _TEMPLATES[name], *subjects, *headings)


PROMPT_HASH: dict[str, str] = {name: _hash_of(name) for name in _TEMPLATES}
"""Hash of a prompt's version, wording and line form, by its name."""


def extraction_messages(
    window: Window, style: WindowStyle, prompt: str = "full", keep: float = 1.0
) -> list[dict[str, str]]:
    """The chat (system, then user) that asks a model for the records of `window`.

    `keep` below 1 compresses the messages to that share of their words (`compression.py`). Raises `InputError` for a
    prompt name that does not exist, or a share outside its bounds.
    """
    _require_known(prompt)
    system = _TEMPLATES[prompt].format(
        subject=_SUBJECTS[prompt][style],
        context=_CONTEXT_HEADING.rstrip(":"),
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": window_text(window, style, keep)}]


def window_text(window: Window, style: WindowStyle, keep: float = 1.0) -> str:
    """The messages of a window, a line each, context and new messages under headings when there is an overlap."""
    lines = [message_line(turn, number, style, keep) for number, turn in enumerate(window.turns, start=1)]
    if window.overlap == 0:
        return "\n".join(lines)
    return "\n".join([_CONTEXT_HEADING, *lines[: window.overlap], _NEW_HEADING, *lines[window.overlap :]])


def render_records(records: Sequence[ExtractedRecord], prompt: str = "full") -> str:
    """The JSON that a model has to write for `records`: compact separators, no escapes for non-ASCII text.

    Under the `compact` prompt empty dimensions are left out, so that a small model writes less. Field order is fixed,
    records keep their order. Raises `InputError` for a prompt name that does not exist.
    """
    _require_known(prompt)
    memories = [_record_object(record, sparse=prompt in _SPARSE_PROMPTS) for record in records]
    return json.dumps({"memories": memories}, ensure_ascii=False, separators=(",", ":"))


def _record_object(record: ExtractedRecord, *, sparse: bool) -> dict[str, Any]:
    dimension = record.dimension.model_dump(mode="json")
    if sparse:
        dimension = {name: value for name, value in dimension.items() if value}
    return {"source_id": record.source_id, "content": record.content, "dimension": dimension}


def _require_known(prompt: str) -> None:
    if prompt not in _TEMPLATES:
        raise InputError(f"there is no extraction prompt '{prompt}'; use one of {', '.join(sorted(_TEMPLATES))}")
