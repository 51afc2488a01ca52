"""Structured log lines of the model client: fixed fields only, so that no key and no message text can get in."""

from __future__ import annotations

import logging
from typing import TypedDict, Unpack

logger = logging.getLogger("engrain.llm")


class Fields(TypedDict, total=False):
    """Everything that a line may hold. Each is also an attribute of the log record, prefixed `llm_`."""

    endpoint: str
    stage: str
    request: str
    attempt: int
    trouble: str
    status: int | None
    wait_s: float
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    batch: str
    state: str


def log(level: int, event: str, **fields: Unpack[Fields]) -> None:
    """Write one line, `event name=value ...`; request hashes are cut to twelve characters."""
    if not logger.isEnabledFor(level):
        return
    shown = {name: _short(name, value) for name, value in fields.items() if value is not None}
    line = " ".join([event, *(f"{name}={value}" for name, value in shown.items())])
    logger.log(level, "%s", line, extra={"llm_event": event} | {f"llm_{name}": value for name, value in shown.items()})


def _short(name: str, value: object) -> object:
    if name == "request":
        return str(value)[:12]
    return round(value, 3) if isinstance(value, float) else value
