"""Recorded responses behind the same interface: tests and the quickstart run without a network or a key."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from engrain.runtime.errors import InputError
from engrain.runtime.llm.chat import Call, ChatAnswer, Outcome
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import ANSWER_COLUMNS, Ledger, answer_from
from engrain.runtime.llm.prepare import prepare


class ReplayClient:
    """Answers from recordings by request hash. Nothing is sent, nothing is booked.

    The hash holds the endpoint's identity: settings must carry the `base_url` or `identity` of the recording.
    """

    def __init__(
        self, settings: EndpointSettings, recordings: Mapping[str, ChatAnswer], *, run: str = "replay"
    ) -> None:
        self.settings, self._recordings, self._run_name = settings, recordings, run

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self.settings.name

    async def run(self, calls: Iterable[Call]) -> AsyncGenerator[Outcome, None]:
        """Yield the recorded answers in order; `InputError` at the first call without one."""
        for call in calls:
            prepared = prepare(self.settings, call, self._run_name)
            answer = self._recordings.get(prepared.request_hash)
            if answer is None:
                raise InputError(
                    f"no recorded response for request {prepared.request_hash} (stage {call.stage.value}, endpoint "
                    f"{self.settings.name!r}, {len(self._recordings)} recordings): the prompt, the model or a sampling "
                    "setting differs from the recording; record it again, or call the endpoint online"
                )
            yield Outcome(call, prepared.request_hash, answer=answer, reused=True)


def read_recordings(path: Path) -> dict[str, ChatAnswer]:
    """Read a file of `write_recordings`; `InputError` names the line that is not a recording."""
    recordings = {}
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    fields = json.loads(line)
                    request_hash = fields.pop("request_hash")
                    recordings[request_hash] = ChatAnswer(**fields)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    raise InputError(f"{path}:{number}: not a recorded response ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: recordings cannot be read: {error.strerror}") from error
    return recordings


def write_recordings(ledger: Ledger, path: Path, run: str | None = None) -> int:
    """Write the answers of a ledger, or of one run, as one JSON line each, sorted by hash; returns how many."""
    rows = ledger.read(
        f"SELECT request_hash, {ANSWER_COLUMNS} FROM answers WHERE coalesce(run = ?, 1) ORDER BY request_hash", (run,)
    ).result()
    with path.open("w", encoding="utf-8") as stream:
        for row in rows:
            line = {"request_hash": row[0]} | asdict(answer_from(row[1:]))
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(rows)
