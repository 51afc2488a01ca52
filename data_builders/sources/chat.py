"""Any chat in JSONL or a JSON list: `messages` with `role` and `content` (the OpenAI form), or `conversations` with
`from` and `value` (the ShareGPT form).

`content` may be text, null (a tool call) or a list of parts, of which the texts are read and the others counted. A
message's `name` is its speaker; `timestamp` is its time, ISO text or seconds since 1970. What tools return is read as
the system's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.runtime.schema import Role

FORMS = {"messages": ("role", "content"), "conversations": ("from", "value")}
_CALLS = ("tool_calls", "function_call")
_IDS = ("id", "conversation_id", "session_id")


class ChatSource(DialogueSource):
    """Chats of one file, or of every JSON and JSONL file of a folder."""

    corpus = Corpus(
        name="chat",
        licence="as its owner states",
        citation="",
        home="your own application: `messages` or `conversations`, one chat a line",
        roles={
            **dict.fromkeys(("user", "human"), Role.USER),
            **dict.fromkeys(("assistant", "gpt", "model", "bot", "chatgpt", "function_call"), Role.ASSISTANT),
            **dict.fromkeys(("system", "developer", "tool", "function", "observation"), Role.SYSTEM),
        },
        files={"all": ("*.json*",)},
        dates="either",
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's chat; without an id of its own it is numbered by file and row."""
        fields = row.fields("a chat")
        form = next((key for key in FORMS if key in fields), "")
        if not form:
            row.fields("a chat", "messages (or conversations)")
        role, content = FORMS[form]
        lines = [self._line(message, role, content, row) for message in row.entries("a chat", form, role)]
        if isinstance(fields.get("system"), str):
            lines.insert(0, Line("system", fields["system"], timestamp=lines[0].timestamp if lines else None))
        name = next((str(fields[key]) for key in _IDS if fields.get(key) is not None), _numbered(row))
        yield Dialogue(name, lines)

    def _line(self, message: dict[str, Any], role: str, content: str, row: Row) -> Line:
        spoken = str(message[role])
        if content not in message and not any(key in message for key in _CALLS):
            row.check(message, "a chat", role, content, at="message")
        text = self._text(message.get(content), row)
        return Line(str(message.get("name") or spoken), text, role=spoken, timestamp=message.get("timestamp"))

    def _text(self, content: Any, row: Row) -> Any:
        if content is None:
            return ""
        if not isinstance(content, list):
            return content
        parts = [row.check(part, "a chat", "type", at="content") for part in content]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        self.counts["parts_without_text"] += len(parts) - len(texts)
        return "\n".join(texts)


def _numbered(row: Row) -> str:
    return f"{Path(row.file).stem}/row_{row.index + 1}"
